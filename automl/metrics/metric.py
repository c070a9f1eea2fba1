"""Definition of a metric: one record with one kernel, which computes its values for a batch (B14, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from automl.errors import AutoMLError
from automl.inference.decision import DecisionRule
from automl.metrics.batch import (
    ClassBatch,
    Confusion,
    MetricParameters,
    RowBatch,
    ValueBatch,
    batch_of,
)
from automl.records import FloatArray, Task

Needs = Literal["labels", "probabilities", "values"]
BrierBaseline = Literal["frequencies", "random_labels"]


@dataclass(frozen=True)
class TargetFacts:
    """Input of the baselines: the rows of the whole scoring set, fixed once per run.

    Parameters
    ----------
    constant
        A batch of one, the same for every row: the class frequencies p, or the mean.
    expected
        Counts p pᵀ of labels drawn at random by the class frequencies; None for regression.
    frequencies : (K,) or None
        Class frequencies p.
    brier_baseline
        `frequencies`: probabilities equal to p; `random_labels`: one-hot rows of random labels.
    """

    constant: RowBatch
    expected: Confusion | None = None
    frequencies: FloatArray | None = None
    brier_baseline: BrierBaseline = "frequencies"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric in its natural sign.

    Parameters
    ----------
    name
        Registry key.
    tasks
        Kinds of target that it serves.
    needs
        What its kernel is given: ``labels`` a `Confusion`, ``probabilities`` a `ClassBatch`, ``values`` a
        `ValueBatch` (`automl.metrics.batch`). The labels are those of the problem's decision rule.
    bounds : (least, greatest)
        Range of its values; the better end is that of a perfect prediction.
    is_maximized
        Whether greater values are better.
    kernel
        Its values, (B,), for a batch.
    baseline
        Value of a prediction that knows nothing of the rows; None takes the kernel's for labels drawn at
        random by the class frequencies, for the frequencies as probabilities, or for the mean.
    reads
        Those `MetricParameters` that it depends on. Without ``costs`` or ``positive`` where it reads them it
        is not defined.
    aliases
        Other usual names.
    takes_weights
        Whether rows can have weights; else a row that is drawn twice is scored twice.
    is_slow
        Whether many weightings of several classes take far longer than those of metrics that are means over rows.
    row_losses
        (m, n), non-negative, of a `ValueBatch`: what each row takes from the value, times n, up to a constant.
        For metrics whose rows have no greatest loss, so that a few of them may decide the score
        (`automl.selection.tails`).
    of_reported
        Its value in an index, of all reported metrics and the parameters; None if the reported one is it.
    """

    name: str
    tasks: frozenset[Task]
    needs: Needs
    bounds: tuple[float, float]
    is_maximized: bool
    kernel: Callable[[Any], FloatArray]
    baseline: Callable[[TargetFacts], float] | None = None
    reads: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    takes_weights: bool = True
    is_slow: bool = False
    row_losses: Callable[[ValueBatch], FloatArray] | None = None
    of_reported: Callable[[Mapping[str, float], MetricParameters], float] | None = None

    @property
    def ideal(self) -> float:
        """Value of a perfect prediction."""
        return self.bounds[self.is_maximized]

    def values(self, batch: RowBatch | Confusion) -> FloatArray:
        """(B,) values for a batch of rows; counts are enough for a metric of labels.

        Raises
        ------
        ValueError
            If the kernel raises anything, as one of a user may on rows without some class.
        """
        try:
            if self.needs == "labels" and isinstance(batch, ClassBatch):
                return self.kernel(batch.confusion)
            return self.kernel(batch)
        except (AutoMLError, ValueError):
            raise
        except Exception as error:
            raise ValueError(f"metric {self.name}: {type(error).__name__}: {error}") from error

    def of_many(
        self,
        y: ArrayLike,
        predictions: FloatArray,
        weights: FloatArray | None = None,
        *,
        labels: ArrayLike | None = None,
        parameters: MetricParameters | None = None,
    ) -> FloatArray:
        """Values of many predictions, or of one under many weightings.

        Parameters
        ----------
        y : (n,), codes or values
        predictions : (m, n, K) probabilities, or (m, n) values
        weights : (N, n), non-negative, or None
            Either m or N is 1.
        labels : (m, n), codes
            None takes what the costs among the parameters say, the most probable class without.

        Returns
        -------
        (max(m, N),)

        Raises
        ------
        ValueError
            If a prediction is not finite or the shapes do not fit.
        """
        given = parameters or MetricParameters()
        n_classes = 0 if self.needs == "values" else predictions.shape[-1]
        rule = DecisionRule.given(n_classes, given.costs) if n_classes else None
        rows = (y, predictions, weights, labels)
        return self.values(batch_of(*rows, rule=rule, n_classes=n_classes, parameters=given))

    def baseline_of(self, facts: TargetFacts) -> float:
        """Value of the prediction that knows nothing of the rows."""
        if self.baseline is not None:
            return self.baseline(facts)
        prediction = facts.constant if self.needs != "labels" else facts.expected
        assert prediction is not None
        return float(self.values(prediction)[0])

    def scale(self, baseline: float) -> float:
        """1 / (ideal - baseline); ±1 where the baseline is ideal already (a constant target)."""
        span = self.ideal - baseline
        if span == 0:
            return 1.0 if self.is_maximized else -1.0
        return 1.0 / span

    def __post_init__(self) -> None:
        if not math.isfinite(self.ideal):
            raise ValueError(
                f"metric {self.name}: its better bound must be finite; got {self.ideal}"
            )
