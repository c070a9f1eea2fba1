"""What optimizing gained over the defaults, a row for each data set (B14, table 5.1; SPEC P4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from automl.errors import DataError
from automl.origins import DEFAULT, FLOOR
from automl.records import Trial

DEFAULT_ORIGINS = (DEFAULT, FLOOR)
BASELINE_FAMILY = "constant"


ROUNDING = 1e-9
"""Scores of one configuration that were summed up in another order may differ by so much."""


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
        Of the optimized model; None where there is none yet.
    family
        Of the optimized model.
    missing
        Families without a score of their default; they do not count in `worst`.
    """

    name: str
    worst: float | None
    best: float | None
    best_default: str
    score: float | None
    family: str
    missing: tuple[str, ...] = ()

    @property
    def boost(self) -> float | None:
        """(score - best) / best; None where the best default is not above the baseline."""
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
        Score of each family's default, None where it did not finish or does not work.
    score, family
        Of the optimized model.

    Raises
    ------
    DataError
        If `defaults` names no family.
    """
    if not defaults:
        raise DataError(f"the defaults of {name} must name at least one family")
    known = {name: value for name, value in defaults.items() if value is not None}
    missing = tuple(name for name, value in defaults.items() if value is None)
    if not known:
        return BoostRow(name, None, None, "", score, family, missing)
    best = max(known, key=lambda name: known[name])
    return BoostRow(name, min(known.values()), known[best], best, score, family, missing)


def default_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials of the families' default configurations; the constant model is none, but the baseline."""
    return [
        trial
        for trial in trials
        if trial.origin in DEFAULT_ORIGINS and trial.configuration.family != BASELINE_FAMILY
    ]


def boost_row_of_run(name: str, trials: Sequence[Trial], champion: str) -> BoostRow:
    """Row of one run: its families' default trials beside its champion, all by their search folds.

    Parameters
    ----------
    trials
        Of the search.
    champion
        Trial id.

    Raises
    ------
    DataError
        If no family's default was tried, or the champion is not among the trials.
    """
    defaults = {
        trial.configuration.family: trial.score if trial.is_complete else None
        for trial in default_trials(trials)
    }
    chosen = next((trial for trial in trials if trial.id == champion), None)
    if chosen is None:
        raise DataError(f"champion {champion} is not among the trials of {name}")
    return boost_row(name, defaults, score=chosen.score, family=chosen.configuration.family)


def boost_table(rows: Sequence[BoostRow]) -> list[dict[str, str]]:
    """Printed cells of table 5.1, in its columns; an empty cell where there is no value."""
    return [
        {
            "data set": row.name,
            "default worst": _score(row.worst),
            "default best": _score(row.best),
            "best default": row.best_default,
            "score": _score(row.score),
            "boost": "" if row.boost is None else f"{row.boost:.2%}",
            "family": row.family,
            "no default score": ", ".join(row.missing),
        }
        for row in rows
    ]


def markdown(cells: Sequence[Mapping[str, str]]) -> str:
    """Cells as a Markdown table; columns in the order of the first row.

    Raises
    ------
    DataError
        If there are no rows.
    """
    if not cells:
        raise DataError("a table needs at least one row")
    columns = list(cells[0])
    lines = [columns, ["---"] * len(columns), *([row[name] for name in columns] for row in cells)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
