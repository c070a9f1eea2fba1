"""Differences of fresh rows, as far as a decision about retraining needs them.

Three questions are asked of rows that the champion's run had not seen: have the columns moved, has the
target moved, and does the champion score below what its run expected. Each has a third of `LEVEL`; within the
first one the columns share it by Holm's procedure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from automl.data.findings import listed
from automl.inference.reference import SAMPLED_ROWS, ColumnReference
from automl.metrics.index import PerformanceIndex
from automl.monitoring.drift import Movement
from automl.records import FloatArray, IntArray
from automl.stage_record import StageRecord
from automl.statistics.adjustment import holm
from automl.statistics.block_jackknife import (
    LEAST_BLOCKS,
    BlockComparison,
    contributions,
    scores_without,
    shares_of,
)
from automl.statistics.homogeneity import homogeneity, kolmogorov_smirnov

LEVEL = 0.05
"""Chance that a report of rows like the training rows finds anything moved or lost."""
N_QUESTIONS = 3
"""Columns, target and score, which share `LEVEL` equally."""

TestName = Literal["ks", "bins"]


@dataclass(frozen=True)
class Shift:
    """Shift of one column, or of the target.

    Parameters
    ----------
    index, by_chance : see `automl.monitoring.drift.Movement`
    verdict : ``same``, ``some`` or ``large``, by the index alone
    test
        ``ks``: two-sample test of the values, of which those of the training rows are there; ``bins``:
        chi-squared test of the rows in each bin, for categories and where only the bins are known.
    pvalue : adjusted for the number of columns by Holm
    """

    name: str
    index: float
    by_chance: float
    verdict: str
    test: TestName
    pvalue: float

    @property
    def has_moved(self) -> bool:
        """Whether both the test and the index say so: with many rows a test alone finds what does not matter."""
        return self.pvalue <= LEVEL / N_QUESTIONS and self.verdict != "same"


@dataclass(frozen=True)
class SchemaChange:
    """Changes of the schema that a model cannot follow without being trained again.

    Parameters
    ----------
    missing : columns that the champion needs
    new : columns that its training table lacked
    unreadable : columns whose values are of another kind now
    classes : labels that it does not know
    """

    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """All of it; empty if nothing has changed."""
        kinds = {
            "missing columns": self.missing,
            "new columns": self.new,
            "columns of another kind": self.unreadable,
            "new classes": self.classes,
        }
        return "; ".join(f"{kind}: {listed(names)}" for kind, names in kinds.items() if names)


@dataclass(frozen=True)
class ScoreShift:
    """The champion on the fresh rows beside what its run expected.

    Parameters
    ----------
    score, expected : performance index; 0 is the baseline, 1 is ideal
    standard_error, expected_standard_error
        Of the fresh rows by a jackknife over blocks, and of the expectation.
    pvalue : one-sided; null hypothesis: the score is not below the expectation
    """

    score: float
    standard_error: float
    expected: float
    expected_standard_error: float
    pvalue: float

    @property
    def is_proven(self) -> bool:
        """Whether the score is below the expectation by more than chance."""
        return self.pvalue <= LEVEL / N_QUESTIONS


@dataclass(frozen=True)
class Tried:
    """The newest retraining, where its model did not take the champion's alias.

    Parameters
    ----------
    run_id : of it
    training_rows : that it was trained on
    fresh_rows : rows of the table that it had not seen
    """

    run_id: str
    training_rows: int
    fresh_rows: int

    @property
    def share(self) -> float:
        """Fresh rows, of the rows that it was trained on."""
        return self.fresh_rows / max(self.training_rows, 1)


@dataclass(frozen=True)
class DriftReport(StageRecord):
    """Fresh rows of a table beside a champion.

    Parameters
    ----------
    champion : such as ``beans-label/3``
    run_id : that made it; empty if unknown
    training_rows : that it was trained on
    fresh_rows : that its run had not seen
    columns : empty if the schema does not let the rows be read
    label, score : None if they are not known
    tried : None if nothing was trained since the champion, or its schema is another one
    obstacle : why nothing can be said; empty if it can
    rung, reason : what was decided by it, see `automl.monitoring.ladder`; empty before
    """

    stage: ClassVar[str] = "drift"

    champion: str
    run_id: str = ""
    training_rows: int = 0
    fresh_rows: int = 0
    schema: SchemaChange = SchemaChange()
    columns: tuple[Shift, ...] = ()
    label: Shift | None = None
    score: ScoreShift | None = None
    tried: Tried | None = None
    obstacle: str = ""
    rung: str = ""
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Why."""
        return self.reason

    @property
    def moved(self) -> tuple[Shift, ...]:
        """Columns that have moved, and the target."""
        every = self.columns if self.label is None else (*self.columns, self.label)
        return tuple(shift for shift in every if shift.has_moved)


def shifts(
    movements: Iterable[Movement],
    known: Mapping[str, ColumnReference],
    fresh: Mapping[str, pd.Series],
    training: Mapping[str, pd.Series],
    n_training: int,
) -> tuple[Shift, ...]:
    """Movements with the p-values of their columns, adjusted for their number; the greatest index first.

    Parameters
    ----------
    known, fresh, training
        By the name of the column; of `training` what is there.
    """
    found = [
        _shift(each, known[each.name], fresh[each.name], training.get(each.name), n_training)
        for each in movements
    ]
    adjusted = holm([shift.pvalue for shift in found])
    told = [replace(shift, pvalue=float(p)) for shift, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(told, key=lambda shift: -shift.index))


def _shift(
    moved: Movement,
    known: ColumnReference,
    fresh: pd.Series,
    training: pd.Series | None,
    n_training: int,
) -> Shift:
    test: TestName = "ks" if known.kind == "number" and training is not None else "bins"
    if test == "ks":
        pvalue = _of_values(_numbers(training), _numbers(fresh))
    else:
        values = _numbers(fresh) if known.kind == "number" else fresh
        before = _numbers(known.shares) * min(n_training, SAMPLED_ROWS)
        pvalue = homogeneity(before, _numbers(known.shares_of(values)) * len(fresh))
    return Shift(moved.name, moved.index, moved.by_chance, moved.verdict, test, pvalue)


def _of_values(training: FloatArray, fresh: FloatArray) -> float:
    """p-value of the values that are there, and of how many are missing, the less of both doubled."""
    n_missing = [int(np.isnan(sample).sum()) for sample in (training, fresh)]
    n_seen = [len(training) - n_missing[0], len(fresh) - n_missing[1]]
    of_values = kolmogorov_smirnov(training, fresh)
    if not any(n_missing):
        return of_values
    pairs = zip(n_missing, n_seen, strict=True)
    return min(1.0, 2.0 * min(of_values, homogeneity(*map(list, pairs))))


def _numbers(values: Any) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def score_shift(
    index: PerformanceIndex,
    y: NDArray[Any],
    prediction: NDArray[Any],
    codes: IntArray | None,
    blocks: IntArray,
    *,
    expected: float,
    expected_standard_error: float | None,
    n_training: int,
    weights: FloatArray | None = None,
) -> ScoreShift | None:
    """Score of a model on fresh rows beside its expectation, judged by Student's t of the blocks.

    Parameters
    ----------
    y : (n,); prediction : (n, K) or (n,); codes : (n,) classes it decides on
    blocks : (n,), 0 to the number of blocks - 1; see `automl.statistics.block_jackknife.blocks_of`
    expected_standard_error
        None if the run did not say: that of the fresh rows, times the root of n / n_training.

    Returns
    -------
        None if there are fewer than `LEAST_BLOCKS` blocks, or the score is not defined on some of them.
    """
    n_blocks = int(blocks.max()) + 1
    if n_blocks < LEAST_BLOCKS:
        return None
    scores = scores_without(
        lambda k: index.score(y[k], prediction[k], _of(weights, k), labels=_of(codes, k)), blocks
    )
    shares = shares_of(blocks, weights)
    parts = contributions(scores[0], scores[1:], shares)
    error = float(BlockComparison(parts[None], shares).errors[0])
    if not np.isfinite([*scores, error]).all():
        return None
    if expected_standard_error is None:
        expected_standard_error = error * float(np.sqrt(len(y) / n_training))
    both = max(float(np.hypot(error, expected_standard_error)), np.finfo(float).tiny)
    pvalue = float(stats.t.cdf((scores[0] - expected) / both, n_blocks - 1))
    return ScoreShift(float(scores[0]), error, expected, expected_standard_error, pvalue)


def _of(values: Any, rows: IntArray) -> Any:
    return None if values is None else values[rows]
