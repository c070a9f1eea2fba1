"""Rows and folds of a run's search and candidates, as many as a time budget can pay for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.data.splits import distinct_rows, make_folds, split_halves
from automl.data.table import Table
from automl.evaluation.plan import StageName, StageRows
from automl.records import IntArray
from automl.run.workers import n_slots
from automl.settings import Settings

WANTED_TRIALS = 12
"""The floors, defaults of some families and a few more; with fewer there is no search (by judgement)."""
LEAST_FOLDS = 3
"""Fewer would be two: one holdout costs half of them, and trains on more rows."""
LIGHTGBM_SECONDS_PER_CELL = 2e-6
"""Seconds of a default LightGBM, by rows times columns of the training part; its order of magnitude decides."""
CLASS_EXPONENT = 0.7
"""Exponent of the number of classes: seconds grow with it, less than in proportion."""


def plan_folds(
    table: Table, settings: Settings, *, slots: int | None = None
) -> dict[StageName, StageRows]:
    """Rows and folds of the search and of the candidates on folds that the search never saw.

    With `data_mode` halves the search runs on S and the candidates on H (B14, section 3.3).
    """
    everything, scheme = np.arange(len(table)), fold_scheme(table, settings, slots=slots)
    searched = range(settings.search_repeats)
    if settings.data_mode == "halves":
        halves = split_halves(
            table.y,
            table.task,
            seed=settings.seed,
            mode=settings.halves,
            share=settings.search_share,
            groups=table.groups,
            time=table.time,
        )
        first = 0 if settings.halves != "all" else settings.search_repeats
        return {
            "search": stage_rows(table, settings, halves.search, scheme, repeats=searched),
            "candidates": stage_rows(
                table,
                settings,
                halves.selection,
                scheme,
                repeats=range(first, first + settings.first_candidate_repeats),
            ),
        }
    n_fresh = most_repeats(scheme, settings)
    fresh = range(settings.search_repeats, settings.search_repeats + n_fresh)
    return {
        "search": stage_rows(table, settings, everything, scheme, repeats=searched),
        "candidates": stage_rows(table, settings, everything, scheme, repeats=fresh),
    }


@dataclass(frozen=True)
class FoldScheme:
    """Number of folds, and whether only the first of them is validated."""

    n_folds: int
    is_holdout: bool

    @property
    def per_repeat(self) -> int:
        """Fits of one repeat."""
        return 1 if self.is_holdout else self.n_folds


def fold_scheme(table: Table, settings: Settings, *, slots: int | None = None) -> FoldScheme:
    """Folds that let a time budget pay for a dozen slow trials.

    One holdout above `holdout_above_rows`. With `adapt_folds` and a time budget, the number of
    folds falls to 3, and then to one holdout, as long as `WANTED_TRIALS` trials of a default
    LightGBM are not expected to fit into the search. The expectation depends on the table's size
    and the slots alone, never on how busy the machine is.

    Parameters
    ----------
    slots
        Trials at a time; by default those of this machine.
    """
    n_rows, n_columns = table.frame.shape
    if settings.holdout_above_rows is not None and n_rows > settings.holdout_above_rows:
        return FoldScheme(settings.folds, is_holdout=True)
    if not settings.adapt_folds or settings.trials is not None or settings.seconds is None:
        return FoldScheme(settings.folds, is_holdout=False)
    outputs = table.n_classes**CLASS_EXPONENT if table.n_classes > 2 else 1.0
    fit_seconds = LIGHTGBM_SECONDS_PER_CELL * n_rows * n_columns * outputs
    slot_seconds = settings.seconds * (1 - settings.reserve) * (slots or n_slots(settings))
    affordable = slot_seconds / (WANTED_TRIALS * fit_seconds * settings.search_repeats)
    if affordable >= settings.folds:
        return FoldScheme(settings.folds, is_holdout=False)
    if affordable >= LEAST_FOLDS:
        return FoldScheme(min(settings.folds, LEAST_FOLDS), is_holdout=False)
    return FoldScheme(settings.folds, is_holdout=True)


def kept_repeats(per_repeat: int, settings: Settings) -> int:
    """Repeats with fresh folds whose predictions are kept: so many that two have ten paired scores.

    Parameters
    ----------
    per_repeat : positive
        Fits of one repeat.
    """
    return max(settings.first_candidate_repeats, -(-10 // per_repeat))


def most_repeats(scheme: FoldScheme, settings: Settings) -> int:
    """Repeats with fresh folds that are dealt out in advance, for candidates that may be cheap.

    No further ones for one holdout, since the table is large then, nor in time order, where
    repeats hold nearly the same rows.
    """
    kept = kept_repeats(scheme.per_repeat, settings)
    if settings.candidate_repeats is not None or scheme.is_holdout or settings.time is not None:
        return kept
    return max(kept, settings.candidate_scores // scheme.per_repeat)


def stage_rows(
    table: Table, settings: Settings, rows: IntArray, scheme: FoldScheme, *, repeats: range
) -> StageRows:
    """Some rows of a table, dealt to folds once for each repeat.

    Raises
    ------
    DataError, SettingsError
        As `automl.data.splits.make_folds`.
    """
    groups = None if table.groups is None else table.groups[rows]
    if len(distinct_rows(rows)) < len(rows) and groups is None:
        groups = np.unique(rows, return_inverse=True)[1]
    folds = [
        make_folds(
            table.y[rows],
            table.task,
            n_folds=scheme.n_folds,
            repeat=repeat,
            seed=settings.seed,
            groups=groups,
            time=None if table.time is None else table.time[rows],
            holdout=scheme.is_holdout,
            target_bins=settings.target_bins or None,
            labels=table.classes,
        )
        for repeat in repeats
    ]
    return StageRows(rows, np.stack(folds).astype(np.int16))
