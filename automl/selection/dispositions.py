"""The disposition of each trial, in numbers and in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self


class Status(StrEnum):
    """How a complete trial left the selection, in the order of the line.

    A trial that was not complete has the word of its `TrialStatus` instead.
    """

    TOO_SLOW = "too_slow"
    NOT_BEST_OF_CLUSTER = "not_best_of_cluster"
    SCREENED_OUT = "screened_out"
    OVER_LIMIT = "over_limit"
    UNAFFORDABLE = "unaffordable"
    UNSCORED = "unscored"
    BEHIND = "behind"
    WORSE = "worse"
    OUTRANKED = "outranked"
    FINALIST = "finalist"
    WINNER = "winner"


class Place(StrEnum):
    """Part of the line that decided."""

    SEARCH = "search"
    LIMITS = "limits"
    CLUSTERS = "clusters"
    SCREENING = "screening"
    SCORING = "scoring"
    SELECTION = "selection"


_LEFT = "number {number} of {n_left} not worse than the best"
_REASONS: Mapping[str, str] = {
    Status.TOO_SLOW: "predicts a row in {predict_ms} ms, over {limit} ms",
    Status.NOT_BEST_OF_CLUSTER: "not the best of its cluster: {cluster_best} leads cluster "
    "{cluster} of {cluster_size} trials",
    Status.SCREENED_OUT: "clearly worse in the search: {evidence} {bound}",
    Status.OVER_LIMIT: "number {number} of {n_left} not clearly worse than the best in the search, "
    "{limit} go on to fresh folds",
    Status.UNAFFORDABLE: "no time was left to score it on fresh folds",
    Status.UNSCORED: "it could not be scored on all fresh folds",
    Status.BEHIND: "number {number} of {n_left} on the first fresh folds, {limit} go on",
    Status.WORSE: "worse at {node}: {evidence} {bound}",
    Status.OUTRANKED: f"outranked at {{node}}: {_LEFT}, {{limit}} go on",
    Status.FINALIST: f"finalist at {{node}}: {_LEFT}",
    Status.WINNER: f"champion: {_LEFT} at {{node}}",
}
_LABELS: Mapping[str, str] = {
    Status.NOT_BEST_OF_CLUSTER: "not the best of its cluster",
    Status.SCREENED_OUT: "clearly worse in the search, p = {pvalue}",
    Status.OVER_LIMIT: "not among the best {limit} of the search",
    Status.UNAFFORDABLE: "no time for fresh folds",
    Status.UNSCORED: "not scored on all fresh folds",
    Status.BEHIND: "behind on the first fresh folds",
    Status.WORSE: "worse at {node}, {chance}",
    Status.OUTRANKED: "outranked at {node}: number {number} of {n_left}",
    Status.FINALIST: "finalist: number {number} of {n_left}",
    Status.WINNER: "champion",
}


@dataclass(frozen=True)
class Disposition:
    """Disposition of one trial; fields that do not apply are None or empty.

    Parameters
    ----------
    status
        A `Status`, or the `TrialStatus` of a trial that was not complete.
    place
        Where it was decided; empty in records of earlier versions.
    detail
        What a trial that was not complete says of itself.
    predict_ms
        Milliseconds to predict one row, of one that is too slow.
    cluster, cluster_size, cluster_best
        Number of its cluster within its signature (1 holds the best trial), its trials, and the id
        of the best of them.
    node, level
        Node of the tree, and its kind.
    test, against, statistic, pvalue, alpha
        The test behind it: of the pair with `against`, or of all members of the node where they
        were not found to differ (`against` is empty then).
    probability : in [0, 1]
        That `against` is better by more than the rope, in place of statistic and p-value.
    score
        Mean score on the first fresh folds, of one that was behind there.
    number, n_left
        It is the `number`-th best of `n_left` that were not worse than the best.
    limit
        How many go on, or the most milliseconds.
    rank : in [1, n_left]
        Compound rank.
    """

    status: str
    place: str = ""
    detail: str = ""
    predict_ms: float | None = None
    cluster: int | None = None
    cluster_size: int | None = None
    cluster_best: str = ""
    node: str = ""
    level: str = ""
    test: str = ""
    against: str = ""
    statistic: float | None = None
    pvalue: float | None = None
    probability: float | None = None
    alpha: float | None = None
    score: float | None = None
    number: int | None = None
    n_left: int | None = None
    limit: float | None = None
    rank: float | None = None

    @property
    def label(self) -> str:
        """A few words, for one cell of a table."""
        return self._worded(_LABELS) or self.reason

    @property
    def reason(self) -> str:
        """One sentence without an end."""
        return self._worded(_REASONS) or ": ".join(filter(None, (self.status, self.detail)))

    def _worded(self, texts: Mapping[str, str]) -> str:
        values = {
            key: value if isinstance(value, str) else number_text(value)
            for key, value in self.__dict__.items()
        }
        return texts.get(self.status, "").format(
            evidence=self.evidence, chance=self.chance, bound=self.bound, **values
        )

    @property
    def evidence(self) -> str:
        """Test and its numbers in words; empty without a test."""
        if not self.test:
            return ""
        against = f" against {self.against}" if self.against else ""
        return f"{self.test}{against}, {self.numbers}"

    @property
    def numbers(self) -> str:
        """Statistic and p-value, or the probability of being worse."""
        if self.probability is not None:
            return self.chance
        return f"statistic {number_text(self.statistic)}, {self.chance}"

    @property
    def chance(self) -> str:
        """p-value, or the probability of being worse."""
        return chance_text(self.pvalue, self.probability)

    @property
    def bound(self) -> str:
        """What the chance was compared with, of one that was found to be worse."""
        if self.probability is not None and self.alpha is not None:
            return f"> {number_text(1.0 - self.alpha)}"
        return f"< {number_text(self.alpha)}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form with `reason`, without what does not apply."""
        values = {key: json_number(value) for key, value in self.__dict__.items()}
        given = {key: value for key, value in values.items() if value not in (None, "")}
        return {**given, "reason": self.reason}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        values = {entry.name: data[entry.name] for entry in fields(cls) if entry.name in data}
        if values.get("statistic") is not None:
            values["statistic"] = float(values["statistic"])
        return cls(**values)


def chance_text(pvalue: float | None, probability: float | None) -> str:
    """`p = 0.5`, or of the test `bayesian` `P(worse) = 0.5`, by more than the rope."""
    if probability is not None:
        return f"P(worse) = {number_text(probability)}"
    return f"p = {number_text(pvalue)}"


def number_text(value: float | None) -> str:
    """Three digits, `0.00012` as `0.00012`, and whole numbers as they are; `-` for None."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def json_number(value: Any) -> Any:
    """`value`, or the text of a number for which JSON has no form (infinity)."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
