"""One arm of several families: the optimizer chooses the family (X20, section II-D)."""

import pytest

from automl.bandits.registry import ALLOCATORS
from automl.optimizers.fidelities import fold_levels
from automl.optimizers.registry import OPTIMIZERS
from automl.records import Configuration, TrialStatus
from automl.search.opening import Opening
from automl.search.proposing import Arm, Proposer
from automl.search.turns import Turns
from automl.spaces.union import UnionTree

QUICK = ("random", "hypercube", "tpe", "annealing", "bohb")


@pytest.fixture
def make(simulation):
    def turns(optimizer="tpe", *, n_slots=1, lookback=4, n_trials=40, **options):
        union = UnionTree.of(list(simulation.spaces.values()))
        entry = OPTIMIZERS[optimizer]
        levels = {"levels": fold_levels(3)} if entry.has_levels else {}
        chosen = {key: options.pop(key) for key in ("fits", "has_time") if key in options}
        return Turns(
            Proposer(
                {union.family: Arm(union, entry.make(union, **levels), optimizer)},
                ALLOCATORS["cash"].make(),
                opening=Opening(options.pop("opening", [])),
                seed=5,
                **chosen,
            ),
            lookback=lookback,
            n_trials=n_trials,
            n_slots=lambda: n_slots,
            **options,
        )

    return turns


@pytest.mark.parametrize("optimizer", QUICK)
@pytest.mark.parametrize("n_slots", [2, 4])
def test_decisions_do_not_depend_on_slots(make, simulation, optimizer, n_slots):
    expected = simulation.run(make(optimizer), 1)
    turns = make(optimizer, n_slots=n_slots)
    assert simulation.run(turns, n_slots, order=3) == expected
    assert len(expected) == 40
    known = {trial.index: trial for trial in turns.trials[:17]}
    resumed = make(optimizer, n_slots=n_slots, replay=known)
    assert simulation.run(resumed, n_slots, order=1) == [
        turn for turn in expected if turn.index not in known
    ]


def test_every_family_begins_with_its_default_and_is_told_to_the_one_optimizer(make, simulation):
    turns = make(opening=[(simulation.spaces["beta"].default(), "portfolio")])
    given = simulation.run(turns, 1)
    assert [(turn.family, turn.origin) for turn in given[:3]] == [
        ("beta", "portfolio"),
        ("alpha", "default"),
        ("gamma", "default"),
    ]
    asked = [turn.origin for turn in given[3:]]
    n_designed = asked.index("tpe")
    assert n_designed >= 10 - 3
    assert asked == ["initial_design"] * n_designed + ["tpe"] * (37 - n_designed)
    (arm,) = turns._proposer.arms.values()
    assert len(arm.optimizer._scores) == 40 - 4


class Knowing:
    """Random search that other data sets may have told where to begin."""

    def __init__(self, space, *, knows):
        self._random, self.begins_by_knowledge = OPTIMIZERS["random"].make(space), knows

    def ask(self, **given):
        return self._random.ask(**given)

    def tell(self, trial):
        self._random.tell(trial)


@pytest.mark.parametrize("knows", [True, False])
def test_an_optimizer_that_knows_where_to_begin_is_asked_before_the_defaults(simulation, knows):
    union = UnionTree.of(list(simulation.spaces.values()))
    arm = Arm(union, Knowing(union, knows=knows), "knowing")
    allocator, opening = ALLOCATORS["cash"].make(), Opening([])
    proposer = Proposer({union.family: arm}, allocator, opening=opening, seed=5)
    origins = [turn.origin for turn in simulation.run(turns_of(proposer), 1)]
    assert origins == (["knowing"] * 6 if knows else ["default"] * 3 + ["knowing"] * 3)


def test_a_family_alone_begins_with_its_default_whatever_its_optimizer_knows(simulation):
    arms = {
        name: Arm(space, Knowing(space, knows=True), "knowing")
        for name, space in simulation.spaces.items()
    }
    proposer = Proposer(arms, ALLOCATORS["uniform"].make(), opening=Opening([]), seed=5)
    origins = [turn.origin for turn in simulation.run(turns_of(proposer), 1)]
    assert origins == ["default"] * 3 + ["knowing"] * 3


def turns_of(proposer):
    return Turns(proposer, lookback=4, n_trials=6, n_slots=lambda: 1)


def test_turns_are_queued_by_family_and_floors_of_others_are_for_anyone(make, simulation):
    turns = make(opening=[(Configuration("constant"), "floor")], n_slots=4)
    floor = turns.take("beta")
    assert floor.family == "constant"
    turns._decide(turns._due())
    assert turns._queued("beta") is None
    assert turns._queued("alpha").family == "alpha"


def test_families_whose_trials_no_longer_fit_are_passed_over(make, simulation):
    turns = make(
        "random",
        lookback=None,
        n_trials=None,
        fits=lambda proposal, _: proposal.configuration.family == "beta",
    )
    given = simulation.run(turns, 1, stop_after=30)
    assert {turn.family for turn in given} == {"beta"}
    assert len(given) >= 30
    nothing = make("random", lookback=None, n_trials=None, fits=lambda *_: False)
    assert simulation.run(nothing, 1) == []


def test_folds_of_partial_trials_are_taken_over_when_they_are_promoted(make, simulation):
    turns = make("bohb", n_trials=120)
    given = simulation.run(turns, 1)
    by_index = {trial.index: trial for trial in turns.trials}
    promoted = [turn for turn in given if turn.earlier is not None]
    assert promoted
    for turn in promoted:
        assert turn.proposal.fidelity.is_full
        assert turn.earlier == by_index[turn.earlier.index]
        assert turn.earlier.status is TrialStatus.PARTIAL
        assert len(turn.earlier.folds) == 1
