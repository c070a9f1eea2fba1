"""Every ensemble method by name: the contract, and what is known of each (L14, section 3; H18, section 2.5.3)."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.ensembles.agnostic import agnostic_bayes, winners
from automl.ensembles.deadline import Deadline
from automl.ensembles.problem import EnsembleProblem
from automl.ensembles.registry import ENSEMBLES, get_ensemble
from automl.errors import SettingsError
from automl.inference.combining import combined, votes
from automl.metrics.bootstraps import DrawnRows, bootstrap_multiplicities
from automl.metrics.building import build_index
from automl.records import Task
from automl.settings.names import ENSEMBLE_NAMES

CASES = [(Task.BINARY, "mean"), (Task.MULTICLASS, "mean"), (Task.MULTICLASS, "vote")]
CASES += [(Task.BINARY, "vote"), (Task.REGRESSION, "mean"), (Task.REGRESSION, "median")]


def library(task, m=6, n=80, seed=0):
    """Truth and members that are the truth with independent noise, in 32 bits."""
    rng = np.random.default_rng(seed)
    if task is Task.REGRESSION:
        y = rng.normal(size=n)
        return y, [(y + rng.standard_t(2, n)).astype(np.float32) for _ in range(m)]
    n_classes = 2 if task is Task.BINARY else 3
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    shares = np.exp(1.5 * np.eye(n_classes)[y] + rng.normal(0, 1.2, (m, n, n_classes)))
    return y, list((shares / shares.sum(axis=2, keepdims=True)).astype(np.float32))


def index_of(y, task, spec="index", **options):
    n_classes = int(y.max()) + 1 if task.is_classification else None
    return build_index(spec, task=task, y_all=y, n_classes=n_classes, **options)


def problem(predictions, y, index, **options):
    return EnsembleProblem(predictions, y, index, **{"rng": generator(), **options})


def repeated(index, y, prediction, drawn, own=None):
    """Scores of rows that are repeated as often as drawn."""
    places = [np.repeat(np.arange(len(y)), counts) for counts in drawn]
    weights = [None if own is None else own[rows] for rows in places]
    return [
        index.learned_score(y[rows], prediction[rows], weight)
        for rows, weight in zip(places, weights, strict=True)
    ]


def generator(seed=3):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize(("task", "combine"), CASES)
def test_weights_are_a_distribution_that_repeats_with_the_stream(name, task, combine):
    y, predictions = library(task)
    index = index_of(y, task)
    rng = np.random.default_rng(0)
    for rows in (None, np.arange(0, 80, 2), rng.integers(0, 80, 80)):
        for weight in (None, rng.integers(0, 3, 80).astype(float)):
            options = {"sample_weight": weight, "groups": list("aabbcc"), "combine": combine}
            found = [
                get_ensemble(name).weights(problem(predictions, y, index, rows=rows, **options))
                for _ in range(2)
            ]
            assert found[0].shape == (6,)
            assert (found[0] >= 0).all()
            assert found[0].sum() == pytest.approx(1.0)
            assert (found[0] == found[1]).all()


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_deadline_in_the_past_still_gives_weights_and_no_members_are_refused(name):
    y, predictions = library(Task.BINARY)
    index, past = index_of(y, Task.BINARY), Deadline(time.monotonic() - 1)
    weights = get_ensemble(name).weights(problem(predictions, y, index, deadline=past))
    assert weights.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="at least one"):
        problem([], y, index)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_rows_are_all_that_is_learned_from(name):
    y, predictions = library(Task.BINARY)
    index, rows = index_of(y, Task.BINARY), np.arange(40)
    other = [np.where(np.arange(80)[:, None] < 40, part, part[::-1]) for part in predictions]
    weights = [
        get_ensemble(name).weights(problem(parts, y, index, rows=rows))
        for parts in (predictions, other)
    ]
    assert (weights[0] == weights[1]).all()


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_first_bag_holds_all_members_and_the_others_a_part(name):
    y, predictions = library(Task.BINARY, 12)
    index, method = index_of(y, Task.BINARY), get_ensemble(name)
    groups = list("abcdefghijkl")
    first = method.weights(problem(predictions, y, index))
    assert (first == method.learn(problem(predictions, y, index))).all()
    members = []
    for bag in range(1, 9):
        one = problem(predictions, y, index, rng=generator(bag), groups=groups)
        weights = method.weights(one, bag)
        assert weights.sum() == pytest.approx(1.0)
        members.append(problem(predictions, y, index, rng=generator(bag)).members_of(bag))
        assert not weights[np.setdiff1d(np.arange(12), members[-1])].any()
    assert {len(part) for part in members} == {10}
    assert len({tuple(part) for part in members}) > 1


def test_settings_offer_what_is_registered_and_the_nearest_name_is_proposed():
    assert {*ENSEMBLE_NAMES.known()} - {"none"} == set(ENSEMBLES) - {"single"}
    with pytest.raises(SettingsError, match="did you mean 'greedy'"):
        get_ensemble("gredy")


@given(seed=st.integers(0, 300), case=st.sampled_from(CASES))
@settings(max_examples=25, deadline=None)
def test_greedy_is_never_worse_than_the_best_member_on_its_own_rows(seed, case):
    task, combine = case
    y, predictions = library(task, 5, 40, seed)
    index = index_of(y, task, decision="given")
    score = index.score
    weights = get_ensemble("greedy").weights(problem(predictions, y, index, combine=combine))
    parts = [votes(part) for part in predictions] if combine == "vote" else predictions
    blended = combined(parts, weights, "mean" if combine == "vote" else combine)
    assert score(y, blended) >= max(score(y, part) for part in parts) - 1e-5


@given(seed=st.integers(0, 300))
@settings(max_examples=20, deadline=None)
def test_the_single_method_takes_the_best_member(seed):
    y, predictions = library(Task.BINARY, 5, 40, seed)
    index = index_of(y, Task.BINARY)
    weights = get_ensemble("single").weights(problem(predictions, y, index))
    assert weights.max() == 1.0
    scores = [index.learned_score(y, part) for part in predictions]
    assert weights.argmax() == int(np.argmax(scores))


# --- agnostic Bayes -------------------------------------------------------------------------------


def chance_of_being_best(losses):
    """Exact, by every bootstrap of the rows; (n members,) for losses (n members, n)."""
    n = losses.shape[1]
    risks = np.array(
        [losses[:, list(rows)].sum(axis=1) for rows in itertools.product(range(n), repeat=n)]
    )
    wins = winners(-risks.T, -losses.sum(axis=1))
    return np.bincount(wins, minlength=len(losses)) / len(risks)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_chance_of_being_best_over_all_bootstraps(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=5)
    predictions = [y + rng.normal(size=5) for _ in range(3)]
    index = index_of(y, Task.REGRESSION, "mse")
    exact = chance_of_being_best(np.stack([(y - part) ** 2 for part in predictions]))
    n = 20_000
    found = agnostic_bayes(problem(predictions, y, index), n_bootstraps=n)
    assert exact.max() < 1
    assert found == pytest.approx(exact, abs=4 * np.sqrt(0.25 / n))


def test_two_members_that_err_on_one_row_each_win_by_which_row_is_drawn_less_often():
    y = np.array([0.0, 0.0])
    predictions = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    index = build_index("mae", task=Task.REGRESSION, y_all=np.array([0.0, 1.0]))
    found = agnostic_bayes(problem(predictions, y, index), n_bootstraps=4000)
    # rows 00 and 11 decide; 01 and 10 are ties, which go to the first member
    assert found == pytest.approx([0.75, 0.25], abs=0.03)


@given(seed=st.integers(0, 500))
@settings(max_examples=25, deadline=None)
def test_a_member_that_is_worse_on_every_row_has_no_weight(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=30)
    good = y + rng.normal(size=30)
    worse = good + np.sign(good - y) * rng.uniform(0.01, 1, 30)
    index = index_of(y, Task.REGRESSION, "mae")
    found = agnostic_bayes(problem([worse, good], y, index), n_bootstraps=20)
    assert found.tolist() == [0.0, 1.0]


def test_weights_are_multiples_of_one_bootstrap():
    y, predictions = library(Task.BINARY)
    found = agnostic_bayes(problem(predictions, y, index_of(y, Task.BINARY)))
    assert found * 50 == pytest.approx(np.round(found * 50))


SPECS = {
    Task.BINARY: ["index", "log_loss", "brier", "accuracy", "mcc", "f_beta", "roc_auc"],
    Task.MULTICLASS: ["index", "balanced_accuracy", "roc_auc", "roc_auc_ovo"],
    Task.REGRESSION: ["index", "mae", "mse", "rmse", "r2"],
}


@pytest.mark.parametrize(("task", "spec"), [(t, s) for t, names in SPECS.items() for s in names])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_many_weightings_equal_those_of_repeated_rows(task, spec, weighted):
    y, predictions = library(task, 2, 60)
    index = index_of(y, task, spec)
    own = generator(5).uniform(0.1, 2, 60) if weighted else None
    drawn = bootstrap_multiplicities(60, 15, generator())
    fast = DrawnRows(drawn, own).scores(index, y, predictions[0])
    assert fast == pytest.approx(repeated(index, y, predictions[0], drawn, own), abs=1e-6)


def test_costs_count_in_many_weightings():
    y, predictions = library(Task.MULTICLASS, 1, 60)
    costs = np.array([[0, 1, 4], [2, 0, 1], [1, 3, 0.0]])
    for spec in ("cost", "index", "accuracy"):
        index = build_index(spec, task=Task.MULTICLASS, y_all=y, n_classes=3, cost_matrix=costs)
        drawn = bootstrap_multiplicities(60, 10, generator())
        fast = DrawnRows(drawn).scores(index, y, predictions[0])
        assert fast == pytest.approx(repeated(index, y, predictions[0], drawn), abs=1e-6)


def test_a_scorer_of_the_users_own_has_its_rows_repeated(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("def near(y, p):\n    return -float(abs(y - p).max())\n")
    y, predictions = library(Task.REGRESSION, 3, 30)
    index = index_of(y, Task.REGRESSION, f"{file}:near")
    assert not index.takes_weights
    found = agnostic_bayes(problem(predictions, y, index), n_bootstraps=200)
    losses = np.abs(np.stack(predictions) - y)
    drawn = bootstrap_multiplicities(30, 200, generator())
    worst = np.where(drawn[None] > 0, losses[:, None], 0).max(axis=2)
    expected = np.bincount(winners(-worst, -losses.max(axis=1)), minlength=3) / 200
    assert found == pytest.approx(expected)


@given(n=st.integers(1, 40), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_bootstraps_draw_as_many_rows_as_there_are(n, seed):
    drawn = bootstrap_multiplicities(n, 7, generator(seed))
    assert (drawn.sum(axis=1) == n).all()
    assert (drawn == bootstrap_multiplicities(n, 7, generator(seed))).all()


# --- the problem ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENSEMBLES)
def test_of_members_that_will_vote_the_votes_are_weighted(name):
    y, predictions = library(Task.MULTICLASS)
    index = index_of(y, Task.MULTICLASS, "brier")
    voted = get_ensemble(name).weights(problem(predictions, y, index, combine="vote"))
    of_votes = get_ensemble(name).weights(problem([votes(p) for p in predictions], y, index))
    averaged = get_ensemble(name).weights(problem(predictions, y, index))
    assert (voted == of_votes).all()
    assert (voted != averaged).any() or name == "single"


def test_rows_without_weight_are_never_drawn():
    y, predictions = library(Task.REGRESSION)
    index, heavy = index_of(y, Task.REGRESSION), np.array([3, 40, 77])
    weight = np.zeros(80)
    weight[heavy] = 1.0
    found = agnostic_bayes(problem(predictions, y, index, sample_weight=weight))
    alone = agnostic_bayes(problem(predictions, y, index, rows=heavy))
    assert (found == alone).all()


def test_a_part_of_the_members_keeps_their_predictions_families_and_the_rest():
    y, predictions = library(Task.BINARY)
    whole = problem(predictions, y, index_of(y, Task.BINARY), groups=list("abcdef"), rows=y[:9])
    part = whole.restricted(np.array([1, 4]))
    assert part.groups == ["b", "e"]
    assert [id(one) for one in part.predictions] == [id(predictions[1]), id(predictions[4])]
    assert part.rng is whole.rng
    assert (part.truth == whole.truth).all()
