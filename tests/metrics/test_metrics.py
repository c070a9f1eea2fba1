"""Metrics against scikit-learn and closed forms (B14, sections 3.2 and 6.1)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from automl.errors import SettingsError
from automl.metrics.building import build_index
from automl.metrics.classification import area
from automl.records import Task

SEEDS = st.integers(0, 10_000)


def classification_case(seed, n_classes, n=80, *, weighted=False, ties=False):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)].astype(np.int32)
    probability = rng.dirichlet(np.ones(n_classes), n).astype(np.float32)
    if ties:
        probability = np.eye(n_classes, dtype=np.float32)[probability.argmax(1)]
    weight = rng.uniform(0.1, 3.0, n) if weighted else None
    return y, probability, weight


def task_of(n_classes):
    return Task.BINARY if n_classes == 2 else Task.MULTICLASS


def build(y, n_classes, **options):
    return build_index(task=task_of(n_classes), y_all=y, n_classes=n_classes, **options)


def test_printed_errata_are_corrected_for_two_classes():
    tp, fn, fp, tn = 5, 2, 1, 7
    y = np.repeat([1, 1, 0, 0], [tp, fn, fp, tn])
    labels = np.repeat([1, 0, 1, 0], [tp, fn, fp, tn])
    found = build(y, 2, beta=2.0, positive=1).metrics(y, labels)
    assert found["accuracy"] == pytest.approx((tp + tn) / 15)
    assert found["f_beta_positive"] == pytest.approx(5 * tp / (5 * tp + 4 * fn + fp))
    assert found["mcc"] == pytest.approx(
        (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    )


def test_log_loss_clips_as_scikit_learn_does_in_32_bits():
    y = np.array([0, 1, 1])
    p = np.array([[1, 0], [1, 0], [0.25, 0.75]], dtype=np.float32)
    assert build(y, 2).metrics(y, p)["log_loss"] == pytest.approx(
        sklearn_metrics.log_loss(y, p), rel=1e-5
    )


def test_baselines_follow_from_the_class_frequencies():
    y = np.repeat([0, 1, 2], [5, 3, 2])
    p = np.array([0.5, 0.3, 0.2])
    baselines = build(y, 3).baselines
    assert baselines == pytest.approx(
        {
            "accuracy": (p**2).sum(),
            "balanced_accuracy": 1 / 3,
            "f_beta": 1 / 3,
            "mcc": 0.0,
            "brier": 1 - (p**2).sum(),
            "log_loss": -(p * np.log(p)).sum(),
            "roc_auc": 0.5,
            "roc_auc_ovo": 0.5,
        }
    )
    thesis = build(y, 3, brier_baseline="random_labels").baselines
    assert thesis["brier"] == pytest.approx(2 * (1 - (p**2).sum()))


def test_probability_baselines_are_the_metrics_of_the_frequencies():
    y = np.repeat([0, 1, 2], [5, 3, 2])
    index = build(y, 3)
    found = index.metrics(y, np.tile([0.5, 0.3, 0.2], (10, 1)))
    for name in ("brier", "log_loss", "roc_auc", "roc_auc_ovo"):
        assert found[name] == pytest.approx(index.baselines[name])


def test_brier_against_random_labels_coincides_with_accuracy_without_probabilities():
    y, p, _ = classification_case(3, 3, ties=True)
    scores = [
        build(y, 3, spec=name, brier_baseline="random_labels").score(y, p)
        for name in ("brier", "accuracy")
    ]
    assert scores[0] == pytest.approx(scores[1])  # B14, section 3.2


def test_regression_baseline_is_the_mean_of_the_set():
    y = np.array([1.0, 2.0, 4.0, 9.0])
    index = build_index(task=Task.REGRESSION, y_all=y)
    assert index.score(y, np.full(4, 4.0)) == pytest.approx(0.0)
    assert index.score(y, y) == 1.0


def test_areas_of_a_fold_with_one_class_carry_no_information():
    y = np.array([0, 0, 1, 1])
    index = build(y, 2, spec="roc_auc")
    assert index.score(y[:2], np.array([[0.9, 0.1], [0.2, 0.8]])) == 0.0


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_area_is_the_share_of_ordered_pairs(seed):
    rng = np.random.default_rng(seed)
    is_positive = np.r_[True, False, rng.random(20) < 0.4]
    score = rng.integers(0, 5, 22).astype(float)
    weight = rng.uniform(0.1, 1.0, 22)
    above = score[is_positive][:, None] - score[~is_positive][None]
    pairs = weight[is_positive][:, None] * weight[~is_positive][None]
    expected = (pairs * ((above > 0) + 0.5 * (above == 0))).sum() / pairs.sum()
    assert area(is_positive, score, weight) == pytest.approx(expected)


def test_equal_costs_change_nothing_and_the_unit_of_costs_does_not_matter():
    y, p, _ = classification_case(4, 3)
    plain = build(y, 3).score(y, p)
    assert build(y, 3, cost_matrix=7 * (1 - np.eye(3))).score(y, p) == pytest.approx(plain)
    costs = np.array([[0, 1, 5], [2, 0, 1], [9, 1, 0.0]])
    first, second = (build(y, 3, cost_matrix=c).score(y, p) for c in (costs, 100 * costs))
    assert first == pytest.approx(second)
    assert first != pytest.approx(plain)


def test_costs_weigh_the_counts_of_errors_and_of_the_baseline():
    y = np.array([0, 0, 0, 1, 1])
    labels = np.array([0, 0, 1, 0, 1])
    index = build(y, 2, cost_matrix=[[0, 1], [3, 0]])
    scale = (1 - 0.6**2 - 0.4**2) / (0.24 * 1 + 0.24 * 3)  # an average baseline error weighs 1
    found = index.metrics(y, labels)
    assert found["accuracy"] == pytest.approx(3 / (3 + scale * (1 + 3)))
    assert found["balanced_accuracy"] == pytest.approx((2 / (2 + scale) + 1 / (1 + 3 * scale)) / 2)
    assert found["cost"] == pytest.approx((1 + 3) / 5)
    assert index.baselines["accuracy"] == pytest.approx(0.52)
    assert index.baselines["cost"] == pytest.approx(0.24 * 4)
    weighted = np.array([[0.36, 0.24 * scale], [0.24 * 3 * scale, 0.16]])
    assert index.baselines["balanced_accuracy"] == pytest.approx(
        (weighted.diagonal() / weighted.sum(1)).mean()
    )


def test_costly_errors_lower_every_count_based_metric():
    y = np.repeat([0, 1], 10)
    cheap, dear = y.copy(), y.copy()
    cheap[:3], dear[-3:] = 1, 0
    index = build(y, 2, cost_matrix=[[0, 1], [4, 0]])
    first, second = index.metrics(y, cheap), index.metrics(y, dear)
    for name in ("accuracy", "balanced_accuracy", "f_beta", "mcc"):
        assert first[name] > second[name]


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([[0, 1]], "rows and columns"),
        ([[0, -1], [1, 0]], "not negative"),
        ([[1, 1], [1, 0]], "zero diagonal"),
        ([[0, 0], [0, 0]], "positive cost"),
        ([[0, np.nan], [1, 0]], "finite"),
        ([["a", 1], [1, 0]], "numbers"),
    ],
)
def test_unusable_costs_are_refused(costs, words):
    with pytest.raises(SettingsError, match=words):
        build(np.array([0, 1]), 2, cost_matrix=costs)


def test_two_classes_that_are_both_absent_do_not_count_in_the_areas() -> None:
    y = np.array([0, 1, 0, 1])
    probability = np.array([[0.9, 0.1, 0, 0], [0.2, 0.8, 0, 0], [0.6, 0.4, 0, 0], [0.7, 0.3, 0, 0]])
    index = build_index(task=Task.MULTICLASS, y_all=np.arange(4), n_classes=4)
    found = index.metrics(y, probability)
    assert found["roc_auc_ovo"] == pytest.approx(0.75)
    assert found["roc_auc"] == pytest.approx(0.75)
