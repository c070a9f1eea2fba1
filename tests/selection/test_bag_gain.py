"""The gain of a bag over one of its models, as seen on out-of-fold predictions of several repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.inference.decision import DecisionRule
from automl.metrics.building import build_index
from automl.records import Task
from automl.selection.bag_gain import bag_gain
from automl.selection.honest import Gain
from automl.selection.natural_metrics import NaturalMetrics
from automl.selection.scored_rows import Choice, ScoredRows

ALONE = Choice(np.ones(1))


def squared(y, prediction, sample_weight=None, *, labels=None):
    """Negative mean squared error."""
    return -float(np.average((y - prediction) ** 2, weights=sample_weight))


def accuracy(y, prediction, sample_weight=None, *, labels=None):
    """Share of rows with the right label."""
    return float(np.average(labels == y, weights=sample_weight))


def two_classes(*positive):
    return np.column_stack([1 - np.array(positive), positive])


def rows_of(y, score=squared):
    return ScoredRows((), y, score)


def slope(x, y):
    return np.linalg.lstsq(x, y, rcond=None)[0]


def folds_of(rng, n_rows, n_folds):
    return rng.permutation(np.arange(n_rows) % n_folds)


def out_of_fold(x, y, folds):
    prediction = np.empty(len(y))
    for fold in np.unique(folds):
        prediction[folds == fold] = x[folds == fold] @ slope(x[folds != fold], y[folds != fold])
    return prediction


@given(st.integers(2, 6), st.integers(0, 1000))
def test_for_squared_errors_it_is_the_variance_between_the_repeats(n_repeats, seed):
    rng = np.random.default_rng(seed)
    y, repeats = rng.normal(size=20), rng.normal(size=(n_repeats, 20))
    found = bag_gain(rows_of(y), [[repeat] for repeat in repeats], ALONE)
    assert found.score == pytest.approx(repeats.var(axis=0, ddof=1).mean(), rel=1e-6)


@pytest.mark.parametrize("n_folds", [3, 5, 10])
def test_from_three_repeats_it_is_the_gain_that_the_bag_of_the_folds_has_on_other_rows(n_folds):
    rng = np.random.default_rng(n_folds)
    expected, found = [], []
    for _ in range(200):
        x, weights = rng.normal(size=(1060, 6)), rng.normal(size=6)
        y = x @ weights + rng.normal(size=1060)
        inside, other = slice(60), slice(60, None)
        partitions = [folds_of(rng, 60, n_folds) for _ in range(3)]
        repeats = [[out_of_fold(x[inside], y[inside], folds)] for folds in partitions]
        found.append(bag_gain(rows_of(y[inside]), repeats, ALONE).score)
        models = [
            x[other] @ slope(x[inside][partitions[0] != k], y[inside][partitions[0] != k])
            for k in range(n_folds)
        ]
        single = np.mean([squared(y[other], model) for model in models])
        expected.append(squared(y[other], np.mean(models, axis=0)) - single)
    assert np.mean(found) == pytest.approx(np.mean(expected), rel=0.15)


def test_equal_repeats_and_a_single_one_gain_nothing():
    y = np.arange(5.0)
    assert bag_gain(rows_of(y), [[y + 1.0]], ALONE) == Gain()
    assert bag_gain(rows_of(y), [[y + 1.0]] * 3, ALONE) == Gain()


def test_a_member_without_other_predictions_takes_its_part_and_gains_nothing():
    rng = np.random.default_rng(0)
    y, known, fixed = rng.normal(size=30), rng.normal(size=(2, 30)), rng.normal(size=30)
    half = Choice(np.array([0.5, 0.5]))
    found = bag_gain(rows_of(y), [[repeat, fixed] for repeat in known], half).score
    assert found == pytest.approx(known.var(axis=0, ddof=1).mean() / 4, rel=1e-5)


def test_members_are_averaged_before_they_are_combined_and_the_threshold_is_the_choices():
    y = np.array([0, 1, 1])
    repeats = [[two_classes(0.1, 0.3, 0.9)], [two_classes(0.1, 0.7, 0.9)]]
    rows = rows_of(y, accuracy)
    for threshold, gain in ((0.4, 1 / 3), (0.6, -1 / 3)):
        choice = Choice(np.ones(1), DecisionRule(threshold))
        assert bag_gain(rows, repeats, choice).score == pytest.approx(gain)


def test_a_median_is_one_of_the_members_means():
    y = np.zeros(1)
    repeats = [
        [np.array([1.0]), np.array([4.0]), np.array([9.0])],
        [np.array([3.0]), np.array([4.0]), np.array([-9.0])],
    ]
    choice = Choice(np.full(3, 1 / 3), combine="median")
    assert bag_gain(rows_of(y), repeats, choice).score == pytest.approx(2 * (-4.0 + (16 + 9) / 2))


def test_where_the_score_is_not_defined_nothing_is_gained():
    def undefined(*_, **__):
        raise ValueError

    rows = replace(rows_of(np.zeros(2)), score=undefined)
    assert bag_gain(rows, [[np.zeros(2)], [np.ones(2)]], ALONE) == Gain()


@pytest.mark.parametrize("doubtful", [0.6, 0.45])
def test_a_gain_for_classes_leaves_the_share_that_the_mean_of_two_leaves_twice(doubtful):
    """Each repeat errs on two of six rows, their mean on none of them or on one."""
    y = np.array([0, 0, 0, 1, 1, 1])
    of_true = np.array([[0.9] * 4 + [0.4, doubtful - 0.2], [0.4, 0.4] + [0.9] * 3 + [0.45]])
    repeats = [two_classes(*np.where(y == 1, each, 1 - each)) for each in of_true]
    natural = NaturalMetrics(build_index("accuracy", task=Task.BINARY, y_all=y))
    rows = ScoredRows([[repeats[0]]], y, natural.index.score, metrics=natural)
    rule = DecisionRule(0.5)
    errors = [np.mean(rule.codes(each) != y) for each in (*repeats, np.mean(repeats, axis=0))]
    alone, bag = np.mean(errors[:2]), errors[2]
    found = bag_gain(rows, [[each] for each in repeats], Choice(np.ones(1), rule))
    assert bag < alone
    gain = errors[0] * (1.0 - (bag / alone) ** 2)
    assert found.metrics[natural.names.index("accuracy")] == pytest.approx(gain)


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 4))
def test_no_gain_for_classes_passes_the_best_value(seed, n_repeats, n_classes):
    """Also where the choice is scored better than the repeats of the folds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 40)
    y[:n_classes] = np.arange(n_classes)
    noise = np.r_[0.1, np.full(n_repeats - 1, 0.5)][:, None, None]
    near = np.eye(n_classes)[y] + noise * rng.exponential(1.0, (n_repeats, 40, n_classes))
    repeats = near / near.sum(axis=2, keepdims=True)
    task = Task.BINARY if n_classes == 2 else Task.MULTICLASS
    index = build_index(task=task, y_all=y, n_classes=n_classes)
    natural = NaturalMetrics(index)
    rows = ScoredRows([[repeats[0]]], y, index.score, metrics=natural)
    choice = Choice(np.ones(1), index.rule)
    found = bag_gain(rows, [[each] for each in repeats], choice)
    alone = rows.blends(choice)
    everything = np.ones((1, 40))
    score = rows.score_under(alone, everything[0], choice.rule)
    values = rows.metrics_under(alone, everything, choice.rule)[:, 0]
    assert score + found.score <= 1.0 + 1e-12
    assert (values + found.metrics <= natural.ideals + 1e-12).all()
