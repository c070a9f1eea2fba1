"""What every surrogate owes; a new one is tested by being registered."""

import pickle

import numpy as np
import pytest

from automl.parts import Part, build
from automl.surrogates.protocol import BelievingSurrogate, SmoothSurrogate
from automl.surrogates.registry import SURROGATES

FEW = (("n_members", 10),)
"""Networks of an ensemble in these tests."""
PARTS = [
    *(
        Part(name, FEW if "n_members" in kind.defaults() else ())
        for name, kind in SURROGATES.items()
    ),
    Part("gaussian_process", (("n_samples", 4),)),
    Part("transfer_perceptron", (("n_members", 1), ("layers", 1), ("uncertainty", "laplace"))),
]


@pytest.fixture(params=PARTS, ids=str)
def surrogate(request):
    return build(SURROGATES, request.param, "surrogate")


def data(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(4 * X[:, 0]) + X[:, 1]
    return X, (y - y.mean()) / (y.std() or 1.0)


def fitted(surrogate, X, y, seed=1):
    surrogate.fit(X, y, rng=np.random.default_rng(seed))
    return surrogate


@pytest.mark.parametrize("n", [1, 2, 12, 150])
def test_predictions_are_finite_and_never_surer_than_sure(surrogate, n):
    X, y = data(n)
    mean, std = fitted(surrogate, X, y).predict(data(30, seed=9)[0])
    assert mean.shape == std.shape == (30,)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std) & (std >= 0.0))


def test_equal_targets_are_predicted_everywhere(surrogate):
    X, _ = data(20)
    mean, _ = fitted(surrogate, X, np.zeros(20)).predict(X)
    np.testing.assert_allclose(mean, 0.0, atol=1e-6)


def test_a_batch_is_its_points_one_by_one(surrogate):
    X, y = data(40)
    fitted(surrogate, X, y)
    asked = data(10, seed=5)[0]
    together = np.array(surrogate.predict(asked))
    alone = np.hstack([surrogate.predict(asked[i : i + 1]) for i in range(10)])
    np.testing.assert_allclose(together, alone, rtol=1e-7, atol=1e-9)


def test_equal_data_and_streams_give_equal_predictions(surrogate):
    X, y = data(40)
    copy = pickle.loads(pickle.dumps(surrogate))
    first, second = fitted(surrogate, X, y).predict(X), fitted(copy, X, y).predict(X)
    np.testing.assert_array_equal(first, second)


def test_a_pickled_surrogate_predicts_the_same(surrogate):
    X, y = data(40)
    copy = pickle.loads(pickle.dumps(fitted(surrogate, X, y)))
    np.testing.assert_array_equal(surrogate.predict(X), copy.predict(X))


def test_it_orders_a_smooth_function(surrogate):
    X, y = data(150)
    Z, z = data(100, seed=7)
    mean, _ = fitted(surrogate, X, y).predict(Z)
    has_no_squares = getattr(surrogate, "layers", 1) == 0  # of a hyperparameter: S15, eq. 16
    assert np.corrcoef(mean, z)[0, 1] > (0.7 if has_no_squares else 0.9)


def test_columns_without_variance_and_equal_rows_do_no_harm(surrogate):
    X, y = data(30)
    X = np.hstack([X, np.ones((30, 2))])
    X = np.vstack([X, X[:10]])
    mean, std = fitted(surrogate, X, np.concatenate([y, -y[:10]])).predict(X)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))


def test_gradients_are_those_of_the_predictions(surrogate):
    if not isinstance(surrogate, SmoothSurrogate):
        pytest.skip("no derivatives")
    X, y = data(25)
    fitted(surrogate, X, y)
    asked, step = data(6, seed=3)[0], 1e-6
    mean, std, by_mean, by_std = surrogate.predict_with_gradient(asked)
    np.testing.assert_allclose((mean, std), surrogate.predict(asked), rtol=1e-8)
    for column in range(4):
        shift = np.eye(4)[column] * step
        above, below = surrogate.predict(asked + shift), surrogate.predict(asked - shift)
        slopes = (np.array(above) - np.array(below)) / (2 * step)
        np.testing.assert_allclose(by_mean[:, column], slopes[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(by_std[:, column], slopes[1], rtol=1e-4, atol=1e-4)


def test_believing_keeps_the_mean_and_makes_surer(surrogate):
    if not isinstance(surrogate, BelievingSurrogate):
        pytest.skip("does not believe")
    X, y = data(15)
    fitted(surrogate, X, y)
    waiting = data(3, seed=8)[0]
    mean, std = surrogate.predict(data(20, seed=4)[0])
    before = surrogate.predict(waiting)[1]
    surrogate.believe(waiting)
    mean_after, std_after = surrogate.predict(data(20, seed=4)[0])
    np.testing.assert_allclose(mean_after, mean, atol=1e-8)
    assert np.all(std_after <= std + 1e-9)
    assert np.all(surrogate.predict(waiting)[1] < before)
