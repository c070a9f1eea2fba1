"""Perceptron with two hidden layers and one L2 weight per layer (L14, section 6.1).

Notation
--------
X : (n, p) inputs;  T : (n, k) targets, one-hot rows or standardized numbers
W1 (p, h1), W2 (h1, h2), W3 (h2, k) : weights;  b1, b2, b3 : offsets
A1 = tanh(X W1 + b1), A2 = tanh(A1 W2 + b2), Z = A2 W3 + b3
w : (n,) row weights with mean one;  l : (3,) L2 weights

The loss is (1/n) [ sum_i w_i loss(z_i, t_i) + 1/2 sum_j l_j ||W_j||^2 ], where loss is the
negative log-likelihood of a softmax over Z, or half the squared error. Offsets are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import ClassWeight, FloatArray, row_weights

Layers = list[tuple[FloatArray, FloatArray]]


class _TwoLayerPerceptron(BaseEstimator):  # type: ignore[misc]
    """Common part of the classifier and the regressor.

    Parameters
    ----------
    hidden_1, hidden_2 : >= 1
        Units of the hidden layers.
    l2_1, l2_2, l2_3 : >= 0
        L2 weight of each layer, against the sum of the rows' losses.
    max_iter : >= 1
        Most steps of L-BFGS.
    tolerance : > 0
        Greatest gradient entry at the end.
    """

    layers_: Layers
    n_features_in_: int
    n_iter_: int

    def __init__(
        self,
        *,
        hidden_1: int = 32,
        hidden_2: int = 16,
        l2_1: float = 3.0,
        l2_2: float = 3.0,
        l2_3: float = 3.0,
        max_iter: int = 200,
        tolerance: float = 1e-4,
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.hidden_1 = hidden_1
        self.hidden_2 = hidden_2
        self.l2_1 = l2_1
        self.l2_2 = l2_2
        self.l2_3 = l2_3
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.class_weight = class_weight
        self.random_state = random_state

    def _minimize(
        self, X: FloatArray, T: FloatArray, w: FloatArray | None, *, classes: bool
    ) -> None:
        w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64) / np.mean(w)
        sizes = (X.shape[1], self.hidden_1, self.hidden_2, T.shape[1])
        l2 = (self.l2_1, self.l2_2, self.l2_3)
        start = glorot_start(sizes, rng=np.random.default_rng(self.random_state))
        result = minimize(
            partial(loss_and_gradient, sizes=sizes, X=X, T=T, w=w, l2=l2, classes=classes),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tolerance, "maxcor": 10},
        )
        if not np.isfinite(result.x).all():
            raise ValueError(
                "the perceptron's weights became infinite; stronger L2 weights may help"
            )
        self.layers_ = unpack(result.x, sizes)
        self.n_iter_ = int(result.nit)
        self.n_features_in_ = X.shape[1]

    def _output(self, X: Any) -> FloatArray:
        check_is_fitted(self, "layers_")
        return forward(self.layers_, np.asarray(X, dtype=np.float64))[-1]


class TwoLayerPerceptronClassifier(ClassifierMixin, _TwoLayerPerceptron):  # type: ignore[misc]
    """Softmax over two tanh layers; parameters as in `_TwoLayerPerceptron`.

    Attributes
    ----------
    classes_ : (n_classes,)
    layers_ : weights and offsets of the three layers
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes (n_rows,)."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        one_hot = np.eye(len(self.classes_))[codes]
        w = row_weights(np.asarray(y), self.class_weight, sample_weight)
        self._minimize(np.asarray(X, dtype=np.float64), one_hot, w, classes=True)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        return np.asarray(softmax(self._output(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class code (n_rows,)."""
        return np.asarray(self.classes_[self._output(X).argmax(axis=1)])


class TwoLayerPerceptronRegressor(RegressorMixin, _TwoLayerPerceptron):  # type: ignore[misc]
    """One linear output over two tanh layers; the target is standardized inside."""

    mean_: float
    scale_: float

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and numbers (n_rows,)."""
        y = np.asarray(y, dtype=np.float64)
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        target = ((y - self.mean_) / self.scale_)[:, None]
        self._minimize(np.asarray(X, dtype=np.float64), target, sample_weight, classes=False)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted number (n_rows,)."""
        return self._output(X)[:, 0] * self.scale_ + self.mean_


def glorot_start(sizes: Sequence[int], *, rng: np.random.Generator) -> FloatArray:
    """Flat start: weights uniform within sqrt(6 / (inputs + outputs)), offsets zero."""
    parts: list[FloatArray] = []
    for inputs, outputs in pairwise(sizes):
        bound = np.sqrt(6.0 / (inputs + outputs))
        parts += [rng.uniform(-bound, bound, inputs * outputs), np.zeros(outputs)]
    return np.concatenate(parts)


def unpack(flat: FloatArray, sizes: Sequence[int]) -> Layers:
    """Views of the flat vector as (weights, offsets) of each layer."""
    layers: Layers = []
    position = 0
    for inputs, outputs in pairwise(sizes):
        end = position + inputs * outputs
        layers.append((flat[position:end].reshape(inputs, outputs), flat[end : end + outputs]))
        position = end + outputs
    return layers


def forward(layers: Layers, X: FloatArray) -> list[FloatArray]:
    """A1, A2 and Z."""
    (W1, b1), (W2, b2), (W3, b3) = layers
    A1 = np.tanh(X @ W1 + b1)
    A2 = np.tanh(A1 @ W2 + b2)
    return [A1, A2, A2 @ W3 + b3]


def loss_and_gradient(
    flat: FloatArray,
    *,
    sizes: Sequence[int],
    X: FloatArray,
    T: FloatArray,
    w: FloatArray,
    l2: Sequence[float],
    classes: bool,
) -> tuple[float, FloatArray]:
    """Loss of the module's docstring and its gradient by backpropagation.

    Parameters
    ----------
    flat : (n_weights,)
        As `glorot_start` orders them.
    sizes : (p, h1, h2, k)
    classes
        Softmax likelihood if true, else half the squared error.
    """
    n = len(X)
    layers = unpack(flat, sizes)
    A1, A2, Z = forward(layers, X)
    if classes:
        log_p = log_softmax(Z, axis=1)
        fit = -float(w @ (T * log_p).sum(axis=1))
        delta = (np.exp(log_p) - T) * (w / n)[:, None]
    else:
        fit = 0.5 * float(w @ ((Z - T) ** 2).sum(axis=1))
        delta = (Z - T) * (w / n)[:, None]
    penalty = sum(
        0.5 * weight * float(np.vdot(W, W)) for weight, (W, _) in zip(l2, layers, strict=True)
    )
    parts: list[FloatArray] = []
    for level, inputs in ((2, A2), (1, A1), (0, X)):
        W = layers[level][0]
        parts = [(inputs.T @ delta + l2[level] / n * W).ravel(), delta.sum(axis=0), *parts]
        if level:
            delta = (delta @ W.T) * (1.0 - inputs**2)
    return (fit + penalty) / n, np.concatenate(parts)
