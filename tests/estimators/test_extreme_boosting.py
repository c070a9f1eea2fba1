"""XGBoost on numbers of any size."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("xgboost")

from automl.estimators.extreme_boosting import XGBoostRegressor, is_awkward


def rows_of(n_rows=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return X, (y - y.mean()) / y.std()


def explained(X, y):
    model = XGBoostRegressor(n_estimators=60, random_state=1).fit(X[:400], y[:400])
    return 1 - np.mean((y[400:] - model.predict(X[400:])) ** 2) / y[400:].var()


@pytest.mark.parametrize(
    ("scale", "mean"), [(1e-3, 0.0), (1e-9, 0.0), (1e25, 0.0), (1.0, 1e7), (1e-6, 1.0)]
)
def test_it_learns_numbers_of_any_size_alike(scale, mean):
    X, y = rows_of()
    assert explained(X, scale * y + mean) == pytest.approx(explained(X, y), abs=0.03)


@pytest.mark.parametrize(("scale", "mean"), [(0.2, 0.0), (1.0, 0.0), (1e6, 1e7)])
def test_usual_numbers_are_taken_as_they_are(scale, mean):
    X, y = rows_of(100)
    assert not is_awkward(scale * y + mean)
    model = XGBoostRegressor(n_estimators=5).fit(X, scale * y + mean)
    assert (model.shift_, model.scale_) == (0.0, 1.0)


def test_equal_numbers_are_predicted():
    X, _ = rows_of(50)
    assert XGBoostRegressor(n_estimators=3).fit(X, np.full(50, 7.0)).predict(X) == pytest.approx(
        7.0
    )
