"""Numbered turns: decisions depend on indices, never on scheduling."""

import dataclasses
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waiting import PATIENCE_SECONDS

from automl.bandits.registry import ALLOCATORS
from automl.bandits.uniform import Uniform
from automl.errors import AutoMLError
from automl.optimizers.protocol import Proposal
from automl.optimizers.registry import OPTIMIZERS
from automl.origins import DEFAULT
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.search.opening import NOTHING, Discouraged, Opening
from automl.search.proposing import Arm, Proposer
from automl.search.turns import Turns
from automl.spaces.tree import SpaceTree

QUICK = ("random", "annealing", "successive_halving")
"""Optimizers that take no time: with pending trials, without, and with partial ones."""

ORDERS = st.integers(0, 2**32 - 1)
some = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@settings(some, max_examples=5)
@given(
    order=ORDERS,
    n_slots=st.sampled_from([2, 3, 4, 8]),
    lookback=st.sampled_from([1, 4, 9]),
    seed=st.integers(0, 99),
    allocator=st.sampled_from([*ALLOCATORS]),
)
def test_decisions_do_not_depend_on_slots_or_on_the_order_of_completion(
    simulation, optimizer, allocator, order, n_slots, lookback, seed
):
    chosen = {"optimizer": optimizer, "allocator": allocator, "lookback": lookback, "seed": seed}
    one = simulation.run(simulation.turns(**chosen, n_slots=1), 1)
    many = simulation.run(simulation.turns(**chosen, n_slots=n_slots), n_slots, order=order)
    assert len(one) == 30
    assert many == one


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("optimizer", QUICK)
def test_every_allocator_decides_the_same_for_any_number_of_slots(simulation, allocator, optimizer):
    chosen = {"optimizer": optimizer, "allocator": allocator, "n_trials": 40, "lookback": 4}
    one, two, four = (
        simulation.run(simulation.turns(**chosen, n_slots=n), n, order=n) for n in (1, 2, 4)
    )
    assert one == two == four
    assert len(one) == 40
    resumed = simulation.turns(**chosen, n_slots=4)
    simulation.run(resumed, 4, order=5, stop_after=17)
    known = {trial.index: trial for trial in resumed.trials}
    again = simulation.run(simulation.turns(**chosen, replay=known), 2, order=6)
    assert again == [turn for turn in one if turn.index not in known]


@some
@given(order=ORDERS, lookback=st.integers(1, 25))
def test_a_decision_sees_exactly_the_results_up_to_its_lookback(simulation, order, lookback):
    turns = simulation.turns(lookback=lookback, n_slots=4)
    for turn in simulation.run(turns, 4, order=order):
        first = turn.index - turn.index % max(1, lookback // 4)
        assert turn.sees == max(0, first - lookback + 1)
        seen = [t for t in turns.trials if t.index < turn.sees and t.is_complete]
        best = max(seen, key=lambda t: (t.score, -t.index), default=None)
        races = best is not None and turn.origin != DEFAULT
        assert turn.incumbent == (best.fold_scores if races else None)


@some
@given(order=ORDERS)
def test_trials_that_are_known_before_change_no_lookback(simulation, order):
    rng = np.random.default_rng(0)
    known = [
        Trial("other", i, simulation.spaces["alpha"].sample(rng), TrialStatus.COMPLETE, 0.1 * i)
        for i in range(9)
    ]

    def turns_with_known(n_slots):
        turns = simulation.turns(n_slots=n_slots)
        for trial in known:
            turns.learn(trial)
        return turns

    given = simulation.run(turns_with_known(4), 4, order=order)
    assert given == simulation.run(turns_with_known(1), 1)
    assert [turn.sees - len(known) for turn in given] == [max(0, i - 3) for i in range(30)]


def test_results_are_told_in_the_order_of_their_index(simulation):
    class Listener:
        def __init__(self, space):
            self.space, self.told = space, []

        def ask(self, *, pending, rng):
            return Proposal(self.space.sample(rng))

        def tell(self, trial):
            self.told.append(trial.index)

    space = simulation.spaces["alpha"]
    listener = Listener(space)
    turns = Turns(
        Proposer(
            {"alpha": Arm(space, listener, "listener")}, Uniform(), opening=Opening([]), seed=0
        ),
        lookback=4,
        n_trials=40,
        n_slots=lambda: 4,
    )
    simulation.run(turns, 4, order=5)
    assert listener.told == list(range(36))


@some
@given(order=ORDERS, stop_after=st.integers(0, 29), n_slots=st.sampled_from([1, 2, 4]))
def test_replay_of_an_interrupted_run_gives_the_same_decisions(
    simulation, order, stop_after, n_slots
):
    whole = simulation.turns()
    expected = simulation.run(whole, 2)
    interrupted = simulation.turns(n_slots=4)
    simulation.run(interrupted, 4, order=order, stop_after=stop_after)
    known = {trial.index: trial for trial in interrupted.trials}
    resumed = simulation.turns(n_slots=n_slots, replay=known)
    given = simulation.run(resumed, n_slots, order=order)
    assert given == [turn for turn in expected if turn.index not in known]
    assert resumed.trials == whole.trials


def test_known_trials_count_where_the_time_ends_before_they_are_decided_again(simulation):
    first = simulation.turns()
    simulation.run(first, 2, stop_after=17)
    known = {trial.index: trial for trial in first.trials}
    resumed = simulation.turns(replay=known)
    resumed.end()
    assert {trial.index: trial for trial in resumed.trials} == known
    assert resumed.take() is None


def test_a_floor_behind_the_turns_is_no_turn_of_a_resumed_search(simulation):
    first = simulation.turns()
    simulation.run(first, 2, stop_after=5)
    floor = dataclasses.replace(first.trials[0], index=first.index_behind)
    resumed = simulation.turns(replay={floor.index: floor})
    simulation.run(resumed, 2)
    assert [trial.index for trial in resumed.trials] == [*range(30), floor.index]


def test_a_replay_with_other_settings_is_refused(simulation):
    first = simulation.turns()
    simulation.run(first, 1, stop_after=6)
    known = {trial.index: trial for trial in first.trials}
    with pytest.raises(AutoMLError, match="cannot be replayed"):
        simulation.run(simulation.turns(seed=8, replay=known), 1)


def test_each_configuration_is_decided_once(simulation):
    turns = simulation.run(simulation.turns(n_trials=200, n_slots=4), 4, order=3)
    assert len({turn.proposal.configuration.id for turn in turns}) == len(turns) == 200


def test_a_configuration_comes_once_at_each_fidelity_and_never_after_the_full_one(simulation):
    space = simulation.spaces["beta"]
    whole = [c for k in range(2, 60) if int((c := space.complete({"k": k})).id, 16) % 8 > 1]
    one, other = whole[:2]
    first, half, two = Fidelity(folds=1), Fidelity(row_share=0.5), Fidelity(folds=2)
    script = [(one, first), (one, first), (one, half), (one, two), (one, Fidelity())]
    script += [(one, first), (one, Fidelity()), (other, Fidelity())]

    class Scripted:
        def ask(self, *, pending, rng):
            return Proposal(*script.pop(0))

        def tell(self, trial):
            pass

    arms = {"beta": Arm(space, Scripted(), "scripted")}
    proposer = Proposer(arms, Uniform(), opening=Opening([]), seed=0)
    turns = Turns(proposer, lookback=1, n_trials=6, n_slots=lambda: 1)
    given = simulation.run(turns, 1)
    asked = [(turn.proposal.configuration, turn.proposal.fidelity) for turn in given]
    assert asked[1:] == [
        (one, first),
        (one, half),
        (one, two),
        (one, Fidelity()),
        (other, Fidelity()),
    ]
    assert [turn.earlier and len(turn.earlier.folds) for turn in given[1:]] == [
        None,
        None,
        1,
        2,
        None,
    ]


def test_the_opening_comes_first_in_its_order_and_defaults_begin_their_families(simulation):
    configurations = [space.complete({}) for space in simulation.spaces.values()]
    opening = [
        (Configuration("floor family"), "floor"),
        (simulation.spaces["beta"].complete({"k": 3}), "portfolio"),
        (configurations[0], "portfolio"),
        (configurations[0], "portfolio"),
    ]
    given = simulation.run(simulation.turns(opening=opening, n_trials=8), 2)
    assert [turn.origin for turn in given[:3]] == ["floor", "portfolio", "portfolio"]
    rest = [(turn.family, turn.origin) for turn in given[3:]]
    assert rest[0] == ("gamma", "default")
    assert ("beta", "default") in rest
    assert ("alpha", "default") not in rest


class Against(Opening):
    """An opening that speaks against families and configurations, until so many trials are seen."""

    def __init__(self, given, without, until):
        super().__init__(given)
        self._without, self._until = without, until

    def discouraged(self, seen):
        return self._without if len(seen) < self._until else NOTHING


@pytest.mark.parametrize("allocator", ["uniform", "expected_gain", "cash"])
def test_a_family_that_gives_no_hope_waits_and_so_does_a_poor_default(simulation, allocator):
    space = simulation.spaces["alpha"]
    without = Discouraged(frozenset({space.default().id}), frozenset({"beta"}))
    opening = Against([(space.complete({"C": 3.0}), "portfolio")], without, 15)
    turns = simulation.turns(opening=opening, allocator=allocator, optimizer="random", n_trials=40)
    given = simulation.run(turns, 2)
    early = [turn for turn in given if turn.sees < 15]
    if allocator != "cash":
        assert "beta" not in {turn.family for turn in early}
    assert space.default().id not in {turn.proposal.configuration.id for turn in early}
    assert ("gamma", "default") in {(turn.family, turn.origin) for turn in early}
    assert "beta" in {turn.family for turn in given}


def test_where_no_family_gives_hope_they_have_their_turns_all_the_same(simulation):
    opening = Against((), Discouraged(frozenset(), frozenset(simulation.spaces)), 99)
    given = simulation.run(simulation.turns(opening=opening, n_trials=12), 2)
    assert len(given) == 12


def test_exhausted_families_are_dropped_and_the_others_go_on(simulation):
    turns = simulation.turns(n_trials=40)
    given = simulation.run(turns, 2)
    assert turns.dropped == {"gamma": "its search space is exhausted"}
    assert [turn.family for turn in given].count("gamma") == 3
    assert len(given) == 40


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_search_is_over_when_all_spaces_are_exhausted(simulation, optimizer):
    turns = simulation.turns(families=("gamma",), optimizer=optimizer, n_trials=40, n_slots=4)
    given = simulation.run(turns, 4)
    assert len({turn.proposal.configuration for turn in given}) == 3
    assert len({(t.proposal.configuration, t.proposal.fidelity) for t in given}) == len(given) <= 9
    assert turns.take("gamma") is None


@pytest.mark.parametrize("lookback", [1, 4, 9, None])
@pytest.mark.parametrize("optimizer", ["successive_halving", "hyperband", "bohb"])
def test_a_family_whose_optimizer_waits_for_results_is_not_given_up(
    simulation, optimizer, lookback
):
    chosen = {"families": ("gamma",), "optimizer": optimizer, "lookback": lookback}
    given = simulation.run(simulation.turns(**chosen), 2)
    if lookback is not None:
        assert simulation.run(simulation.turns(**chosen, n_slots=4), 4, order=3) == given
    in_full = {turn.proposal.configuration for turn in given if turn.proposal.fidelity.is_full}
    assert len(in_full) == 3


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_finite_space_is_not_given_up_while_much_of_it_is_new(simulation, optimizer, monkeypatch):
    numbers = {"k": {"type": "uniform", "low": 1, "high": 100, "integer": True}}
    monkeypatch.setitem(simulation.spaces, "hundred", SpaceTree.build("hundred", numbers))
    turns = simulation.turns(families=("hundred",), optimizer=optimizer, n_trials=60)
    assert len(simulation.run(turns, 2, order=1)) == 60


def test_an_illegal_proposal_is_our_fault(simulation):
    turns = simulation.turns(families=("alpha",), n_trials=4)
    turns._proposer.arms["alpha"] = dataclasses.replace(
        turns._proposer.arms["alpha"], space=simulation.spaces["beta"]
    )
    with pytest.raises(AutoMLError, match="optimizer hypercube proposed for alpha"):
        simulation.run(turns, 1)


def test_models_are_kept_above_the_nth_best_score_seen_or_that_of_their_kind(simulation):
    turns = simulation.turns(n_kept=3, lookback=1)
    is_of_family = []
    for turn in simulation.run(turns, 1):
        seen = [t for t in turns.trials if t.index < turn.index and t.is_complete]
        scores = sorted((t.score for t in seen), reverse=True)
        own = [t.score for t in seen if t.configuration.family == turn.family]
        nth = scores[2] if len(scores) >= 3 else -float("inf")
        assert turn.keep_above == min(nth, max(own, default=-float("inf")))
        is_of_family.append(turn.keep_above < nth)
    assert any(is_of_family)


class Scripted:
    """Draws that tell what was asked of it, and when it was asked anew."""

    def __init__(self, space, asks_again=True):
        self.space, self.asked = space, []
        if asks_again:
            self.ask_again = self._again

    def ask(self, *, pending, rng):
        self.asked.append(("ask", len(pending)))
        return Proposal(self.space.sample(rng))

    def _again(self, *, pending, rng):
        self.asked.append(("again", len(pending)))
        return Proposal(self.space.sample(rng))

    def tell(self, trial):
        self.asked.append(("tell", trial.index))


def scripted_turns(simulation, *, asks_again=True, **options):
    optimizer = Scripted(simulation.spaces["alpha"], asks_again)
    arms = {"alpha": Arm(simulation.spaces["alpha"], optimizer, "scripted")}
    opening = Opening([(simulation.spaces["alpha"].default(), "floor")])
    return Turns(Proposer(arms, Uniform(), opening=opening, seed=0), **options), optimizer


def test_a_long_lookback_has_rounds_of_a_quarter_of_it(simulation):
    turns, optimizer = scripted_turns(simulation, lookback=12, n_trials=30, n_slots=lambda: 2)
    simulation.run(turns, 2)
    assert optimizer.asked[:6] == [
        ("ask", 1), ("again", 2), ("ask", 3), ("again", 4), ("again", 5), ("ask", 6)
    ]  # fmt: skip
    kinds = [kind for kind, _ in optimizer.asked]
    last = len(kinds) - 1 - kinds[::-1].index("ask")
    assert kinds[last - 3 : last + 3] == ["tell"] * 3 + ["ask", "again", "again"]


@pytest.mark.parametrize("asks_again", [True, False])
def test_at_the_default_lookback_every_decision_is_asked_anew(simulation, asks_again):
    turns, optimizer = scripted_turns(
        simulation, asks_again=asks_again, lookback=4, n_trials=20, n_slots=lambda: 4
    )
    simulation.run(turns, 4, order=3)
    assert {kind for kind, _ in optimizer.asked} == {"ask", "tell"}


# --- a time budget ------------------------------------------------------------------------------


def test_without_a_lookback_a_decision_sees_what_has_finished(simulation):
    turns = simulation.turns(lookback=None, n_trials=None, n_slots=3)
    running = [simulation.take_now(turns) for _ in range(3)]
    assert simulation.take_now(turns) is None
    turns.finish(simulation.trial(running.pop(1)))
    turn = simulation.take_now(turns)
    assert (turn.index, turn.sees) == (3, 1)


def test_without_a_lookback_all_free_slots_share_a_round(simulation):
    turns, optimizer = scripted_turns(simulation, lookback=None, n_trials=None, n_slots=lambda: 5)
    running = [simulation.take_now(turns) for _ in range(5)]
    assert optimizer.asked == [("ask", 1), ("again", 2), ("again", 3), ("again", 4)]
    for turn in running[:3]:
        turns.finish(simulation.trial(turn))
    for _ in range(3):
        simulation.take_now(turns)
    assert optimizer.asked[4:] == [
        *(("tell", i) for i in range(3)), ("ask", 2), ("again", 3), ("again", 4)
    ]  # fmt: skip


def test_a_round_that_takes_long_ends_early(simulation, monkeypatch):
    monkeypatch.setattr("automl.search.turns.ROUND_SECONDS", 0.0)
    turns, optimizer = scripted_turns(simulation, lookback=None, n_trials=None, n_slots=lambda: 5)
    for _ in range(4):
        simulation.take_now(turns)
    assert optimizer.asked == [("ask", 1), ("ask", 2), ("ask", 3)]


def test_results_are_taken_and_turns_handed_out_while_an_optimizer_thinks(simulation):
    thinking, may_answer = threading.Event(), threading.Event()
    space = simulation.spaces["alpha"]

    class Slow:
        def ask(self, *, pending, rng):
            thinking.set()
            assert may_answer.wait(PATIENCE_SECONDS)
            return Proposal(space.sample(rng))

        def tell(self, trial):
            pass

    opening = Opening([(space.default(), "floor"), (space.complete({"C": 3.0}), "portfolio")])
    proposer = Proposer({"alpha": Arm(space, Slow(), "slow")}, Uniform(), opening=opening, seed=0)
    turns = Turns(proposer, lookback=None, n_trials=9, n_slots=lambda: 3)
    first = turns.take()
    turns._decide(turns._due())  # a turn that waits for its thread
    thread = threading.Thread(target=turns.take, args=["beta"])
    thread.start()
    assert thinking.wait(PATIENCE_SECONDS)
    turns.finish(simulation.trial(first))
    assert [trial.index for trial in turns.trials] == [0]
    assert turns.take("alpha").index == 1
    may_answer.set()
    turns.end()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_without_a_lookback_earlier_trials_are_adopted(simulation):
    first = simulation.turns(lookback=None, n_trials=None, n_slots=4)
    simulation.run(first, 4, order=2, stop_after=17)
    known = {trial.index: trial for trial in first.trials if trial.index != 5}
    resumed = simulation.turns(lookback=None, n_trials=None, replay=known)
    assert resumed.trials == [known[i] for i in sorted(known)]
    turn = simulation.take_now(resumed)
    assert turn.index == max(known) + 1
    assert turn.sees == len(known)
    done = {trial.configuration.id for trial in known.values()}
    later = [turn, *simulation.run(resumed, 1, stop_after=len(known) + 10)]
    assert not done & {t.proposal.configuration.id for t in later}


def test_a_trial_that_no_longer_fits_is_not_started(simulation):
    turns = simulation.turns(
        lookback=None,
        n_trials=None,
        fits=lambda proposal, _: proposal.configuration.family == "gamma",
        opening=[(simulation.spaces["alpha"].default(), "portfolio")],
    )
    given = simulation.run(turns, 2)
    assert [turn.family for turn in given] == ["gamma"] * 3


def test_the_search_is_over_when_nothing_fits(simulation):
    turns = simulation.turns(lookback=None, n_trials=None, fits=lambda *_: False)
    assert turns.take() is None


def test_proposals_that_do_not_fit_are_not_asked_for_again_before_a_result(simulation):
    asked = []
    turns = simulation.turns(
        lookback=None, n_trials=None, fits=lambda proposal, _: not asked.append(proposal) and asks
    )
    asks = True
    turn = simulation.take_now(turns)
    asks = False
    assert [simulation.take_now(turns) for _ in range(5)] == [None] * 5
    assert len(asked) == 1 + len(simulation.spaces)
    asks = True
    turns.finish(simulation.trial(turn))
    assert simulation.take_now(turns) is not None


def test_nobody_is_asked_when_the_time_is_over(simulation):
    asked = []
    turns = simulation.turns(
        lookback=None,
        n_trials=None,
        fits=lambda proposal, _: not asked.append(proposal),
        has_time=lambda: not asked,
    )
    assert simulation.take_now(turns) is not None
    assert simulation.take_now(turns) is None
    assert len(asked) == 1


def test_after_the_end_nothing_is_decided(simulation):
    turns = simulation.turns()
    turn = simulation.take_now(turns)
    turns.end()
    assert turns.take() is None
    turns.finish(simulation.trial(turn))
    assert turns.take("alpha") is None
    assert [trial.index for trial in turns.trials] == [0]


def test_a_turn_tells_what_its_decision_took(simulation):
    space = simulation.spaces["beta"]

    class Thinks:
        def ask(self, *, pending, rng):
            time.sleep(1.0)
            return Proposal(space.sample(rng))

        def tell(self, trial):
            pass

    arms = {"beta": Arm(space, Thinks(), "thinks")}
    proposer = Proposer(arms, Uniform(), opening=Opening([(space.default(), "floor")]), seed=0)
    turns = Turns(proposer, lookback=1, n_trials=2, n_slots=lambda: 1)
    first = simulation.take_now(turns)
    turns.finish(simulation.trial(first))
    second = simulation.take_now(turns)
    assert first.ask_seconds < 1.0 <= second.ask_seconds


def test_failed_trials_are_results_like_others(simulation):
    turns = simulation.turns(n_trials=60)
    simulation.run(turns, 2)
    statuses = {trial.status for trial in turns.trials}
    assert {TrialStatus.FAILED, TrialStatus.RACED, TrialStatus.COMPLETE} <= statuses


@pytest.mark.parametrize("races", [True, False])
def test_the_opening_leaves_out_more_of_a_family_that_is_far_behind(simulation, races):
    rng = np.random.default_rng(0)
    opening = [
        (simulation.spaces[name].sample(rng), "portfolio")
        for name in ("alpha", "beta", "beta", "beta")
    ]
    turns = simulation.turns(opening=opening, races=races, lookback=1)
    for score in (0.9, 0.5):
        turn = simulation.take_now(turns)
        folds = tuple(FoldResult(0, i, score + i / 100, 10, 0.1, 0.01) for i in range(3))
        made = {"status": TrialStatus.COMPLETE, "score": score, "folds": folds}
        turns.finish(dataclasses.replace(simulation.trial(turn), **made))
    origins = []
    for _ in range(2):
        turn = simulation.take_now(turns)
        origins.append(turn.origin)
        turns.finish(simulation.trial(turn))
    assert [origin == "portfolio" for origin in origins] == [not races] * 2


def test_a_partial_trial_may_fit_where_a_complete_one_does_not(simulation):
    space, first = simulation.spaces["beta"], Fidelity(folds=1)
    asked = [c for k in range(2, 60) if int((c := space.complete({"k": k})).id, 16) % 8 > 1][:2]

    class Climbs:
        def __init__(self):
            self.script = [Proposal(asked[0], first), Proposal(asked[1]), Proposal(asked[0])]

        def ask(self, *, pending, rng):
            return self.script.pop(0) if self.script else None

        def tell(self, trial):
            pass

    looked_at = []

    def fits(proposal, earlier):
        looked_at.append((proposal, earlier))
        return proposal.configuration == space.default() or not (
            proposal.fidelity.is_full and earlier is None
        )

    arms = {"beta": Arm(space, Climbs(), "climbs")}
    proposer = Proposer(arms, Uniform(), opening=Opening([]), seed=0, fits=fits)
    turns = Turns(proposer, lookback=None, n_trials=None, n_slots=lambda: 1)
    given = simulation.run(turns, 1)
    assert [turn.proposal.configuration for turn in given[1:]] == [asked[0]]
    assert looked_at[-1][0] == Proposal(asked[1])
    turns._is_over, turns._nothing_at = False, -1
    (promoted,) = simulation.run(turns, 1)
    assert promoted.proposal == Proposal(asked[0])
    assert promoted.earlier == turns.trials[given[1].index]


def test_the_end_does_not_wait_for_an_optimizer_that_is_thinking(simulation):
    thinking, may_answer = threading.Event(), threading.Event()
    space = simulation.spaces["alpha"]

    class Slow:
        def ask(self, *, pending, rng):
            thinking.set()
            may_answer.wait(PATIENCE_SECONDS)
            return Proposal(space.sample(rng))

        def tell(self, trial):
            pass

    opening = Opening([(space.default(), "floor")])
    proposer = Proposer({"alpha": Arm(space, Slow(), "slow")}, Uniform(), opening=opening, seed=0)
    turns = Turns(proposer, lookback=None, n_trials=9, n_slots=lambda: 2)
    turns.take()
    taken = []
    thread = threading.Thread(target=lambda: taken.append(turns.take()))
    thread.start()
    assert thinking.wait(PATIENCE_SECONDS)
    turns.end()
    assert not taken
    may_answer.set()
    thread.join(PATIENCE_SECONDS)
    assert taken == [None]


def test_the_end_waits_for_what_any_thread_still_runs_and_for_nothing_else(simulation):
    turns = simulation.turns(n_trials=3, n_slots=3)
    running = turns.take()
    assert running is not None
    waiting = threading.Thread(target=turns.wait_for_taken, kwargs={"unless": lambda: False})
    waiting.start()
    while not turns._condition._waiters:  # the thread waits
        pass
    assert waiting.is_alive()
    turns.finish(simulation.trial(running))
    waiting.join(PATIENCE_SECONDS)
    assert not waiting.is_alive()
    other = turns.take()
    turns.wait_for_taken(unless=lambda: True)
    turns.wait_for_taken("none of these", unless=lambda: False)
    assert other is not None
    turns.finish(simulation.trial(other))
    turns._decide(turns._due())  # a turn that nobody takes
    turns.end()
    turns.wait_for_taken(unless=lambda: False)
