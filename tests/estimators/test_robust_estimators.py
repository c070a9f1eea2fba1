"""Estimators of our own against scikit-learn's, and where scikit-learn's fail."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestCentroid, RadiusNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from automl.estimators.centroid import NearestCentroidClassifier
from automl.estimators.discriminants import QuadraticDiscriminant
from automl.estimators.gaussian_process import KernelClassifier, KernelRegressor, kernel_by_name
from automl.estimators.margins import CalibratedMargin, fit_scaling, margin_columns
from automl.estimators.neighbors import (
    NearestRowsClassifier,
    NearestRowsRegressor,
    RadiusRowsClassifier,
    RadiusRowsRegressor,
)
from automl.estimators.support_vectors import FeasibleNuSVC, greatest_nu
from automl.estimators.targets import StandardizedTarget


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.5])
    return X, y


def test_more_neighbors_than_rows_are_all_rows(data):
    X, y = data
    model = NearestRowsClassifier(n_neighbors=100).fit(X[:10], y[:10])
    assert model.model_.n_neighbors == 10
    regressor = NearestRowsRegressor(n_neighbors=100).fit(X[:10], y[:10].astype(float))
    np.testing.assert_allclose(regressor.predict(X[:2]), y[:10].mean())


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_radius_neighbors_equal_those_of_scikit_learn_where_there_are_any(data, weights):
    X, y = data
    ours = RadiusRowsClassifier(radius=2.5, weights=weights).fit(X, y)
    theirs = RadiusNeighborsClassifier(radius=2.5, weights=weights).fit(X, y)
    near = X[np.abs(X).max(axis=1) < 1.5] + 0.01
    np.testing.assert_allclose(ours.predict_proba(near), theirs.predict_proba(near))


def test_a_row_without_neighbors_takes_the_nearest_one(data):
    X, y = data
    far = X[[3]] + 1e-3
    assert RadiusRowsClassifier(radius=1e-9).fit(X, y).predict(far) == y[3]
    assert RadiusRowsRegressor(radius=1e-9).fit(X, y * 1.5).predict(far) == y[3] * 1.5


def test_a_typical_radius_does_not_depend_on_the_unit(data):
    X, y = data
    small = RadiusRowsClassifier(radius=0.5, unit="typical").fit(X, y)
    large = RadiusRowsClassifier(radius=0.5, unit="typical").fit(1000 * X, y)
    np.testing.assert_allclose(small.predict_proba(X), large.predict_proba(1000 * X))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.5])
def test_centroids_equal_those_of_scikit_learn(data, metric, shrinkage):
    X, y = data
    ours = NearestCentroidClassifier(metric=metric, shrink_threshold=shrinkage).fit(X, y)
    theirs = NearestCentroid(metric=metric, shrink_threshold=shrinkage or None).fit(X, y)
    np.testing.assert_allclose(ours.centroids_, theirs.centroids_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_quadratic_discriminant_equals_that_of_scikit_learn(data):
    X, y = data
    ours = QuadraticDiscriminant().fit(X, y)
    theirs = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    assert ours.reg_params_ == [0.0, 0.0, 0.0]


def test_a_singular_covariance_is_regularized_as_little_as_possible(data):
    X, y = data
    doubled = np.hstack([X, X])
    model = QuadraticDiscriminant().fit(doubled, y)
    assert all(0 < value <= 1e-4 for value in model.reg_params_)
    assert model.score(doubled, y) > 0.8
    alone = np.r_[y[:-1], 9]
    assert np.isfinite(QuadraticDiscriminant().fit(doubled, alone).predict_proba(doubled)).all()


def test_nu_is_clipped_to_what_the_classes_allow(data):
    X, _ = data
    y = (np.arange(150) < 10).astype(int)
    assert greatest_nu(y) == pytest.approx(20 / 150)
    model = FeasibleNuSVC(nu=0.9).fit(X, y)
    assert model.nu_ == pytest.approx(0.99 * 20 / 150)
    assert FeasibleNuSVC(nu=0.05).fit(X, y).nu_ == 0.05


def test_calibrated_margins_are_as_good_as_a_model_with_probabilities():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3))
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=900) > 0).astype(int)
    calibrated = CalibratedMargin(LinearSVC()).fit(X[:600], y[:600]).predict_proba(X[600:])
    reference = LogisticRegression().fit(X[:600], y[:600]).predict_proba(X[600:])
    losses = [-np.log(p[np.arange(300), y[600:]]).mean() for p in (calibrated, reference)]
    assert losses[0] == pytest.approx(losses[1], abs=0.02)


def test_calibration_keeps_rows_that_sum_to_one_with_a_class_of_one_row(data):
    X, y = data
    y = np.r_[y[:-1], 7]
    model = CalibratedMargin(SVC()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.classes_.tolist() == [0, 1, 2, 7]
    assert model.score(X, y) > 0.7


def test_separable_margins_get_a_finite_scale():
    margins = np.column_stack(([1.0, 2.0, -1.0, -2.0], [-1.0, -2.0, 1.0, 2.0]))
    scale, offsets = fit_scaling(margins, np.array([0, 0, 1, 1]))
    assert 0 < scale < 100
    assert np.isfinite(offsets).all()


def test_a_class_unknown_to_an_inner_fold_gets_the_least_margin(data):
    X, y = data
    known = SVC().fit(X[y != 1], y[y != 1])
    margins = margin_columns(known, X, np.array([0, 1, 2]))
    assert (margins[:, 1] == margins.min(axis=1)).all()


def test_a_standardized_target_is_predicted_in_its_own_unit(data):
    X, _ = data
    y = 1e6 + 1e4 * X[:, 0]
    model = StandardizedTarget(Ridge(alpha=1e-6)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)
    assert np.isfinite(StandardizedTarget(Ridge()).fit(X, np.ones(150)).predict(X)).all()


def test_gaussian_processes_fit_many_rows_with_a_kernel_from_a_part():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(450, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=450)
    regressor = KernelRegressor().fit(X[:400], y[:400])
    assert regressor.score(X[400:], y[400:]) > 0.9
    labels = (y > 0).astype(int) + (X[:, 1] > 1)
    classifier = KernelClassifier().fit(X[:400], labels[:400])
    assert classifier.score(X[400:], labels[400:]) > 0.85
    with pytest.raises(ValueError, match="kernel must be one of"):
        kernel_by_name("rbff", 2)
