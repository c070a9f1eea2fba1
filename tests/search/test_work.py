"""Threads that take turns and run them on slots."""

import json
import threading
from dataclasses import replace

import pytest

from automl.evaluation.slots import JobOutcome
from automl.evaluation.trial import TrialSummary
from automl.experience.data_set import KnownTrial
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.search.runner import TrialRunner, work

JOIN_SECONDS = 120.0


class Runner:
    """Answers at once with a simulated result."""

    def __init__(self, simulation, wait=lambda turn: None):
        self.simulation, self.wait = simulation, wait

    def run_turn(self, turn, *, limit_seconds):
        self.wait(turn)
        return self.simulation.trial(turn)


def run_threads(turns, runner, families, *, until=None):
    """One thread per family; what was committed, and the errors."""
    committed, errors = [], []

    def run(family):
        try:
            work(
                turns,
                runner,
                commit=lambda trial, turn: committed.append((trial.index, turn.index)),
                limit_seconds=lambda turn: None,
                family=family,
                until=until,
            )
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(family,), daemon=True) for family in families]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(JOIN_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    return committed, errors


@pytest.mark.parametrize("n_slots", [1, 2, 4])
@pytest.mark.parametrize("lookback", [1, 4])
def test_a_thread_per_family_makes_the_same_decisions_as_one_slot(simulation, n_slots, lookback):
    expected = simulation.turns(n_slots=1, lookback=lookback)
    simulation.run(expected, 1)
    turns = simulation.turns(n_slots=n_slots, lookback=lookback)
    committed, errors = run_threads(turns, Runner(simulation), simulation.spaces)
    assert not errors
    assert turns.trials == expected.trials
    assert sorted(committed) == [(i, i) for i in range(30)]


def test_threads_that_take_any_turn_make_the_same_decisions(simulation):
    expected = simulation.turns(n_slots=1)
    simulation.run(expected, 1)
    turns = simulation.turns(n_slots=3)
    run_threads(turns, Runner(simulation), [None, None, None])
    assert turns.trials == expected.trials


def test_threads_under_a_time_budget_stop_when_nothing_fits(simulation):
    turns = simulation.turns(lookback=None, n_trials=None, n_slots=2)
    turns._proposer._fits = lambda *_: len(turns._results) < 20
    run_threads(turns, Runner(simulation), simulation.spaces)
    assert 20 <= len(turns.trials) <= 22


def test_the_turn_of_a_family_without_a_thread_is_taken_by_another(simulation):
    opening = [(Configuration("constant"), "floor")]
    turns = simulation.turns(opening=opening, n_slots=1, n_trials=10)
    run_threads(turns, Runner(simulation), simulation.spaces)
    assert turns.trials[0].configuration.family == "constant"
    assert len(turns.trials) == 10


def test_the_thread_of_a_single_family_uses_all_slots(simulation):
    side_by_side = threading.Barrier(3)

    def wait(turn):
        if turn.index < 3:
            side_by_side.wait(JOIN_SECONDS)

    turns = simulation.turns(families=("alpha",), n_slots=3, n_trials=12)
    _, errors = run_threads(turns, Runner(simulation, wait), ["alpha"])
    assert not errors
    assert len(turns.trials) == 12


@pytest.mark.parametrize("families", [list("abc"), [None, None]])
def test_an_error_ends_the_search_for_all_threads(simulation, families):
    families = families if families[0] is None else list(simulation.spaces)

    def fail(turn):
        if turn.index == 5:
            turns.end()  # what the search does for threads of any family
            raise RuntimeError("the pool is broken")

    turns = simulation.turns(n_slots=2)
    _, errors = run_threads(turns, Runner(simulation, fail), families)
    assert [str(error) for error in errors] == ["the pool is broken"]
    assert len(turns.trials) < 30


def test_an_error_in_a_thread_of_a_family_ends_the_search_by_itself(simulation):
    def fail(turn):
        if turn.index == 3:
            raise RuntimeError("the pool is broken")

    turns = simulation.turns(n_slots=2)
    _, errors = run_threads(turns, Runner(simulation, fail), simulation.spaces)
    assert len(errors) == 1
    assert turns.take() is None


def test_until_gives_the_remaining_turns_to_others(simulation):
    turns = simulation.turns(n_slots=2)
    run_threads(turns, Runner(simulation), [None, None], until=lambda: len(turns.trials) >= 10)
    assert 10 <= len(turns.trials) < 14
    run_threads(turns, Runner(simulation), simulation.spaces)
    assert len(turns.trials) == 30


def test_wake_lets_a_waiting_thread_see_that_it_should_stop(simulation):
    turns = simulation.turns(n_slots=1)
    simulation.take_now(turns)
    is_over, asked = threading.Event(), threading.Event()

    def until():
        asked.set()
        return is_over.is_set()

    found = []
    thread = threading.Thread(target=lambda: found.append(turns.take("beta", until=until)))
    thread.start()
    assert asked.wait(JOIN_SECONDS)
    is_over.set()
    turns.wake()
    thread.join(JOIN_SECONDS)
    assert found == [None]


# --- what becomes of an outcome -------------------------------------------------------------------


class Pool:
    """One slot that answers with a prepared outcome and remembers the job."""

    def __init__(self, outcome):
        self.outcome, self.job, self.released = outcome, None, []

    def acquire(self):
        return 0

    def release(self, slot):
        self.released.append(slot)

    def run(self, slot, job, *, limit_seconds=None, is_over=None):
        self.job, self.limit_seconds, self.is_over = job, limit_seconds, is_over
        return self.outcome


class Rows:
    jobs = ((0, 0), (0, 1), (0, 2))


FOLDS = [FoldResult(0, i, 0.1 * i, 10 * (i + 1), 0.1, 0.01) for i in range(3)]


def outcome_of(status, results, reason=""):
    return JobOutcome(status, results, reason, 1.5, 80.0)


def runner_of(outcome, **options):
    def mean(scores, rows):
        return sum(s * r for s, r in zip(scores, rows, strict=True)) / sum(rows)

    return TrialRunner(Pool(outcome), "run", "search", Rows(), mean, **options)


@pytest.fixture
def turn(simulation):
    return simulation.take_now(simulation.turns())


def test_a_complete_trial_has_the_row_weighted_score_and_the_metrics(turn):
    summary = TrialSummary({"accuracy": 0.9}, bootstrap_scores=(0.1, 0.2))
    outcome = outcome_of(TrialStatus.COMPLETE, [*FOLDS, summary])
    runner = runner_of(outcome)
    trial = runner.run_turn(turn, limit_seconds=7.0)
    assert trial.is_complete
    assert trial.score == pytest.approx((0.1 * 20 + 0.2 * 30) / 60)
    assert trial.metrics == {"accuracy": 0.9}
    assert trial.bootstrap_scores == (0.1, 0.2)
    assert (trial.seconds, trial.peak_memory_mib, trial.index) == (1.5, 80.0, turn.index)
    assert runner.pool.released == [0]
    assert runner.pool.limit_seconds == 7.0
    assert runner.pool.job.payload["save_as"] == trial.id


def test_a_trial_keeps_what_it_was_expected_to_take(turn):
    runner = runner_of(outcome_of(TrialStatus.COMPLETE, FOLDS))
    assert runner.run_turn(turn, limit_seconds=7.0).expected_seconds is None
    trial = runner.run_turn(replace(turn, expected_seconds=2.5), limit_seconds=7.0)
    assert trial.expected_seconds == 2.5
    assert Trial.from_json(trial.to_json()) == trial
    earlier = {k: v for k, v in trial.to_json().items() if k != "expected_seconds"}
    assert Trial.from_json(earlier).expected_seconds is None  # a journal of an earlier version


def test_a_raced_trial_keeps_its_folds_and_says_why(turn):
    summary = TrialSummary({}, TrialStatus.RACED, "behind")
    trial = runner_of(outcome_of(TrialStatus.COMPLETE, [*FOLDS[:2], summary])).run_turn(
        turn, limit_seconds=None
    )
    assert trial.status is TrialStatus.RACED
    assert trial.reason == "behind"
    assert len(trial.folds) == 2
    assert trial.score is not None


def test_a_trial_that_was_given_up_has_timed_out_and_keeps_its_folds(turn):
    summary = TrialSummary({}, TrialStatus.TIMED_OUT, "given up")
    runner = runner_of(
        outcome_of(TrialStatus.COMPLETE, [*FOLDS[:1], summary]), has_time=lambda: True
    )
    trial = runner.run_turn(turn, limit_seconds=7.0)
    assert (trial.status, trial.reason) == (TrialStatus.TIMED_OUT, "given up")
    assert (len(trial.folds), trial.score) == (1, None)


@pytest.mark.parametrize("origin", ["floor", "knowledge", "gp_sampled"])
@pytest.mark.parametrize(("has_time", "told"), [(lambda: True, 7.0), (None, None)])
def test_nothing_is_given_up_where_the_clock_may_not_be_read(turn, has_time, told, origin):
    runner = runner_of(outcome_of(TrialStatus.COMPLETE, FOLDS), has_time=has_time)
    runner.run_turn(replace(turn, origin=origin), limit_seconds=7.0)
    assert runner.pool.job.payload["limit_seconds"] == told


@pytest.mark.parametrize(
    ("family", "origin", "ends"),
    [
        ("ridge", "gp_sampled", True),
        ("ridge", "default", True),
        ("lightgbm", "gp_sampled", True),
        ("lightgbm", "default", False),
        ("constant", "floor", False),
    ],
)
def test_a_trial_ends_with_the_time_of_the_search(turn, family, origin, ends):
    left = [True]
    runner = runner_of(
        outcome_of(TrialStatus.COMPLETE, FOLDS),
        has_time=lambda: left[0],
        stoppable=frozenset({"lightgbm"}),
    )
    proposal = replace(turn.proposal, configuration=Configuration(family))
    runner.run_turn(replace(turn, origin=origin, proposal=proposal), limit_seconds=7.0)
    is_over = runner.pool.is_over
    assert (is_over is not None) == ends
    if is_over is not None:
        assert not is_over()
        left[0] = False
        assert is_over()


@pytest.mark.parametrize(
    ("family", "origin", "told"),
    [
        ("lightgbm", "floor", 7.0),
        ("hist_gradient_boosting", "default", 7.0),
        ("lightgbm", "gp_sampled", None),
        ("ridge", "default", None),
    ],
)
def test_the_defaults_of_boosters_keep_their_rounds_and_are_not_given_up(
    turn, family, origin, told
):
    stoppable = frozenset({"lightgbm", "hist_gradient_boosting"})
    outcome = outcome_of(TrialStatus.COMPLETE, FOLDS)
    runner = runner_of(outcome, has_time=lambda: True, stoppable=stoppable)
    proposal = replace(turn.proposal, configuration=Configuration(family))
    runner.run_turn(replace(turn, origin=origin, proposal=proposal), limit_seconds=7.0)
    payload = runner.pool.job.payload
    assert payload["keeps_within"] == told
    assert (payload["limit_seconds"] is None) == (told is not None)


def test_a_trial_whose_fits_ended_early_is_complete_and_says_so(turn):
    folds = [FOLDS[0], replace(FOLDS[1], rounds=12), replace(FOLDS[2], rounds=21)]
    outcome = outcome_of(TrialStatus.COMPLETE, [*folds, TrialSummary({"accuracy": 0.9})])
    trial = runner_of(outcome).run_turn(turn, limit_seconds=7.0)
    assert trial.is_complete
    assert trial.reason == "its time ran out: 2 of 3 fits ended early, with 12 to 21 rounds"
    assert trial.most_rounds == 16
    assert Trial.from_json(trial.to_json()) == trial
    assert trial.depends_on_machine
    known = KnownTrial.of(trial)  # it did not have the time that it needs
    assert (known.status, known.score) == (TrialStatus.TIMED_OUT, None)


@pytest.mark.parametrize("status", ["timed_out", "out_of_memory", "crashed", "killed", "failed"])
def test_a_trial_that_ended_badly_has_no_score(turn, status):
    outcome = outcome_of(TrialStatus(status), FOLDS[:1], "it ended")
    trial = runner_of(outcome).run_turn(turn, limit_seconds=None)
    assert trial.status == status
    assert trial.score is None
    assert trial.reason == "it ended"


def test_a_trial_of_fewer_folds_is_partial_and_saves_predictions_but_no_models(turn):
    partial = replace(turn, proposal=replace(turn.proposal, fidelity=Fidelity(folds=2)))
    summary = TrialSummary({"accuracy": 0.9}, bootstrap_scores=(0.5, 0.6))
    outcome = outcome_of(TrialStatus.COMPLETE, [*FOLDS[:2], summary])
    runner = runner_of(outcome, keeps_models=True)
    trial = runner.run_turn(partial, limit_seconds=None)
    assert trial.status is TrialStatus.PARTIAL
    assert trial.metrics == {}
    assert trial.bootstrap_scores == ()
    payload = runner.pool.job.payload
    assert payload["jobs"] == [(0, 0), (0, 1)]
    assert payload["save_as"] == trial.id
    assert payload["keep_models_above"] is None


@pytest.mark.parametrize("fidelity", [Fidelity(row_share=0.2), Fidelity(iteration_share=0.2)])
def test_a_trial_of_weaker_fits_is_not_raced_and_saves_nothing(turn, fidelity):
    weaker = replace(
        turn, proposal=replace(turn.proposal, fidelity=fidelity), incumbent=(0.5, 0.6, 0.7)
    )
    runner = runner_of(outcome_of(TrialStatus.COMPLETE, FOLDS), races=True, keeps_models=True)
    assert runner.run_turn(weaker, limit_seconds=None).status is TrialStatus.PARTIAL
    payload = runner.pool.job.payload
    assert (payload["row_share"], payload["iteration_share"]) == (
        fidelity.row_share,
        fidelity.iteration_share,
    )
    assert payload["incumbent"] is None
    assert payload["save_as"] is None
    assert payload["keep_models_above"] is None


def test_folds_of_an_earlier_trial_are_handed_on_if_they_are_the_first(turn):
    outcome = outcome_of(TrialStatus.COMPLETE, FOLDS)
    runner = runner_of(outcome, keeps_models=True)
    earlier = replace(runner.run_turn(turn, limit_seconds=None), folds=tuple(FOLDS[:1]))
    runner.run_turn(replace(turn, earlier=earlier), limit_seconds=None)
    payload = runner.pool.job.payload
    assert payload["jobs"] == [(0, 0), (0, 1), (0, 2)]
    assert payload["earlier"] == {"trial": earlier.id, "folds": [FOLDS[0].to_json()]}
    assert payload["keep_models_above"] is None
    runner.run_turn(replace(turn, earlier=replace(earlier, folds=(FOLDS[1],))), limit_seconds=None)
    assert runner.pool.job.payload["earlier"] is None


def test_a_trial_costs_what_its_folds_took_and_spends_what_it_ran_itself(turn):
    runner = runner_of(outcome_of(TrialStatus.COMPLETE, FOLDS))
    alone = runner.run_turn(turn, limit_seconds=None)
    assert (alone.seconds, alone.spent_seconds) == (1.5, 1.5)
    earlier = replace(alone, folds=tuple(FOLDS[:1]), seconds=0.5)
    promoted = runner.run_turn(replace(turn, earlier=earlier), limit_seconds=None)
    assert (promoted.seconds, promoted.spent_seconds) == (2.0, 1.5)
    again = replace(turn, earlier=replace(promoted, folds=tuple(FOLDS[:2])))
    twice = runner.run_turn(again, limit_seconds=None)
    assert (twice.seconds, twice.spent_seconds) == (3.5, 1.5)
    assert Trial.from_json(json.loads(json.dumps(twice.to_json()))) == twice
    lost = replace(turn, earlier=replace(earlier, folds=(replace(FOLDS[0], fit_seconds=9.0),)))
    assert runner.run_turn(lost, limit_seconds=None).seconds == 1.5


@pytest.mark.parametrize(("origin", "races"), [("floor", False), ("default", True)])
def test_floors_are_never_raced(turn, origin, races):
    raced = replace(turn, origin=origin, incumbent=(0.5, 0.6, 0.7))
    runner = runner_of(outcome_of(TrialStatus.COMPLETE, FOLDS), races=True)
    runner.run_turn(raced, limit_seconds=None)
    assert (runner.pool.job.payload["incumbent"] is not None) is races
