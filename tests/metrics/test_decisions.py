"""Labels by rules that never saw the rows that they judge, and the thresholds that are learned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.inference.decision import DecisionRule
from automl.metrics.building import build_index
from automl.metrics.decisions import N_PARTS, OutOfFold, parts_of
from automl.metrics.index import PerformanceIndex
from automl.metrics.thresholds import THRESHOLDS, counts_by_threshold, usual_place
from automl.records import Task

LABEL_METRICS = ["index", "f_beta", "mcc", "balanced_accuracy", "accuracy", "cost"]


def imbalanced(seed, n=60):
    """Codes with a fifth of ones, and probabilities that are too low for them."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, (rng.random(n - 2) < 0.2).astype(int)]
    one = np.clip(0.2 + 0.2 * y + rng.normal(0, 0.15, n), 0.01, 0.99)
    return y, np.column_stack([1 - one, one]).astype(np.float32)


def two_normal_classes(share, n, seed=0, n_fresh=20_000):
    """Codes and true probabilities of `n` rows, and of fresh ones."""
    rng = np.random.default_rng(seed)
    found = []
    for size in (n, n_fresh):
        y = (rng.random(size) < share).astype(int)
        x = rng.normal(size=size) + 1.5 * y
        odds = np.exp(1.5 * x - 1.5**2 / 2) * share / (1 - share)
        found += [y, np.column_stack([1 / (1 + odds), odds / (1 + odds)]).astype(np.float32)]
    return found


def index_of(spec, y, **options):
    n_classes = int(y.max()) + 1
    task = Task.BINARY if n_classes == 2 else Task.MULTICLASS
    if spec == "cost":
        options.setdefault("cost_matrix", 5.0 * np.tri(n_classes) + 1 - 6 * np.eye(n_classes))
    return build_index(spec, task=task, y_all=y, n_classes=n_classes, **options)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30), st.integers(0, 99))
def test_the_counts_of_every_threshold_are_those_of_its_rule(values, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, len(values))
    positive = np.array(values, dtype=np.float32)
    p = np.column_stack([1 - positive, positive])
    counts = counts_by_threshold(y, positive[None])[0]
    for threshold, matrix in zip(THRESHOLDS[::5], counts[::5], strict=True):
        labels = DecisionRule(threshold).codes(p)
        expected = np.bincount(2 * y + labels, minlength=4).reshape(2, 2)
        np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("spec", LABEL_METRICS)
@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_the_score_while_learning_is_that_of_the_rule_that_is_learned(spec, seed):
    y, p = imbalanced(seed)
    index = index_of(spec, y)
    rule = index.learn_rule(y, p)
    labels = rule.codes(p)
    near = DecisionRule(THRESHOLDS[usual_place(rule.threshold)]).codes(p)
    assert rule == index.rule or (labels == near).all()
    assert index.learned_score(y, p) == pytest.approx(index.score(y, p, labels=near))


@pytest.mark.parametrize(("spec", "least"), [("f_beta", 0.1), ("balanced_accuracy", 0.35)])
def test_rare_ones_earn_another_threshold(spec, least):
    y, p, fresh, fresh_p = two_normal_classes(0.05, 1000)
    index = index_of(spec, y)
    rule = index.learn_rule(y, p)
    assert rule.threshold < 0.3
    usual = index.score(fresh, fresh_p)
    assert index.score(fresh, fresh_p, labels=rule.codes(fresh_p)) > usual + least


def test_equal_classes_seldom_leave_one_half():
    kept = []
    for seed in range(40):
        y, p, *_ = two_normal_classes(0.5, 300, seed)
        kept.append(index_of("accuracy", y).learn_rule(y, p) == DecisionRule(0.5))
    assert np.mean(kept) > 0.6


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("spec", LABEL_METRICS)
def test_the_score_of_a_fold_is_that_of_the_labels_by_the_rule_of_the_others(spec, has_weights):
    y, p = imbalanced(3, 200)
    weight = np.random.default_rng(0).random(200) if has_weights else None
    folds = np.arange(200) % 4
    index = index_of(spec, y, sample_weight=weight)
    found = OutOfFold(index, y, p, folds, weight)
    expected, labels = [], np.empty(200, dtype=int)
    for fold in range(4):
        inside, others = folds == fold, folds != fold
        weights = (None, None) if weight is None else (weight[inside], weight[others])
        labels[inside] = index.learn_rule(y[others], p[others], weights[1]).codes(p[inside])
        expected.append(index.score(y[inside], p[inside], weights[0], labels=labels[inside]))
    assert found.scores() == pytest.approx(expected)
    np.testing.assert_array_equal(found.labels(), labels)
    assert found.pooled()[0] == pytest.approx(index.score(y, p, weight, labels=labels))


@given(seed=st.integers(0, 300), n_folds=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_no_row_moves_its_own_label(seed, n_folds):
    y, p = imbalanced(seed)
    folds = np.arange(60) % n_folds
    index = index_of("f_beta", y)
    before = OutOfFold(index, y, p, folds).labels()
    turned = y.copy()
    turned[7] = 1 - turned[7]
    # the same dealing of rows: a single fold deals them by class, so its parts would change
    if n_folds > 1:
        after = OutOfFold(index, turned, p, folds).labels()
        np.testing.assert_array_equal(before[folds == 7 % n_folds], after[folds == 7 % n_folds])


def test_a_single_fold_is_judged_part_by_part():
    y, p = imbalanced(5)
    found = OutOfFold(index_of("f_beta", y), y, p, np.zeros(60, dtype=int))
    parts = parts_of(y)
    assert np.bincount(parts).tolist() == [60 // N_PARTS] * N_PARTS
    assert np.ptp(np.bincount(parts[y == 1])) <= 1
    expected = OutOfFold(found.index, y, p, parts).labels()
    np.testing.assert_array_equal(found.labels(), expected)


def test_rows_without_a_fold_take_no_part():
    y, p = imbalanced(2)
    folds = np.where(np.arange(60) < 20, -1, np.arange(60) % 2)
    index = index_of("mcc", y)
    p[:20] = np.nan
    whole, some = OutOfFold(index, y, p, folds), OutOfFold(index, y[20:], p[20:], folds[20:])
    assert whole.scores() == pytest.approx(some.scores())
    assert whole.pooled() == some.pooled()
    assert whole.rule() == some.rule()


def test_given_rules_need_no_learning():
    y = np.arange(40) % 3
    p = np.random.default_rng(0).dirichlet(np.ones(3), 40).astype(np.float32)
    costs = np.array([[0, 1, 1], [1, 0, 1], [20, 20, 0]])
    index = index_of("index", y, cost_matrix=costs)
    found = OutOfFold(index, y, p, np.arange(40) % 5)
    expected = (p.astype(float) @ costs).argmin(axis=1)
    np.testing.assert_array_equal(found.labels(), expected)
    assert index.score(y, p) == index.score(y, p, labels=expected)
    assert index.metrics(y, p)["cost"] == pytest.approx(costs[y, expected].mean())


@pytest.mark.parametrize("spec", ["log_loss", "roc_auc", "brier"])
def test_probabilities_alone_leave_the_threshold_to_the_costs(spec):
    y, p = imbalanced(0)
    assert index_of(spec, y).learn_rule(y, p) == DecisionRule(0.5)
    costly = index_of(spec, y, cost_matrix=[[0, 1], [4, 0]])
    assert costly.learn_rule(y, p).threshold == pytest.approx(0.2)


def test_what_is_given_is_not_learned():
    y, p = imbalanced(0)
    index = index_of("f_beta", y, decision="given")
    assert index.learn_rule(y, p) == DecisionRule(0.5)
    assert index.learned_score(y, p) == index.score(y, p)
    assert PerformanceIndex.from_json(index.to_json()) == index


def test_numbers_have_no_rule():
    y = np.arange(6.0)
    index = build_index(task=Task.REGRESSION, y_all=y)
    found = OutOfFold(index, y, y + 0.5, np.arange(6) % 2)
    assert (index.rule, found.labels(), found.rule()) == (None, None, None)
    assert found.pooled()[0] == index.score(y, y + 0.5)


def test_the_threshold_stays_at_one_half_where_nothing_is_gained():
    y = np.array([0, 0, 1, 1])
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    assert index_of("index", y).learn_rule(y, p) == DecisionRule(0.5)


def test_sample_weights_move_the_threshold():
    y, p = imbalanced(1, 400)
    index = index_of("accuracy", y)
    low = index.learn_rule(y, p, np.where(y == 1, 5.0, 1.0))
    high = index.learn_rule(y, p, np.where(y == 1, 1.0, 5.0))
    assert low.threshold < high.threshold
    assert low.codes(p).sum() > high.codes(p).sum()
