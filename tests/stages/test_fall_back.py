"""A run whose workers complete nothing still ends with a model."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from automl.errors import AutoMLError
from automl.evaluation.slots import JobOutcome
from automl.evaluation.worker_pool import WorkerPool
from automl.home import Home
from automl.inference.bundle import load_bundle, read_manifest
from automl.metrics.index import PerformanceIndex
from automl.origins import FLOOR
from automl.records import TrialStatus
from automl.run.beginning import begin, reopen
from automl.run.ledger import LEAST_TAIL_SECONDS
from automl.run_records.result import RunResult
from automl.run_records.search import SearchRecord
from automl.settings import Settings
from automl.stages.line import Line
from automl.stages.search_time import FLOOR_SHARE

SETTINGS = Settings(
    table="sklearn:iris",
    target="target",
    trials=3,
    workers=1,
    families=("decision_tree",),
)


@pytest.fixture(autouse=True)
def _busy_machine(monkeypatch):
    """Every worker is too late, whatever it is to do."""
    late = JobOutcome(TrialStatus.TIMED_OUT, [], "over the time limit of 1 s", seconds=1.0)
    monkeypatch.setattr(WorkerPool, "run", lambda *_, **__: late)


def test_the_constant_is_the_model_where_no_worker_keeps_to_its_memory(tmp_path, monkeypatch):
    large = JobOutcome(TrialStatus.OUT_OF_MEMORY, [], "2 MiB, over the memory limit of 1 MiB")
    monkeypatch.setattr(WorkerPool, "run", lambda *_, **__: large)
    with closing(begin(SETTINGS, Home(tmp_path / "home"))) as session:
        line = Line(session)
        line.search.run()
        line.record(SearchRecord)
        result = line.record(RunResult).to_json()
    assert result["champion"]["family"] == "constant"
    assert "within its limit of memory" in " ".join(result["given_up"])


@pytest.mark.parametrize("final", ["bag", "refit"])
def test_the_constant_is_the_model_where_no_worker_ends_in_time(tmp_path, final):
    session = begin(SETTINGS.model_copy(update={"final": final}), Home(tmp_path / "home"))
    with closing(session):
        line = Line(session)
        line.search.run()
        line.record(SearchRecord)
        result = line.record(RunResult).to_json()
    *late, constant = line.trials
    assert {trial.status for trial in late} == {TrialStatus.TIMED_OUT}
    assert constant.configuration.family == "constant"
    assert constant.index == len(late)
    assert result["score"] == pytest.approx(constant.score, abs=1e-3)
    assert result["reproducible"] is False
    assert "the constant is the model" in " ".join(result["given_up"])
    model = load_bundle(session.folder.bundle)
    assert len(set(model.predict(session.plan.table.frame))) == 1


@pytest.mark.parametrize("is_ready", [False, True])
def test_where_the_time_is_over_no_worker_is_waited_for(tmp_path, monkeypatch, is_ready):
    monkeypatch.setattr(WorkerPool, "run", lambda *_, **__: pytest.fail("a trial was begun"))
    monkeypatch.setattr(WorkerPool, "is_ready", lambda *_: is_ready)
    settings = SETTINGS.model_copy(update={"trials": None, "budget_seconds": 20.0})
    with closing(begin(settings, Home(tmp_path / "home"))) as session:
        line = Line(session)
        session.ledger.started -= 20.0
        line.search.run()
        assert line.search.is_over  # who waits for a flow that is slow goes on
        line.record(SearchRecord)
        assert [trial.configuration.family for trial in line.trials] == ["constant"]
        assert line.trials[0].is_complete
        assert line.record(RunResult).to_json()["champion"]["family"] == "constant"


def test_a_floor_has_half_of_what_is_left_beside_the_end_of_the_run(tmp_path):
    settings = SETTINGS.model_copy(update={"trials": None, "budget_seconds": 100.0})
    with closing(begin(settings, Home(tmp_path / "home"))) as session:
        search, ledger = Line(session).search, session.ledger
        turn = search.turns.take()
        assert turn.origin == FLOOR
        ledger.started = time.monotonic() - 90.0  # the search's own time is over
        for slowness in (1.0, 3.0):
            ledger.slowness = slowness
            expected = FLOOR_SHARE * (10.0 - LEAST_TAIL_SECONDS * slowness)
            assert search.time.limit(turn) == pytest.approx(expected, abs=0.3)
        assert not search.time.is_late()
        ledger.slowness = 20.0
        assert search.time.is_late()


def test_a_resumed_run_takes_the_constant_over(tmp_path):
    home = Home(tmp_path / "home")
    with closing(begin(SETTINGS, home)) as session:
        line = Line(session)
        line.search.run()
        line.record(SearchRecord)
        expected = line.trials
    session.release()
    with closing(reopen(session.run_id, home)) as again:
        line = Line(again)
        line.search.run()
        assert [trial.id for trial in line.trials] == [trial.id for trial in expected]
        assert line.record(RunResult).to_json()["champion"]["family"] == "constant"


def test_a_metric_that_fails_on_the_constant_too_is_told(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise ZeroDivisionError("no rows of class 3")

    with closing(begin(SETTINGS, Home(tmp_path / "home"))) as session:
        line = Line(session)
        line.search.run()
        monkeypatch.setattr(PerformanceIndex, "score", fails)
        with pytest.raises(AutoMLError, match="no trial could be completed: over the time limit"):
            line.record(SearchRecord)
        assert "no rows of class 3" in session.warnings[-1]


def test_a_run_that_is_late_begins_nothing_that_only_a_search_needs(tmp_path):
    settings = SETTINGS.model_copy(update={"trials": None, "budget_seconds": 20.0})
    started = time.monotonic() - 20.0
    with closing(begin(settings, Home(tmp_path / "home"), started=started)) as session:
        assert session.is_late
        line = Line(session)
        line.search.run()
        line.record(SearchRecord)
        result = line.record(RunResult).to_json()
        assert session.pool._holder.supervisor is None
        assert session.records.read("meta_features") is None
        assert result["champion"]["family"] == "constant"
        manifest = read_manifest(session.folder.bundle)
        assert manifest["preprocessors"] == []


def test_no_mirror_is_begun_in_the_last_seconds(tmp_path):
    settings = SETTINGS.model_copy(update={"trials": None, "budget_seconds": 20.0})
    started = time.monotonic() - 15.0
    with closing(begin(settings, Home(tmp_path / "home"), started=started)) as session:
        session.ledger.slowness = 6.0
        assert session.is_late
        assert session.ledger.left > 0
        line = Line(session)
        line.run()
        assert line.mirror.pid is None
        assert not (session.folder.path / "mirror.log").exists()
        assert line.close().model.registration == "pending"


def test_trials_that_are_counted_are_never_late(tmp_path):
    home, started = Home(tmp_path / "home"), time.monotonic() - 1e6
    with closing(begin(SETTINGS, home, started=started)) as session:
        assert not session.is_late
        assert session.pool._holder.supervisor is not None
        assert session.records.read("meta_features") is not None
