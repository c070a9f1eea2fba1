"""Rows on which two models of known truth are compared: what the new one gains on each, in the index's units.

Every kind is a function of a generator, the shape (m, n) of rows, and how much of the old model's error the
new one is without (0: two models of equal truth). The errors of both models share four fifths of their
variance, as those of two models of one problem do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray

SHARED = 0.8
SPREAD = 1.5
"""Of the true logits."""
ERROR = 0.8
"""Of a model's logits, and of its predictions of a number whose noise is 1."""
CONFIDENT, TIMID = 1.45, 0.6245
"""Factors of the true logits whose expected log losses are equal."""
LOG_TWO = float(np.log(2.0))

Shape = tuple[int, int]


def errors(rng: np.random.Generator, shape: Shape, better: float) -> tuple[FloatArray, FloatArray]:
    """Errors of the new and of the old model; the new one's variance is smaller by the share `better`."""
    shared = np.sqrt(SHARED) * rng.standard_normal(shape)
    new, old = (
        ERROR * (shared + np.sqrt(1 - SHARED) * rng.standard_normal(shape)) for _ in range(2)
    )
    return np.sqrt(1 - better) * new, old


def _classes(
    rng: np.random.Generator, shape: Shape, better: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sign of the class, ±1, and both models' logits."""
    logits = SPREAD * rng.standard_normal(shape)
    sign = np.where(rng.random(shape) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)
    new, old = errors(rng, shape, better)
    return sign, logits + new, logits + old


def log_loss(rng: np.random.Generator, shape: Shape, better: float) -> FloatArray:
    """Gain in log loss over ln 2, that of the constant."""
    sign, new, old = _classes(rng, shape, better)
    return np.asarray((np.logaddexp(0, -sign * old) - np.logaddexp(0, -sign * new)) / LOG_TWO)


def accuracy(rng: np.random.Generator, shape: Shape, better: float) -> FloatArray:
    """Gain in accuracy over 1/2, its distance from the constant's to the ideal."""
    sign, new, old = _classes(rng, shape, better)
    return np.asarray(2.0 * ((sign * new > 0) * 1.0 - (sign * old > 0)))


def squared_error(rng: np.random.Generator, shape: Shape, better: float) -> FloatArray:
    """Gain in R², of a target whose noise has heavy tails (Student's t, 4 degrees of freedom)."""
    noise = rng.standard_t(4, shape) / np.sqrt(2.0)
    new, old = errors(rng, shape, better)
    return np.asarray(((noise - old) ** 2 - (noise - new) ** 2) / (1 + SPREAD**2))


def overconfident(rng: np.random.Generator, shape: Shape, better: float) -> FloatArray:
    """Log loss where the new model is too sure and the old one too timid: a difference skewed to the left."""
    logits = SPREAD * rng.standard_normal(shape)
    sign = np.where(rng.random(shape) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)
    sure = CONFIDENT + (1 - CONFIDENT) * better
    gained = np.logaddexp(0, -sign * TIMID * logits) - np.logaddexp(0, -sign * sure * logits)
    return np.asarray(gained / LOG_TWO)


def in_groups(rng: np.random.Generator, shape: Shape, better: float) -> FloatArray:
    """Squared error where ten neighbouring rows are a group, with one error of each model."""
    m, n = shape
    noise = rng.standard_normal(shape)
    own = errors(rng, (m, n // 10), better)
    new, old = (np.repeat(error, 10, axis=1) for error in own)
    return np.asarray(((noise - old) ** 2 - (noise - new) ** 2) / (1 + SPREAD**2))


def in_time(rng: np.random.Generator, shape: Shape, better: float) -> FloatArray:
    """Squared error where each model's error has an autocorrelation of 0.5 from row to row."""
    noise = rng.standard_normal(shape)
    new, old = (_autocorrelated(error, 0.5) for error in errors(rng, shape, better))
    return np.asarray(((noise - old) ** 2 - (noise - new) ** 2) / (1 + SPREAD**2))


def _autocorrelated(values: FloatArray, rho: float) -> FloatArray:
    found = values.copy()
    for place in range(1, values.shape[1]):
        found[:, place] = rho * found[:, place - 1] + np.sqrt(1 - rho**2) * values[:, place]
    return found


@dataclass(frozen=True)
class Kind:
    """A kind of rows, and how long the stretches of rows are that belong together.

    Parameters
    ----------
    unit : rows of a group
    is_ordered : whether rows are in time order
    """

    name: str
    gains: Callable[[np.random.Generator, Shape, float], FloatArray]
    unit: int = 1
    is_ordered: bool = False


KINDS = (
    Kind("log loss", log_loss),
    Kind("accuracy", accuracy),
    Kind("squared error, heavy tails", squared_error),
    Kind("log loss, overconfident", overconfident),
    Kind("squared error in groups of ten", in_groups, unit=10),
    Kind("squared error in time order", in_time, is_ordered=True),
)
