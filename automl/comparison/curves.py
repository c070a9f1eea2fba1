"""Curves of methods over trials: ranks, hyperparameter ranks, distance to the best known.

Scores here are risks, which are minimized; for scores that are maximized negate
them. A curve is over trials, or over any other grid that all methods share, such as seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from automl.comparison.ranks import check_risks, data_set_codes, method_ranks
from automl.records import FloatArray, IntArray


@dataclass(frozen=True)
class Bands:
    """Curves of K methods over T steps with what surrounds them.

    Parameters
    ----------
    mean : (K, T)
        Mean over data sets.
    low, high : (K, T)
        95 % interval of the mean by the bootstrap over data sets: how sure the mean is.
    quartiles : (2, K, T)
        First and third quartile over places: how different data sets are.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    quartiles: FloatArray


def best_so_far(risks: ArrayLike) -> FloatArray:
    """Lowest risk up to each step, along the last axis; failures are infinite."""
    return np.asarray(np.minimum.accumulate(np.asarray(risks, dtype=np.float64), axis=-1))


def rank_curves(risks: ArrayLike) -> FloatArray:
    """Ranks of the methods by the best that each has found so far.

    Parameters
    ----------
    risks : (K, P, T)
        Of each trial, or of the best so far; infinite for failures.

    Returns
    -------
    (K, P, T), in [1, K], average ranks at ties; `bands` averages them over data sets

    Raises
    ------
    ValueError
        As `check_risks`.

    References
    ----------
    .. [1] S15, section 4.3, average rank, and figure 3.
    """
    return method_ranks(best_so_far(check_risks(risks, n_dimensions=3)))


def hyperparameter_ranks(chosen: ArrayLike, tested: Sequence[ArrayLike]) -> FloatArray:
    """Ranks of the configurations that methods chose, among all tested on the same data.

    Parameters
    ----------
    chosen : (K, P, T)
        Risk of the configuration that a method holds for its best at each step.
    tested : P of (n_p,)
        Risks of all configurations that were tested in each place, by whichever method, the chosen
        ones among them; infinite for failures.

    Returns
    -------
    (K, P, T), in [1, n_p]
        Average rank of the equal ones; a risk between two tested ones ranks between them.

    Raises
    ------
    ValueError
        If there is not one set of tested configurations for each place, or as `check_risks`.

    References
    ----------
    .. [1] S15, section 4.3, average hyperparameter rank, and figures 2 and 4.
    """
    given = check_risks(chosen, n_dimensions=3)
    if len(tested) != given.shape[1]:
        raise ValueError(
            f"there must be tested risks for each of {given.shape[1]} places; got {len(tested)}"
        )
    ranks = np.empty_like(given)
    for place, risks in enumerate(tested):
        ordered = np.sort(check_risks(risks, n_dimensions=1))
        below = np.searchsorted(ordered, given[:, place], side="left")
        up_to = np.searchsorted(ordered, given[:, place], side="right")
        ranks[:, place] = (below + up_to + 1) / 2
    return ranks


def against_best(
    risks: ArrayLike, best: ArrayLike, *, reference: ArrayLike | None = None
) -> FloatArray:
    """Distance from the best known, absolute or as a share of the way there.

    Parameters
    ----------
    risks : (K, P, T)
        Of the best so far; finite.
    best : (P,)
        Lowest risk that is known of each place.
    reference : (P,), above `best`, or None
        Risk that counts as no progress at all, such as the baseline's.

    Returns
    -------
    (K, P, T)
        Without `reference` the risk minus the best one: 0 is the best known. With it
        (reference - risk) / (reference - best): 1 is the best known, 0 is the reference.

    Raises
    ------
    ValueError
        If a risk is not finite or a reference is not above the best.

    References
    ----------
    .. [1] H18, figures 5.4 and 5.8.
    """
    given = check_risks(risks, n_dimensions=3)
    lowest = np.asarray(best, dtype=np.float64)[np.newaxis, :, np.newaxis]
    if not (np.isfinite(given).all() and np.isfinite(lowest).all()):
        raise ValueError("risks and the best known must be finite")
    if reference is None:
        return np.asarray(given - lowest)
    start = np.asarray(reference, dtype=np.float64)[np.newaxis, :, np.newaxis]
    if not (start > lowest).all():
        raise ValueError("the reference must be above the best known risk in every place")
    return np.asarray((start - given) / (start - lowest))


def bands(
    values: ArrayLike,
    data_sets: ArrayLike,
    *,
    rng: np.random.Generator,
    n_resamples: int = 2000,
) -> Bands:
    """Mean curves with their 95 % intervals and quartiles.

    Parameters
    ----------
    values : (K, P, T), finite
    data_sets : (P,)
        Data set of each place. Every place counts the same; places of one data set are drawn
        together.

    Raises
    ------
    ValueError
        If a value is not finite or the shapes do not fit.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 3 or not np.isfinite(given).all():
        raise ValueError(f"values must be (methods, places, steps) and finite; got {given.shape}")
    weights = _drawn_weights(data_set_codes(data_sets, given.shape[1]), n_resamples, rng)
    drawn = np.einsum("bp,kpt->bkt", weights, given, optimize=True)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    quartiles = np.quantile(given, [0.25, 0.75], axis=1)
    return Bands(given.mean(axis=1), low, high, quartiles)


def _drawn_weights(codes: IntArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Weights of the places (resamples, P), sum 1, when data sets are drawn with replacement."""
    n = int(codes.max()) + 1
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)[:, codes].astype(float)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))
