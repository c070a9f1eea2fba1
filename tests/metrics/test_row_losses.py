"""Row losses add up to what they take from the index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from automl.metrics.building import build_index
from automl.records import Task


def index_of(spec, y):
    return build_index(spec, task=Task.REGRESSION, y_all=y)


@pytest.mark.parametrize("spec", ["index", "r2", "mse", "mae", {"r2": 0.2, "mae": 0.8}])
@given(seed=st.integers(0, 1000), n_rows=st.integers(3, 60))
def test_a_perfect_score_less_the_mean_loss_is_the_score(spec, seed, n_rows):
    rng = np.random.default_rng(seed)
    y, prediction = rng.normal(size=n_rows), rng.normal(size=n_rows)
    index = index_of(spec, y)
    found = index.row_losses(y, prediction)
    assert (found >= 0).all()
    assert_allclose(index.score(y, y) - found.mean(), index.score(y, prediction))


def test_of_a_root_they_are_the_slope():
    rng = np.random.default_rng(0)
    y, prediction = rng.normal(size=200), rng.normal(size=200)
    index = index_of("rmse", y)
    more = np.ones(200)
    more[3] += 0.01
    change = index.score(y, prediction) - index.score(y, prediction, more)
    losses = index.row_losses(y, prediction)
    assert_allclose(change, 0.01 / 200 * (losses[3] - losses.mean()), rtol=1e-3)


def test_labels_have_no_losses_without_a_limit():
    y = np.arange(30) % 3
    for spec in ("index", "accuracy", "log_loss"):
        index = build_index(spec, task=Task.MULTICLASS, y_all=y)
        assert not index.is_unbounded
    assert index_of("index", y / 7).is_unbounded
