"""What metrics look at: true values, predictions and weights of one set of rows.

Outcomes compute what several metrics share (the labels, the confusion counts, the errors) once.
Symbols: ``n`` rows, ``K`` classes.
"""

from __future__ import annotations

import numpy as np

from automl.records import FloatArray, IntArray


class ClassificationOutcome:
    """Codes and probabilities of one set of rows.

    Parameters
    ----------
    y : (n,), codes in [0, K)
    probability : (n, K), or (m, n, K) for what is computed row by row
        Rows sum to one; one-hot rows where a model has no probabilities.
    weight : (n,) or None
        Sample weights.
    error_weights : (K, K) or None
        Factor of each count, [true, predicted]; ones on the diagonal (`costs.error_weights`).
    beta : positive
        Relative importance of the recall in F-beta.
    positive : code or None
        Class of `f_beta_positive`.
    costs : (K, K) or None
        Misclassification costs as the user gave them.
    threshold : in [0, 1]
        Two classes only: class 1 is predicted where its probability is greater.
    """

    __slots__ = (
        "_counts",
        "_labels",
        "beta",
        "costs",
        "error_weights",
        "positive",
        "probability",
        "threshold",
        "weight",
        "y",
    )

    def __init__(
        self,
        y: IntArray,
        probability: FloatArray,
        weight: FloatArray | None = None,
        *,
        error_weights: FloatArray | None = None,
        beta: float = 1.0,
        positive: int | None = None,
        costs: FloatArray | None = None,
        threshold: float = 0.5,
    ) -> None:
        self.y = y
        self.probability = probability
        self.weight = weight
        self.error_weights = error_weights
        self.beta = beta
        self.positive = positive
        self.costs = costs
        self.threshold = threshold
        self._labels: IntArray | None = None
        self._counts: FloatArray | None = None

    @classmethod
    def of_counts(
        cls,
        raw_counts: FloatArray,
        *,
        error_weights: FloatArray | None = None,
        beta: float = 1.0,
        positive: int | None = None,
        costs: FloatArray | None = None,
    ) -> ClassificationOutcome:
        """Outcome without rows for metrics that read the counts, (K, K), alone."""
        outcome = cls(
            np.empty(0, dtype=np.int32),
            np.empty((0, len(raw_counts)), dtype=np.float32),
            error_weights=error_weights,
            beta=beta,
            positive=positive,
            costs=costs,
        )
        outcome._counts = raw_counts
        return outcome

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return int(self.probability.shape[-1])

    @property
    def labels(self) -> IntArray:
        """(n,) predicted codes: the most probable class, the first one at ties."""
        if self._labels is None:
            if self.n_classes == 2:
                above = self.probability[:, 1] > (
                    self.probability[:, 0] if self.threshold == 0.5 else self.threshold
                )
                self._labels = above.view(np.int8)
            else:
                self._labels = self.probability.argmax(axis=1)
        return self._labels

    @property
    def raw_counts(self) -> FloatArray:
        """(K, K) weighted numbers of rows, [true, predicted], without misclassification costs."""
        if self._counts is None:
            n_classes = self.n_classes
            cells = self.y * n_classes + self.labels
            counts = np.bincount(cells, weights=self.weight, minlength=n_classes**2)
            self._counts = counts.reshape(n_classes, n_classes).astype(np.float64)
        return self._counts

    @property
    def counts(self) -> FloatArray:
        """(K, K) confusion counts, errors multiplied by their costs (SPEC B4)."""
        raw = self.raw_counts
        return raw if self.error_weights is None else raw * self.error_weights

    def mean(self, values: FloatArray) -> float:
        """Weighted mean over the rows of `values`, (n,)."""
        return weighted_mean(values, self.weight)


class RegressionOutcome:
    """Values and predictions of one set of rows.

    Parameters
    ----------
    y, prediction : (n,)
        Predictions also (m, n) for what is computed row by row.
    weight : (n,) or None
        Sample weights.
    variance : non-negative or None
        Denominator of R²; None takes the variance of these very rows, as scikit-learn does.
    """

    __slots__ = ("_mean_squared_error", "error", "prediction", "variance", "weight", "y")

    def __init__(
        self,
        y: FloatArray,
        prediction: FloatArray,
        weight: FloatArray | None = None,
        *,
        variance: float | None = None,
    ) -> None:
        self.y = y
        self.prediction = prediction
        self.error = np.subtract(y, prediction, dtype=np.float64)
        self.weight = weight
        self.variance = variance
        self._mean_squared_error: float | None = None

    @property
    def mean_squared_error(self) -> float:
        """Mean of the squared errors."""
        if self._mean_squared_error is None:
            self._mean_squared_error = self.mean(self.error * self.error)
        return self._mean_squared_error

    def mean(self, values: FloatArray) -> float:
        """Weighted mean over the rows of `values`, (n,)."""
        return weighted_mean(values, self.weight)


Outcome = ClassificationOutcome | RegressionOutcome


def weighted_mean(values: FloatArray, weight: FloatArray | None) -> float:
    """Mean of `values`, (n,), weighted by `weight`, (n,) or None; accumulated in 64 bits."""
    if weight is None:
        return float(values.mean(dtype=np.float64))
    return float(np.dot(values.astype(np.float64), weight) / weight.sum(dtype=np.float64))
