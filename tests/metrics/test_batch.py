"""Every metric has one kernel: many predictions, and many weightings, are as one at a time."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from automl.metrics import building, learning, metrics
from automl.metrics import index as index_module
from automl.metrics.batch import ClassBatch, ValueBatch
from automl.metrics.building import build_index
from automl.metrics.learning import many_scores, stacked_scores
from automl.metrics.metrics import METRICS, Metric
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


def case_of(name, seed=1, m=5, n_rows=40):
    """Index of one metric, true values and predictions."""
    rng = np.random.default_rng(seed)
    tasks = METRICS[name].tasks
    if Task.REGRESSION in tasks:
        y, task, n_classes = rng.normal(size=n_rows), Task.REGRESSION, 0
        predictions = rng.normal(size=(m, n_rows)).astype(np.float32)
    else:
        n_classes = 2 if Task.BINARY in tasks else 3
        task = Task.BINARY if n_classes == 2 else Task.MULTICLASS
        y, predictions = classes(rng, n_classes, n_rows, m)
    return index_of(name, task, y, n_classes), y, predictions


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
def test_every_metric_is_the_same_for_many_predictions_under_one_weighting(name):
    index, y, predictions = case_of(name)
    weight = np.random.default_rng(2).random(len(y))
    expected = [index.score(y, prediction, weight) for prediction in predictions]
    assert index.scores(y, predictions, weight[None]) == pytest.approx(expected, abs=1e-12)
    expected = [index.learned_score(y, prediction, weight) for prediction in predictions]
    found = stacked_scores(index)(y, predictions, weight)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_is_the_same_under_many_weightings(name):
    index, y, predictions = case_of(name)
    weights = np.random.default_rng(3).integers(0, 3, (4, len(y))) + 0.0
    found = index.scores(y, predictions[:1], weights)
    expected = [index.score(y, predictions[0], weight) for weight in weights]
    assert found == pytest.approx(expected, abs=1e-12)
    expected = [index.learned_score(y, predictions[0], weight) for weight in weights]
    assert many_scores(index)(y, predictions[0], weights) == pytest.approx(expected, abs=1e-12)


def _positives(batch: ClassBatch):
    return batch.counts[:, 0, 1] / batch.counts.sum(axis=(1, 2))


def _width(batch: ClassBatch):
    return batch.mean(batch.predictions.max(axis=-1))


def _greatest(batch: ValueBatch):
    return batch.each(lambda _y, prediction, _weight: float(np.abs(prediction).max()))


@pytest.mark.parametrize(
    ("task", "needs", "values"),
    [
        (Task.BINARY, "labels", _positives),
        (Task.BINARY, "probabilities", _width),
        (Task.REGRESSION, "values", _greatest),
    ],
)
def test_a_metric_added_in_the_registry_alone_works_everywhere(monkeypatch, task, needs, values):
    mine = Metric("mine", frozenset({task}), needs, 0.0, False, values, lambda _: 1.0)
    registry = MappingProxyType({**METRICS, "mine": mine})
    for module in (metrics, index_module, building):
        monkeypatch.setattr(module, "METRICS", registry)
    rng = np.random.default_rng(4)
    y, predictions = classes(rng, 2, 30, 3)
    if task is Task.REGRESSION:
        y, predictions = rng.normal(size=30), rng.normal(size=(3, 30))
    index = build_index({"mine": 1.0}, task=task, y_all=y)
    assert "mine" in index.metrics(y, predictions[0])
    found = stacked_scores(index)(y, predictions, None)
    assert_array_equal(found, [index.learned_score(y, one) for one in predictions])
    once = many_scores(index)(y, predictions[0], np.ones((2, len(y))))
    assert once == pytest.approx([found[0]] * 2)


def test_chunks_make_no_difference(monkeypatch):
    y, predictions = classes(np.random.default_rng(2), 3, 50, 20)
    scores = stacked_scores(index_of("index", Task.MULTICLASS, y, 3))
    whole = scores(y, predictions, None)
    monkeypatch.setattr(learning, "MANY_CELLS", 400)
    assert_array_equal(scores(y, predictions, None), whole)


def test_a_constant_target_and_predictions_that_are_not_finite():
    y, predictions = np.ones(4), np.array([[1.0] * 4, [2.0] * 4])
    index = index_of("index", Task.REGRESSION, y)
    expected = [index.score(y, prediction) for prediction in predictions]
    assert_array_equal(stacked_scores(index)(y, predictions, None), expected)
    predictions[1, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        stacked_scores(index)(y, predictions, None)
