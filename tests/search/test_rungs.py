"""Slow configurations begin on few rows, and the best of them go on."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.optimizers.fidelities import ETA, row_levels
from automl.origins import DEFAULT, KNOWLEDGE, PAST, PORTFOLIO
from automl.records import Configuration, Fidelity, Trial, TrialStatus
from automl.search.rungs import Rungs

LEVELS = row_levels(100_000)


def always(_):
    return True


def on_few_rows(index, score, level=0, origin=KNOWLEDGE):
    status = TrialStatus.PARTIAL if score is not None else TrialStatus.FAILED
    configuration = Configuration("a", {"x": index})
    return Trial("run", index, configuration, status, score, fidelity=LEVELS[level], origin=origin)


@given(st.lists(st.one_of(st.none(), st.sampled_from([0.1, 0.2, 0.3, 0.4])), max_size=20))
def test_the_best_third_of_those_that_ended_goes_on(scores):
    seen = [on_few_rows(index, score) for index, score in enumerate(scores)]
    climbing = Rungs(LEVELS, always).promoted(seen)
    ended = [trial for trial in seen if trial.score is not None]
    best = sorted(ended, key=lambda t: (-t.score, t.index))[: len(ended) // ETA]
    assert [p.configuration for p, _ in climbing] == [t.configuration for t in best]
    assert all(p.fidelity == LEVELS[1] and origin == KNOWLEDGE for p, origin in climbing)


def test_each_level_is_compared_with_itself_and_the_highest_goes_first():
    low = [on_few_rows(index, 0.9) for index in range(3)]
    high = [on_few_rows(index, 0.1 * index, level=1) for index in range(4, 7)]
    climbing = [p for p, _ in Rungs(LEVELS, always).promoted([*low, *high])]
    assert [p.fidelity for p in climbing] == [LEVELS[2], LEVELS[1]]
    assert [p.configuration.values["x"] for p in climbing] == [6, 0]
    assert climbing[0].fidelity.is_full


def test_only_slow_recommended_configurations_begin_on_few_rows():
    rungs = Rungs(LEVELS, lambda configuration: configuration.family == "slow")
    slow, fast = Configuration("slow", {}), Configuration("fast", {})
    for origin in (KNOWLEDGE, PORTFOLIO):
        assert rungs.first(slow, origin).fidelity == Fidelity(row_share=1 / 9)
        assert rungs.first(fast, origin).fidelity.is_full
    for origin in (DEFAULT, PAST, "floor"):
        assert rungs.first(slow, origin).fidelity.is_full


def test_partial_trials_of_an_optimizer_are_its_own_affair():
    assert not Rungs(LEVELS, always).promoted(
        [on_few_rows(i, 0.1 * i, 0, "bohb") for i in range(9)]
    )


@pytest.mark.parametrize("n", range(1, 8))
def test_once_all_have_begun_at_least_one_goes_on(n):
    seen = [on_few_rows(index, 0.1 * index) for index in range(n)]
    climbing = Rungs(LEVELS, always).promoted(seen, all_begun=True)
    assert [p.configuration.values["x"] for p, _ in climbing] == list(range(n))[::-1][
        : -(-n // ETA)
    ]


def test_what_could_not_finish_on_all_rows_does_not_begin_on_few(simulation):
    rng = np.random.default_rng(0)
    opening = [(simulation.spaces["alpha"].sample(rng), PORTFOLIO) for _ in range(4)]
    turns = simulation.turns(
        opening=opening,
        n_trials=6,
        rungs=Rungs(LEVELS, always),
        fits=lambda proposal, _: not proposal.fidelity.is_full,
    )
    assert not simulation.run(turns, 1)


def test_a_search_tries_its_opening_on_few_rows_and_gives_nothing_twice(simulation):
    rng = np.random.default_rng(0)
    opening = [(simulation.spaces["alpha"].sample(rng), PORTFOLIO) for _ in range(12)]
    floor = simulation.spaces["beta"].default()
    turns = simulation.turns(
        opening=[(floor, "floor"), *opening], n_trials=20, rungs=Rungs(LEVELS, always), lookback=1
    )
    taken = simulation.run(turns, 1)
    assert taken[0].proposal.fidelity.is_full, "a floor has all rows"
    low = [turn for turn in taken if turn.proposal.fidelity == LEVELS[0]]
    assert {turn.proposal.configuration for turn in low} == {each for each, _ in opening}
    proposals = [(turn.proposal.configuration.id, turn.proposal.fidelity) for turn in taken]
    assert len(set(proposals)) == len(proposals)
    climbed = [turn for turn in taken if turn.proposal.fidelity == LEVELS[1]]
    assert climbed
    for turn in climbed:
        ended = [
            t
            for t in turns.trials
            if t.index < turn.index and t.fidelity == LEVELS[0] and t.status is TrialStatus.PARTIAL
        ]
        ahead = sorted((t.score for t in ended), reverse=True)[: len(ended) // ETA]
        own = next(t for t in ended if t.configuration == turn.proposal.configuration)
        assert own.score in ahead
        assert turn.origin == PORTFOLIO


def test_scores_on_few_rows_are_no_rewards_of_a_family(simulation):
    turns = simulation.turns(allocator="expected_gain", opening=[])
    proposer = turns._proposer
    configuration = simulation.spaces["alpha"].default()
    before = pickle.dumps(proposer._allocator)
    for trial in [on_few_rows(index, 0.5) for index in range(3)]:
        proposer.learn(dataclasses.replace(trial, configuration=configuration))
    assert pickle.dumps(proposer._allocator) == before
