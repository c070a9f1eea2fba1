"""Whether the numbers of a table are counted, decided by LightGBM before the search."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from automl.data.splits import distinct_rows, fold_rows, share_of_rows
from automl.data.table import Table
from automl.errors import DataError, SettingsError
from automl.estimators.allowance import Allowance, fitting_within
from automl.evaluation.plan import StageRows
from automl.inference.model import FittedPipeline
from automl.listing import first_few
from automl.metrics.index import PerformanceIndex
from automl.preprocessing import ValueCounts, build_preprocessor
from automl.preprocessing.blocks import numbers_of
from automl.randomness import Purpose, integer_seed, stream
from automl.records import FloatArray, IntArray, JsonScalar
from automl.run.fold_plan import FoldScheme, stage_rows
from automl.settings import Settings

DECIDER = "lightgbm"
"""Family that decides: trees alone use such columns well, and it is the fastest of them."""
N_FOLDS = 5
"""Counts must be better in each. By chance all five are better once in 32 tables; with three, once in eight."""
MOST_ROWS = 100_000
"""Rows of which some are learned from; more make the decision slower and hardly another one (by judgement)."""
MOST_LEARNED = 10_000
"""Training rows of a fit, whose counts are those of all training rows; see ``benchmarks/columns``."""
MOST_COLUMNS, MOST_CLASSES = 100, 10
"""Beyond these the fits take longer than the search can spare (by judgement)."""
LEAST_SECONDS = 30.0
"""Of a time budget: the fits take a second or two."""
MOST_NAMED = 3
"""Columns that the note names; the others follow from them (by judgement)."""
N_LEAVES = 15
"""Of a tree: half of LightGBM's default, since 10,000 rows have enough of them (by judgement)."""
N_TREES, LEAST_ROUNDS, MOST_ROUNDS = 200, 20, 100
"""Rounds of a fit: so many that it has about `N_TREES` trees, within these limits; see ``benchmarks/columns``."""
PREPROCESSING: Mapping[str, JsonScalar] = {
    "prep.encoder": "native",
    "prep.numeric_imputer": "none",
    "prep.text": "none",
}


@dataclass(frozen=True)
class CountsVerdict:
    """Whether numbers are counted, and how that was found.

    Parameters
    ----------
    is_counted
    columns : names of the columns that are counted
    scores : (n_folds, 2) of performance indices, without and with counts; empty where nothing was tried
    """

    is_counted: bool
    columns: tuple[str, ...] = ()
    scores: tuple[tuple[float, float], ...] = ()

    @property
    def notes(self) -> list[str]:
        """What a run says of it; nothing where numbers are not counted, or by request."""
        if not self.is_counted or not self.scores:
            return []
        without, counted = np.mean(self.scores, axis=0)
        named = first_few(self.columns, MOST_NAMED)
        what = f"how many rows have the same number is a further column for each of {named}"
        told = f"the score of LightGBM is {counted:.4g} with these, {without:.4g} without"
        return [f"{what}: {told}; better in all {len(self.scores)} folds (setting value_counts)"]


def decide_counts(
    table: Table, settings: Settings, search: StageRows, index: PerformanceIndex
) -> CountsVerdict:
    """Whether the pipelines of a run see how many training rows have a number.

    With the setting ``auto`` they do if a LightGBM of fixed size scores better with these columns in each of
    `N_FOLDS` folds of the rows that the search may look at. The first fold in which it does not ends the check.

    Parameters
    ----------
    search : rows of the search
    """
    if settings.value_counts != "auto":
        return CountsVerdict(settings.value_counts == "always")
    if not _is_affordable(table, settings):
        return CountsVerdict(is_counted=False)
    rows = _some(table, distinct_rows(search.rows), settings.seed)
    columns = _repeating(table, rows)
    if not columns:
        return CountsVerdict(is_counted=False)
    scores: list[tuple[float, float]] = []
    with contextlib.suppress(Exception):  # what a metric of a user raises is told by the trials
        for pair in _Check(table, settings, index, rows).scores():
            scores.append(pair)
            if not pair[1] > pair[0]:
                break
    is_better = len(scores) == N_FOLDS and scores[-1][1] > scores[-1][0]
    return CountsVerdict(is_better, columns, tuple(scores))


def _is_affordable(table: Table, settings: Settings) -> bool:
    seconds = settings.seconds
    return (
        settings.takes_part(DECIDER)
        and table.frame.shape[1] <= MOST_COLUMNS
        and table.n_classes <= MOST_CLASSES
        and (seconds is None or seconds >= LEAST_SECONDS)
    )


def _some(table: Table, rows: IntArray, seed: int) -> IntArray:
    if len(rows) <= MOST_ROWS:
        return rows
    y = table.y[rows] if table.n_classes else None
    rng = stream(seed, Purpose.VALUE_COUNTS)
    return rows[share_of_rows(len(rows), MOST_ROWS / len(rows), y=y, rng=rng)]


def _repeating(table: Table, rows: IntArray) -> tuple[str, ...]:
    numbers = table.frame.select_dtypes(["number"])
    is_counted = ValueCounts().fit_block(numbers_of(numbers.iloc[rows])).is_counted_
    return tuple(str(name) for name in numbers.columns[is_counted])


@dataclass(frozen=True)
class _Check:
    """LightGBM on some rows of a table, without counts and with them."""

    table: Table
    settings: Settings
    index: PerformanceIndex
    rows: IntArray

    def scores(self) -> Iterator[tuple[float, float]]:
        """Performance index without and with counts, fold by fold; nothing where there are too few rows for folds."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the run's own folds tell what is odd
                stage = stage_rows(
                    self.table,
                    self.settings,
                    self.rows,
                    FoldScheme(N_FOLDS, is_holdout=False),
                    repeats=range(1),
                )
        except (DataError, SettingsError):
            return
        is_time = self.table.time is not None
        for _, fold in stage.jobs:
            training, validation = fold_rows(stage.folds[0], fold, time=is_time)
            parts = self.rows[training], self.rows[validation]
            yield self._score(*parts, fold, False), self._score(*parts, fold, True)

    def _score(
        self, training: IntArray, validation: IntArray, fold: int, value_counts: bool
    ) -> float:
        table, seed = self.table, integer_seed(self.settings.seed, Purpose.VALUE_COUNTS, fold)
        choices = {**PREPROCESSING, "prep.value_counts": value_counts}
        preprocessor = build_preprocessor(choices, seed=seed)
        matrix = preprocessor.fit_transform(table.frame.iloc[training], table.y[training])
        assert isinstance(matrix, pd.DataFrame)
        some = self._learned(training, fold)
        rounds = _rounds(table.n_classes)
        estimator = _kind(table)(
            n_estimators=rounds,
            num_leaves=N_LEAVES,
            random_state=seed,
            n_jobs=self.settings.threads,
        )
        with fitting_within(Allowance(most_rounds=rounds)):
            estimator.fit(
                matrix.iloc[some],
                table.y[training[some]],
                sample_weight=_weights(table, training[some]),
            )
        prediction = FittedPipeline(preprocessor, estimator).predict(
            table.frame.iloc[validation], table.n_classes or None
        )
        weights = _weights(table, validation)
        return self.index.learned_score(table.y[validation], prediction, weights)

    def _learned(self, training: IntArray, fold: int) -> IntArray:
        """Positions within the training rows."""
        y = self.table.y[training] if self.table.n_classes else None
        rng = stream(self.settings.seed, Purpose.VALUE_COUNTS, fold)
        share = min(1.0, MOST_LEARNED / len(training))
        return share_of_rows(len(training), share, y=y, rng=rng)


def _kind(table: Table) -> Any:
    from automl.estimators.boosting import LightGBMClassifier, LightGBMRegressor

    return LightGBMClassifier if table.n_classes else LightGBMRegressor


def _weights(table: Table, rows: IntArray) -> FloatArray | None:
    return None if table.weights is None else table.weights[rows]


def _rounds(n_classes: int) -> int:
    return MOST_ROUNDS if n_classes <= 2 else max(LEAST_ROUNDS, N_TREES // n_classes)
