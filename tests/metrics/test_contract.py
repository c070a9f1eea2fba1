"""What holds for every metric of the registry; scikit-learn's scalars are the oracle of batches of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as oracle

from automl.metrics.batch import ClassBatch, Confusion, MetricParameters, ValueBatch
from automl.metrics.built_in import BUILT_IN
from automl.metrics.costs import error_weights
from automl.metrics.registry import METRICS
from automl.records import Task

BETA = 2.0
COSTS = np.array([[0.0, 1.0, 2.0, 1.0], [3.0, 0.0, 1.0, 2.0], [1.0, 5.0, 0.0, 1.0], [2.0, 1, 1, 0]])
SEEDS = st.integers(0, 10_000)
AREAS = {"roc_auc", "roc_auc_ovo"}


def area(y, p, labels, w, **options):
    return oracle.roc_auc_score(y, p[:, 1] if p.shape[1] == 2 else p, sample_weight=w, **options)


ORACLES = {
    "accuracy": lambda y, p, labels, w: oracle.accuracy_score(y, labels, sample_weight=w),
    "balanced_accuracy": lambda y, p, labels, w: oracle.balanced_accuracy_score(
        y, labels, sample_weight=w
    ),
    "f_beta": lambda y, p, labels, w: oracle.fbeta_score(
        y, labels, beta=BETA, average="macro", sample_weight=w
    ),
    "f_beta_positive": lambda y, p, labels, w: oracle.fbeta_score(
        y, labels, beta=BETA, average=None, sample_weight=w
    )[1],
    "mcc": lambda y, p, labels, w: oracle.matthews_corrcoef(y, labels, sample_weight=w),
    "cost": lambda y, p, labels, w: np.average(COSTS[y, labels], weights=w),
    "brier": lambda y, p, labels, w: oracle.brier_score_loss(
        y, p[:, 1] if p.shape[1] == 2 else p, sample_weight=w, scale_by_half=False
    ),
    "log_loss": lambda y, p, labels, w: oracle.log_loss(y, p, sample_weight=w),
    "roc_auc": lambda y, p, labels, w: area(y, p, labels, w, multi_class="ovr"),
    "roc_auc_ovo": lambda y, p, labels, w: area(y, p, labels, None, multi_class="ovo"),
    "r2": lambda y, p, labels, w: oracle.r2_score(y, p, sample_weight=w),
    "mae": lambda y, p, labels, w: oracle.mean_absolute_error(y, p, sample_weight=w),
    "mse": lambda y, p, labels, w: oracle.mean_squared_error(y, p, sample_weight=w),
    "rmse": lambda y, p, labels, w: oracle.root_mean_squared_error(y, p, sample_weight=w),
}


class Case:
    """Rows for a metric, m predictions of them, labels that are not the most probable classes."""

    def __init__(self, name, seed, *, n_classes=3, m=4, n_rows=60, ties=False):
        rng = np.random.default_rng(seed)
        self.metric = METRICS[name]
        self.rng, self.labels, self.parameters = rng, None, MetricParameters(beta=BETA)
        if Task.REGRESSION in self.metric.tasks:
            self.y = rng.normal(size=n_rows)
            self.predictions = (self.y + rng.normal(size=(m, n_rows))).astype(np.float32)
            return
        size = n_classes if Task.BINARY in self.metric.tasks else max(n_classes, 3)
        self.y = np.r_[np.arange(size), rng.integers(0, size, n_rows - size)]
        p = rng.dirichlet(np.ones(size), (m, n_rows))
        if ties:
            p = np.where(rng.random((m, n_rows, 1)) < 0.7, 1 / size, p)
        self.predictions = (p / p.sum(axis=2, keepdims=True)).astype(np.float32)
        self.labels = rng.integers(0, size, (m, n_rows))
        costs = COSTS[:size, :size] if name == "cost" else None
        self.parameters = MetricParameters(None, costs, BETA, positive=1)

    def values(self, predictions=None, weights=None, *, rows=None, labels=None):
        """Of all predictions or some, of all rows or some."""
        rows = np.arange(len(self.y)) if rows is None else rows
        predictions = self.predictions if predictions is None else predictions
        labels = self.labels if labels is None else labels
        return self.metric.of_many(
            self.y[rows],
            predictions[:, rows],
            None if weights is None else weights[:, rows],
            labels=None if labels is None else labels[: len(predictions), rows],
            parameters=self.parameters,
        )


EVERY = pytest.mark.parametrize("name", sorted(METRICS))


def test_each_of_our_metrics_has_an_oracle():
    assert {metric.name for metric in BUILT_IN} == set(ORACLES)


@pytest.mark.parametrize("name", sorted(ORACLES))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_batch_of_one_is_scikit_learns_scalar(name, n_classes, weighted, ties):
    case = Case(name, 1, n_classes=n_classes, ties=ties)
    weight = case.rng.uniform(0.1, 3.0, len(case.y)) if weighted else None
    if weighted and name == "roc_auc_ovo":
        pytest.skip("scikit-learn takes no weights there")
    exact = case.predictions[0].astype(np.float64)
    if exact.ndim > 1:
        exact /= exact.sum(axis=1, keepdims=True)
    labels = None if case.labels is None else case.labels[0]
    weights = None if weight is None else weight[None]
    found = case.values(case.predictions[:1], weights)
    expected = ORACLES[name](case.y, exact, labels, weight)
    assert_allclose(found, [expected], rtol=2e-6, atol=1e-6)


@EVERY
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_many_predictions_are_as_one_at_a_time(name, seed):
    case = Case(name, seed)
    alone = [
        case.values(
            case.predictions[i : i + 1],
            labels=None if case.labels is None else case.labels[i : i + 1],
        )[0]
        for i in range(4)
    ]
    assert_array_equal(case.values(), alone)


@EVERY
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_many_weightings_are_as_one_at_a_time_and_as_repeated_rows(name, seed):
    case = Case(name, seed)
    first = case.predictions[:1]
    weights = case.rng.integers(0, 3, (5, len(case.y))).astype(float)
    found = case.values(first, weights)
    assert_allclose(found, [case.values(first, w[None])[0] for w in weights], atol=1e-9)
    repeats = [np.repeat(np.arange(len(case.y)), w.astype(int)) for w in weights]
    assert_allclose(found, [case.values(first, rows=rows)[0] for rows in repeats], atol=1e-5)
    assert_allclose(found, case.values(first, 3.5 * weights), atol=1e-9)


@EVERY
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_rows_does_not_matter(name, seed):
    case = Case(name, seed)
    assert_allclose(case.values(rows=case.rng.permutation(len(case.y))), case.values(), atol=1e-5)


@EVERY
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_classes_or_the_zero_of_the_target_does_not_matter(name, seed):
    case, other = Case(name, seed), Case(name, seed)
    if case.labels is None:
        other.y, other.predictions = case.y + 5.0, case.predictions + 5.0
    else:
        new = case.rng.permutation(case.predictions.shape[2])
        other.y, other.labels = new[case.y], new[case.labels]
        other.predictions = case.predictions[..., np.argsort(new)]
        costs = case.parameters.costs
        if costs is not None:
            costs = costs[np.ix_(np.argsort(new), np.argsort(new))]
        other.parameters = MetricParameters(None, costs, BETA, positive=int(new[1]))
    assert_allclose(other.values(), case.values(), rtol=1e-5, atol=1e-5)


@EVERY
@given(seed=SEEDS, n_rows=st.integers(4, 30))
@settings(max_examples=15, deadline=None)
def test_values_lie_in_the_bounds(name, seed, n_rows):
    least, greatest = METRICS[name].bounds
    found = Case(name, seed, n_rows=n_rows).values()
    assert (found >= least - 1e-6).all()
    assert (found <= greatest + 1e-6).all()


@EVERY
@given(seed=SEEDS, n_present=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_a_perfect_prediction_of_any_fold_is_ideal(name, seed, n_present):
    case = Case(name, seed)
    rows = np.arange(len(case.y)) if case.labels is None else np.flatnonzero(case.y < n_present)
    perfect = case.y if case.labels is None else np.eye(3, dtype=np.float32)[case.y]
    labels = None if case.labels is None else case.y[None]
    found = case.values(perfect[None], rows=rows, labels=labels)
    ideal = 0.5 if name in AREAS and n_present == 1 else case.metric.ideal
    assert_allclose(found, [ideal], atol=1e-6)


def test_without_variance_a_perfect_prediction_has_1_and_any_other_0():
    y = np.ones(4)
    found = METRICS["r2"].of_many(y, np.array([y, y + 1]))
    assert found.tolist() == [1.0, 0.0]


def test_correlation_is_0_where_one_class_is_predicted_or_true():
    y, one = np.array([0, 0, 1, 1]), np.zeros(4, dtype=int)
    p = np.eye(2)[[one, one]]
    for truth, expected in ((y, 0.0), (one, 1.0)):
        found = METRICS["mcc"].of_many(truth, p, labels=np.array([one, one]))
        assert found.tolist() == [expected] * 2
    assert METRICS["mcc"].of_many(one, p[:1], labels=y[None]).tolist() == [0.0]


def test_no_positive_row_and_none_predicted_is_a_perfect_f_beta():
    parameters = MetricParameters(positive=2)
    p = np.eye(3, dtype=np.float32)[[[0, 1, 1]]]
    found = METRICS["f_beta_positive"].of_many(np.array([0, 1, 0]), p, parameters=parameters)
    assert found.tolist() == [1.0]


@pytest.mark.parametrize("name", sorted(n for n in METRICS if METRICS[n].needs == "labels"))
def test_counts_are_enough_for_a_metric_of_labels_with_costs_too(name):
    case = Case(name, 5)
    costs = COSTS[:3, :3]
    errors = error_weights(costs, np.bincount(case.y) / len(case.y))
    parameters = MetricParameters(errors, costs, BETA, positive=1)
    batch = ClassBatch(case.y, case.predictions, case.labels, None, parameters)
    counts = [oracle.confusion_matrix(case.y, labels) for labels in case.labels]
    found = case.metric.values(Confusion(np.array(counts, dtype=float), parameters))
    assert_allclose(found, case.metric.values(batch))
    if name != "cost":
        assert (abs(found - case.values()) > 1e-3).any()


@pytest.mark.parametrize("name", sorted(n for n in METRICS if METRICS[n].row_losses))
def test_row_losses_say_what_more_of_a_row_changes(name):
    case = Case(name, 6)
    n_rows, step = len(case.y), 1e-5
    case.parameters = MetricParameters(variance=float(case.y.var()))
    more = np.ones((n_rows, n_rows)) + step * np.eye(n_rows)
    change = case.values(case.predictions[:1], more) - case.values(case.predictions[:1])
    batch = ValueBatch(case.y, case.predictions[:1], None, case.parameters)
    losses = case.metric.row_losses(batch)[0]
    assert (losses >= 0).all()
    sign = -1 if case.metric.is_maximized else 1
    expected = sign * (losses - losses.mean()) / n_rows
    assert_allclose(change / step, expected, rtol=1e-3, atol=1e-6)
    assert not np.isfinite(case.metric.bounds).all()


@EVERY
def test_predictions_that_are_not_finite_or_do_not_fit_are_refused(name):
    case = Case(name, 7)
    with pytest.raises(ValueError, match="predictions for"):
        case.metric.of_many(case.y[:-1], case.predictions, parameters=case.parameters)
    case.predictions[2, 3] = np.nan
    with pytest.raises(ValueError, match="finite"):
        case.values()
