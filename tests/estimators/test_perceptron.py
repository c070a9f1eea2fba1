"""The perceptron of L14: gradients, penalties, fits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from automl.estimators.perceptron import (
    TwoLayerPerceptronClassifier,
    TwoLayerPerceptronRegressor,
    glorot_start,
    loss_and_gradient,
    unpack,
)


@settings(max_examples=25, deadline=None)
@given(
    p=st.integers(1, 4),
    h1=st.integers(1, 4),
    h2=st.integers(1, 3),
    k=st.integers(1, 3),
    classes=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_the_analytic_gradient_equals_finite_differences(p, h1, h2, k, classes, seed):
    rng = np.random.default_rng(seed)
    n = 7
    sizes = (p, h1, h2, k)
    T = np.eye(k)[rng.integers(0, k, n)] if classes else rng.normal(size=(n, k))
    known = {
        "sizes": sizes,
        "X": rng.normal(size=(n, p)),
        "T": T,
        "w": rng.uniform(0.2, 2.0, n),
        "l2": rng.uniform(0.0, 3.0, 3),
        "classes": classes,
    }
    flat = glorot_start(sizes, rng=rng) + 0.1 * rng.normal(size=sum(_count(sizes)))
    _, gradient = loss_and_gradient(flat, **known)
    numeric = approx_fprime(flat, lambda x: loss_and_gradient(x, **known)[0], 1e-6)
    # forward differences of a smooth loss of order one are good to about 1e-5
    np.testing.assert_allclose(gradient, numeric, atol=2e-5)


def _count(sizes):
    return [(a + 1) * b for a, b in pairwise(sizes)]


def test_the_loss_of_zero_weights_is_the_entropy_of_equal_classes():
    sizes = (2, 3, 3, 4)
    X, T = np.ones((5, 2)), np.eye(4)[[0, 1, 2, 3, 0]]
    flat = np.zeros(sum(_count(sizes)))
    loss, _ = loss_and_gradient(
        flat, sizes=sizes, X=X, T=T, w=np.ones(5), l2=(1.0, 1.0, 1.0), classes=True
    )
    assert loss == pytest.approx(np.log(4))


def test_each_layer_has_its_own_penalty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for layer in range(3):
        strong = {f"l2_{i + 1}": 100.0 if i == layer else 1e-3 for i in range(3)}
        weak = TwoLayerPerceptronClassifier(l2_1=1e-3, l2_2=1e-3, l2_3=1e-3).fit(X, y)
        penalized = TwoLayerPerceptronClassifier(**strong).fit(X, y)
        norms = [np.linalg.norm(m.layers_[layer][0]) for m in (weak, penalized)]
        assert norms[1] < 0.5 * norms[0]


def test_it_learns_what_no_linear_model_can():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 7, 3)
    model = TwoLayerPerceptronClassifier(l2_1=0.01, l2_2=0.01, l2_3=0.01).fit(X[:300], y[:300])
    assert set(model.classes_) == {3, 7}
    assert model.score(X[300:], y[300:]) > 0.9
    target = 1e5 + 1e3 * X[:, 0] * X[:, 1]
    regressor = TwoLayerPerceptronRegressor(l2_1=0.01, l2_2=0.01, l2_3=0.01)
    assert regressor.fit(X[:300], target[:300]).score(X[300:], target[300:]) > 0.9


def test_offsets_and_weights_come_apart_in_order():
    sizes = (2, 1, 1, 1)
    layers = unpack(np.arange(7.0), sizes)
    assert [W.ravel().tolist() for W, _ in layers] == [[0.0, 1.0], [3.0], [5.0]]
    assert [b.tolist() for _, b in layers] == [[2.0], [4.0], [6.0]]


def test_a_row_of_weight_two_counts_like_two_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    known = {"sizes": (3, 2, 2, 2), "l2": (0.0, 0.0, 0.0), "classes": True}
    flat = glorot_start((3, 2, 2, 2), rng=rng)
    once, _ = loss_and_gradient(flat, X=X, T=np.eye(2)[y], w=weight, **known)
    rows = np.r_[np.arange(40), np.arange(10)]
    twice, _ = loss_and_gradient(flat, X=X[rows], T=np.eye(2)[y[rows]], w=np.ones(50), **known)
    assert once * 40 == pytest.approx(twice * 50)
