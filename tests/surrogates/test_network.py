"""The networks: the sum of products, derivatives, the start, batches, training and Laplace."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.surrogates.batches import Examples, batch_of, epoch, grouped
from automl.surrogates.earlier_data import design_matrix
from automl.surrogates.laplace import (
    posterior_covariance,
    predictive_variance,
    row_gradients,
)
from automl.surrogates.network import Groups, forward
from automl.surrogates.network_ensemble import Ensemble
from automl.surrogates.network_parameters import Shape, by_member, repeated, start, views
from automl.surrogates.network_training import Block

SHAPES = {
    "factorization machine": Shape(3, 4, 2, 1, 0, 3),
    "linear": Shape(3, 4, 2, 1, 0, 0),
    "perceptron": Shape(3, 4, 2, 4, 1, 0),
    "two layers": Shape(3, 4, 2, 3, 2, 0),
    "factorized perceptron": Shape(3, 4, 2, 4, 1, 3),
    "factorized, two layers": Shape(3, 4, 2, 3, 2, 2),
    "nothing known of the data sets": Shape(3, 1, 0, 3, 1, 2),
}


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]


def examples_of(shape, n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, shape.columns))
    task = rng.integers(shape.tasks, size=n)
    meta = rng.random((shape.tasks, shape.meta))
    return Examples(X, np.sin(3 * X[:, 0]) + task, task, meta)


def networks_of(shape, members, seed=1):
    rng = np.random.default_rng(seed)
    theta = start(shape, members, rng)
    return theta + 0.3 * rng.standard_normal(len(theta))


def test_a_network_is_what_its_formula_says(shape):
    """Sums over all pairs of x = (λ, indicator, meta-features), one unit at a time."""
    members, examples = 2, examples_of(shape, 12)
    theta = networks_of(shape, members)
    x = design_matrix(examples.X, examples.task, examples.meta)
    groups = examples.groups(np.arange(12)[:, None])
    found = forward(views(theta, shape, members), groups, shape).prediction
    for member, own in enumerate(by_member(theta, shape, members)):
        parts = views(own, shape, 1)
        w = np.concatenate([parts["w"], parts["w_task"], parts["w_meta"]])
        v = np.concatenate([parts["v"], parts["v_task"], parts["v_meta"]], axis=1)
        s = parts["bias"] + x @ w
        for i, j in combinations(range(x.shape[1]), 2):
            s += (v[:, i] * v[:, j]).sum(axis=0) * (x[:, i] * x[:, j])[:, None]
        if shape.layers:
            for layer in range(1, shape.layers):
                inner, bias = parts[f"hidden_{layer}"][0], parts[f"hidden_bias_{layer}"][0]
                s = np.tanh(s) @ inner + bias
            s = np.tanh(s) @ parts["out"][0] + parts["out_bias"][0]
        np.testing.assert_allclose(found[:, member], np.ravel(s), rtol=1e-10)


def test_derivatives_are_those_of_the_loss(shape):
    members, examples, decay = 2, examples_of(shape), 0.02
    rows = grouped(examples.task, 4, np.random.default_rng(0))
    batch = batch_of(examples, rows)
    theta = networks_of(shape, members)

    def loss(at):
        found = forward(views(at, shape, members), batch.groups, shape).prediction
        weight = batch.weight / batch.weight.sum()
        squares = 0.5 * (weight[:, None] * (found - batch.y[:, None]) ** 2).sum()
        return squares + 0.5 * decay * (at**2).sum()

    gradient = Block(shape, members, theta.copy()).gradient(batch, decay)
    step = 1e-6
    for i in range(len(theta)):
        shift = np.zeros(len(theta))
        shift[i] = step
        slope = (loss(theta + shift) - loss(theta - shift)) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_the_start_is_that_of_nguyen_and_widrow():
    shape = Shape(5, 3, 2, 8, 1, 2)
    parts = views(start(shape, 50, np.random.default_rng(0)), shape, 50)
    weights = np.concatenate([parts["w"], parts["w_task"], parts["w_meta"]])
    length = 0.7 * 8 ** (1 / 10)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=0), length)
    assert np.abs(parts["bias"]).max() <= length
    assert parts["v"].std() == pytest.approx(0.1, rel=0.1)


def test_copies_and_members(shape):
    theta = networks_of(shape, 1)
    np.testing.assert_array_equal(
        by_member(repeated(theta, shape, 3), shape, 3), np.tile(theta, (3, 1))
    )


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 7))
def test_groups_hold_every_row_once_and_one_data_set_each(task, size):
    task = np.array(task)
    rows = grouped(task, size, np.random.default_rng(0))
    assert sorted(rows[rows >= 0]) == list(range(len(task)))
    for group in rows:
        assert len(set(task[group[group >= 0]])) == 1
    batches = epoch(task, size=size, n_groups=2, rng=np.random.default_rng(0))
    assert sum((part >= 0).sum() for part in batches) == len(task)


def test_rows_that_fill_a_group_count_for_nothing():
    shape = SHAPES["factorized perceptron"]
    examples = examples_of(shape)
    block = Block(shape, 2, networks_of(shape, 2))
    rows = np.flatnonzero(examples.task == 1)[None]
    filled = np.concatenate([rows, np.full((1, 5), -1)], axis=1)
    alone = block.gradient(batch_of(examples, rows), 0.0)
    np.testing.assert_allclose(block.gradient(batch_of(examples, filled), 0.0), alone, rtol=1e-9)


def test_members_learn_and_threads_change_nothing():
    shape = Shape(3, 4, 2, 6, 1, 2)
    examples = examples_of(shape, 200)
    found = []
    for n_threads in (1, 2):
        rng = np.random.default_rng(3)
        networks = Ensemble.begin(shape, 25, decay=0.01, rng=rng, n_threads=n_threads)
        networks.train(examples, n_steps=1000, rate=0.03, rng=rng)
        own = examples.task == 2
        found.append(networks.predict(examples.X[own], 2, examples.meta[2]))
    np.testing.assert_array_equal(*found)
    assert found[0].shape == (own.sum(), 25)
    assert np.abs(found[0].mean(axis=1) - examples.y[own]).mean() < 0.1
    assert np.all(found[0].std(axis=1) > 0.0)


def test_a_member_does_not_depend_on_its_block():
    shape = Shape(3, 4, 2, 6, 1, 2)
    examples = examples_of(shape, 100)
    theta = networks_of(shape, 3)
    rows = grouped(examples.task, 8, np.random.default_rng(0))
    batch = batch_of(examples, rows)
    together = Block(shape, 3, theta.copy())
    together.learn([batch] * 20, [0.01] * 20, 0.01)
    for member, own in enumerate(by_member(theta, shape, 3)):
        alone = Block(shape, 1, own.copy())
        alone.learn([batch] * 20, [0.01] * 20, 0.01)
        found = by_member(together.theta, shape, 3)[member]
        np.testing.assert_allclose(found, alone.theta, rtol=1e-8, atol=1e-10)


def test_the_inverse_is_the_direct_one(shape):
    examples = examples_of(shape, 40)
    theta = networks_of(shape, 1)
    gradients = list(row_gradients(theta, shape, examples))
    alpha, beta = 0.7, 3.0
    G = np.concatenate(gradients)
    direct = np.linalg.inv(beta * G.T @ G + alpha * np.eye(len(theta)))
    one_by_one = [row[None] for row in G]
    for parts in (gradients, one_by_one):
        found = posterior_covariance(parts, len(theta), alpha=alpha, beta=beta)
        np.testing.assert_allclose(found, direct, rtol=1e-7, atol=1e-10)
    variance = predictive_variance(direct, G[:5], beta)
    expected = 1 / beta + np.diag(G[:5] @ direct @ G[:5].T)
    np.testing.assert_allclose(variance, expected, rtol=1e-10)


def test_row_gradients_are_derivatives_of_single_predictions(shape):
    examples = examples_of(shape, 20)
    theta = networks_of(shape, 1)
    found = np.concatenate(list(row_gradients(theta, shape, examples)))

    def predicted(at):
        groups = Groups(examples.X[:, None], examples.task, examples.meta[examples.task])
        return forward(views(at, shape, 1), groups, shape).prediction[:, 0]

    step = 1e-6
    for i in range(0, len(theta), 3):
        shift = np.zeros(len(theta))
        shift[i] = step
        slopes = (predicted(theta + shift) - predicted(theta - shift)) / (2 * step)
        np.testing.assert_allclose(found[:, i], slopes, rtol=1e-5, atol=1e-8)
