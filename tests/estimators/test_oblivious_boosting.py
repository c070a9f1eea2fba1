"""CatBoost with its number of rounds found by itself."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("catboost")

from automl.estimators.oblivious_boosting import (
    LEAST_SAMPLED_ROWS,
    CatBoostEarlyClassifier,
    CatBoostEarlyRegressor,
)


@pytest.mark.parametrize("n_rows", [6, 15, LEAST_SAMPLED_ROWS])
def test_few_rows_are_fitted_whatever_share_of_them_a_round_draws(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    model = CatBoostEarlyRegressor(subsample=0.4, random_state=1).fit(X, X[:, 0])
    assert np.corrcoef(model.predict(X), X[:, 0])[0, 1] > 0.8


def test_a_low_rate_learns_as_much_as_a_high_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
    errors = [
        np.mean((CatBoostEarlyRegressor(learning_rate=rate).fit(X, y).predict(X) - y) ** 2)
        for rate in (0.3, 0.03)
    ]
    assert errors[1] < 1.5 * errors[0]


def test_the_classes_are_those_of_the_target() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 0, 7, 3)
    model = CatBoostEarlyClassifier().fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    assert model.predict_proba(X).shape == (90, 2)
