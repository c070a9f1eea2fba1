"""Whether the numbers of a table are counted, decided by LightGBM before the search."""

from __future__ import annotations

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
from automl.inference.prediction import raw_prediction
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
    "prep.value_counts": True,
}
_Part = tuple[pd.DataFrame, IntArray]
"""Preprocessed rows, and their positions in the table."""


@dataclass(frozen=True)
class CountsVerdict:
    """Whether numbers are counted, and how that was found.

    Parameters
    ----------
    is_counted
    columns : names of the columns that are counted
    scores : (n_folds, 2) of performance indices, without and with counts; empty where nothing was tried
    error : why the check could not be made; empty if it could
    """

    is_counted: bool
    columns: tuple[str, ...] = ()
    scores: tuple[tuple[float, float], ...] = ()
    error: str = ""

    @property
    def notes(self) -> list[str]:
        """What a run says of it; nothing where numbers are not counted by the check, or counted by request."""
        if self.error:
            return [
                f"setting value_counts: numbers are not counted, since the check failed: {self.error}"
            ]
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
    rng = stream(settings.seed, Purpose.VALUE_COUNTS)
    rows = _sample(table, distinct_rows(search.rows), MOST_ROWS, rng)
    columns = _repeating(table, rows)
    if not columns:
        return CountsVerdict(is_counted=False)
    scores: list[tuple[float, float]] = []
    try:
        for without, counted in _Check(table, settings, index, rows).scores():
            scores.append((without, counted))
            if not counted > without:
                return CountsVerdict(False, columns, tuple(scores))
    except Exception as error:  # noqa: BLE001 - the metric may be a user's
        return CountsVerdict(False, columns, error=f"{type(error).__name__}: {error}")
    return CountsVerdict(len(scores) == N_FOLDS, columns, tuple(scores))


def _is_affordable(table: Table, settings: Settings) -> bool:
    seconds = settings.seconds
    return (
        settings.takes_part(DECIDER)
        and table.frame.shape[1] <= MOST_COLUMNS
        and table.n_classes <= MOST_CLASSES
        and (seconds is None or seconds >= LEAST_SECONDS)
    )


def _sample(table: Table, rows: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """At most so many of some rows, every class in proportion."""
    if len(rows) <= most:
        return rows
    y = table.y[rows] if table.n_classes else None
    return rows[share_of_rows(len(rows), most / len(rows), y=y, rng=rng)]


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
            yield self._compare(self.rows[training], self.rows[validation], fold)

    def _compare(self, training: IntArray, validation: IntArray, fold: int) -> tuple[float, float]:
        """Score without and with counts, which are those of all training rows."""
        table, seed = self.table, integer_seed(self.settings.seed, Purpose.VALUE_COUNTS, fold)
        preprocessor = build_preprocessor(PREPROCESSING, seed=seed)
        matrix = pd.DataFrame(
            preprocessor.fit_transform(table.frame.iloc[training], table.y[training])
        )
        judged = pd.DataFrame(preprocessor.transform(table.frame.iloc[validation]))
        rng = stream(self.settings.seed, Purpose.VALUE_COUNTS, fold)
        learned = _sample(table, training, MOST_LEARNED, rng)
        known = matrix.iloc[np.searchsorted(training, learned)]
        plain = matrix.columns.delete(preprocessor.count_positions)
        without, counted = (
            self._score((known[columns], learned), (judged[columns], validation), seed)
            for columns in (plain, matrix.columns)
        )
        return without, counted

    def _score(self, learned: _Part, judged: _Part, seed: int) -> float:
        table, rounds = self.table, _rounds(self.table.n_classes)
        estimator = _kind(table)(
            n_estimators=rounds,
            num_leaves=N_LEAVES,
            random_state=seed,
            n_jobs=self.settings.threads,
        )
        matrix, rows = learned
        with fitting_within(Allowance(most_rounds=rounds)):
            estimator.fit(matrix, table.y[rows], sample_weight=_weights(table, rows))
        matrix, rows = judged
        prediction = raw_prediction(estimator, matrix, table.n_classes or None)
        return self.index.learned_score(table.y[rows], prediction, _weights(table, rows))


def _kind(table: Table) -> Any:
    from automl.estimators.boosting import LightGBMClassifier, LightGBMRegressor

    return LightGBMClassifier if table.n_classes else LightGBMRegressor


def _weights(table: Table, rows: IntArray) -> FloatArray | None:
    return None if table.weights is None else table.weights[rows]


def _rounds(n_classes: int) -> int:
    return MOST_ROUNDS if n_classes <= 2 else max(LEAST_ROUNDS, N_TREES // n_classes)
