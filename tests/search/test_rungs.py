"""Slow configurations begin on few rows, and the best of them go on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from automl.optimizers.fidelities import ETA, row_levels
from automl.origins import PORTFOLIO
from automl.records import Configuration, Fidelity, Trial, TrialStatus
from automl.search.rungs import Rungs

LEVELS = row_levels(100_000)


def always(_):
    return True


def on_few_rows(index, score, level=0):
    status = TrialStatus.PARTIAL if score is not None else TrialStatus.FAILED
    configuration = Configuration("a", {"x": index})
    return Trial("run", index, configuration, status, score, fidelity=LEVELS[level], origin="past")


@given(st.lists(st.one_of(st.none(), st.sampled_from([0.1, 0.2, 0.3, 0.4])), max_size=20))
def test_the_best_third_of_those_that_ended_goes_on(scores):
    seen = [on_few_rows(index, score) for index, score in enumerate(scores)]
    climbing = Rungs(LEVELS, always).promoted(seen)
    ended = [trial for trial in seen if trial.score is not None]
    best = sorted(ended, key=lambda t: (-t.score, t.index))[: len(ended) // ETA]
    assert [p.configuration for p, _ in climbing] == [t.configuration for t in best]
    assert all(p.fidelity == LEVELS[1] and origin == "past" for p, origin in climbing)


def test_each_level_is_compared_with_itself_and_the_highest_goes_first():
    low = [on_few_rows(index, 0.9) for index in range(3)]
    high = [on_few_rows(index, 0.1 * index, level=1) for index in range(4, 7)]
    climbing = [p for p, _ in Rungs(LEVELS, always).promoted([*low, *high])]
    assert [p.fidelity for p in climbing] == [LEVELS[2], LEVELS[1]]
    assert [p.configuration.values["x"] for p in climbing] == [6, 0]
    assert climbing[0].fidelity.is_full


def test_only_slow_configurations_begin_on_few_rows():
    rungs = Rungs(LEVELS, lambda configuration: configuration.family == "slow")
    assert rungs.first(Configuration("slow", {})).fidelity == Fidelity(row_share=1 / 9)
    assert rungs.first(Configuration("fast", {})).fidelity.is_full


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
