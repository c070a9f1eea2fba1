"""Successive halving, Hyperband and BOHB (H18, section 8.2)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.optimizers.fidelities import FULL, fold_levels, iteration_levels, levels_for, row_levels
from automl.optimizers.halving import BOHB, Hyperband, SuccessiveHalving
from automl.optimizers.random_search import RandomSearch
from automl.records import Fidelity, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

LEVELS = row_levels(10_000)


@pytest.fixture
def space():
    return SpaceTree.build("plain", {"x": {"type": "uniform", "low": 0, "high": 1}})


def result(proposal, score, status=None):
    if status is None:
        status = TrialStatus.COMPLETE if proposal.fidelity.is_full else TrialStatus.PARTIAL
    return Trial("run", 0, proposal.configuration, status, score, fidelity=proposal.fidelity)


def run(optimizer, n_trials, *, delay=0, score=lambda values: values["x"], seed=0):
    """Proposals, told in order with `delay` of them always pending."""
    given_, asked = [], []
    for i in range(n_trials):
        pending = [proposal.configuration for proposal in given_]
        proposal = optimizer.ask(pending=pending, rng=np.random.default_rng([seed, i]))
        if proposal is None:
            break
        asked.append(proposal)
        given_.append(proposal)
        if len(given_) > delay:
            told = given_.pop(0)
            optimizer.tell(result(told, score(told.configuration.values)))
    return asked


def levels_of(asked):
    return [LEVELS.index(proposal.fidelity) for proposal in asked]


# --- ladders --------------------------------------------------------------------------------------


def test_ladders_of_folds_rows_and_iterations():
    assert fold_levels(5) == (Fidelity(folds=1), Fidelity(folds=3), FULL)
    assert fold_levels(3) == fold_levels(2 + 1) == (Fidelity(folds=1), FULL)
    assert fold_levels(1) == (FULL,)
    assert fold_levels(10, eta=2) == (*(Fidelity(folds=k) for k in (1, 2, 4)), FULL)
    assert row_levels(10_000) == (Fidelity(row_share=1 / 9), Fidelity(row_share=1 / 3), FULL)
    assert row_levels(1000) == (Fidelity(row_share=1 / 3), FULL)
    assert row_levels(100) == (FULL,)
    assert [level.iteration_share for level in iteration_levels()] == pytest.approx(
        [1 / 9, 1 / 3, 1]
    )


@pytest.mark.parametrize(
    ("resource", "n_folds", "has_iterations", "expected"),
    [
        ("auto", 5, False, fold_levels(5)),
        ("auto", 2, False, row_levels(10_000)),
        ("folds", 2, False, fold_levels(2)),
        ("folds", 1, True, row_levels(10_000)),
        ("rows", 5, True, row_levels(10_000)),
        ("iterations", 5, True, iteration_levels()),
        ("iterations", 5, False, row_levels(10_000)),
    ],
)
def test_a_resource_that_is_missing_is_replaced(resource, n_folds, has_iterations, expected):
    found = levels_for(resource, n_folds=n_folds, n_rows=10_000, has_iterations=has_iterations)
    assert found == expected


@given(st.integers(1, 50), st.integers(1, 10**6), st.integers(2, 5))
def test_every_ladder_climbs_to_the_full_fidelity(n_folds, n_rows, eta):
    folds = [level.folds or n_folds for level in fold_levels(n_folds, eta=eta)]
    assert folds == sorted(set(folds))
    shares = [level.row_share for level in row_levels(n_rows, eta=eta)]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1.0


# --- brackets -------------------------------------------------------------------------------------


def test_a_third_of_nine_and_one_of_three_go_on(space):
    asked = run(SuccessiveHalving(space, levels=LEVELS), 26)
    assert levels_of(asked) == ([0] * 9 + [1] * 3 + [2]) * 2
    for bracket in (asked[:13], asked[13:]):
        x = [proposal.configuration.values["x"] for proposal in bracket]
        assert x[9:12] == sorted(x[:9], reverse=True)[:3]
        assert x[12] == max(x[:9])
    assert len({proposal.configuration for proposal in asked}) == 18


def test_hyperband_begins_at_every_level_in_turn(space):
    asked = run(Hyperband(space, levels=LEVELS), 44)
    first = [0] * 9 + [1] * 3 + [2]
    second, third = [1] * 5 + [2], [2] * 3
    assert levels_of(asked) == [*first, *second, *third, *first, *second, *third]


@pytest.mark.parametrize("make", [SuccessiveHalving, Hyperband, BOHB])
@pytest.mark.parametrize("delay", [1, 3, 7])
def test_nobody_waits_for_a_rung_and_none_is_lost(space, make, delay):
    asked = run(make(space, levels=LEVELS), 120, delay=delay)
    assert len(asked) == 120
    assert len(set(asked)) == 120
    counts = np.bincount(levels_of(asked))
    plain = np.bincount(levels_of(run(make(space, levels=LEVELS), 120)))
    assert counts == pytest.approx(plain, abs=13)


def test_failed_raced_and_lost_members_go_no_further(space):
    optimizer, rng = SuccessiveHalving(space, levels=LEVELS), np.random.default_rng(0)
    asked = [optimizer.ask(pending=[], rng=rng)]
    for status in (TrialStatus.FAILED, TrialStatus.TIMED_OUT, TrialStatus.RACED):
        optimizer.tell(result(asked[-1], 0.99 if status is TrialStatus.RACED else None, status))
        asked.append(optimizer.ask(pending=[], rng=rng))
    for i in range(5):
        optimizer.tell(result(asked[-1], -float(i)))
        asked.append(optimizer.ask(pending=[], rng=rng))
    promoted = optimizer.ask(pending=[], rng=rng)
    assert promoted.fidelity == LEVELS[1]
    assert promoted.configuration == asked[3].configuration
    assert [proposal.fidelity for proposal in asked] == [LEVELS[0]] * 9


def test_a_rung_in_which_everything_failed_ends_its_bracket(space):
    optimizer, rng = SuccessiveHalving(space, levels=LEVELS), np.random.default_rng(0)
    for _ in range(30):
        proposal = optimizer.ask(pending=[], rng=rng)
        assert proposal.fidelity == LEVELS[0]
        optimizer.tell(result(proposal, None, TrialStatus.FAILED))
    assert len(optimizer._brackets) == 1


def test_complete_results_are_not_mixed_with_partial_ones(space):
    optimizer, rng = SuccessiveHalving(space, levels=LEVELS), np.random.default_rng(0)
    asked = [optimizer.ask(pending=[], rng=rng)]
    first = asked[0].configuration
    optimizer.tell(Trial("run", 0, first, TrialStatus.COMPLETE, 99.0))
    optimizer.tell(Trial("run", 0, first, TrialStatus.PARTIAL, 98.0, fidelity=Fidelity(folds=1)))
    for i in range(8):
        asked.append(optimizer.ask(pending=[], rng=rng))
        optimizer.tell(result(asked[-1], float(i)))
    promoted = []
    for _ in range(3):
        pending = [proposal.configuration for proposal in promoted]
        promoted.append(optimizer.ask(pending=pending, rng=rng))
    assert [proposal.fidelity for proposal in promoted] == [LEVELS[1]] * 3
    assert promoted[0].configuration == asked[8].configuration
    assert first not in [proposal.configuration for proposal in promoted]


def test_of_a_small_space_everything_is_evaluated_in_full_at_the_end():
    space = SpaceTree.build("plain", {"shape": {"branch": False, "choices": list("abcde")}})
    optimizer = Hyperband(space, levels=LEVELS)
    asked, rng = [], np.random.default_rng(0)
    while (proposal := optimizer.ask(pending=[], rng=rng)) is not None:
        asked.append(proposal)
        optimizer.tell(result(proposal, float(ord(proposal.configuration.values["shape"]))))
    assert len(set(asked)) == len(asked) < 20
    full = [p.configuration.values["shape"] for p in asked if p.fidelity.is_full]
    assert sorted(full) == list("abcde")


def test_a_ladder_of_one_level_is_plain_search(space):
    asked = run(SuccessiveHalving(space, levels=(FULL,)), 20)
    assert all(proposal.fidelity.is_full for proposal in asked)
    assert len(set(asked)) == 20


@pytest.mark.parametrize(("option", "value"), [("levels", ()), ("levels", LEVELS[:2]), ("eta", 1)])
def test_settings_out_of_range_are_refused(space, option, value):
    with pytest.raises(SettingsError, match=option):
        SuccessiveHalving(space, **{option: value})


# --- BOHB -----------------------------------------------------------------------------------------


def test_the_estimator_of_the_highest_level_with_enough_results_proposes(space):
    optimizer = BOHB(space, levels=LEVELS, n_startup=5, random_share=0.0)
    rng = np.random.default_rng(0)
    learn(optimizer, space, level=0, good=0.9, bad=0.2)
    assert np.median([optimizer._draw([], rng).values["x"] for _ in range(20)]) > 0.7
    learn(optimizer, space, level=2, good=0.1, bad=0.6)
    assert np.median([optimizer._draw([], rng).values["x"] for _ in range(20)]) < 0.4


def learn(optimizer, space, *, level, good, bad):
    for i in range(20):
        optimizer._learn(space.complete({"x": bad + i / 100}), level, 0.0)
    for i in range(4):
        optimizer._learn(space.complete({"x": good + i / 100}), level, 1.0)


def test_it_finds_more_than_random_search_with_the_same_work():
    tree = {name: {"type": "uniform", "low": 0, "high": 1} for name in ("x", "y", "z")}
    space = SpaceTree.build("plain", tree)

    def score(values):
        return -sum((value - 0.37) ** 2 for value in values.values())

    gains = []
    for seed in range(8):
        asked = run(BOHB(space, levels=LEVELS), 80, score=score, seed=seed)
        best = max(score(p.configuration.values) for p in asked if p.fidelity.is_full)
        work = sum(proposal.fidelity.row_share for proposal in asked)
        draws = run(RandomSearch(space), int(work), score=score, seed=seed)
        gains.append(best - max(score(p.configuration.values) for p in draws))
    assert np.mean(np.array(gains) > 0) >= 0.75
