"""Records of a selection: every decision at every level, and what became of each candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from automl.errors import SettingsError
from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.dispositions import Disposition, Place, Status, chance_text, json_number
from automl.selection.ranking import DEFAULT_CRITERIA, check_criteria
from automl.statistics.results import Posterior, TestResult

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("status", "node", "test", "against", "statistic", "pvalue", "probability", "rank")
"""Fields of a disposition that a table of candidates shows."""


class Level(StrEnum):
    """Kind of a node of the tree."""

    LEAF = "leaf"
    CATEGORY = "category"
    FAMILY = "family"
    ROOT = "root"


class Verdict(StrEnum):
    """Effect of a decision on a member."""

    PROMOTED = "promoted"
    WORSE = "worse"
    OUTRANKED = "outranked"


@dataclass(frozen=True)
class SelectionSettings:
    """How a selection is made.

    Parameters
    ----------
    alpha : in (0, 1), by level
        Significance level of the tests.
    top_n : positive, by level
        How many of the best ranked go on.
    comparison
        The tests.
    criteria
        Weights of the ranking criteria, sum 1.
    """

    alpha: Mapping[Level, float]
    top_n: Mapping[Level, int]
    comparison: ComparisonSettings = field(default_factory=ComparisonSettings)
    criteria: Mapping[str, float] = field(default_factory=lambda: DEFAULT_CRITERIA)

    def __reduce__(self) -> tuple[Any, ...]:
        return SelectionSettings.from_json, (self.to_json(),)

    @classmethod
    def build(
        cls,
        *,
        alpha: float | Mapping[str, float] = 0.05,
        top_n: int | Mapping[str, int] = 3,
        comparison: ComparisonSettings | None = None,
        criteria: Mapping[str, float] = DEFAULT_CRITERIA,
    ) -> Self:
        """Settings from one value for all levels, or from values by level.

        Raises
        ------
        SettingsError
            If a level, a value or a criterion is not usable.
        """
        alphas = _by_level("alpha", alpha, 0.05)
        numbers = _by_level("top_n", top_n, 3)
        if not all(0 < value < 1 for value in alphas.values()):
            raise SettingsError(f"alpha must lie between 0 and 1; got {alpha}")
        if comparison and comparison.alpha_split == "tree" and len(set(alphas.values())) > 1:
            raise SettingsError(f"alpha_split tree needs one alpha for all levels; got {alpha}")
        if not all(value >= 1 and value == int(value) for value in numbers.values()):
            raise SettingsError(f"top_n must be a positive whole number; got {top_n}")
        return cls(
            MappingProxyType(alphas),
            MappingProxyType({level: int(value) for level, value in numbers.items()}),
            comparison or ComparisonSettings(),
            MappingProxyType(check_criteria(criteria)),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "alpha": {str(level): value for level, value in self.alpha.items()},
            "top_n": {str(level): value for level, value in self.top_n.items()},
            "comparison": self.comparison.to_json(),
            "criteria": dict(self.criteria),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(
            MappingProxyType({Level(level): value for level, value in data["alpha"].items()}),
            MappingProxyType({Level(level): value for level, value in data["top_n"].items()}),
            ComparisonSettings.from_json(data["comparison"]),
            MappingProxyType(dict(data["criteria"])),
        )


def _by_level(name: str, value: float | Mapping[str, float], default: float) -> dict[Level, float]:
    if not isinstance(value, Mapping):
        return dict.fromkeys(Level, value)
    unknown = sorted(set(map(str, value)) - set(map(str, Level)))
    if unknown:
        raise SettingsError(f"{name}: {unknown[0]!r} is not a level; use {', '.join(Level)}")
    given = {Level(level): number for level, number in value.items()}
    return {level: given.get(level, default) for level in Level}


@dataclass(frozen=True)
class Member:
    """One candidate in one decision.

    Parameters
    ----------
    mean_score : maximized
    statistic, pvalue : or None
        Of the pairwise test against the best member; None if none was needed.
    rank : in [1, kept members] or None
        Compound rank among the members that are not worse; None for a worse one.
    posterior : or None
        Of the best member's mean score minus its own, for the test `bayesian`.
    """

    trial_id: str
    mean_score: float
    verdict: Verdict
    statistic: float | None
    pvalue: float | None
    rank: float | None
    posterior: Posterior | None = None

    @property
    def chance(self) -> str:
        """p-value, or the probability of being worse, in words; empty if it has neither."""
        if self.posterior is None and self.pvalue is None:
            return ""
        probability = None if self.posterior is None else self.posterior.greater
        return chance_text(self.pvalue, probability)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form; `posterior` only where there is one."""
        plain = {
            **self.__dict__,
            "verdict": str(self.verdict),
            "statistic": None if self.statistic is None else json_number(self.statistic),
        }
        posterior = plain.pop("posterior")
        return plain if posterior is None else {**plain, "posterior": dict(posterior.__dict__)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        statistic = None if data["statistic"] is None else float(data["statistic"])
        given = data.get("posterior")
        posterior = None if given is None else Posterior(**given)
        changed = {"verdict": Verdict(data["verdict"]), "statistic": statistic}
        return cls(**{**data, **changed, "posterior": posterior})


@dataclass(frozen=True)
class LevelDecision:
    """Decision at one node of the tree.

    Parameters
    ----------
    node
        `root`, or the family with the choices on the way, ``family/name=value/…``.
    level
        Kind of the node.
    alpha : in (0, 1)
    top_n : positive
        How many go on at most.
    members
        Promoted ones first, in the order of their ranks.
    tests
        Tests of the assumptions and the omnibus test; none if a test was not possible.
    post_hoc
        Name of the pairwise test against the best; empty if none was needed.
    """

    node: str
    level: Level
    alpha: float
    top_n: int
    members: tuple[Member, ...]
    tests: tuple[TestResult, ...]
    post_hoc: str

    @property
    def promoted(self) -> tuple[str, ...]:
        """Trial ids that go on, best ranked first."""
        return tuple(m.trial_id for m in self.members if m.verdict is Verdict.PROMOTED)

    @property
    def best(self) -> str:
        """Trial id of the member with the highest mean score, with which the others are compared."""
        return min(self.members, key=lambda m: (-m.mean_score, m.trial_id)).trial_id

    def disposition(self, position: int) -> Disposition:
        """Effect of this decision on the member at a position."""
        member, kept = self.members[position], [m for m in self.members if m.rank is not None]
        promoted = Status.FINALIST if position else Status.WINNER
        is_promoted = member.verdict is Verdict.PROMOTED
        status = promoted if is_promoted else Status(str(member.verdict))
        is_kept = member.rank is not None
        return Disposition(
            status,
            Place.SELECTION,
            node=self.node,
            level=self.level,
            **self._evidence(member),
            alpha=self.alpha,
            number=position + 1 if is_kept else None,
            n_left=len(kept),
            limit=self.top_n if is_kept else None,
            rank=member.rank,
        )

    def _evidence(self, member: Member) -> dict[str, Any]:
        """The fields of a disposition that tell the test, and the trial compared with."""
        is_best = member.trial_id == self.best
        if member.posterior is not None and not is_best:
            probability = member.posterior.greater
            return {"test": self.post_hoc, "against": self.best, "probability": probability}
        if member.pvalue is not None and not is_best:
            numbers = {"statistic": member.statistic, "pvalue": member.pvalue}
            return {"test": self.post_hoc, "against": self.best, **numbers}
        if self.post_hoc or not self.tests:
            return {}
        last = self.tests[-1]
        return {"test": last.name, "statistic": last.statistic, "pvalue": last.pvalue}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "node": self.node,
            "level": str(self.level),
            "alpha": self.alpha,
            "top_n": self.top_n,
            "members": [member.to_json() for member in self.members],
            "tests": [
                {**test.__dict__, "statistic": json_number(test.statistic), "df": list(test.df)}
                for test in self.tests
            ],
            "post_hoc": self.post_hoc,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        tests = tuple(
            TestResult(t["name"], float(t["statistic"]), t["pvalue"], tuple(t["df"]))
            for t in data["tests"]
        )
        members = tuple(Member.from_json(member) for member in data["members"])
        return cls(
            data["node"],
            Level(data["level"]),
            data["alpha"],
            data["top_n"],
            members,
            tests,
            data["post_hoc"],
        )


@dataclass(frozen=True)
class SelectionRecord:
    """A whole selection, with all that is needed to repeat it.

    Parameters
    ----------
    candidates
        With their scores.
    settings
        How the selection was made.
    decisions
        From the leaves to the root; the last one is the root's.
    """

    candidates: tuple[Candidate, ...]
    settings: SelectionSettings
    decisions: tuple[LevelDecision, ...]

    @property
    def winner(self) -> str:
        """Trial id of the champion."""
        return self.finalists[0]

    @property
    def finalists(self) -> tuple[str, ...]:
        """Trial ids promoted at the root, champion first."""
        return self.decisions[-1].promoted

    @property
    def dispositions(self) -> dict[str, Disposition]:
        """Outcome of each candidate, by trial id."""
        return {
            member.trial_id: decision.disposition(position)
            for decision in self.decisions
            for position, member in enumerate(decision.members)
        }

    def table(self) -> pd.DataFrame:
        """One row for each candidate, the champion first: score, what became of it, and the test behind it."""
        import pandas as pd

        found = self.dispositions
        place = {name: number for number, name in enumerate(self.finalists)}
        ordered = sorted(
            self.candidates,
            key=lambda c: (place.get(c.trial_id, len(place)), -float(np.mean(c.scores))),
        )
        rows = [
            {
                "model": c.trial_id,
                "family": c.configuration.family,
                "mean_score": float(np.mean(c.scores)),
                **{name: getattr(found[c.trial_id], name) for name in SHOWN},
            }
            for c in ordered
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "winner": self.winner,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "settings": self.settings.to_json(),
            "decisions": [decision.to_json() for decision in self.decisions],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(
            tuple(Candidate.from_json(candidate) for candidate in data["candidates"]),
            SelectionSettings.from_json(data["settings"]),
            tuple(LevelDecision.from_json(decision) for decision in data["decisions"]),
        )
