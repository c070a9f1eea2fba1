"""When a family has trials, and whose thread takes its turns."""

import threading

import pytest

from automl.records import Configuration
from automl.search.runner import work
from automl.search.spells import LEAST_GAP_SECONDS, Spell, Spells

JOIN_SECONDS = 120.0


def test_trials_side_by_side_are_one_spell_and_a_short_gap_ends_none():
    spells = Spells()
    spells.begin(1.0)
    spells.begin(2.0)
    spells.end(3.0)
    assert spells.so_far() == (Spell(1.0),)
    spells.end(4.0)
    assert spells.so_far() == (Spell(1.0, 4.0),)
    spells.begin(4.0 + 0.9 * LEAST_GAP_SECONDS)
    assert spells.so_far() == (Spell(1.0),)
    spells.end(9.0)
    spells.begin(9.0 + LEAST_GAP_SECONDS)
    assert spells.so_far() == (Spell(1.0, 9.0), Spell(9.0 + LEAST_GAP_SECONDS))


def test_a_spell_is_over_when_nothing_can_join_it():
    assert not Spell(1.0).is_over(100.0)
    assert not Spell(1.0, 2.0).is_over(2.0 + 0.9 * LEAST_GAP_SECONDS)
    assert Spell(1.0, 2.0).is_over(2.0 + LEAST_GAP_SECONDS)


def test_a_turn_that_was_given_is_part_of_a_spell_until_its_trial_has_ended(simulation):
    turns = simulation.turns()
    assert turns.spells("alpha") == ()
    turn = simulation.take_now(turns)
    (spell,) = turns.spells(turn.family)
    assert spell.ended is None
    turns.finish(simulation.trial(turn))
    (spell,) = turns.spells(turn.family)
    assert spell.ended >= spell.began


class Runner:
    """Answers at once; notes which thread ran what."""

    def __init__(self, simulation):
        self.simulation, self.ran = simulation, []

    def run_turn(self, turn, *, limit_seconds):
        self.ran.append((threading.current_thread().name.rpartition("_")[0], turn.family))
        return self.simulation.trial(turn)


def run_families(turns, runner):
    """A thread for each family as it needs one; those families in their order."""
    begun, threads = [], []
    options = {"commit": lambda *_: None, "limit_seconds": lambda _: None}
    while (family := turns.next_family()) is not None:
        begun.append(family)
        given = {**options, "family": family}
        threads.append(threading.Thread(target=work, args=(turns, runner), kwargs=given))
        threads[-1].start()
    for thread in threads:
        thread.join(JOIN_SECONDS)
        assert not thread.is_alive()
    return begun


@pytest.mark.parametrize("allocator", ["uniform", "halving", "leaders", "cash"])
@pytest.mark.parametrize("lookback", [1, 4, None])
def test_families_that_get_their_threads_in_turn_make_the_same_trials(
    simulation, allocator, lookback
):
    chosen = {"allocator": allocator, "lookback": lookback, "n_trials": 40}
    opening = [(Configuration("constant"), "floor")]
    expected = simulation.turns(opening=opening, **chosen)
    simulation.run(expected, 1)
    turns, runner = simulation.turns(opening=opening, **chosen), Runner(simulation)
    begun = run_families(turns, runner)
    assert begun[0] == "constant"
    assert {*begun} == {trial.configuration.family for trial in turns.trials}
    assert all(thread == f"search-{family}" for thread, family in runner.ran)
    if lookback is not None:
        assert turns.trials == expected.trials
    assert len(turns.trials) == 40


def test_the_thread_of_an_exhausted_family_leaves_before_the_search_is_over(simulation):
    turns = simulation.turns(n_trials=40)
    assert turns.next_family() == "alpha"
    simulation.run(turns, 1, stop_after=30)
    assert turns.dropped.keys() == {"gamma"}
    assert turns.take("gamma") is None
    assert not turns.is_over


def test_families_that_halving_lets_go_leave_and_come_back_when_the_others_are_exhausted(
    simulation,
):
    turns = simulation.turns(allocator="halving", n_trials=60, families=("beta", "gamma"))
    runner = Runner(simulation)
    begun = run_families(turns, runner)
    assert begun[:2] == ["beta", "gamma"]
    assert len(turns.trials) == 60


def test_a_thread_looks_before_and_after_it_waits(simulation):
    turns, seen = simulation.turns(n_slots=1), []
    turn = simulation.take_now(turns)
    other = next(name for name in simulation.spaces if name != turn.family)
    taken = turns.take(other, look=lambda: seen.append(1), until=lambda: len(seen) > 2)
    assert taken is None
    assert len(seen) == 3
