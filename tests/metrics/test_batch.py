"""An index of many predictions is that of each one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from automl.metrics import index as index_module
from automl.metrics.building import build_index
from automl.records import Task

COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 5.0, 0.0]])
TWO_COSTS = [[0.0, 1.0], [4.0, 0.0]]


def classes(rng, n_classes, n_rows, m):
    """Codes and predictions, some of them with equal probabilities."""
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows)]
    found = rng.dirichlet(np.ones(n_classes), (m, len(y)))
    return y, np.where(rng.random((m, len(y), 1)) < 0.3, found.round(1), found).astype(np.float32)


def index_of(spec, task, y, n_classes=0):
    costs = {2: TWO_COSTS, 3: COSTS}.get(n_classes)
    return build_index(
        spec,
        task=task,
        y_all=y,
        n_classes=n_classes,
        positive=1 if n_classes else None,
        cost_matrix=costs,
        beta=2.0 if n_classes else 1.0,
    )


@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 60), st.integers(1, 9))
@settings(max_examples=60)
def test_without_weights_they_are_the_same_to_the_last_bit(seed, n_classes, n_rows, m):
    y, predictions = classes(np.random.default_rng(seed), n_classes, n_rows, m)
    task = Task.BINARY if n_classes == 2 else Task.MULTICLASS
    for spec in ("index", "log_loss", "balanced_accuracy", "f_beta_positive"):
        index = index_of(spec, task, y, n_classes)
        expected = [index.score(y, prediction) for prediction in predictions]
        assert_array_equal(index.scores(y, predictions), expected)
        expected = [index.learned_score(y, prediction) for prediction in predictions]
        assert_array_equal(index.learned_scores(y, predictions), expected)


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 9))
def test_so_are_those_of_values(seed, n_rows, m):
    rng = np.random.default_rng(seed)
    y, predictions = rng.normal(size=n_rows), rng.normal(size=(m, n_rows)).astype(np.float32)
    for spec in ("index", "mse", "rmse"):
        index = index_of(spec, Task.REGRESSION, y)
        expected = [index.score(y, prediction) for prediction in predictions]
        assert_array_equal(index.learned_scores(y, predictions), expected)


def test_chunks_make_no_difference(monkeypatch):
    y, predictions = classes(np.random.default_rng(2), 3, 50, 20)
    index = index_of("index", Task.MULTICLASS, y, 3)
    whole = index.learned_scores(y, predictions)
    monkeypatch.setattr(index_module, "MANY_CELLS", 400)
    assert_array_equal(index.learned_scores(y, predictions), whole)


def test_a_constant_target_and_predictions_that_are_not_finite():
    y, predictions = np.ones(4), np.array([[1.0] * 4, [2.0] * 4])
    index = index_of("index", Task.REGRESSION, y)
    expected = [index.score(y, prediction) for prediction in predictions]
    assert_array_equal(index.learned_scores(y, predictions), expected)
    predictions[1, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        index.learned_scores(y, predictions)
