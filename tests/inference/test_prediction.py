"""Predictions of fitted estimators in one form."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from automl.inference.prediction import raw_prediction


def rows(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[::7, 2] = np.nan
    return X


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("n", [1, 300])
def test_a_forest_of_numbers_answers_as_scikit_learn_does(kind, n):
    X = rows()
    forest = kind(n_estimators=30, random_state=0).fit(X, X[:, 0] ** 2)
    expected = forest.predict(X[:n]).astype(np.float32)
    np.testing.assert_array_equal(raw_prediction(forest, X[:n], None), expected)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("codes", [[0, 1, 2], [0, 2, 3]])
def test_a_forest_of_classes_answers_as_scikit_learn_does(kind, codes):
    X = rows()
    y = np.asarray(codes)[np.digitize(X[:, 0], [-0.5, 0.5])]
    forest = kind(n_estimators=30, random_state=0, max_depth=4).fit(X, y)
    answer = raw_prediction(forest, X, 4)
    np.testing.assert_allclose(answer[:, codes], forest.predict_proba(X), rtol=1e-6)
    assert (answer[:, sorted({0, 1, 2, 3} - set(codes))] == 0).all()
