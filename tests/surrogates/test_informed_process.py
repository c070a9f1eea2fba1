"""A Gaussian process with a prior from earlier data sets: against closed forms and plain processes."""

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from automl.surrogates.earlier_data import Sources
from automl.surrogates.gaussian_process import GaussianProcess
from automl.surrogates.informed_learning import (
    Evidence,
    HyperPrior,
    informed_prior,
    log_density,
    plain_prior,
    probabilities,
    sample,
)
from automl.surrogates.informed_process import InformedProcess
from automl.surrogates.matern import correlation, squared_distances
from automl.surrogates.posterior import Posterior
from automl.surrogates.process_prior import InformedPrior, MaternPrior
from automl.surrogates.score_targets import standard
from automl.surrogates.source_processes import SourceProcesses, informed_rows

D = 2
RESIDUAL = np.log([0.4, 0.8, 0.3, 0.05])
"""Length scales, signal and noise of a residual."""


def valley(X, place):
    return -np.abs(X[:, 0] - place) + 0.3 * X[:, 1]


def sources_of(n_tasks=8, n_each=25, seed=0):
    """Data sets whose best configurations lie side by side."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_tasks * n_each, D))
    task = np.repeat(np.arange(n_tasks), n_each)
    own = [standard(valley(X[task == i], 0.2 + 0.02 * i)) for i in range(n_tasks)]
    return Sources(X, np.concatenate(own), task, np.zeros((n_tasks, 0)), np.zeros(0))


def processes_of(n_tasks=8):
    return SourceProcesses.learn(sources_of(n_tasks), most_rows=100, rng=np.random.default_rng(0))


def told(n, place=0.25, seed=3):
    X = np.random.default_rng(seed).random((n, D))
    return X, standard(valley(X, place))


def informed(n, place=0.25, **options):
    """Fitted to n trials, after the earlier data sets."""
    found = InformedProcess(**options)
    found.learn_from(sources_of())
    found.fit(*told(n, place), rng=np.random.default_rng(1))
    return found


def matern(X, Z):
    M, _ = correlation(squared_distances(X, Z, RESIDUAL[:D]))
    return np.exp(RESIDUAL[D]) * M


def test_means_of_sources_are_those_of_their_own_processes():
    sources, processes = sources_of(3), processes_of(3)
    Z = np.random.default_rng(5).random((7, D))
    own = [sources.task == i for i in range(3)]
    prior = MaternPrior(processes.theta)
    expected = [
        Posterior.condition(prior, sources.X[rows], sources.y[rows]).predict(Z)[0] for rows in own
    ]
    np.testing.assert_allclose(processes.means(Z), np.transpose(expected), atol=1e-8)


def test_what_sources_expect_is_the_mean_of_their_best():
    found = InformedProcess()
    found.learn_from(sources_of(5))
    rng = np.random.default_rng(5)
    Z, waiting = rng.random((7, D)), rng.random((2, D))
    alone = found.expect(Z, waiting[:0], rng=rng)
    means = found._processes.means(np.concatenate([Z, waiting]))
    np.testing.assert_allclose(alone, means[:7].mean(axis=1))
    beside = found.expect(Z, waiting, rng=rng)
    best = [[max(means[i, j], *means[7:, j]) for j in range(5)] for i in range(7)]
    np.testing.assert_allclose(beside, np.mean(best, axis=1))
    with pytest.raises(ValueError, match="nothing is expected"):
        InformedProcess().expect(Z, waiting, rng=rng)


def test_with_one_source_it_is_a_process_with_that_mean():
    processes, scale = processes_of(1), 1.7
    X, y = told(9)
    Z = np.random.default_rng(5).random((6, D))
    rows, asked = (informed_rows(points, processes.means(points)) for points in (X, Z))
    prior = InformedPrior(MaternPrior(RESIDUAL), scale, spread=0.9)
    posterior = Posterior.condition(prior, rows, y)
    K = matern(X, X) + np.exp(RESIDUAL[-1]) * np.eye(9)
    residual = y - scale * processes.means(X)[:, 0]
    ones, inverse = np.ones(9), np.linalg.inv(K)
    constant = ones @ inverse @ residual / (ones @ inverse @ ones)
    k = matern(Z, X)
    mean = scale * processes.means(Z)[:, 0] + constant + k @ inverse @ (residual - constant)
    variance = np.exp(RESIDUAL[D]) - np.einsum("ij,jk,ik->i", k, inverse, k)
    found = posterior.predict(asked)
    np.testing.assert_allclose(found[0], mean, atol=1e-9)
    np.testing.assert_allclose(found[1], variance, atol=1e-9)


def test_the_spread_is_a_linear_model_of_how_sources_differ():
    processes = processes_of(4)
    X, _ = told(6)
    means = processes.means(X)
    rows = informed_rows(X, means)
    prior = InformedPrior(MaternPrior(RESIDUAL), scale=2.0, spread=0.5)
    np.testing.assert_allclose(prior.mean(rows), 2.0 * means.mean(axis=1))
    covariance = matern(X, X) + 0.25 * np.cov(means, bias=True)
    np.testing.assert_allclose(prior.covariance(rows, rows), covariance)
    np.testing.assert_allclose(prior.variance(rows), np.diag(covariance))


def test_the_evidence_is_that_of_a_normal_with_a_vague_constant():
    rng = np.random.default_rng(0)
    A, y, noise, vague = rng.normal(size=(6, 6)), rng.normal(size=6), 0.1, 1e7
    K = A @ A.T
    known = multivariate_normal(np.zeros(6), K + noise * np.eye(6) + vague).logpdf(y)
    expected = known + 0.5 * np.log(2.0 * np.pi * vague)
    assert log_density(K, noise, y) == pytest.approx(expected, abs=1e-5)
    assert log_density(K[:1, :1], noise, y[:1]) == pytest.approx(0.0)


def test_evidence_of_both_models_is_of_the_priors_that_predict():
    processes = processes_of(4)
    X, y = told(8)
    rows = informed_rows(X, processes.means(X))
    theta = np.array([*RESIDUAL[:D], 0.2, np.log(0.05), 0.4, -0.3, -1.0])
    found = Evidence.of(rows, y, D).log_likelihoods(theta)
    for value, prior, points in zip(
        found, (plain_prior(theta), informed_prior(theta)), (X, rows), strict=True
    ):
        K = prior.covariance(points, points)
        assert value == pytest.approx(log_density(K, prior.noise, y - prior.mean(points)))


def test_evidence_counts_the_noise_of_each_trial():
    processes = processes_of(4)
    X, y = told(8)
    rows = informed_rows(X, processes.means(X))
    theta = np.array([*RESIDUAL[:D], 0.2, np.log(0.05), 0.4, -0.3, -1.0])
    scale = np.linspace(1.0, 5.0, 8)
    found = Evidence.of(rows, y, D, scale).log_likelihoods(theta)
    for value, prior, points in zip(
        found, (plain_prior(theta), informed_prior(theta)), (X, rows), strict=True
    ):
        K = prior.covariance(points, points) + 0.05 * np.diag(scale)
        assert value == pytest.approx(log_density(K, 0.0, y - prior.mean(points)))


@pytest.mark.parametrize("n", [12, 40])
def test_a_trial_with_more_noise_is_believed_less(n):
    X, y = told(n)
    y[3] += 2.0
    errors = []
    for scale in (1.0, 100.0):
        noise_scale = np.where(np.arange(n) == 3, scale, 1.0)
        process = InformedProcess(n_learned=30)
        process.learn_from(sources_of())
        process.fit_uneven(X, y, noise_scale, rng=np.random.default_rng(1))
        errors.append(abs(float(process.predict(X[[3]])[0][0]) - y[3]))
    assert errors[1] > min(1.5 * errors[0], errors[0] + 0.1)


def test_probabilities_are_by_bayes_rule_however_small_the_likelihoods():
    np.testing.assert_allclose(probabilities(np.log([0.2, 0.6])), [0.25, 0.75])
    np.testing.assert_allclose(
        probabilities(np.array([-9000.0, -9000.0 + np.log(3)])), [0.25, 0.75]
    )


def test_samples_follow_the_prior_where_there_is_no_evidence():
    """One trial says nothing where the constant is unknown."""
    prior = HyperPrior(np.linspace(-1.0, 1.0, D + 5), np.linspace(0.5, 1.0, D + 5))
    evidence = Evidence.of(np.array([[0.5, 0.5, 0.1, 0.0]]), np.zeros(1), D)
    drawn = sample(evidence, prior, None, n_samples=3000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(np.mean(drawn, axis=0), prior.means, atol=0.25)
    np.testing.assert_allclose(np.std(drawn, axis=0), prior.spreads, rtol=0.2)


def test_sources_are_trusted_as_far_as_the_trials_bear_them_out():
    assert informed(1).trust == pytest.approx(0.5)
    assert informed(12).trust > 0.9
    against = InformedProcess()
    against.learn_from(sources_of())
    X, _ = told(30)
    against.fit(X, standard(np.sin(9.0 * X[:, 1])), rng=np.random.default_rng(1))
    assert against.trust < 0.1


def test_misleading_sources_cost_little():
    """Once the trials speak against them, it predicts as well as a process that knows nothing else."""
    Z = np.random.default_rng(9).random((200, D))
    truth = np.sin(9.0 * Z[:, 1])
    X, _ = told(30)
    errors = []
    for process in (InformedProcess(), GaussianProcess(n_samples=8)):
        if isinstance(process, InformedProcess):
            process.learn_from(sources_of())
        process.fit(X, np.sin(9.0 * X[:, 1]), rng=np.random.default_rng(1))
        errors.append(np.sqrt(np.mean((process.predict(Z)[0] - truth) ** 2)))
    assert errors[0] < errors[1] + 0.05


def test_without_sources_it_is_the_plain_process():
    X, y = told(20)
    Z = np.random.default_rng(5).random((6, D))
    ours, plain = InformedProcess(), GaussianProcess(n_samples=8)
    ours.learn_from(Sources.none(D))
    for process in (ours, plain):
        process.fit(X, y, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(ours.predict(Z), plain.predict(Z))
    assert ours.trust == 0.0


def test_gradients_are_those_of_the_predictions():
    process = informed(10)
    asked, step = np.random.default_rng(3).random((5, D)), 1e-6
    mean, std, by_mean, by_std = process.predict_with_gradient(asked)
    np.testing.assert_allclose((mean, std), process.predict(asked), rtol=1e-8)
    for column in range(D):
        shift = np.eye(D)[column] * step
        above, below = (np.array(process.predict(asked + s)) for s in (shift, -shift))
        slopes = (above - below) / (2 * step)
        np.testing.assert_allclose(by_mean[:, column], slopes[0], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(by_std[:, column], slopes[1], rtol=1e-3, atol=1e-3)


def test_slopes_by_informed_rows_become_slopes_by_configurations():
    processes = processes_of(4)
    X = np.random.default_rng(3).random((5, D))
    weights = np.random.default_rng(4).normal(size=D + 5)
    found = processes.at(X).by_configuration(np.tile(weights, (5, 1)))
    step = 1e-6
    for column in range(D):
        shift = np.eye(D)[column] * step
        above, below = (
            informed_rows(X + s, processes.means(X + s)) @ weights for s in (shift, -shift)
        )
        np.testing.assert_allclose(found[:, column], (above - below) / (2 * step), atol=1e-4)


def test_joint_predictions_are_those_of_single_points_and_believe_alike():
    process = informed(10)
    Z = np.random.default_rng(4).random((7, D))
    joint = process.predict_jointly(Z)
    np.testing.assert_allclose(joint.predict(), process.predict(Z), rtol=1e-6, atol=1e-6)
    joint.believe(2)
    process.believe(Z[[2]])
    np.testing.assert_allclose(joint.predict(), process.predict(Z), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 4])
def test_sources_of_few_trials_are_taken(n):
    process = InformedProcess()
    process.learn_from(sources_of(n_tasks=2, n_each=n))
    process.fit(*told(5), rng=np.random.default_rng(1))
    assert np.all(np.isfinite(process.predict(told(9)[0])))


def test_what_is_kept_of_points_changes_no_prediction(monkeypatch):
    Z = np.random.default_rng(4).random((40, D))
    expected = informed(6).predict(Z)
    monkeypatch.setattr("automl.surrogates.informed_process.MOST_KEPT", 8)
    process = informed(6)
    process.predict(Z[::-1])
    np.testing.assert_allclose(process.predict(Z), expected, rtol=1e-9)


def test_a_pickled_one_goes_on_alike():
    process = informed(6)
    copy = pickle.loads(pickle.dumps(process))
    found = []
    for one in (process, copy):
        one.fit(*told(8), rng=np.random.default_rng(2))
        found.append(one.predict(told(5, seed=8)[0]))
    np.testing.assert_array_equal(*found)
