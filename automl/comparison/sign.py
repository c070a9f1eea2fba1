"""Sign test of two methods over data sets (L14, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from automl.comparison.marks import Mark
from automl.comparison.ranks import winning_frequency


@dataclass(frozen=True)
class SignTest:
    """Wins and losses of the first of two methods, and the p-value of so uneven a count.

    Parameters
    ----------
    n_wins, n_losses, n_ties
        Data sets; ties are not part of the test.
    pvalue : in [0, 1]
        Two-sided; 1 where there are only ties.
    """

    n_wins: int
    n_losses: int
    n_ties: int
    pvalue: float

    @property
    def mark(self) -> Mark:
        """Significant below 0.1, highly significant below 0.05."""
        return Mark.of_pvalue(self.pvalue)

    def __str__(self) -> str:
        return (
            f"sign test: {self.n_wins} wins, {self.n_losses} losses, {self.n_ties} ties, "
            f"p = {self.pvalue:.4g}"
        )


def sign_test(
    first: ArrayLike, second: ArrayLike, *, data_sets: ArrayLike | None = None
) -> SignTest:
    """Sign test of two methods.

    Null hypothesis: on a data set without a tie either method wins with probability ½. Assumes
    independent data sets; several places of one data set are one vote, that of the majority.

    Parameters
    ----------
    first, second : (P,), infinite for failures
        Risks in the same places.
    data_sets : (P,), or None
        Data set of each place; None: every place is a data set of its own.

    Raises
    ------
    ValueError
        If the risks are not of one length, or not usable.

    References
    ----------
    .. [1] L14, section 6.2; Demsar (2006), section 3.1.3, two-sided.
    """
    wins = winning_frequency(np.stack([first, second]), data_sets=data_sets).wins[0, 1]
    return sign_test_of_wins(wins)


def sign_test_of_wins(wins: ArrayLike) -> SignTest:
    """Sign test from the share of wins in each data set: above ½ a win, below ½ a loss.

    Parameters
    ----------
    wins : (L,), in [0, 1]
    """
    shares = np.asarray(wins, dtype=np.float64)
    n_wins, n_losses = int((shares > 0.5).sum()), int((shares < 0.5).sum())
    return SignTest(n_wins, n_losses, len(shares) - n_wins - n_losses, _pvalue(n_wins, n_losses))


def _pvalue(n_wins: int, n_losses: int) -> float:
    """Two-sided tail of the binomial distribution with success probability ½."""
    larger = max(n_wins, n_losses)
    return min(1.0, 2.0 * float(binom.sf(larger - 1, n_wins + n_losses, 0.5)))
