"""Hyperparameters of the Gaussian process by maximum likelihood, or by the mode under priors."""

from __future__ import annotations

import numpy as np

from automl.records import FloatArray
from automl.surrogates.matern import Likelihood, log_marginal_likelihood

LENGTH_BOUNDS = (0.03, 30.0)
SIGNAL_BOUNDS = (0.05, 20.0)
NOISE_BOUNDS = (1e-6, 1.0)
NOISE_PRIOR = (-4.0, 1.0)
"""Mean and standard deviation of the logarithm of the noise variance under the prior."""


def learn_hyperparameters(
    X: FloatArray,
    y: FloatArray,
    last: FloatArray | None,
    *,
    has_prior: bool = False,
    is_thorough: bool = True,
    most_steps: int = 60,
) -> FloatArray:
    """Theta (d + 2,) of the greatest marginal likelihood found inside the bounds.

    Parameters
    ----------
    X : (n, d)
    y : (n,), standardized
    last : (d + 2,)
        Where the search begins; a fixed start if None.
    has_prior
        Add the logarithm of the priors' density.
    is_thorough
        Begin from the fixed start too.
    most_steps : at least 1
        Steps of L-BFGS from each start.
    """
    from scipy.optimize import minimize

    d = X.shape[1]
    fixed = np.log([*[max(0.5, 0.3 * np.sqrt(d))] * d, 1.0, 1e-2])
    starts = [fixed] if last is None else [last, fixed] if is_thorough else [last]
    bounds = np.log([LENGTH_BOUNDS] * d + [SIGNAL_BOUNDS, NOISE_BOUNDS])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        found = _posterior(theta, X, y) if has_prior else log_marginal_likelihood(theta, X, y)
        return -found.value, -found.gradient

    results = [
        minimize(
            loss,
            np.clip(start, *bounds.T),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": most_steps},
        )
        for start in starts
    ]
    return np.asarray(min(results, key=lambda result: float(result.fun)).x)


def _posterior(theta: FloatArray, X: FloatArray, y: FloatArray) -> Likelihood:
    """Likelihood times priors: ln l ~ N(sqrt(2) + ln(d) / 2, 3), and `NOISE_PRIOR`."""
    found = log_marginal_likelihood(theta, X, y)
    d = X.shape[1]
    means = np.full(d + 2, np.sqrt(2.0) + 0.5 * np.log(d))
    variances = np.full(d + 2, 3.0)
    means[d + 1], variances[d + 1] = NOISE_PRIOR[0], NOISE_PRIOR[1] ** 2
    means[d], variances[d] = theta[d], 1.0
    distance = theta - means
    return Likelihood(
        found.value - 0.5 * float((distance**2 / variances).sum()),
        found.gradient - distance / variances,
    )
