"""What is expected of known configurations: against scikit-learn's Gaussian process, and on plain cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

from automl.recommendation import score_model as module
from automl.recommendation.configuration_portfolio import KnownScores
from automl.recommendation.nearest_data_sets import similarities
from automl.recommendation.score_model import NOISE, ScoreModel
from automl.records import Configuration
from automl.surrogates.scale import Scale

seeds = st.integers(0, 2**32 - 1)


def known(scores, weights=None):
    t, m = np.shape(scores)
    weights = np.full(t, 1.0 / t) if weights is None else np.asarray(weights)
    names = tuple(Configuration("a", {"x": j}) for j in range(m))
    found = np.asarray(scores, dtype=float)
    return KnownScores(names, found, np.ones((t, m)), weights, tuple(map(str, range(t))))


def drawn(seed, t=7, m=9):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(t, m))
    scores[rng.random((t, m)) < 0.2] = np.nan
    return known(scores)


class Known(Kernel):
    """Covariance of positions that a model has."""

    def __init__(self, covariance=None):
        self.covariance = covariance

    def __call__(self, X, Y=None, eval_gradient=False):
        columns = X if Y is None else Y
        return self.covariance[np.ix_(X[:, 0].astype(int), columns[:, 0].astype(int))]

    def diag(self, X):
        return np.diag(self.covariance)[X[:, 0].astype(int)]

    def is_stationary(self):
        return False


@given(seeds, st.integers(1, 6))
def test_the_posterior_is_that_of_a_gaussian_process(seed, n):
    model = ScoreModel.of(drawn(seed))
    m = len(model.mean)
    seen = np.random.default_rng(seed).permutation(m)[:n]
    scores = np.random.default_rng(seed + 1).normal(size=n)
    common = model.scale(list(seen), scores).to_common(scores)
    mean, deviation = model.posterior(list(seen), common)
    covariance = model.roots.T @ model.roots + model.own * np.eye(m)
    process = GaussianProcessRegressor(Known(covariance), alpha=NOISE, optimizer=None)
    process.fit(seen[:, np.newaxis], common - model.mean[seen])
    expected, spread = process.predict(np.arange(m)[:, np.newaxis], return_std=True)
    np.testing.assert_allclose(mean, model.mean + expected, atol=1e-8)
    np.testing.assert_allclose(deviation, spread, atol=1e-6)


@given(seeds)
def test_what_is_pending_lessens_the_deviations_alone(seed):
    model = ScoreModel.of(drawn(seed))
    scores = np.array([0.3, 0.1])
    mean, deviation = model.posterior([0, 1], scores)
    same, less = model.posterior([0, 1], scores, pending=[2, 3])
    np.testing.assert_array_equal(mean, same)
    assert (less <= deviation + 1e-12).all()
    assert (less[2:4] < deviation[2:4]).all()


@given(seeds, st.floats(0.1, 50.0), st.floats(-10.0, 10.0))
def test_units_of_the_scores_do_not_matter(seed, factor, shift):
    table = drawn(seed)
    other = known(factor * table.scores + shift)
    if np.nanmin(np.nanmax(table.scores, axis=1) - np.nanmedian(table.scores, axis=1)) < 0.2:
        return  # distances below the least are not stretched
    scores = np.array([0.3, 0.1, 0.7])
    model, same = ScoreModel.of(table), ScoreModel.of(other)
    np.testing.assert_allclose(model.mean, same.mean, atol=1e-6)
    np.testing.assert_allclose(
        model.scale([0, 1, 2], scores).to_common(scores),
        same.scale([0, 1, 2], factor * scores + shift).to_common(factor * scores + shift),
        atol=1e-6,
    )


def test_a_good_score_speaks_for_what_is_good_on_the_same_data_sets():
    like = [[1.0, 0.9, 0.0, 0.1, 0.5], [0.0, 0.1, 1.0, 0.9, 0.5]] * 5
    model = ScoreModel.of(known(like))
    mean, _ = model.posterior([0, 2], np.array([0.8, 0.2]))
    assert mean[1] > mean[4] > mean[3]
    mean, _ = model.posterior([0, 2], np.array([0.2, 0.8]))
    assert mean[3] > mean[4] > mean[1]


def test_a_failure_says_nothing_of_the_scale():
    model = ScoreModel.of(drawn(0))
    scores = np.array([0.3, np.nan, 0.1])
    assert model.scale([0, 4, 1], scores) == model.scale([0, 1], scores[[0, 2]])
    assert model.scale([4], scores[1:2]) == Scale(0.0, 1.0)


def test_data_sets_without_weight_are_as_unknown():
    scores = [[1.0, 0.2, 0.0], [0.0, 0.1, 1.0], [1.0, 0.3, 0.0]]
    found = ScoreModel.of(known(scores, [0.5, 0.0, 0.5]))
    assert found.mean[0] > 0.0 > found.mean[2]
    assert not found.roots[1].any()


def test_what_few_data_sets_know_is_expected_to_be_like_the_median():
    scores = np.full((10, 3), np.nan)
    scores[:, 0], scores[:, 1], scores[0, 2] = 1.0, 0.0, 1.0
    model = ScoreModel.of(known(scores))
    assert model.mean[0] == pytest.approx(10 / (10 + module.PRIOR))
    assert model.mean[2] == pytest.approx(1 / (1 + module.PRIOR))


@given(seeds)
def test_the_nearest_data_set_weighs_most_and_no_single_feature_decides(seed):
    rng = np.random.default_rng(seed)
    meta, target = rng.normal(size=(6, 4)), rng.normal(size=4)
    found = similarities(meta, target)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    meta[2] = target
    assert similarities(meta, target).argmax() == 2
    assert similarities(meta, target)[2] == 1.0
    far = meta.copy()
    far[0, 0] = 1e9
    assert np.isfinite(similarities(far, target)).all()


def test_equal_data_sets_weigh_the_same():
    np.testing.assert_array_equal(similarities(np.ones((3, 2)), np.ones(2)), np.ones(3))
    assert similarities(np.full((3, 2), np.nan), np.ones(2)).tolist() == [1.0, 1.0, 1.0]
