"""Laplace's approximation: how sure a network is of a prediction, from its curvature.

Notation
--------
P : parameters; g : (P,) derivative of a prediction by the parameters
alpha : precision of the prior of the parameters; beta : of the noise
A = beta H + alpha I : precision of the parameters' posterior, with H = Σ g g' over the rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from automl.records import FloatArray
from automl.surrogates.batches import Examples
from automl.surrogates.network import Groups, backward, forward
from automl.surrogates.network_parameters import Shape, by_member, repeated, views

ROWS = 16
"""Rows whose derivatives are taken in one pass, each by a copy of the network."""
BLOCK = 256
"""Rows that enter the inverse at a time."""


def row_gradients(theta: FloatArray, shape: Shape, examples: Examples) -> Iterator[FloatArray]:
    """(b, P) derivatives of the predictions of the next b rows, b at most `ROWS`.

    Parameters
    ----------
    theta : (P,)
        Of a single network.
    """
    for begin in range(0, len(examples.X), ROWS):
        rows = slice(begin, begin + ROWS)
        task = examples.task[rows]
        groups = Groups(examples.X[rows, None], task, examples.meta[task])
        n = len(task)
        copies = repeated(theta, shape, n)
        parts = views(copies, shape, n)
        own = np.eye(n, dtype=theta.dtype)
        gradients = backward(parts, groups, shape, forward(parts, groups, shape), own)
        yield by_member(gradients, shape, n)


def add_outer_products(inverse: FloatArray, gradients: FloatArray, beta: float) -> FloatArray:
    """Inverse (P, P) of a matrix and beta Σ g g' more, given its inverse; O(P**2 b).

    Parameters
    ----------
    inverse : (P, P), symmetric
    gradients : (b, P)
        With b = 1 this is the formula of Sherman and Morrison, with more that of Woodbury.

    References
    ----------
    .. [1] Schilling et al. (2015), section 3.4. Each outer product must be multiplied by beta;
       as printed, the recursion gives the inverse of H + alpha I.
    """
    half = gradients @ inverse
    inner = half @ gradients.T
    inner[np.diag_indices_from(inner)] += 1.0 / beta
    return np.asarray(inverse - half.T @ np.linalg.solve(inner, half))


def posterior_covariance(
    gradients: Iterable[FloatArray], n_parameters: int, *, alpha: float, beta: float
) -> FloatArray:
    """A^-1 (P, P) from the derivatives of all rows; begins with I / alpha.

    Parameters
    ----------
    gradients : of (b, P)
    alpha, beta : positive
    """
    inverse: FloatArray = np.eye(n_parameters) / alpha
    waiting: list[FloatArray] = []
    for part in gradients:
        waiting.append(part)
        if len(waiting) * ROWS >= BLOCK:
            inverse = add_outer_products(inverse, np.concatenate(waiting), beta)
            waiting = []
    return add_outer_products(inverse, np.concatenate(waiting), beta) if waiting else inverse


def predictive_variance(inverse: FloatArray, gradients: FloatArray, beta: float) -> FloatArray:
    """1 / beta + g' A^-1 g, (m,), for the derivatives (m, P) of m predictions.

    References
    ----------
    .. [1] Schilling et al. (2015), equation 14.
    """
    inside = np.einsum("mp,mp->m", gradients @ inverse, gradients)
    return np.asarray(1.0 / beta + np.maximum(inside, 0.0))
