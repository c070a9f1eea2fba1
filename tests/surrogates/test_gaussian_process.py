"""The Gaussian process against scikit-learn's, and its shortcuts against the long way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from automl.errors import SettingsError
from automl.surrogates.gaussian_process import GaussianProcess
from automl.surrogates.learning import (
    LENGTH_PRIOR,
    SAMPLED_NOISE_PRIOR,
    SIGNAL_PRIOR,
    learn_hyperparameters,
    sample_hyperparameters,
)
from automl.surrogates.matern import (
    cholesky,
    constant_mean,
    correlation,
    log_marginal_density,
    log_marginal_likelihood,
    squared_distances,
)
from automl.surrogates.posterior import Posterior
from automl.surrogates.process_prior import MaternPrior


def data(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(4 * X[:, 0]) * X[:, 1] + rng.normal(scale=0.05, size=n)
    return X, (y - y.mean()) / y.std()


def theta_of(process):
    return process._posteriors[0].prior.theta


def mean_of(process):
    return process._posteriors[0].mean


def sklearn_kernel(theta):
    lengths, signal, noise = np.exp(theta[:-2]), np.exp(theta[-2]), np.exp(theta[-1])
    return ConstantKernel(signal) * Matern(lengths, nu=2.5) + WhiteKernel(noise)


def thetas(d):
    lengths = st.lists(st.floats(-2.5, 2.0), min_size=d, max_size=d)
    return st.tuples(lengths, st.floats(-2.0, 2.0), st.floats(-7.0, -0.5)).map(
        lambda parts: np.array([*parts[0], parts[1], parts[2]])
    )


@settings(max_examples=25, deadline=None)
@given(thetas(3))
def test_the_likelihood_is_scikit_learns(theta):
    X, y = data(20)
    ours = log_marginal_likelihood(theta, X, y, mean=0.0)
    kernel = sklearn_kernel(theta)
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(X, y)
    order = [1, 2, 3, 0, 4]  # theirs: signal, lengths, noise
    value, gradient = theirs.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert ours.value == pytest.approx(value, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(ours.gradient, gradient[order], rtol=1e-6, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(thetas(2))
def test_the_gradient_holds_with_the_most_likely_mean_too(theta):
    X, y = data(12, d=2)
    numerical = approx_fprime(theta, lambda t: log_marginal_likelihood(t, X, y).value, 1e-6)
    ours = log_marginal_likelihood(theta, X, y).gradient
    np.testing.assert_allclose(ours, numerical, rtol=1e-3, atol=1e-3)


def test_the_constant_mean_maximizes_the_likelihood():
    X, y = data(20)
    theta = np.log([0.5, 0.5, 0.5, 1.0, 0.01])
    best = log_marginal_likelihood(theta, X, y + 3.0).value
    M, _ = correlation(squared_distances(X, X, theta[:3]))
    mean = constant_mean(cholesky(M + 0.01 * np.eye(20), 1.0), y + 3.0)
    for shift in (-0.1, 0.1):
        assert log_marginal_likelihood(theta, X, y + 3.0, mean=mean + shift).value < best


def test_predictions_are_scikit_learns():
    X, y = data(40)
    process = GaussianProcess()
    process.fit(X, y, rng=np.random.default_rng(0))
    kernel = sklearn_kernel(theta_of(process))
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(
        X, y - mean_of(process)
    )
    asked = data(25, seed=1)[0]
    mean, covariance = theirs.predict(asked, return_cov=True)
    noise = np.exp(theta_of(process)[-1])  # theirs is of a new observation, ours of the function
    ours, std = process.predict(asked)
    np.testing.assert_allclose(ours, mean + mean_of(process), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std**2, np.diag(covariance) - noise, rtol=1e-4, atol=1e-8)


@pytest.mark.filterwarnings("ignore:The optimal value found")  # the third column is noise
def test_the_likelihood_found_is_at_least_scikit_learns():
    X, y = data(40)
    found = learn_hyperparameters(X, y, None)
    bounds = [(0.03, 30.0), (0.05, 20.0), (1e-6, 1.0)]
    kernel = ConstantKernel(1.0, bounds[1]) * Matern([1.0] * 3, bounds[0], 2.5) + WhiteKernel(
        0.01, bounds[2]
    )
    theirs = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    ours = log_marginal_likelihood(found, X, y).value
    assert ours >= theirs.log_marginal_likelihood_value_ - 1e-3


def test_priors_keep_length_scales_away_from_the_bounds():
    X, y = data(8, d=12)
    found = np.exp(learn_hyperparameters(X, y, None, has_prior=True)[:12])
    assert np.all((found > 0.3) & (found < 29.0))


def test_the_density_is_the_likelihood():
    X, y = data(20)
    theta = np.log([0.5, 0.4, 2.0, 1.5, 0.01])
    expected = log_marginal_likelihood(theta, X, y).value
    assert log_marginal_density(theta, X, y) == pytest.approx(expected, rel=1e-12)


UNEVEN = np.array([1.0, 5.0] * 10)
"""Noise of twenty observations over the usual one."""


def test_uneven_noise_is_scikit_learns_alpha():
    X, y = data(20)
    theta = np.log([0.5, 0.4, 2.0, 1.5, 0.01])
    kernel = ConstantKernel(1.5) * Matern(np.exp(theta[:3]), nu=2.5)
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.01 * UNEVEN).fit(X, y)
    ours = log_marginal_likelihood(theta, X, y, mean=0.0, noise_scale=UNEVEN)
    assert ours.value == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-8)
    density = log_marginal_density(theta, X, y, UNEVEN)
    assert density == pytest.approx(log_marginal_likelihood(theta, X, y, noise_scale=UNEVEN).value)


def test_the_gradient_holds_with_uneven_noise():
    X, y = data(20)
    theta = np.log([0.5, 0.4, 2.0, 1.5, 0.01])
    found = log_marginal_likelihood(theta, X, y, noise_scale=UNEVEN).gradient
    numerical = approx_fprime(
        theta, lambda t: log_marginal_likelihood(t, X, y, noise_scale=UNEVEN).value, 1e-6
    )
    np.testing.assert_allclose(found, numerical, rtol=1e-3, atol=1e-3)


def test_one_posterior_with_uneven_noise_however_it_grew():
    X, y = data(20)
    prior = MaternPrior(np.log([0.5, 0.4, 2.0, 1.5, 0.01]))
    whole = Posterior.condition(prior, X, y, UNEVEN)
    grown = Posterior.condition(prior, X[:12], y[:12], UNEVEN[:12]).extend(X, y, UNEVEN)
    asked = data(25, seed=1)[0]
    for one, other in zip(whole.predict(asked), grown.predict(asked), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_observations_that_became_less_exact_are_conditioned_on_anew():
    X, y = data(130)
    process, again = GaussianProcess(), GaussianProcess()
    process.fit(X[:129], y[:129], rng=np.random.default_rng(0))
    noise_scale = np.where(np.arange(130) < 20, 30.0, 1.0)
    process.fit_uneven(X, y, noise_scale, rng=np.random.default_rng(0))
    again.fit_uneven(X, y, noise_scale, rng=np.random.default_rng(0))
    np.testing.assert_allclose(process.predict(X)[0], again.predict(X)[0], atol=0.05)


@pytest.mark.parametrize("n", [20, 130])
def test_an_observation_with_more_noise_is_believed_less(n):
    X, y = data(n)
    y = y.copy()
    y[3] += 2.0
    errors = []
    for scale in (1.0, 100.0):
        process = GaussianProcess(n_samples=4 if n == 20 else 0)
        noise_scale = np.where(np.arange(n) == 3, scale, 1.0)
        process.fit_uneven(X, y, noise_scale, rng=np.random.default_rng(0))
        errors.append(abs(float(process.predict(X[[3]])[0][0]) - y[3]))
    assert errors[1] > min(1.5 * errors[0], errors[0] + 0.1)


def test_samples_have_the_moments_of_the_posterior():
    """Against self-normalized importance sampling from the priors."""
    rng = np.random.default_rng(0)
    X = rng.random((8, 1))
    y = np.sin(8 * X[:, 0])
    y = (y - y.mean()) / y.std()
    priors = np.array([LENGTH_PRIOR, SIGNAL_PRIOR, SAMPLED_NOISE_PRIOR])
    drawn = rng.normal(priors[:, 0], priors[:, 1], size=(4000, 3))
    weights = np.exp([log_marginal_density(theta, X, y) for theta in drawn])
    weights /= weights.sum()
    mean = weights @ drawn
    std = np.sqrt(weights @ (drawn - mean) ** 2)
    samples = np.array(sample_hyperparameters(X, y, None, n_samples=1500, rng=rng))
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.25)
    np.testing.assert_allclose(samples.std(axis=0), std, rtol=0.25)


def test_sampled_processes_predict_the_moments_of_their_mixture():
    X, y = data(15)
    process = GaussianProcess(n_samples=5)
    process.fit(X, y, rng=np.random.default_rng(0))
    asked = data(7, seed=1)[0]
    parts = [posterior.predict(asked) for posterior in process._posteriors]
    draws = np.random.default_rng(1).standard_normal((200_000, 1))
    mixed = np.concatenate([mean + np.sqrt(variance) * draws for mean, variance in parts])
    mean, std = process.predict(asked)
    assert len(parts) == 5
    np.testing.assert_allclose(mean, mixed.mean(axis=0), atol=5e-3)
    np.testing.assert_allclose(std, mixed.std(axis=0), rtol=1e-2)


def test_many_observations_are_not_sampled():
    X, y = data(120)
    process = GaussianProcess(n_samples=5)
    for n, expected in ((100, 5), (101, 1), (120, 1)):
        process.fit(X[:n], y[:n], rng=np.random.default_rng(0))
        assert len(process._posteriors) == expected
        assert np.abs(process.predict(X[:n])[0] - y[:n]).mean() < 0.3


def test_observations_added_one_by_one_give_the_same_posterior():
    X, y = data(125)
    process = GaussianProcess()
    for n in (120, 121, 124, 125):  # above 100 observations the hyperparameters stay for a while
        process.fit(X[:n], y[:n], rng=np.random.default_rng(0))
    kernel = sklearn_kernel(theta_of(process))
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(
        X, y - mean_of(process)
    )
    asked = data(10, seed=2)[0]
    np.testing.assert_allclose(
        process.predict(asked)[0], theirs.predict(asked) + mean_of(process), rtol=1e-6, atol=1e-8
    )


def test_belief_is_forgotten_at_the_next_fit():
    X, y = data(20)
    process = GaussianProcess()
    process.fit(X, y, rng=np.random.default_rng(0))
    before = process.predict(X)
    process.believe(data(3, seed=5)[0])
    process.fit(X, y, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(process.predict(X), before)


def test_belief_is_observing_the_mean():
    X, y = data(20)
    process = GaussianProcess()
    process.fit(X, y, rng=np.random.default_rng(0))
    theta, mean = theta_of(process), mean_of(process)
    waiting = data(2, seed=5)[0]
    believed = process.predict(waiting)[0]
    process.believe(waiting)
    kernel = sklearn_kernel(theta)
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0)
    theirs.fit(np.vstack([X, waiting]), np.concatenate([y, believed]) - mean)
    asked = data(10, seed=6)[0]
    expected, covariance = theirs.predict(asked, return_cov=True)
    ours, std = process.predict(asked)
    np.testing.assert_allclose(ours, expected + mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std**2, np.diag(covariance) - np.exp(theta[-1]), atol=1e-7)


def test_many_observations_are_learned_from_a_part_of_them():
    X, y = data(150)
    process = GaussianProcess(n_learned=60)
    process.fit(X[:140], y[:140], rng=np.random.default_rng(0))
    theta = theta_of(process)
    process.fit(X[:141], y[:141], rng=np.random.default_rng(1))
    assert theta_of(process) is theta, "not learned anew for one more observation"
    process.fit(X, y, rng=np.random.default_rng(1))
    assert theta_of(process) is not theta
    assert process.predict(X)[1].max() < 0.6


@pytest.mark.parametrize("options", [{"n_learned": 1}, {"most_steps": 0}, {"n_samples": -1}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        GaussianProcess(**options)


@pytest.mark.parametrize("n_samples", [0, 4])
def test_a_point_that_is_believed_makes_the_others_surer_as_by_conditioning(n_samples):
    X, y = data(30)
    process = GaussianProcess(n_samples=n_samples)
    process.fit(X, y, rng=np.random.default_rng(0))
    points = np.random.default_rng(1).random((12, X.shape[1]))
    joint = process.predict_jointly(points)
    np.testing.assert_allclose(joint.predict(), process.predict(points), atol=1e-7)
    for row in (3, 7, 3):
        joint.believe(row)
        process.believe(points[[row]])
        np.testing.assert_allclose(joint.predict(), process.predict(points), atol=1e-6)
