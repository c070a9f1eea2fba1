"""What the stages after the search are expected to take."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from run_records import final_of, model_of, result_of, write

from automl.evaluation.fold_models import models_mib
from automl.home import Home
from automl.metrics.building import build_index
from automl.records import Task
from automl.run.ledger import Ledger
from automl.run.stage_table import unknown_tail
from automl.stages import blending, final_plan, outlook
from automl.stages.blending import bag_seconds, evaluation_seconds
from automl.stages.candidate_plan import HEADROOM, SAFETY
from automl.stages.final_plan import refit_seconds
from automl.stages.outlook import (
    Outlook,
    Publication,
    earlier_publications,
    expected_tail,
    measured_slowness,
)
from automl.tracking.outbox import Outbox


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Trials have fold models of no size, unless a test writes them or lets `kept` forget."""
    facts = {"all": True}
    for module in (outlook, final_plan):
        monkeypatch.setattr(
            module, "models_mib", lambda *one: models_mib(*one) or (1e-9 if facts["all"] else 0.0)
        )
    return facts


def test_fold_models_that_were_not_kept_are_fitted_again_in_time_that_is_planned(
    session_of, trial_of, kept
):
    session, trials = session_of(final="bag"), [trial_of(i) for i in range(3)]
    with_models = expected_tail(session, trials)["final"]
    kept["all"] = False
    assert expected_tail(session, trials)["final"] == pytest.approx(with_models + 1.5)
    write_models(session, trials[0], 1e-6)
    assert expected_tail(session, trials)["final"] == pytest.approx(with_models + 1.0, abs=0.01)


def test_slots_of_a_cluster_do_not_slow_this_machine_down(session_of):
    here, away = session_of(), session_of(cluster="tcp://host:8786")
    here.pool.n_slots = away.pool.n_slots = 64
    assert [outlook._slots_here(session) for session in (here, away)] == [64, 0]


def write_models(session, trial, mib):
    models = session.folder.path / "models"
    models.mkdir(exist_ok=True)
    with (models / f"{trial.id}.pickle").open("wb") as file:
        file.truncate(int(mib * 2**20))


def test_every_stage_is_expected_to_take_some_time_but_candidates_that_are_not_there(session_of):
    expected = expected_tail(session_of(), [])
    assert list(expected) == [
            "candidates", "ensemble", "honest", "final", "report", "registration",
        ]  # fmt: skip
    assert expected["candidates"] == expected["ensemble"] == 0.0
    assert expected["final"] > 0
    assert expected["registration"] >= outlook.REGISTRATION_SECONDS


def test_a_stage_that_no_forecast_knows_keeps_what_its_line_claims(session_of, monkeypatch):
    claims = {"candidates": 0.0, "calibration": 3.0, **unknown_tail()}
    monkeypatch.setattr(outlook, "unknown_tail", lambda: claims)
    expected = expected_tail(session_of(), [])
    assert expected["calibration"] == 3.0
    assert list(expected)[-1] == "registration"


def test_scoring_candidates_takes_what_their_folds_took_within_its_share(session_of, trial_of):
    session = session_of(budget_seconds=1000.0, candidate_repeats=2)
    most = outlook.CANDIDATES_SHARE * 0.2 * 1000.0
    found = [
        expected_tail(session, [trial_of(i, seconds) for i in range(5)])["candidates"]
        for seconds in (0.1, 1.0, 10.0, 1000.0)
    ]
    # five candidates on two repeats of five folds, on two slots
    factor = SAFETY * (1.0 + HEADROOM)
    assert found[:2] == [pytest.approx(factor * 0.5), pytest.approx(factor * 5.0)]
    assert found[1] < found[2] <= most
    assert found[3] == 0.0  # not even two would fit


def test_further_repeats_of_cheap_candidates_are_expected_too(session_of, trial_of):
    session = session_of(budget_seconds=1000.0)
    cheap, slow = (
        expected_tail(session, [trial_of(i, seconds) for i in range(5)])["candidates"]
        for seconds in (0.1, 20.0)
    )
    # six repeats; of the slow ones no further one fits into a twentieth of the budget
    assert cheap == pytest.approx(SAFETY * (1.0 + HEADROOM) * 1.5)
    fixed = session_of(budget_seconds=1000.0, candidate_repeats=2)
    assert slow == expected_tail(fixed, [trial_of(i, 20.0) for i in range(5)])["candidates"]


def test_large_models_take_longer_to_write(session_of, trial_of):
    session = session_of()
    trials = [trial_of(i) for i in range(3)]
    small = expected_tail(session, trials)["final"]
    write_models(session, trials[0], 500.0)
    large = expected_tail(session, trials)["final"]
    assert large - small == pytest.approx(
        outlook.FIRST_MIB_SECONDS * 10.0 + outlook.FURTHER_MIB_SECONDS * 490.0
    )


def test_members_beyond_the_most_are_not_counted(session_of, trial_of):
    trials = [trial_of(i) for i in range(8)]
    alone, few = (
        expected_tail(session_of(**given), trials)["final"]
        for given in ({"ensemble": "none"}, {"ensemble_members": 4})
    )
    assert few - alone > 3 * outlook.MEMBER_SECONDS
    assert expected_tail(session_of(ensemble="none"), trials)["ensemble"] == 0.0


def test_only_trials_that_the_tracking_store_lacks_are_still_to_be_copied(session_of, trial_of):
    session = session_of()
    trials = [trial_of(i) for i in range(1000)]
    expected = expected_tail(session, trials)
    without = expected["registration"]
    beside = sum(seconds for stage, seconds in expected.items() if stage != "registration")
    copying = outlook.STORE_SECONDS + 1000 * outlook.TRIAL_SECONDS
    assert without == pytest.approx(
        outlook.REGISTRATION_SECONDS
        + 1000 * outlook.SUMMARY_SECONDS_PER_TRIAL
        + max(0.0, copying - beside)
    )
    outbox = Outbox(session.folder.path / "outbox.json", parent="p")
    outbox.trials = {trial.id: "r" for trial in trials}
    outbox.save()
    assert without > expected_tail(session, trials)["registration"]
    assert expected_tail(session, trials)["registration"] == pytest.approx(
        outlook.REGISTRATION_SECONDS + 1000 * outlook.SUMMARY_SECONDS_PER_TRIAL
    )


def test_refits_are_planned_only_where_they_are_wanted_and_affordable(session_of, trial_of):
    quick, slow = ([trial_of(i, seconds) for i in range(3)] for seconds in (1.0, 1000.0))
    bag, refit, both = (
        session_of(final=final, ensemble="none") for final in ("bag", "refit", "bag_and_refit")
    )
    assert (
        expected_tail(refit, quick)["final"]
        > expected_tail(bag, quick)["final"]
        > expected_tail(bag, quick[:0])["final"]
    )
    beside = expected_tail(both, quick)["final"] - expected_tail(bag, quick)["final"]
    assert beside == pytest.approx(refit_seconds(both, quick[0]), abs=0.05)
    for session in (bag, refit, both):
        assert expected_tail(session, slow)["final"] < 5.0


def test_after_a_holdout_time_is_kept_for_those_members_that_can_be_refitted_in_it(
    session_of, trial_of
):
    session = session_of(holdout_above_rows=100)
    slow = [trial_of(i, 1000.0) for i in range(3)]
    without = expected_tail(session, slow)["final"]
    assert without < 5.0
    assert expected_tail(session, [trial_of(9, 10.0), *slow])["final"] > without + 2.0


def test_on_a_busy_machine_everything_is_expected_to_take_longer(session_of, trial_of):
    session = session_of(final="bag")
    trials = [trial_of(i) for i in range(3)]
    idle = expected_tail(session, trials)
    session.ledger.slowness = 2.0
    busy = expected_tail(session, trials)
    assert busy["candidates"] == idle["candidates"]  # measured beside whatever else runs
    assert busy["ensemble"] == 2.0 * idle["ensemble"]
    assert busy["final"] > 1.5 * idle["final"]


def test_the_plan_follows_the_trials_but_not_at_every_one(session_of, trial_of):
    session = session_of()
    trials = [trial_of(i) for i in range(4)]
    session.ledger = Ledger(1e9, 0.2, 0.0)
    view = Outlook(session, lambda: trials, lambda: None)
    first = dict(session.ledger.planned)
    view.refresh()
    assert session.ledger.planned["candidates"] > first["candidates"]
    second = session.ledger.planned
    trials.append(trial_of(9))
    view.refresh()
    assert session.ledger.planned is second


def test_without_a_limit_of_time_nothing_is_planned(session_of, trial_of):
    session = session_of(budget_seconds=None, trials=5)
    Outlook(session, lambda: [trial_of(0)], lambda: 1.0).refresh()
    assert session.ledger.planned == {}


def test_before_enough_trials_have_finished_the_plan_counts_those_to_come(session_of, trial_of):
    session = session_of(budget_seconds=1000.0)

    def planned(trials, usual):
        session.ledger = Ledger(1000.0, 0.2, time.monotonic())
        Outlook(session, lambda: trials, lambda: usual).refresh()
        return session.ledger.planned["candidates"]

    few, enough = ([trial_of(i) for i in range(n)] for n in (1, 10))
    assert planned(few, None) < planned(few, 1.0) == pytest.approx(planned(enough, 1.0))
    assert planned(few, 1e6) == planned(few, None)  # there is no time for another one
    assert planned(enough, 50.0) == planned(enough, None)


def test_the_final_model_is_expected_to_have_a_likely_number_of_members(session_of, trial_of):
    def expected(n_trials, **given):
        trials = [trial_of(i) for i in range(n_trials)]
        return expected_tail(session_of(budget_seconds=1000.0, **given), trials)["final"]

    likely = outlook.LIKELY_MEMBERS
    assert expected(likely - 1) < expected(likely) == expected(likely + 4)
    assert expected(likely, ensemble_members=3) == expected(3)
    assert expected(likely, ensemble="none") == expected(1)


def test_slowness_is_a_bounded_factor():
    found = [measured_slowness(n_slots) for n_slots in (1, 2, 10**6)]
    assert all(1.0 <= value <= outlook.GREATEST_SLOWNESS for value in found)
    assert found[-1] == 1.0


def test_learning_weights_takes_longer_on_more_trials_and_rows_but_within_its_share(
    session_of, trial_of, monkeypatch
):
    monkeypatch.setattr(blending, "evaluation_seconds", lambda _: 30e-6)
    session = session_of(budget_seconds=1000.0, ensemble="bagged_greedy")
    few, many = ([trial_of(i) for i in range(n)] for n in (3, 60))
    found = [expected_tail(session, trials)["ensemble"] for trials in (few, many)]
    assert outlook.ENSEMBLE_SECONDS < found[0] < found[1]
    one = bag_seconds(session, 60)
    assert found[1] == pytest.approx(outlook.ENSEMBLE_SECONDS + 5 * one)
    tight = expected_tail(session_of(budget_seconds=10.0, ensemble="bagged_greedy"), many)[
        "ensemble"
    ]
    assert tight == pytest.approx(outlook.ENSEMBLE_SECONDS + max(one, outlook.ENSEMBLE_SHARE * 10))


class Plan(SimpleNamespace):
    """Part of a plan, one for each object as plans are."""

    __hash__ = object.__hash__


def test_metrics_that_sort_the_rows_are_expected_to_take_longer():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4_000)
    found = {}
    for metric in ("accuracy", "roc_auc"):
        plan = Plan(
            stage=lambda _: SimpleNamespace(rows=np.arange(len(y))),
            table=SimpleNamespace(y=y, n_classes=2),
            index=build_index(metric, task=Task.BINARY, y_all=y, decision="given"),
        )
        found[metric] = evaluation_seconds(plan)
    assert 0 < found["accuracy"] < found["roc_auc"]


def inverse_of_class_2(y, prediction):
    return 1 / np.bincount(y, minlength=3).tolist()[2]


def test_a_scorer_that_is_undefined_on_the_probed_rows_ends_no_search():
    y = np.array([0, 1] * 50)
    scorer = f"{__file__}:inverse_of_class_2"
    index = build_index(scorer, task=Task.MULTICLASS, y_all=np.array([*y, 2]))
    with pytest.raises(ValueError, match="inverse_of_class_2: ZeroDivisionError"):
        index.learned_scores(y, np.full((1, len(y), 3), 1 / 3))
    plan = Plan(
        stage=lambda _: SimpleNamespace(rows=np.arange(len(y))),
        table=SimpleNamespace(y=y, n_classes=3),
        index=index,
    )
    assert evaluation_seconds(plan) >= 0


def make_registered(home, seconds, mib):
    folder = home.create_run()
    write(folder, final_of(size_mib=mib))
    outbox = Outbox(folder.path / "outbox.json", done={"published": "yes"})
    outbox.seconds = {"publishing": seconds}
    outbox.save()
    return folder


def test_the_newest_registrations_of_the_home_are_looked_at(tmp_path, monkeypatch):
    ids = iter([f"20260101-00000{i}-aaaa" for i in range(9)])
    monkeypatch.setattr("automl.home.new_run_id", lambda: next(ids))
    home = Home(tmp_path)
    for seconds in (99.0, 4.0, 5.0, 3.0):
        make_registered(home, seconds, mib=2.0)
    home.create_run()  # one that was never registered says nothing
    own = make_registered(home, 77.0, mib=2.0)
    found = earlier_publications(own)
    assert [publication.seconds for publication in found] == [3.0, 5.0, 4.0]
    assert {publication.mib for publication in found} == {2.0}


def test_a_registration_that_was_cut_short_would_have_taken_longer(tmp_path):
    home = Home(tmp_path)
    cut, later = (home.create_run() for _ in range(2))
    ledger = {"registration": {"planned": 3.0, "used": 6.0}}
    write(cut, result_of(model=model_of("pending"), ledger=ledger))
    (found,) = earlier_publications(later)
    assert found.seconds == outlook.CUT_SHORT * 6.0
    for taken, expected in ((4.0, 9.0), (40.0, 40.0)):  # a later command completed it
        outbox = Outbox(cut.path / "outbox.json")
        outbox.seconds = {"publishing": taken}
        outbox.save()
        assert [publication.seconds for publication in earlier_publications(later)] == [expected]


def test_as_much_is_kept_for_registration_as_it_took_before(session_of, trial_of):
    session = session_of(budget_seconds=100.0)
    trials = [trial_of(i) for i in range(3)]

    def planned(*earlier):
        return expected_tail(session, trials, earlier=earlier)["registration"]

    assert planned(Publication(20.0, 1.0), Publication(4.0, 1.0)) == 20.0
    assert planned(Publication(0.1, 1.0)) == planned()
    assert planned(Publication(90.0, 1.0)) == outlook.REGISTRATION_SHARE * 100.0
    write_models(session, trials[0], 51.0)
    larger = 20.0 + 50.0 * outlook.REGISTRATION_MIB_SECONDS
    assert planned(Publication(20.0, 1.0)) == pytest.approx(larger)


def test_a_mirror_that_was_slow_to_open_the_store_is_expected_to_stay_slow(
    session_of, trial_of, monkeypatch
):
    monkeypatch.setattr(outlook, "usable_cores", lambda: 2)  # three processes while trials run
    session = session_of(budget_seconds=1000.0)
    trials = [trial_of(i) for i in range(3)]

    def planned(opening):
        outbox = Outbox(session.folder.path / "outbox.json", parent="p")
        outbox.seconds = {"opening": opening}
        outbox.save()
        return expected_tail(session, trials)["registration"]

    usual = 1.5 * outlook.STORE_SECONDS
    assert planned(0.1) == planned(usual)
    assert planned(2.0 * usual) == pytest.approx(2.0 * planned(0.1))
    assert planned(1e6) == outlook.REGISTRATION_SHARE * 1000.0
