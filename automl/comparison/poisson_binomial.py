"""Poisson-binomial test: which method wins on more than half of the data sets (L14, section 6.2).

On data set d the test rows are reweighted repeatedly, as a sample of what other test rows
might have said; p_d is the share of the draws in which method A has the lower risk. Wins on
different data sets are independent, so their number has a Poisson-binomial distribution, and the
test states the probability that A wins on more than half of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.comparison.marks import Mark
from automl.records import FloatArray

Reweighting = Literal["dirichlet", "bootstrap"]
CELLS_AT_ONCE = 2_000_000
"""Weights held at a time, draws x rows: 16 MB."""
SAME = 1e-12
"""Relative difference of risks up to which they are a tie: rounding of the sums."""


@dataclass(frozen=True)
class PoissonBinomialTest:
    """Posterior probability that the first of two methods wins on more than half the data sets.

    Parameters
    ----------
    probability : in [0, 1]
        Pr(A > B) = P(wins > L/2) + ½ P(wins = L/2).
    expected_frequency : in [0, 1]
        Mean of the winning frequency under its posterior.
    n_data_sets : L
    """

    probability: float
    expected_frequency: float
    n_data_sets: int

    @property
    def mark(self) -> Mark:
        """Significant above 0.8, highly significant above 0.9."""
        return Mark.of_probability(self.probability)

    def __str__(self) -> str:
        return (
            f"Poisson-binomial test: {self.n_data_sets} data sets, expected winning frequency "
            f"{self.expected_frequency:.3f}, probability {self.probability:.4g}"
        )


def number_of_wins(probabilities: ArrayLike) -> FloatArray:
    """Distribution of the number of successes of independent, unequal Bernoulli trials.

    Parameters
    ----------
    probabilities : (L,), in [0, 1]

    Returns
    -------
    (L + 1,), sum 1
        Probability of 0, 1, ..., L successes; exact up to rounding, by convolution in O(L²).

    Raises
    ------
    ValueError
        If a probability is outside [0, 1] or NaN.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ValueError("probabilities must be one-dimensional and in [0, 1]")
    distribution = np.ones(1)
    for p in given:
        distribution = np.convolve(distribution, (1.0 - p, p))
    return distribution


def poisson_binomial_test(probabilities: ArrayLike) -> PoissonBinomialTest:
    """Probability that the first method wins on more than half of the data sets.

    Parameters
    ----------
    probabilities : (L,), in [0, 1], L >= 1
        p_d: probability that the first method has the lower risk on data set d, see
        `winning_probabilities`.

    Returns
    -------
    PoissonBinomialTest
        With the methods exchanged (1 - p_d) the probability is 1 minus this one.

    Raises
    ------
    ValueError
        If there is no data set or a probability is outside [0, 1].

    References
    ----------
    .. [1] Lacoste, Laviolette and Marchand (2012), Bayesian comparison of machine learning
       algorithms on single and multiple datasets.
    .. [2] L14, section 6.2.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    wins = number_of_wins(given)
    n = len(wins) - 1
    if not n:
        raise ValueError("the Poisson-binomial test needs at least one data set")
    probability = float(wins[n // 2 + 1 :].sum())
    if n % 2 == 0:
        probability += 0.5 * float(wins[n // 2])
    return PoissonBinomialTest(min(probability, 1.0), float(given.mean()), n)


def row_weights(
    n_rows: int,
    n_draws: int,
    *,
    rng: np.random.Generator,
    reweighting: Reweighting = "dirichlet",
) -> Iterator[FloatArray]:
    """Random weights of the test rows, in portions that fit into memory.

    Parameters
    ----------
    n_rows : n, >= 1
    n_draws : >= 1
        Over all portions.
    reweighting
        `dirichlet`: uniform on the simplex (the Bayesian bootstrap); `bootstrap`: how often a row
        is drawn with replacement.

    Yields
    ------
    (draws of the portion, n), non-negative, each row's sum is n

    Raises
    ------
    ValueError
        If a number is below 1.
    """
    if n_rows < 1 or n_draws < 1:
        raise ValueError(f"rows and draws must be at least 1; got {n_rows} and {n_draws}")
    size = max(1, CELLS_AT_ONCE // n_rows)
    for start in range(0, n_draws, size):
        count = min(size, n_draws - start)
        if reweighting == "bootstrap":
            yield rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=count).astype(float)
        else:
            drawn = rng.standard_exponential((count, n_rows))
            yield drawn * (n_rows / drawn.sum(axis=1, keepdims=True))


def drawn_risks(
    losses: ArrayLike,
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    reweighting: Reweighting = "dirichlet",
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Risks of several methods under the same random weights of the test rows.

    Parameters
    ----------
    losses : (K, n)
        Loss of each method on each test row.
    sample_weight : (n,), non-negative, or None
        Weights that the rows have of their own; the random weights multiply them.

    Returns
    -------
    (n_draws, K), weighted means of the losses

    Raises
    ------
    ValueError
        If the losses are not finite or not (K, n).
    """
    given = np.asarray(losses, dtype=np.float64)
    if given.ndim != 2 or not given.size or not np.isfinite(given).all():
        raise ValueError(f"losses must be (methods, rows) and finite; got shape {given.shape}")
    own = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    risks_of_draws = []
    for drawn in row_weights(given.shape[1], n_draws, rng=rng, reweighting=reweighting):
        weights = drawn * own
        risks_of_draws.append(weights @ given.T / weights.sum(axis=1, keepdims=True))
    return np.concatenate(risks_of_draws)


def drawn_risks_of_scores(
    scores: Callable[[NDArray[Any], NDArray[Any], FloatArray], FloatArray],
    y: NDArray[Any],
    predictions: Sequence[NDArray[Any]],
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    reweighting: Reweighting = "dirichlet",
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """The same for a score that is not a mean over rows, such as F, MCC or AUC.

    Parameters
    ----------
    scores
        Called as ``scores(y, prediction, weights)`` with weights (N, n); gives (N,), maximized.
    y : (n,), codes or values
    predictions : K of (n, classes) or (n,)
    sample_weight : (n,), non-negative, or None
        Weights that the rows have of their own; the random weights multiply them.

    Returns
    -------
    (n_draws, K), negated scores
    """
    own = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    risks_of_draws = [
        np.stack([-scores(y, prediction, portion * own) for prediction in predictions], axis=1)
        for portion in row_weights(len(y), n_draws, rng=rng, reweighting=reweighting)
    ]
    return np.concatenate(risks_of_draws)


def winning_probabilities(drawn: ArrayLike) -> FloatArray:
    """Share of the draws in which one method has a lower risk than another; a tie counts ½.

    Parameters
    ----------
    drawn : (draws, K)
        Risks under the same weights; infinite for a method that failed.

    Returns
    -------
    (K, K), in [0, 1]
        p_d of row against column; with its transpose it adds up to 1.
    """
    risks = np.asarray(drawn, dtype=np.float64).T
    wins = np.empty((len(risks), len(risks)))
    for k, own in enumerate(risks):
        size = np.maximum(abs(own), abs(risks))
        slack = SAME * np.where(np.isfinite(size), size, 0.0)
        is_lower, is_higher = own + slack < risks, risks + slack < own
        wins[k] = (0.5 + 0.5 * (is_lower.astype(float) - is_higher)).mean(axis=1)
    return wins
