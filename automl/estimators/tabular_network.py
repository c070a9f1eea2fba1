"""A neural network for tables after RealMLP, with several seeds trained side by side as one batch of matrices.

Notation
--------
E : members, which differ by their seed alone;  n, p : rows and columns of X
q : columns with more than two values, embedded by m waves each into d numbers
h : units of a hidden layer;  k : outputs, one for each class, or one
W (E, inputs, outputs) : weights, used as X W / sqrt(inputs) (neural tangent parametrization)

Columns are scaled by median and quartiles and clipped smoothly. A number x enters the first layer as itself and as
``cos(2 pi (x f + g)) V``, with learned frequencies f and phases g. Adam trains with a learning rate of four cosine cycles.

References
----------
.. [1] Holzmueller, Grinsztajn and Steinwart (2024), "Better by default: strong pre-tuned MLPs and boosted trees on
   tabular data", arXiv 2407.04491, section 3 and appendix A.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import ClassWeight, FloatArray, row_weights

Float32 = NDArray[np.float32]
Parameters = dict[str, Float32]

WAVES = 16
"""m, as published."""
EMBEDDED = 3
"""d, as published: four numbers of a column with the number itself."""
RATES = {"scale": 6.0, "b": 0.1, "frequency": 0.1, "phase": 0.1}
"""Learning rates of some parameters relative to the others, as published."""
BETA_1, BETA_2, EPSILON = 0.9, 0.95, 1e-8
"""Of Adam, as published."""
CYCLES = 4
"""Of the learning rate, as published."""
FARTHEST = 1e6
"""Scaled units: what is farther is bent to the same number, and its square must be a number of 32 bits."""
CLIP_SCALE = 3.0
"""Where the smooth clipping ends, in scaled units, as published."""
TURN = np.float32(2.0 * np.pi)
BYTE_VALUES = 256
"""Of the byte that decides whether a unit is dropped: bytes are drawn four times as fast as numbers."""
ROWS_OF_A_FORECAST = 4096
"""Rows that are predicted at once; bounds the memory."""


def scaling(X: FloatArray) -> tuple[Float32, Float32]:
    """Center and factor (p,) of each column: median and quartiles, or the range where the quartiles are equal."""
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    spread, width = high - low, X.max(axis=0) - X.min(axis=0)
    by_range = np.divide(2.0, width, out=np.zeros_like(width), where=width > 0)
    factor = np.divide(1.0, spread, out=by_range, where=spread > 0)
    return middle.astype(np.float32), factor.astype(np.float32)


def smoothly_clipped(X: FloatArray, center: Float32, factor: Float32) -> Float32:
    """Scaled columns, bent into (-CLIP_SCALE, CLIP_SCALE)."""
    with np.errstate(over="ignore"):
        scaled = np.clip((X - center) * factor, -FARTHEST, FARTHEST).astype(np.float32)
    return np.asarray(scaled / np.sqrt(1.0 + (scaled / CLIP_SCALE) ** 2), dtype=np.float32)


def cycles(progress: float) -> float:
    """Factor in [0, 1] of the learning rate; `progress` in [0, 1] is the share of the steps that are done ([1], coslog4)."""
    return float(0.5 * (1.0 - np.cos(2.0 * np.pi * np.log2(1.0 + (2**CYCLES - 1) * progress))))


def late_decay(progress: float) -> float:
    """Factor in [0, 1] of dropout and weight decay: one in the first half, then a cosine to zero ([1], flat_cos)."""
    return float(0.5 * (1.0 + np.cos(np.pi * max(0.0, 2.0 * progress - 1.0))))


@dataclass
class Passed:
    """What one pass through the network leaves for its gradient."""

    waves: Float32
    angles: Float32
    features: Float32
    inputs: list[Float32]
    slopes: list[Float32]
    output: NDArray[Any]


class Network:
    """Weights of all members, the pass forward and the gradient.

    Parameters
    ----------
    embedded : (q,)
        Columns with an embedding.
    hidden : units of each hidden layer
    """

    def __init__(
        self,
        n_columns: int,
        embedded: NDArray[np.intp],
        hidden: list[int],
        n_outputs: int,
        *,
        members: int,
        frequency: float,
        rng: np.random.Generator,
    ) -> None:
        self.embedded = embedded
        self.n_layers = len(hidden) + 1
        q = len(embedded)

        def normal(*shape: int, deviation: float = 1.0) -> Float32:
            return np.asarray(rng.normal(0.0, deviation, (members, *shape)), dtype=np.float32)

        width = n_columns + q * EMBEDDED
        self.parameters: Parameters = {
            "scale": np.ones((members, 1, width), dtype=np.float32),
            "frequency": normal(q, 1, WAVES, deviation=frequency),
            "phase": np.asarray(rng.uniform(-0.5, 0.5, (members, q, 1, WAVES)), dtype=np.float32),
            "V": normal(q, WAVES, EMBEDDED, deviation=WAVES**-0.5),
        }
        sizes = [width, *hidden, n_outputs]
        for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
            is_last = layer == self.n_layers - 1
            self.parameters[f"W{layer}"] = normal(inputs, outputs)
            self.parameters[f"b{layer}"] = normal(1, outputs, deviation=0.0 if is_last else 1.0)

    def forward(
        self, X: Float32, *, dropout: float = 0.0, rng: np.random.Generator | None = None
    ) -> Passed:
        """Output (E, n, k) for scaled columns X (E or 1, n, p)."""
        p = self.parameters
        numbers = np.swapaxes(X[..., self.embedded], -1, -2)[..., None]
        angles = numbers * (TURN * p["frequency"])
        angles += TURN * p["phase"]
        waves = np.cos(angles)
        embedded = np.moveaxis(waves @ p["V"], 1, 2)
        members, n_rows = len(p["scale"]), X.shape[1]
        whole = np.broadcast_to(X, (members, *X.shape[1:]))
        features = np.concatenate([whole, embedded.reshape(members, n_rows, -1)], axis=2)
        passed = Passed(waves, angles, features, [], [], np.empty(0, np.float32))
        signal = features * p["scale"]
        for layer in range(self.n_layers):
            passed.inputs.append(signal)
            W = p[f"W{layer}"]
            signal = signal @ (W * np.float32(W.shape[1] ** -0.5))
            signal += p[f"b{layer}"]
            if layer < self.n_layers - 1:
                signal, slope = swish(signal)
                if dropout and rng is not None:
                    kept = kept_units(signal.shape, dropout, rng)
                    signal, slope = signal * kept, slope * kept
                passed.slopes.append(slope)
        passed.output = signal
        return passed

    def gradient(self, X: Float32, passed: Passed, delta: NDArray[Any]) -> Parameters:
        """Gradient by all parameters, given that by the output, `delta` (E, n, k)."""
        p, found = self.parameters, {}
        ones = np.ones((1, delta.shape[1]), dtype=delta.dtype)  # products sum faster than sums
        for layer in reversed(range(self.n_layers)):
            W = p[f"W{layer}"]
            found[f"b{layer}"] = ones @ delta
            scale = np.float32(W.shape[1] ** -0.5)
            found[f"W{layer}"] = np.swapaxes(passed.inputs[layer], 1, 2) @ delta * scale
            delta = delta @ np.swapaxes(W * scale, 1, 2)
            if layer:
                delta *= passed.slopes[layer - 1]
        found["scale"] = (delta * passed.features).sum(axis=1, keepdims=True)
        return found | self._embedding_gradient(X, passed, delta * p["scale"])

    def _embedding_gradient(self, X: Float32, passed: Passed, delta: Float32) -> Parameters:
        p, q = self.parameters, len(self.embedded)
        members, n_rows, _ = delta.shape
        outer = delta[..., X.shape[-1] :].reshape(members, n_rows, q, EMBEDDED)
        outer = np.moveaxis(outer, 2, 1)
        numbers = np.swapaxes(X[..., self.embedded], -1, -2)[..., None]
        inner = np.sin(passed.angles)
        inner *= outer @ (-TURN * np.swapaxes(p["V"], 2, 3))
        return {
            "V": np.swapaxes(passed.waves, 2, 3) @ outer,
            "frequency": np.swapaxes(numbers, 2, 3) @ inner,
            "phase": np.ones((1, n_rows), dtype=inner.dtype) @ inner,
        }


def kept_units(shape: tuple[int, ...], dropout: float, rng: np.random.Generator) -> Float32:
    """Zero for a dropped unit, else the factor that keeps the mean; `dropout` is rounded to 1 / 256."""
    drawn = np.frombuffer(rng.bytes(math.prod(shape)), dtype=np.uint8).reshape(shape)
    n_dropped = round(BYTE_VALUES * dropout)
    return (drawn >= n_dropped).astype(np.float32) * np.float32(
        BYTE_VALUES / (BYTE_VALUES - n_dropped)
    )


def swish(Z: Float32) -> tuple[Float32, Float32]:
    """``z sigmoid(z)`` and its slope."""
    half = Z.dtype.type(0.5)
    gate = np.tanh(half * Z)  # the logistic function is a scaled tanh, which NumPy vectorizes
    gate *= half
    gate += half
    value = Z * gate
    slope = Z - value
    slope += 1
    slope *= gate
    return value, slope


class Adam:
    """Adam with decoupled weight decay of the weights W."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._square = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._n_steps = 0

    def step(self, gradient: Parameters, rate: float, decay: float) -> None:
        """Move all parameters."""
        self._n_steps += 1
        bias_1, bias_2 = 1.0 - BETA_1**self._n_steps, 1.0 - BETA_2**self._n_steps
        for name, weights in self.parameters.items():
            mean, square, slope = self._mean[name], self._square[name], gradient[name]
            mean += np.float32(1.0 - BETA_1) * (slope - mean)
            square += np.float32(1.0 - BETA_2) * (slope**2 - square)
            own = rate * RATES.get(name.rstrip("0123456789"), 1.0)
            kept = 1.0 - own * decay if name.startswith("W") else 1.0
            deviation = np.sqrt(square * np.float32(1.0 / bias_2)) + np.float32(EPSILON)
            moved = np.float32(own / bias_1) * mean / deviation
            self.parameters[name] = weights * np.float32(kept) - moved


class _TabularNetwork(BaseEstimator):  # type: ignore[misc]
    """Common part of the classifier and the regressor.

    Parameters
    ----------
    width, depth
        Units of a hidden layer, and hidden layers.
    members
        Networks whose outputs are averaged.
    epochs
        Passes over the rows.
    learning_rate
        Highest rate of the weights W.
    dropout, weight_decay : >= 0
        Until the second half of the training, in which both go to zero.
    embedding
        ``waves`` of the columns with more than two values, or ``none``.
    frequency : > 0
        Standard deviation of the frequencies of the waves at the start.
    batch_size : rows

    Notes
    -----
    O(epochs * n_rows * members * width**2) time.
    """

    parameters_: Parameters
    center_: Float32
    factor_: Float32
    embedded_: NDArray[np.intp]

    def __init__(
        self,
        *,
        width: int = 128,
        depth: int = 3,
        members: int = 1,
        epochs: int = 64,
        learning_rate: float = 0.02,
        dropout: float = 0.4,
        weight_decay: float = 0.02,
        embedding: str = "waves",
        frequency: float = 0.1,
        batch_size: int = 256,
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.width = width
        self.depth = depth
        self.members = members
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.embedding = embedding
        self.frequency = frequency
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.random_state = random_state

    def _train(self, X: FloatArray, T: Float32, w: FloatArray | None, *, classes: bool) -> None:
        """Fit to one-hot rows or standardized numbers T (n, k) with row weights w (n,)."""
        X = np.asarray(X, dtype=np.float64)
        self.center_, self.factor_ = scaling(X)
        ready = smoothly_clipped(X, self.center_, self.factor_)
        self.embedded_ = self._embedded(X)
        weights = np.ones(len(X)) if w is None else np.asarray(w) / np.mean(w)
        rng = np.random.default_rng(self.random_state)
        network = self._network(X.shape[1], T.shape[1], rng)
        adam = Adam(network.parameters)
        for progress, rows in self._batches(len(X), rng):
            batch = ready[rows]
            late = late_decay(progress)
            passed = network.forward(batch, dropout=self.dropout * late, rng=rng)
            fitted = softmax(passed.output, axis=2) if classes else passed.output
            scale = (weights[rows] / rows.shape[1]).astype(np.float32)[..., None]
            gradient = network.gradient(batch, passed, (fitted - T[rows]) * scale)
            adam.step(gradient, self.learning_rate * cycles(progress), self.weight_decay * late)
        self.parameters_ = network.parameters
        if not all(np.isfinite(value).all() for value in self.parameters_.values()):
            raise ValueError(
                "the network's weights became infinite; a lower learning_rate may help"
            )

    def _embedded(self, X: FloatArray) -> NDArray[np.intp]:
        if self.embedding == "none":
            return np.empty(0, dtype=np.intp)
        ordered = np.sort(X, axis=0)
        return np.flatnonzero((np.diff(ordered, axis=0) > 0).sum(axis=0) > 1)

    def _network(self, n_columns: int, n_outputs: int, rng: np.random.Generator) -> Network:
        return Network(
            n_columns,
            self.embedded_,
            [self.width] * self.depth,
            n_outputs,
            members=self.members,
            frequency=self.frequency,
            rng=rng,
        )

    def _batches(
        self, n_rows: int, rng: np.random.Generator
    ) -> Iterator[tuple[float, NDArray[np.intp]]]:
        """Share of the steps that are done, and rows (members, batch); each member has an order of its own."""
        size = min(self.batch_size, n_rows)
        n_batches = n_rows // size
        for epoch in range(self.epochs):
            order = rng.permuted(np.tile(np.arange(n_rows), (self.members, 1)), axis=1)
            for batch in range(n_batches):
                done = (epoch + batch / n_batches) / self.epochs
                yield done, order[:, batch * size : (batch + 1) * size]

    def _output(self, X: Any) -> Iterator[Float32]:
        """Outputs (members, rows, k) of the rows, `ROWS_OF_A_FORECAST` at a time."""
        check_is_fitted(self, "parameters_")
        network = object.__new__(Network)
        network.parameters, network.embedded = self.parameters_, self.embedded_
        network.n_layers = self.depth + 1
        X = np.asarray(X, dtype=np.float64)
        for first in range(0, len(X), ROWS_OF_A_FORECAST):
            part = X[first : first + ROWS_OF_A_FORECAST]
            yield network.forward(smoothly_clipped(part, self.center_, self.factor_)[None]).output


class TabularNetworkClassifier(ClassifierMixin, _TabularNetwork):  # type: ignore[misc]
    """Mean probability of the members; parameters as in `_TabularNetwork`.

    Attributes
    ----------
    classes_ : (n_classes,)
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes (n_rows,)."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        one_hot = np.eye(len(self.classes_), dtype=np.float32)[codes]
        self._train(
            X, one_hot, row_weights(np.asarray(y), self.class_weight, sample_weight), classes=True
        )
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        parts = [softmax(part.astype(np.float64), axis=2).mean(axis=0) for part in self._output(X)]
        return np.concatenate(parts)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class code (n_rows,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class TabularNetworkRegressor(RegressorMixin, _TabularNetwork):  # type: ignore[misc]
    """Mean number of the members, within the range of the training target."""

    mean_: float
    scale_: float
    range_: tuple[float, float]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and numbers (n_rows,)."""
        y = np.asarray(y, dtype=np.float64)
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        self.range_ = (float(y.min()), float(y.max()))
        target = ((y - self.mean_) / self.scale_).astype(np.float32)[:, None]
        self._train(X, target, sample_weight, classes=False)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted number (n_rows,)."""
        parts = [part.astype(np.float64).mean(axis=0)[:, 0] for part in self._output(X)]
        return np.clip(np.concatenate(parts) * self.scale_ + self.mean_, *self.range_)
