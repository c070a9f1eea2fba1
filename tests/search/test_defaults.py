"""Every family's default is owed one trial, whatever allocator and opening say."""

from types import SimpleNamespace

import pytest

from automl.bandits.registry import ALLOCATORS
from automl.origins import DEFAULT
from automl.records import Configuration
from automl.search.opening import Opening
from automl.search.proposing import OWED_SHARE


class Discouraging:
    """Stands for a guide that knows all families and hopes for none but the first."""

    def __init__(self, spaces):
        known = tuple(space.default() for space in spaces.values())
        self.model = SimpleNamespace(configurations=known)

    def without_hope(self, seen):
        return list(self.model.configurations[1:])

    def next(self, seen, given, passed_over):
        return None


@pytest.fixture
def discouraged(simulation):
    """Opening whose guide speaks against every family but the first."""
    return Opening((), (), Discouraging(simulation.spaces))


def defaults_of(simulation, order=("alpha", "beta", "gamma")):
    return [simulation.spaces[family].default() for family in order]


@pytest.mark.parametrize("allocator", sorted(ALLOCATORS))
def test_every_default_is_tried_under_every_allocator(simulation, discouraged, allocator):
    owed = defaults_of(simulation)
    turns = simulation.turns(
        opening=discouraged, allocator=allocator, defaults=owed, n_trials=20, n_slots=1
    )
    given = simulation.run(turns, 1)
    tried = {turn.proposal.configuration.id for turn in given}
    assert {configuration.id for configuration in owed} <= tried


def test_without_what_is_owed_a_default_that_others_speak_against_is_not_tried(
    simulation, discouraged
):
    turns = simulation.turns(opening=discouraged, allocator="expected_gain", n_trials=12, n_slots=1)
    assert {turn.family for turn in simulation.run(turns, 1)} == {"alpha"}


def test_owed_defaults_come_in_their_order_and_take_a_share_of_the_turns(simulation, discouraged):
    owed = defaults_of(simulation, ("gamma", "beta", "alpha"))
    turns = simulation.turns(
        opening=discouraged, allocator="expected_gain", defaults=owed, n_trials=12, n_slots=1
    )
    given = simulation.run(turns, 1)
    owed_turns = [t for t in given if t.origin == DEFAULT and t.family != "alpha"]
    assert [turn.family for turn in owed_turns] == ["gamma", "beta"]
    assert [turn.index for turn in owed_turns] == [0, round(1 / OWED_SHARE)]


def test_what_the_run_cannot_afford_is_not_tried(simulation, discouraged):
    turns = simulation.turns(
        opening=discouraged,
        allocator="expected_gain",
        defaults=defaults_of(simulation),
        affords=lambda proposal: proposal.configuration.family != "beta",
        n_trials=12,
        n_slots=1,
    )
    assert {turn.family for turn in simulation.run(turns, 1)} == {"alpha", "gamma"}


@pytest.mark.parametrize("is_affordable", [True, False])
def test_an_affordable_default_is_not_raced(simulation, is_affordable):
    turns = simulation.turns(affords=lambda _: is_affordable, n_trials=12, n_slots=1, lookback=1)
    given = simulation.run(turns, 1)
    behind = [turn for turn in given if turn.sees > 3]
    defaults = [turn.incumbent for turn in given[2:] if turn.origin == DEFAULT]
    assert defaults
    assert all((incumbent is None) == is_affordable for incumbent in defaults)
    assert all(turn.incumbent is not None for turn in behind if turn.origin != DEFAULT)


def test_a_default_that_the_opening_tries_is_owed_no_more(simulation):
    first = simulation.spaces["beta"].default()
    turns = simulation.turns(
        opening=[(first, "portfolio"), (Configuration("gamma", {"shape": "c"}), "portfolio")],
        defaults=[first],
        n_trials=20,
    )
    given = simulation.run(turns, 2)
    assert [turn.proposal.configuration.id for turn in given].count(first.id) == 1
