"""Honest metrics: the formula of the honest score, in the units and with the sign of each metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.metrics.building import build_index
from automl.metrics.custom import load_place
from automl.records import Task
from automl.run_records.honest import HonestRecord
from automl.selection import honest, natural_metrics
from automl.selection.correction import WIDENING, HonestScore, corrected_metric
from automl.selection.honest import N_INTERVAL, Gain, Repetition
from automl.selection.natural_metrics import NaturalMetrics
from automl.selection.row_intervals import row_intervals
from automl.selection.scored_rows import Choice, ScoredRows, draw
from automl.stage_record import plain_json

CALLS: list[int] = []


def scorer(y, prediction):
    """A user's own: mean probability of the truth."""
    CALLS.append(len(y))
    return float(np.mean(prediction[np.arange(len(y)), y]))


def index_of(spec, task, y):
    return build_index(spec, task=task, y_all=y, n_classes=3 if task is Task.MULTICLASS else None)


def table_of(task, seed, n_models=6, n_rows=80):
    """Target and predictions of models that are alike but for chance."""
    rng = np.random.default_rng(seed)
    if task is Task.REGRESSION:
        y = rng.normal(size=n_rows)
        return y, [y + rng.normal(size=n_rows) for _ in range(n_models)]
    n_classes = 3 if task is Task.MULTICLASS else 2
    y = rng.integers(0, n_classes, n_rows)
    shares = rng.dirichlet(np.ones(n_classes), (n_models, n_rows)) + 0.4 * np.eye(n_classes)[y]
    return y, [(p / p.sum(axis=1, keepdims=True)).astype(np.float32) for p in shares]


def rows_of(spec, task, seed, **options):
    y, predictions = table_of(task, seed)
    index = index_of(spec, task, y)
    return ScoredRows(
        [predictions],
        y,
        index.score,
        takes_weights=index.takes_weights,
        metrics=NaturalMetrics(index),
        **options,
    )


def estimate(rows, n_bootstraps=40, gain=None):
    """Of the best model, its labels by the rule that the drawn rows speak for."""
    index, models = rows.metrics.index, rows.versions[0]

    def choose(counts, _):
        found = []
        for drawn in counts:
            best = int(np.argmax([rows.score_under([p], drawn) for p in models]))
            rule = index.learn_rule(rows.y, models[best], drawn)
            found.append({"single": Choice(np.eye(len(models))[best], rule)})
        return found

    final = choose(np.ones((1, len(rows.y)), dtype=np.float32), None)[0]
    made = Repetition(
        rows, final, choose, seed=np.random.SeedSequence(1), n_bootstraps=n_bootstraps
    )
    return made.whole({} if gain is None else {"single": gain})["single"]


ALONE = [
    *((name, Task.BINARY) for name in ("accuracy", "balanced_accuracy", "brier", "mcc", "roc_auc")),
    *((name, Task.MULTICLASS) for name in ("f_beta", "log_loss", "roc_auc_ovo")),
    *((name, Task.REGRESSION) for name in ("mae", "mse", "rmse")),
]


@pytest.mark.parametrize("how", ["plain", "weighted", "grouped"])
@pytest.mark.parametrize(("name", "task"), ALONE)
def test_a_metric_that_is_the_score_has_the_scores_own_correction(name, task, how):
    rng = np.random.default_rng(5)
    options = {
        "plain": {},
        "weighted": {"sample_weight": rng.integers(1, 4, 80).astype(float)},
        "grouped": {"groups": np.arange(80) // 2},
    }
    rows = rows_of(name, task, 3, **options[how])
    found, units = estimate(rows), rows.metrics.index.metric_of_score
    own = found.metrics[name]
    least, greatest = sorted(rows.metrics.index.bounds(name))
    assert own.naive == pytest.approx(units(found.naive), abs=1e-6)
    assert own.value == pytest.approx(np.clip(units(found.score), least, greatest), abs=1e-5)
    ends = np.clip(sorted((units(found.low), units(found.high))), least, greatest)
    assert (own.low, own.high) == pytest.approx(tuple(ends), abs=1e-5)
    assert found.bias > 0


@pytest.mark.parametrize("task", list(Task))
def test_the_numbers_of_the_score_are_the_same_without_metrics(task):
    rows = rows_of("index", task, 4)
    bare = ScoredRows(rows.versions, rows.y, rows.score)
    models = rows.versions[0]

    def choose(counts, _):
        scores = [[rows.score_under([p], drawn) for p in models] for drawn in counts]
        return [{"single": Choice(np.eye(len(models))[np.argmax(found)])} for found in scores]

    final = choose(np.ones((1, 80), dtype=np.float32), None)[0]
    both = [
        Repetition(each, final, choose, seed=np.random.SeedSequence(2), n_bootstraps=30).whole()
        for each in (rows, bare)
    ]
    assert both[1]["single"].metrics == {}
    assert replace(both[0]["single"], metrics={}) == both[1]["single"]


@pytest.mark.parametrize("task", list(Task))
def test_of_one_model_each_metric_is_the_naive_one_with_its_own_bootstrap_interval(task):
    whole = rows_of("index", task, 6)
    rows = replace(whole, versions=[whole.versions[0][:1]])
    index, prediction = rows.metrics.index, rows.versions[0][0]
    choice = Choice(np.ones(1), index.rule)
    choose = lambda counts, _: [{"single": choice}] * len(counts)  # noqa: E731
    seed = np.random.SeedSequence(1)
    made = Repetition(rows, {"single": choice}, choose, seed=seed, n_bootstraps=20)
    found = made.whole()["single"].metrics
    expected = index.metrics(rows.y, prediction)
    assert set(found) == set(expected)
    child = np.random.SeedSequence(seed.entropy, spawn_key=(1,))
    drawn = draw(80, N_INTERVAL, rng=np.random.default_rng(child))
    repeated = [np.repeat(np.arange(80), times.astype(int)) for times in drawn]
    values = [index.metrics(rows.y[each], prediction[each]) for each in repeated]
    for name, metric in found.items():
        assert metric.value == metric.naive == pytest.approx(expected[name])
        low, high = np.percentile([value[name] for value in values], [2.5, 97.5])
        least, greatest = sorted(index.bounds(name))
        below = max(metric.naive - WIDENING * (metric.naive - low), least)
        above = min(metric.naive + WIDENING * (high - metric.naive), greatest)
        assert (metric.low, metric.high) == pytest.approx((below, above), abs=1e-5)


@pytest.mark.parametrize("task", list(Task))
def test_values_on_drawn_rows_are_those_of_the_rows_repeated(task):
    rng = np.random.default_rng(7)
    rows = rows_of("index", task, 8)
    counts = draw(80, 3, rng=rng)
    counts[2] = 0.0
    versions = rows.versions[0][:2]
    found = rows.metrics_under(versions, counts, rows.metrics.index.rule)
    for i in (0, 1):
        repeated = np.repeat(np.arange(80), counts[i].astype(int))
        each = [rows.metrics.index.metrics(rows.y[repeated], v[repeated]) for v in versions]
        for place, name in enumerate(rows.metrics.names):
            expected = rows.metrics.signs[place] * np.mean([one[name] for one in each])
            assert found[place, i] == pytest.approx(expected, rel=1e-5)
    assert np.isnan(found[:, 2]).all()


@pytest.mark.parametrize("cells", [1, 400])
def test_blocks_of_weightings_change_nothing(cells, monkeypatch):
    weight = np.random.default_rng(3).integers(0, 2, 80).astype(float)
    rows = rows_of("index", Task.MULTICLASS, 8, sample_weight=weight)
    counts = np.vstack([draw(80, 7, rng=np.random.default_rng(7)), (weight == 0).astype(float)])
    whole = rows.metrics_under(rows.versions[0][:1], counts)
    monkeypatch.setattr(natural_metrics, "BLOCK_CELLS", cells)
    assert rows.metrics_under(rows.versions[0][:1], counts) == pytest.approx(whole, nan_ok=True)
    assert np.isnan(whole[:, -1]).all()
    assert np.isfinite(whole[:, :-1]).all()


def test_errors_are_minimized_and_a_gain_makes_them_less():
    rows = rows_of("index", Task.REGRESSION, 9)
    plain = estimate(rows).metrics
    gained = Gain(0.01, tuple(0.01 for _ in rows.metrics.names))
    better = estimate(rows, gain=gained).metrics
    assert plain["rmse"].value > plain["rmse"].naive
    assert plain["r2"].value < plain["r2"].naive
    assert better["rmse"].value == pytest.approx(plain["rmse"].value - 0.01)
    assert better["r2"].value == pytest.approx(plain["r2"].value + 0.01)


def test_slow_metrics_of_a_large_table_have_fewer_drawings_and_the_others_all(monkeypatch):
    rows = rows_of("index", Task.MULTICLASS, 12)
    whole = estimate(rows).metrics
    monkeypatch.setattr(honest, "SLOW_CELLS", 50 * rows.versions[0][0].size)
    fewer = estimate(rows).metrics
    slow = rows.metrics.index.slow
    assert slow < set(whole) == set(fewer)
    for name in whole:
        assert fewer[name].value == whole[name].value
        assert (fewer[name] == whole[name]) == (name not in slow)
        assert fewer[name].low == pytest.approx(whole[name].low, abs=0.05)


def broken(_):
    raise ZeroDivisionError("a class is missing")


def never(batch):
    return np.full(batch.size, np.nan)


@pytest.mark.parametrize("kernel", [broken, never])
def test_a_metric_without_a_value_on_some_drawn_rows_has_no_estimate_and_the_others_have(kernel):
    rows = rows_of("index", Task.BINARY, 10)
    known = rows.metrics.index._metrics
    rows.metrics.index.__dict__["_metrics"] = {
        **known,
        "brier": replace(known["brier"], kernel=kernel, name="brier"),
        "accuracy": known["accuracy"],
    }
    bare = replace(
        rows, score=lambda y, p, w=None, **_: float(np.average(p[:, 1] > 0.5, weights=w))
    )
    made = Repetition(
        bare,
        {"single": Choice(np.eye(6)[0], rows.metrics.index.rule)},
        lambda counts, _: [{"single": Choice(np.eye(6)[1], rows.metrics.index.rule)}] * len(counts),
        seed=np.random.SeedSequence(0),
        n_bootstraps=20,
    )
    found = made.whole()["single"].metrics
    assert "brier" not in found
    assert set(found) == set(rows.metrics.names) - {"brier"}


def test_a_users_scorer_alone_has_the_scores_estimate_and_is_called_no_more_often():
    rows = rows_of(f"{__file__}:scorer", Task.BINARY, 11)
    (scored,), calls = rows.metrics.index.weights, load_place(__file__).CALLS
    choices = [{"single": Choice(np.eye(6)[place])} for place in (0, 1)]
    found, called = [], []
    for each in (rows, replace(rows, metrics=None)):
        calls.clear()
        made = Repetition(
            each,
            choices[0],
            lambda counts, _: [choices[1]] * len(counts),
            seed=np.random.SeedSequence(0),
            n_bootstraps=20,
        )
        found.append(made.whole()["single"])
        called.append(len(calls))
    assert called[0] == called[1] > 500
    assert found[0].metrics[scored].value == found[0].score == found[1].score
    assert {"accuracy", "roc_auc"} <= set(found[0].metrics)


@given(
    st.floats(0.0, 1.0),
    st.lists(st.floats(-0.3, 0.6), min_size=2, max_size=20),
    st.floats(-0.2, 0.2),
    st.booleans(),
    st.integers(0, 1000),
)
@settings(max_examples=200)
def test_a_metric_stays_in_its_bounds_and_in_its_interval(naive, shortfalls, gain, is_error, seed):
    sign = -1.0 if is_error else 1.0
    drawn = np.clip(naive + np.random.default_rng(seed).normal(0, 0.1, 50), 0, 1)
    bounds = (1.0, 0.0) if is_error else (0.0, 1.0)
    found = corrected_metric(sign * naive, sign * drawn, np.array(shortfalls), gain, bounds=bounds)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.naive == naive


def test_metrics_survive_the_record_and_earlier_records_have_none():
    score = estimate(rows_of("index", Task.BINARY, 12))
    record = HonestRecord(single=score, chosen="single", n_bootstraps=40, n_trials=6)
    told = plain_json(record)
    assert HonestRecord.from_json(told) == record
    assert record.of_metrics == score.metrics
    del told["single"]["metrics"]
    earlier = HonestRecord.from_json(told)
    assert earlier.of_metrics == {}
    assert isinstance(earlier.single, HonestScore)
    assert earlier.single.score == score.score


def test_intervals_of_rows_draw_whole_groups_and_one_group_has_none():
    y, (prediction, *_) = table_of(Task.BINARY, 13)
    twice = np.repeat(np.arange(80), 4)
    index = index_of("index", Task.BINARY, y)
    labels = index.rule.codes(prediction[twice])
    known = {"labels": labels}
    alone = row_intervals(index, y[twice], prediction[twice], **known)
    whole = row_intervals(index, y[twice], prediction[twice], groups=twice, **known)
    widths = [np.diff(each.metrics["accuracy"])[0] for each in (alone, whole)]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.15)
    one = row_intervals(index, y[twice], prediction[twice], groups=np.zeros(320), **known)
    assert one.metrics == {}
    assert one.score is None


def test_metrics_that_a_few_rows_decide_have_no_interval():
    rng = np.random.default_rng(14)
    y = rng.normal(size=300)
    prediction = y + 0.1 * rng.normal(size=300)
    index = index_of("index", Task.REGRESSION, y)
    assert set(row_intervals(index, y, prediction, labels=None).metrics) == set(index.weighable)
    prediction[5] += 1e3
    found = row_intervals(index, y, prediction, labels=None)
    assert found.metrics == {}
    assert found.score is None


def test_metrics_of_which_no_row_is_wrong_have_no_interval():
    y = np.arange(40) % 2
    perfect = np.eye(2, dtype=np.float32)[y]
    index = index_of("accuracy", Task.BINARY, y)
    found = row_intervals(index, y, perfect, labels=y)
    assert "accuracy" not in found.metrics
    assert found.score is None
