"""How a search uses what is known of seconds: under a time budget only."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.evaluation.journal import Journal
from automl.experience.harvest import collect
from automl.experience.store import ExperienceStore
from automl.families.registry import get_family
from automl.home import Home
from automl.optimizers.protocol import Proposal
from automl.record_files import StageRecords
from automl.records import FoldResult, Trial, TrialStatus
from automl.run.ledger import Ledger
from automl.stages.search_time import known_timings
from automl.stages.searching import Search

FAMILIES = ("lightgbm", "knn", "ridge")
PER_COST = {"base": "smac", "acquisition": "ei_per_cost"}


def finished(run_id, index, configuration, seconds):
    folds = tuple(FoldResult(0, fold, 0.1 * fold, 40, 0.1, 0.001) for fold in range(5))
    return Trial(run_id, index, configuration, TrialStatus.COMPLETE, 0.2, folds, seconds=seconds)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def search_of(session_of, home):
    """Function that makes a search without processes; settings may be given."""

    def make(earlier=(), records="records", **given):
        session = session_of(**{"families": FAMILIES, "portfolio": False, **given})
        session.ledger = Ledger(session.settings.seconds, 0.2, time.monotonic())
        more = {
            "home": home,
            "experience": ExperienceStore(home.experience).read().experiences,
            "run_id": "20990101-000000-0000",
            "records": StageRecords(home.path / records),
            "earlier": list(earlier),
            "journal": None,
        }
        return Search(SimpleNamespace(**{**vars(session), **more}))

    return make


@pytest.fixture
def slow_knn(home):
    """An earlier run on other data whose nearest neighbors took an hour a fold."""
    folder = home.create_run()
    data = {
        "training_rows": 300, "rows": 400, "columns": 4, "classes": ["a", "b"], "task": "binary",
        "metric": "index", "fingerprint": "f", "layout": "l",
    }  # fmt: skip
    folder.write_facts({"data": data, "settings": {"table": "t", "target": "y"}})
    with Journal(folder.journal) as journal:
        for index, name in enumerate(FAMILIES * 5):
            configuration = get_family(name).space("classification").default()
            seconds = 5 * 3600.0 if name == "knn" else 0.5
            trial = finished(folder.run_id, index, configuration, seconds)
            journal.append({"type": "trial", "trial": trial.to_json(), "decision": {}})
    assert collect(home) == [folder.run_id]
    return folder.run_id


def turns_of(search, n, seconds=0.1):
    """The first n turns, each finished at once."""
    given = []
    while len(given) < n and (
        turn := search.turns.take(until=lambda: search.turns.n_under_way > 0)
    ):
        configuration = turn.proposal.configuration
        trial = finished(search.session.run_id, turn.index, configuration, seconds)
        search.time.add(trial)
        search.turns.finish(trial)
        given.append(turn)
    return given


def test_a_time_budget_leaves_out_what_earlier_runs_say_cannot_finish(search_of, slow_knn):
    given = turns_of(search_of(), 12)
    assert {turn.family for turn in given} == {"constant", "lightgbm", "stump", "ridge"}


def test_a_time_budget_leaves_out_what_its_own_trials_say_cannot_finish(search_of):
    search = search_of()
    knn = get_family("knn").space("classification").default()
    assert search.time.fits(Proposal(knn), None)
    search.time.add(finished("run", 0, knn, 5 * 3600.0))
    assert not search.time.fits(Proposal(knn), None)


def test_a_turn_says_what_its_trial_is_expected_to_take(search_of, slow_knn):
    floor, first, *_, last = turns_of(search_of(), 12)
    assert (floor.family, floor.expected_seconds) == ("constant", None)  # a floor has no space
    assert first.expected_seconds > 0  # by the earlier run and the floor
    assert last.expected_seconds == pytest.approx(0.1)  # as long as its trials take
    knn = Proposal(get_family("knn").space("classification").default())
    assert search_of().time.expected_seconds(knn, None) > 3600


def test_nothing_is_expected_where_nothing_is_known_or_trials_are_counted(search_of, request):
    first, *others = turns_of(search_of(), 6)
    assert first.expected_seconds is None
    assert others[-1].expected_seconds is not None
    request.getfixturevalue("slow_knn")
    counted = turns_of(search_of(trials=6, records="others"), 6)
    assert {turn.expected_seconds for turn in counted} == {None}


def test_a_number_of_trials_does_not_depend_on_earlier_runs(search_of, home, request):
    alone = turns_of(search_of(trials=15), 15)
    slow = request.getfixturevalue("slow_knn")
    search = search_of(trials=15, records="others")
    assert [known.id for known in search.session.experience] == [slow]
    assert turns_of(search, 15, seconds=1e4) == alone
    assert "knn" in {turn.family for turn in alone}
    assert known_timings(search.session).earlier == ()


def test_an_optimizer_that_reads_the_clock_needs_leave_under_trials(search_of):
    with pytest.raises(SettingsError, match="optimizer composed reads the clock"):
        search_of(trials=5, optimizer=PER_COST)
    search = search_of(trials=5, optimizer=PER_COST, cost_aware=True)
    assert not search.session.is_reproducible


def test_an_acquisition_per_cost_begins_with_what_earlier_runs_took(search_of, slow_knn):
    search = search_of(optimizer=PER_COST, allocator="cash")
    (arm,) = search.turns._proposer.arms.values()
    configurations = [get_family(name).space("classification").default() for name in FAMILIES]
    arm.optimizer._runtime.fit(np.random.default_rng(0))
    lightgbm, knn, _ = arm.optimizer._runtime.seconds(configurations)
    assert knn > 20 * lightgbm


@pytest.mark.parametrize(
    ("given", "begins_low"),
    [
        ({"holdout_above_rows": 100}, True),
        ({}, False),
        ({"holdout_above_rows": 100, "racing": False}, False),
        ({"holdout_above_rows": 100, "budget_seconds": None, "trials": 20}, False),
    ],
)
def test_slow_trials_of_the_opening_begin_on_few_rows_of_a_large_holdout(
    search_of, given, begins_low
):
    search = search_of(portfolio=True, **given)
    shares = {}
    for turn in turns_of(search, 8, seconds=24.0):
        shares.setdefault(turn.origin, set()).add(turn.proposal.fidelity.row_share)
    assert shares.pop("floor") == {1.0}
    assert (1 / 9 in shares["portfolio"]) == begins_low


def test_fast_trials_have_all_rows_of_a_large_holdout(search_of):
    search = search_of(portfolio=True, holdout_above_rows=100)
    turns = turns_of(search, 8, seconds=0.1)
    assert any(turn.origin == "portfolio" for turn in turns)
    assert all(turn.proposal.fidelity.is_full for turn in turns)
