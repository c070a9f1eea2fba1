"""Greedy selection, honest scores, decisions and limits (H18, section 2.5.3)."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.ensembles import deadline as deadlines
from automl.ensembles import library as library_module
from automl.ensembles.evidence import (
    EnsembleDecision,
    cross_fitted_scores,
    decide_ensemble,
    other_rows,
)
from automl.ensembles.greedy import greedy_selection
from automl.ensembles.member_limits import limit_members, limit_prediction_time
from automl.ensembles.problem import EnsembleProblem
from automl.errors import AutoMLWarning, SettingsError
from automl.inference.combining import combined
from automl.metrics.building import build_index
from automl.records import Task


def library(m=8, n=300, seed=0):
    """Members whose logits are the truth with independent noise."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    logits = (2 * y - 1) + rng.normal(0, 1.5, (m, n))
    one = 1 / (1 + np.exp(-logits))
    return y, [np.column_stack([1 - p, p]).astype(np.float32) for p in one]


def index_of(y, spec="index"):
    """By labels at one half, so that a score is that of the rows alone."""
    return build_index(spec, task=Task.BINARY, y_all=y, n_classes=2, decision="given")


GREEDY = ("n_rounds", "sorted_start", "max_members", "max_rows")


def greedy(predictions, y, index, **options):
    own = {name: options.pop(name) for name in GREEDY if name in options}
    problem = EnsembleProblem(predictions, y, index, generator(), **options)
    return greedy_selection(problem, **own)


def blend(predictions, weights, rows=None):
    return combined(predictions, weights, rows=rows)


def generator():
    return np.random.default_rng(7)


class OneByOne:
    """An index that scores predictions one at a time, by a function."""

    def __init__(self, score, n_classes=2):
        self.score, self.n_classes = score, n_classes

    def learned_scores(self, y, predictions, weights=None):
        assert weights is None
        return np.array([self.score(y, prediction) for prediction in predictions])


@given(seed=st.integers(0, 500), m=st.integers(1, 9))
@settings(max_examples=15, deadline=None)
def test_weights_are_a_distribution_and_repeat_with_the_stream(seed, m):
    y, predictions = library(m, 60, seed)
    found = [greedy(predictions, y, index_of(y), n_rounds=5) for _ in range(2)]
    assert found[0].shape == (m,)
    assert (found[0] >= 0).all()
    assert found[0].sum() == pytest.approx(1.0)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("spec", ["index", "log_loss", "brier", "roc_auc"])
def test_it_is_at_least_as_good_as_the_best_single_member(spec):
    y, predictions = library()
    index = index_of(y, spec)
    blended = blend(predictions, greedy(predictions, y, index))
    assert index.score(y, blended) > max(index.score(y, p) for p in predictions) + 0.01


@pytest.mark.parametrize("max_rows", [5_000, 50])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_blends_that_are_scored_together_give_the_same_selection(n_classes, max_rows):
    rng = np.random.default_rng(n_classes)
    y = np.arange(90) % n_classes if n_classes else rng.normal(size=90)
    if n_classes:
        logits = 1.5 * np.eye(n_classes)[y] + rng.normal(size=(12, 90, n_classes)).round(1)
        made = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    else:
        made = y + rng.normal(size=(12, 90))
    predictions = [prediction.astype(np.float32) for prediction in made]
    predictions[3] = predictions[7]
    task = (Task.REGRESSION, None, Task.BINARY, None, Task.MULTICLASS)[n_classes]
    index = build_index(task=task, y_all=y, n_classes=n_classes)
    rows = rng.integers(0, 90, 90)
    for combine in ("mean", "median")[: 1 if n_classes else 2]:
        found = [
            greedy(predictions, y, how, rows=rows, max_rows=max_rows, combine=combine)
            for how in (OneByOne(index.learned_score, n_classes), index)
        ]
        assert (found[0] == found[1]).all()


def test_independent_members_help_on_fresh_rows():
    y, predictions = library(10, 2000)
    index, half = index_of(y), np.arange(1000)
    score, weights = index.score, greedy(predictions, y, index, rows=half)
    rest = np.arange(1000, 2000)
    honest = score(y[rest], blend(predictions, weights, rest))
    assert honest > max(score(y[rest], p[rest]) for p in predictions) + 0.05


def test_a_single_round_without_start_matches_brute_force():
    y, predictions = library(5)
    index = index_of(y, "brier")
    score = index.score
    found = greedy(predictions, y, index, sorted_start=1, n_rounds=1)
    order = np.argsort([-score(y, p) for p in predictions])
    first = predictions[order[0]]
    pairs = [score(y, (first + p) / 2) for p in predictions]
    if max(pairs) > score(y, first):
        expected = np.bincount([order[0], int(np.argmax(pairs))], minlength=5) / 2
    else:
        expected = np.eye(5)[order[0]]
    assert found == pytest.approx(expected)


def test_equal_members_are_taken_in_their_order():
    y, predictions = library(1)
    weights = greedy(predictions * 4, y, index_of(y))
    assert weights.tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("spec", ["roc_auc", "index"])
def test_a_member_that_hardly_varies_does_not_take_the_weight_of_the_others(spec):
    """Its values differ between folds alone, so that a score of orders can gain a little by much of it."""
    y, predictions = library(3)
    folds = np.arange(len(y)) % 5
    rates = [y[folds == fold].mean() for fold in range(5)]
    flat = np.choose(folds, [0.4 + 0.05 * rate for rate in rates])
    flat = np.column_stack([1 - flat, flat]).astype(np.float32)
    weights = greedy([*predictions, flat], y, index_of(y, spec))
    assert weights[3] == 0.0
    assert weights.tolist()[:3] == greedy(predictions, y, index_of(y, spec)).tolist()
    assert greedy([flat, flat], y, index_of(y, spec)).sum() == 1.0
    assert greedy([np.full_like(flat, np.nan)] * 2, y, OneByOne(lambda *_: 0.0)).sum() == 1.0


def test_of_values_one_that_diverges_does_not_make_the_others_flat():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    members = [(y + rng.normal(0, scale, 200)).astype(np.float32) for scale in (0.5, 0.6)]
    members[0][0] = 1e6
    index = OneByOne(lambda y, values: -np.median(np.abs(y - values)), n_classes=0)
    problem = EnsembleProblem(members, y, index, generator())
    library = library_module.Library.build(problem, max_members=10, max_rows=1000)
    assert library.members.tolist() == [0, 1]


def test_regression_predictions_blend():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    predictions = [y + rng.normal(0, 1, 200) for _ in range(6)]
    index = build_index(task=Task.REGRESSION, y_all=y)
    blended = blend(predictions, greedy(predictions, y, index))
    assert index.score(y, blended) > max(index.score(y, p) for p in predictions)


def test_sample_weights_decide():
    y = np.array([0, 0, 1, 1])
    right_first, right_last = np.eye(2)[[0, 0, 0, 0]], np.eye(2)[[1, 1, 1, 1]]
    index = index_of(y, "accuracy")
    for weight, expected in (([9, 9, 1, 1], [1, 0]), ([1, 1, 9, 9], [0, 1])):
        found = greedy(
            [right_first, right_last], y, index, sample_weight=np.array(weight, dtype=float)
        )
        assert found.tolist() == expected


def test_a_sample_of_rows_proposes_and_all_rows_decide(tmp_path):
    y, predictions = library(10, 1500)
    maps = []
    for i, prediction in enumerate(predictions):
        np.save(tmp_path / f"{i}.npy", prediction)
        maps.append(np.load(tmp_path / f"{i}.npy", mmap_mode="r"))
    index = index_of(y)
    quick, full = greedy(maps, y, index, max_rows=200), greedy(maps, y, index)
    scores = [index.score(y, blend(maps, weights)) for weights in (quick, full)]
    assert scores[0] > scores[1] - 0.05
    assert scores[0] > max(index.score(y, one) for one in maps)


def test_the_sample_of_rows_finds_the_member_that_helps_though_it_is_the_worst_alone():
    rng = np.random.default_rng(1)
    y, error = rng.normal(size=(2, 1500))
    alike = [y + error + rng.normal(0, 0.01, 1500) for _ in range(8)]
    index = build_index(task=Task.REGRESSION, y_all=y)
    weights = greedy([*alike, y - 1.2 * error], y, index, max_rows=200)
    assert weights[-1] == pytest.approx(1 / 2.2, abs=0.05)


def recall_over_predicted(y, prediction):
    """Precision, undefined where nothing is predicted, and where there is nothing to find."""
    found = prediction[:, 1] > 0.5
    return float((found & (y == 1)).sum()) / int(found.sum()) * int((y == 1).any())


def test_a_blend_that_a_users_scorer_cannot_score_is_the_worst_and_no_error():
    y, predictions = library(4)
    nothing = np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(y), 1))
    index = index_of(y, f"{__file__}:recall_over_predicted")
    problem = EnsembleProblem([*predictions, nothing], y, index, generator())
    scores = problem.scores(np.stack(problem.predictions))
    assert np.isfinite(scores[:4]).all()
    assert scores[4] == -np.inf
    weights = greedy_selection(problem)
    assert weights.sum() == pytest.approx(1)
    assert problem.scores(blend(problem.predictions, weights)[None]) >= scores.max()


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_of_rows_has_every_class(seed):
    y = np.zeros(40_000, dtype=int)
    y[[5, 17, 30_000]] = 1, 1, 2
    prediction = np.full((len(y), 3), 1 / 3, dtype=np.float32)
    index = build_index("accuracy", task=Task.MULTICLASS, y_all=y, n_classes=3, decision="given")
    problem = EnsembleProblem([prediction], y, index, np.random.default_rng(seed))
    sample = problem.sample(5_000)
    assert set(sample.truth) == {0, 1, 2}
    assert 5_000 <= len(sample.rows) == len(set(sample.rows)) <= 5_002
    assert (np.diff(sample.rows) > 0).all()


def test_the_library_keeps_the_best_of_each_family():
    y, predictions = library(12)
    poor = [p[::-1].copy() for p in predictions[:2]]
    groups = ["good"] * 12 + ["other"] * 2
    found = greedy([*predictions, *poor], y, index_of(y), groups=groups, max_members=5)
    assert np.count_nonzero(found) <= 5


def test_the_deadline_is_kept_and_still_gives_weights():
    y, predictions = library(20, 2000)

    slow = OneByOne(lambda y, p: float(index_of(y).score(y, p)))
    for ahead in (-1.0, 0.05):
        started = time.process_time()  # others on the machine take none of it
        deadline = deadlines.Deadline(time.monotonic() + ahead)
        found = greedy(predictions, y, slow, deadline=deadline, n_rounds=10_000)
        assert time.process_time() - started < 2.0
        assert found.sum() == pytest.approx(1.0)


def test_no_predictions_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        greedy([], np.array([0, 1]), index_of(np.array([0, 1])))


class Clock:
    """Stands still, and jumps beyond any deadline after some looks."""

    def __init__(self, looks):
        self.looks = looks

    def monotonic(self):
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 1e9


@given(seed=st.integers(0, 500), looks=st.integers(0, 120))
@settings(max_examples=60, deadline=None)
def test_weights_that_are_cut_short_are_never_worse_than_the_best_member(seed, looks):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=60)
    noise = np.sort(rng.uniform(0.3, 3.0, 12))[:, None] * rng.normal(size=(12, 60))
    predictions = list((y + noise).astype(np.float32))
    index = build_index(task=Task.REGRESSION, y_all=y)
    score = index.score
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library_module, "MANY_CELLS", 1)  # a look before each score
        patch.setattr(deadlines, "time", Clock(looks))
        found = greedy(predictions, y, index, deadline=deadlines.Deadline(1.0))
    # in the order of their scores in the search, as the library of a run is, so the best is scored
    best = max(score(y, p) for p in predictions[: max(looks, 1)])
    assert score(y, blend(predictions, found)) >= best - 1e-5


def test_wide_predictions_have_a_sample_too(monkeypatch):
    y = np.arange(900) % 30
    rng = np.random.default_rng(0)
    shares = np.exp(2 * np.eye(30)[y] + rng.normal(size=(6, 900, 30)))
    predictions = list((shares / shares.sum(axis=2, keepdims=True)).astype(np.float32))
    index = build_index(task=Task.MULTICLASS, y_all=y, n_classes=30)
    seen = []

    def score(y, prediction):
        seen.append(len(y))
        return index.score(y, prediction)

    greedy(predictions, y, OneByOne(score), n_rounds=3)
    assert set(seen) == {900, 20_000 // 30}


def test_cross_fitted_weights_never_see_the_fold_that_scores_them():
    y, predictions = library(4, 100)
    folds = np.r_[np.arange(90) % 3, np.full(10, -1)]
    for fold, rows in enumerate(other_rows(folds)):
        assert set(folds[rows]) == {0, 1, 2} - {fold}
    score = index_of(y).score
    weights = np.array([[0.25] * 4, [1.0, 0, 0, 0], [0, 0.5, 0.5, 0]])

    def judge(prediction, inside, others):
        np.testing.assert_array_equal(others, np.setdiff1d(np.arange(90), inside))
        return score(y[inside], prediction[inside])

    found = cross_fitted_scores(predictions, judge, folds, weights)
    for fold, own in enumerate(weights):
        inside = np.flatnonzero(folds == fold)
        assert found[fold] == pytest.approx(score(y[inside], blend(predictions, own, inside)))
    with pytest.raises(ValueError, match="two folds"):
        other_rows(np.zeros(100, int))


def test_the_champion_is_replaced_only_on_evidence():
    rng = np.random.default_rng(0)
    champion = rng.normal(0.8, 0.02, 10)
    same_rows = {"learned_score": 0.8, "replaced_score": 0.8}
    better = decide_ensemble(
        champion + rng.normal(0.03, 0.005, 10), champion, test_train_ratio=1 / 9, **same_rows
    )
    equal = decide_ensemble(
        champion + rng.normal(0.001, 0.02, 10), champion, test_train_ratio=1 / 9, **same_rows
    )
    worse = decide_ensemble(
        champion - 0.03, champion, test_train_ratio=1 / 9, **same_rows, alpha=1.0
    )
    same = decide_ensemble(champion, champion, test_train_ratio=1 / 9, **same_rows, alpha=1.0)
    assert [d.is_replaced for d in (better, equal, worse, same)] == [True, False, False, False]
    a_little_worse = champion + np.tile([-0.02, 0.018], 5)
    for alpha, is_replaced in ((0.5, False), (0.9, True)):
        decision = decide_ensemble(
            a_little_worse, champion, test_train_ratio=1 / 9, **same_rows, alpha=alpha
        )
        assert decision.difference < 0
        assert decision.is_replaced is is_replaced
    for decision in (better, worse, same):
        text = json.dumps(decision.to_json(), allow_nan=False)
        assert EnsembleDecision.from_json(json.loads(text)) == decision
    with pytest.raises(SettingsError, match="alpha"):
        decide_ensemble(champion, champion, test_train_ratio=0.1, **same_rows, alpha=0.0)
    not_worse = {"learned_score": 0.79, "replaced_score": 0.8}
    decision = decide_ensemble(champion + 0.03, champion, test_train_ratio=1 / 9, **not_worse)
    assert decision.pvalue < decision.alpha
    assert not decision.is_replaced
    assert "0.79 on all rows, where the champion has 0.8" in decision.reason
    refused = [bool(d.objection) for d in (decision, better, equal, worse, same)]
    assert refused == [True, False, False, False, False]


def test_member_limits_keep_the_heaviest():
    assert limit_members(np.array([0.5, 0.3, 0.2]), 2) == pytest.approx([0.625, 0.375, 0.0])
    assert limit_members(np.array([0.6, 0.39, 0.01]), 3) == pytest.approx(
        [0.606, 0.394, 0], abs=1e-3
    )
    assert limit_members(np.full(4, 0.25), 4, least_weight=0.9) == pytest.approx(np.full(4, 0.25))
    with pytest.raises(ValueError, match="at least one"):
        limit_members(np.array([1.0]), 0)


def test_prediction_time_limits_drop_slow_then_light_members():
    weights, times = np.array([0.5, 0.3, 0.2]), np.array([9.0, 2.0, 2.0])
    assert limit_prediction_time(weights, times, 20.0) == pytest.approx(weights)
    assert limit_prediction_time(weights, times, 5.0) == pytest.approx([0.0, 0.6, 0.4])
    assert limit_prediction_time(weights, times, 3.0) == pytest.approx([0.0, 1.0, 0.0])
    with pytest.warns(AutoMLWarning, match="no member"):
        assert limit_prediction_time(weights, times, 1.0).tolist() == [0.0, 1.0, 0.0]
