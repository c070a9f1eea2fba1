"""Hyperparameters of the Gaussian process: the most likely ones, or samples of their posterior."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from automl.records import FloatArray
from automl.surrogates.matern import Likelihood, log_marginal_density, log_marginal_likelihood

LENGTH_BOUNDS = (0.03, 30.0)
SIGNAL_BOUNDS = (0.05, 20.0)
NOISE_BOUNDS = (1e-6, 1.0)
NOISE_PRIOR = (-4.0, 1.0)
"""Mean and standard deviation of the logarithm of the noise variance under the prior."""
LENGTH_PRIOR = (-0.5, 1.0)
"""Mean, less ln(d) / 2, and standard deviation of the logarithm of a sampled length scale."""
SIGNAL_PRIOR = (0.0, 1.0)
SAMPLED_NOISE_PRIOR = (-6.0, 2.0)
N_BURNED = 3
"""Samples that are thrown away, twice as many at the first start of the chain."""
N_DIRECTIONS = 5
"""Random directions along which a step of the chain moves one after the other."""
SLICE_WIDTH = 2.0
"""First width of a slice, in logarithms: about two standard deviations of the priors."""
NARROWEST_SLICE = 1e-6
"""A slice that shrank to this is the point itself."""


def learn_hyperparameters(
    X: FloatArray,
    y: FloatArray,
    last: FloatArray | None,
    *,
    noise_scale: FloatArray | float = 1.0,
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
    noise_scale : (n,)
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
        likelihood = log_marginal_likelihood(theta, X, y, noise_scale=noise_scale)
        if has_prior:
            likelihood = _posterior(theta, likelihood)
        return -likelihood.value, -likelihood.gradient

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


def learn_shared(
    data: Sequence[tuple[FloatArray, FloatArray]], n_columns: int, *, most_steps: int = 40
) -> FloatArray:
    """Theta (d + 2,) that is most likely for all data sets together, under the priors of a sample.

    Parameters
    ----------
    data
        X (n, d) and y (n,) of each; without any the result is the priors' means.
    n_columns : d
    most_steps : at least 1
        Steps of L-BFGS.
    """
    from scipy.optimize import minimize

    means, spreads = sample_priors(n_columns)
    bounds = np.log([LENGTH_BOUNDS] * n_columns + [SIGNAL_BOUNDS, NOISE_BOUNDS])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        found = [log_marginal_likelihood(theta, X, y) for X, y in data]
        distance = (theta - means) / spreads
        value = 0.5 * float(distance @ distance) - sum(one.value for one in found)
        return value, distance / spreads - sum(
            (one.gradient for one in found), np.zeros(len(theta))
        )

    options = {"maxiter": most_steps}
    start = np.clip(means, *bounds.T)
    optimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(optimum.x)


def sample_priors(n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations (d + 2,) of the normal priors of a sampled theta."""
    lengths = [(LENGTH_PRIOR[0] + 0.5 * np.log(n_columns), LENGTH_PRIOR[1])] * n_columns
    means, spreads = np.array([*lengths, SIGNAL_PRIOR, SAMPLED_NOISE_PRIOR]).T
    return means, spreads


def _posterior(theta: FloatArray, likelihood: Likelihood) -> Likelihood:
    """Likelihood times priors: ln l ~ N(sqrt(2) + ln(d) / 2, 3), and `NOISE_PRIOR`."""
    d = len(theta) - 2
    means = np.full(d + 2, np.sqrt(2.0) + 0.5 * np.log(d))
    variances = np.full(d + 2, 3.0)
    means[d + 1], variances[d + 1] = NOISE_PRIOR[0], NOISE_PRIOR[1] ** 2
    means[d], variances[d] = theta[d], 1.0
    distance = theta - means
    return Likelihood(
        likelihood.value - 0.5 * float((distance**2 / variances).sum()),
        likelihood.gradient - distance / variances,
    )


def sample_hyperparameters(
    X: FloatArray,
    y: FloatArray,
    last: FloatArray | None,
    *,
    noise_scale: FloatArray | float = 1.0,
    n_samples: int,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Thetas (d + 2,) of the posterior under log-normal priors, by slice sampling.

    The chain moves along random directions and goes on from `last`, or from the priors' means.

    Parameters
    ----------
    X : (n, d)
    y : (n,), standardized
    noise_scale : (n,)
    """
    means, spreads = sample_priors(X.shape[1])

    def log_density(theta: FloatArray) -> float:
        prior = -0.5 * float((((theta - means) / spreads) ** 2).sum())
        return prior + log_marginal_density(theta, X, y, noise_scale)

    n_burned = 2 * N_BURNED if last is None else N_BURNED
    start = means if last is None else last
    return slice_samples(log_density, start, n_burned=n_burned, n_samples=n_samples, rng=rng)


def slice_samples(
    log_density: Callable[[FloatArray], float],
    theta: FloatArray,
    *,
    n_burned: int,
    n_samples: int,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Points of a chain that begins at theta and has this density, without the first ones.

    References
    ----------
    .. [1] Neal (2003), Slice sampling, figures 3 and 5.
    """
    density = log_density(theta)
    samples = []
    for step in range(n_burned + n_samples):
        for _ in range(N_DIRECTIONS):
            theta, density = _slice_step(log_density, theta, density, rng)
        if step >= n_burned:
            samples.append(theta)
    return samples


def _slice_step(
    log_density: Callable[[FloatArray], float],
    theta: FloatArray,
    density: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """Next point of the chain along a random direction, and its log density."""
    direction = rng.standard_normal(len(theta))
    direction /= np.linalg.norm(direction)
    level = density + np.log(rng.random())
    low = -SLICE_WIDTH * rng.random()
    high = low + SLICE_WIDTH
    while high - low > NARROWEST_SLICE:
        distance = rng.uniform(low, high)
        moved = theta + distance * direction
        density_there = log_density(moved)
        if density_there > level:
            return moved, density_there
        low, high = (distance, high) if distance < 0.0 else (low, distance)
    return theta, density
