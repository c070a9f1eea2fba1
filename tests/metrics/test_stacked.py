"""Scores of many predictions at once are those of one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from automl.metrics import stacked
from automl.metrics.index import PerformanceIndex
from automl.metrics.metrics import METRICS
from automl.metrics.stacked import stacked_scores
from automl.records import Task

COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 5.0, 0.0]])
AREAS = {"roc_auc", "roc_auc_ovo"}


def classes(rng, n_classes, n_rows, m):
    """Codes and predictions, some of them with equal probabilities."""
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows)]
    found = rng.dirichlet(np.ones(n_classes), (m, len(y)))
    return y, np.where(rng.random((m, len(y), 1)) < 0.3, found.round(1), found).astype(np.float32)


def index_of(spec, task, y, n_classes=0):
    is_three = n_classes == 3
    return PerformanceIndex.build(
        spec,
        task=task,
        y_all=y,
        n_classes=n_classes,
        positive=1 if n_classes else None,
        cost_matrix=COSTS if is_three else None,
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
        assert_array_equal(stacked_scores(index)(y, predictions, None), expected)


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 9))
def test_so_are_those_of_values(seed, n_rows, m):
    rng = np.random.default_rng(seed)
    y, predictions = rng.normal(size=n_rows), rng.normal(size=(m, n_rows)).astype(np.float32)
    for spec in ("index", "mse", "rmse"):
        index = index_of(spec, Task.REGRESSION, y)
        expected = [index.score(y, prediction) for prediction in predictions]
        assert_array_equal(stacked_scores(index)(y, predictions, None), expected)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_has_a_form_with_weights_except_areas(name):
    rng = np.random.default_rng(1)
    if Task.REGRESSION in METRICS[name].tasks:
        task, n_classes, y = Task.REGRESSION, 0, rng.normal(size=40)
        predictions = rng.normal(size=(5, 40)).astype(np.float32)
    else:
        task, n_classes = Task.MULTICLASS, 3
        y, predictions = classes(rng, 3, 40, 5)
    index = index_of(name, task, y, n_classes)
    scores = stacked_scores(index)
    assert (scores is None) == (name in AREAS)
    if scores is not None:
        weight = rng.random(len(y))
        expected = [index.score(y, prediction, weight) for prediction in predictions]
        assert scores(y, predictions, weight) == pytest.approx(expected, abs=1e-12)


def test_chunks_make_no_difference(monkeypatch):
    y, predictions = classes(np.random.default_rng(2), 3, 50, 20)
    scores = stacked_scores(index_of("index", Task.MULTICLASS, y, 3))
    whole = scores(y, predictions, None)
    monkeypatch.setattr(stacked, "MANY_CELLS", 400)
    assert_array_equal(scores(y, predictions, None), whole)


def test_a_constant_target_and_predictions_that_are_not_finite():
    y, predictions = np.ones(4), np.array([[1.0] * 4, [2.0] * 4])
    index = index_of("index", Task.REGRESSION, y)
    expected = [index.score(y, prediction) for prediction in predictions]
    assert_array_equal(stacked_scores(index)(y, predictions, None), expected)
    predictions[1, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        stacked_scores(index)(y, predictions, None)
