"""Posterior of the difference of two models on the same folds."""

from __future__ import annotations

from numpy.typing import ArrayLike
from scipy import stats

from automl.statistics.paired import check_ratio
from automl.statistics.results import Posterior, check_blocks, is_constant


def correlated_t_posterior(
    first: ArrayLike, second: ArrayLike, *, test_train_ratio: float, rope: float
) -> Posterior:
    """Bayesian correlated t-test of two models with a region of practical equivalence.

    Under the matching prior (mean and logarithm of the deviation uniform) the posterior of the mean
    difference is Student's t with n - 1 degrees of freedom, around the observed mean, with scale²
    s² (1/n + rho / (1 - rho)), where rho is the correlation of two folds' differences. For rho =
    n_test / (n_test + n_train), rho / (1 - rho) is the ratio of `corrected_t`.

    Parameters
    ----------
    first, second : (n,), n >= 2
        Scores on the same folds.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold.
    rope : non-negative
        Greatest difference that means nothing in practice, in the unit of the scores.

    Returns
    -------
    Posterior
        Of a constant difference all of it lies at that difference.

    Raises
    ------
    ValueError
        If the samples are too small, of different lengths or not finite, or a parameter is negative.

    References
    ----------
    .. [1] Corani and Benavoli (2015), A Bayesian approach for comparing cross-validated algorithms
       on multiple data sets, Machine Learning 100, section 2.
    .. [2] Benavoli, Corani, Demsar and Zaffalon (2017), Time for a change, Journal of Machine
       Learning Research 18, section 3.1.
    """
    blocks = check_blocks([first, second])
    check_ratio(test_train_ratio)
    if not rope >= 0:
        raise ValueError(f"rope must not be negative; got {rope}")
    difference = blocks[0] - blocks[1]
    n, mean = len(difference), float(difference.mean())
    if is_constant(difference):
        return Posterior(float(mean < -rope), float(abs(mean) <= rope), float(mean > rope))
    scale = float(difference.std(ddof=1)) * (1.0 / n + test_train_ratio) ** 0.5
    less = float(stats.t.cdf((-rope - mean) / scale, n - 1))
    greater = float(stats.t.sf((rope - mean) / scale, n - 1))
    return Posterior(less, max(1.0 - less - greater, 0.0), greater)
