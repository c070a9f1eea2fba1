"""Scores of the families' defaults beside the chosen configuration (B14, table 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from automl.errors import DataError
from automl.records import Configuration, Trial

ROUNDING = 1e-9
"""Scores of one configuration that were summed up in another order may differ by so much."""


@dataclass(frozen=True)
class DefaultTrial:
    """Facts about a family's default configuration.

    Parameters
    ----------
    trial_id : None if it was not tried
    score : maximized, on all folds of the search; None if there is none
    reason : why there is no score; empty if there is one
    """

    trial_id: str | None
    score: float | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DefaultTrial:
        """From its plain JSON form."""
        return cls(**data)


def default_trials(
    trials: Sequence[Trial], defaults: Mapping[str, Configuration], untried: Mapping[str, str]
) -> dict[str, DefaultTrial]:
    """Defaults in a search, whatever its reason to try them.

    Parameters
    ----------
    trials
        Of the search.
    defaults
        Default configuration by family.
    untried
        Why the default of a family may not have been tried.
    """
    own: dict[str, Trial] = {}
    for trial in trials:
        default = own.get(trial.configuration.id)
        if (
            default is None or not default.is_complete
        ):  # a partial trial may be followed by a whole one
            own[trial.configuration.id] = trial
    by_family = {}
    for family, configuration in defaults.items():
        tried = own.get(configuration.id)
        if tried is None:
            by_family[family] = DefaultTrial(None, None, untried.get(family, "it was not tried"))
        elif tried.is_complete:
            by_family[family] = DefaultTrial(tried.id, tried.score)
        else:
            reason = tried.reason or f"its trial is {tried.status.value}"
            by_family[family] = DefaultTrial(tried.id, None, reason)
    return by_family


@dataclass(frozen=True)
class BoostRow:
    """Worst and best default, optimized score and its family on one data set.

    Parameters
    ----------
    name
        Of the data set.
    worst, best : maximized, or None
        Least and greatest score of the families' defaults; None if no default works.
    best_default : family of `best`; empty without one
    score : maximized, or None
        Of the optimized model; None if there is none yet.
    family
        Of the optimized model.
    missing
        Families without a score of their default; they do not count in `worst`.
    worst_default : family of `worst`; empty without one
    n_defaults : families that have a score of their default
    """

    name: str
    worst: float | None
    best: float | None
    best_default: str
    score: float | None
    family: str
    missing: tuple[str, ...] = ()
    worst_default: str = ""
    n_defaults: int = 0

    @property
    def boost(self) -> float | None:
        """(score - best) / best; None if the best default is not above the baseline."""
        if self.score is None or self.best is None or self.best <= 0:
            return None
        return (self.score - self.best) / self.best

    @property
    def is_above(self) -> bool:
        """Whether the optimized score is greater than that of the best default, beyond rounding."""
        if self.score is None:
            return False
        return self.best is None or self.score > self.best + ROUNDING


def boost_row(
    name: str, defaults: Mapping[str, float | None], *, score: float | None, family: str
) -> BoostRow:
    """Row of one data set.

    Parameters
    ----------
    defaults
        Score of each family's default, None if it did not finish or does not work.
    score, family
        Of the optimized model.

    Raises
    ------
    DataError
        If `defaults` names no family.
    """
    if not defaults:
        raise DataError(f"the defaults of {name} must name at least one family")
    scores = {name: value for name, value in defaults.items() if value is not None}
    missing = tuple(name for name, value in defaults.items() if value is None)
    if not scores:
        return BoostRow(name, None, None, "", score, family, missing)
    best, worst = max(scores, key=lambda n: scores[n]), min(scores, key=lambda n: scores[n])
    return BoostRow(
        name, scores[worst], scores[best], best, score, family, missing, worst, len(scores)
    )


def boost_row_of_run(name: str, defaults: Mapping[str, DefaultTrial], champion: Trial) -> BoostRow:
    """Row of one run: its families' defaults beside its champion, all by their search folds.

    Raises
    ------
    DataError
        If `defaults` names no family.
    """
    scores = {family: default.score for family, default in defaults.items()}
    return boost_row(name, scores, score=champion.score, family=champion.configuration.family)
