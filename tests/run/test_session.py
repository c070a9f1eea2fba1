"""Who holds a run, from its first line to its last."""

from __future__ import annotations

import json
import shutil
import time
from types import SimpleNamespace

import pandas as pd
import pytest

from automl.errors import DataError, SettingsError
from automl.home import Home
from automl.installation import make_key
from automl.run import beginning as module
from automl.run.beginning import begin, reopen
from automl.run.stage_table import unknown_tail
from automl.run_records.honest import HonestRecord
from automl.run_state import Attempt
from automl.settings import Settings
from automl.training_request import TrainingRequest

SETTINGS = Settings(table="t.csv", target="y", workers=1)
DATA = {"digest": "d", "rows": 10, "task": "binary", "target": "y"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    pool = SimpleNamespace(n_slots=1, close=lambda: None)
    monkeypatch.setattr("automl.run.local_slots.WorkerPool", lambda *_, **__: pool)
    monkeypatch.setattr(module, "describe_table", lambda _: None)
    return Home(tmp_path)


def test_a_run_is_held_while_it_reads_its_table_and_until_it_is_released(home, monkeypatch):
    seen = []

    def prepare(folder, *_, **__):
        seen.append(folder.is_driven())
        return DATA

    monkeypatch.setattr(module, "prepare", prepare)
    session = begin(SETTINGS, home)
    assert seen == [True]
    with pytest.raises(SettingsError, match="driven by another process"):
        reopen(session.run_id, home)
    session.close()
    assert session.folder.is_driven()
    session.release()
    assert not session.folder.is_driven()
    again = reopen(session.run_id, home)
    assert again.folder.is_driven()
    processes = again.folder.read_facts()["processes"]
    assert [process["slots"] for process in processes] == [1, 1]
    assert processes[0]["started_at"] <= processes[1]["started_at"] <= time.time()
    again.close()
    again.release()


def test_nothing_is_left_of_a_run_whose_table_is_refused(home, monkeypatch):
    def refuse(*_, **__):
        raise DataError("no rows")

    monkeypatch.setattr(module, "prepare", refuse)
    with pytest.raises(DataError):
        begin(SETTINGS, home)
    assert home.run_folders() == []


def test_a_run_killed_while_it_read_its_table_reads_it_when_it_is_resumed(
    home, monkeypatch, killed_in
):
    folder = killed_in("prepare", SETTINGS, home)
    assert "data" not in folder.read_facts()
    monkeypatch.setattr(module, "prepare", lambda *_, **__: DATA)
    expected = begin(SETTINGS, home)
    again = reopen(folder.run_id, home)
    facts = folder.read_facts()
    for key in ("settings", "data", "experience"):
        assert facts[key] == expected.folder.read_facts()[key]
    assert [attempt["status"] for attempt in facts["attempts"]] == ["killed", "running"]
    for session in (expected, again):
        session.close()
        session.release()
    once_more = reopen(folder.run_id, home)
    once_more.close()
    once_more.release()


def test_a_run_that_used_up_its_budget_still_has_the_seconds_of_its_last_stages(home, monkeypatch):
    monkeypatch.setattr(module, "prepare", lambda *_, **__: DATA)
    timed = SETTINGS.model_copy(update={"trials": None, "budget_seconds": 60.0})
    session = begin(timed, home)
    session.close()
    session.release()
    facts = session.folder.read_facts()
    facts["attempts"] = [Attempt(0.0, 59.0, "killed").to_json()]
    session.folder.write_facts(facts)
    again = reopen(session.run_id, home)
    assert again.ledger.left == pytest.approx(sum(unknown_tail().values()), abs=1.0)
    again.close()
    again.release()


def test_a_table_from_memory_cannot_be_read_once_more(home, killed_in):
    folder = killed_in("prepare", SETTINGS, home, frame=pd.DataFrame({"target": [0, 1]}))
    with pytest.raises(SettingsError, match="which is not in a file; train again"):
        reopen(folder.run_id, home)


def test_a_resumed_run_knows_that_an_earlier_stage_cannot_be_repeated(home, monkeypatch):
    monkeypatch.setattr(module, "prepare", lambda *_, **__: DATA)
    session = begin(SETTINGS, home)

    def hurried():
        session.is_reproducible = False
        return HonestRecord()

    session.record(HonestRecord, hurried)
    session.close()
    session.release()
    again = reopen(session.run_id, home)
    assert again.is_reproducible
    again.record(HonestRecord, HonestRecord)
    assert not again.is_reproducible
    again.close()
    again.release()


def test_the_request_of_a_retraining_is_kept_with_its_run(home, monkeypatch):
    monkeypatch.setattr(module, "prepare", lambda *_, **__: DATA)
    asked = TrainingRequest("asked", SETTINGS.model_dump(mode="json"), "binary")
    session = begin(SETTINGS, home, request=asked.with_overrides({"trials": 3, "seed": None}))
    session.close()
    session.release()
    again = reopen(session.run_id, home)
    kept = again.folder.read_facts()["request"]
    again.close()
    again.release()
    assert kept["overrides"] == {"trials": 3}
    assert TrainingRequest.of(again.folder) == asked


@pytest.fixture
def interrupted(home, monkeypatch):
    """A run that this installation began, with a plan."""

    def prepare(folder, *_, **__):
        (folder.path / "plan.json").write_text('{"index": {"weights": {"auc": 1.0}}}')
        return DATA

    monkeypatch.setattr(module, "prepare", prepare)
    session = begin(SETTINGS, home)
    session.close()
    session.release()
    return session.folder


def reopened(run_id, home, **trust):
    session = reopen(run_id, home, **trust)
    session.close()
    session.release()


def test_a_copied_run_of_this_installation_is_continued(interrupted, tmp_path):
    shutil.copytree(tmp_path / "runs", tmp_path / "copy" / "runs")
    reopened(interrupted.run_id, Home(tmp_path / "copy"))


def test_a_run_of_another_installation_is_continued_on_trust_only(
    interrupted, home, tmp_path, monkeypatch
):
    for name in ("none", "other"):
        monkeypatch.setenv("AUTOML_KEY_FILE", str(tmp_path / name))
        with pytest.raises(SettingsError, match=r"nothing proves that this .* --trust only if"):
            reopened(interrupted.run_id, home)
        make_key()
    reopened(interrupted.run_id, home, trust=True)


def test_a_run_under_the_name_of_another_is_foreign(interrupted, home):
    other = home.create_run()
    shutil.copytree(interrupted.path, other.path, dirs_exist_ok=True)
    with pytest.raises(SettingsError, match="nothing proves"):
        reopened(other.run_id, home)


@pytest.mark.parametrize("where", ["settings", "plan", "no plan"])
def test_settings_or_a_plan_that_were_changed_are_refused(interrupted, home, where):
    if where == "settings":
        facts = interrupted.read_facts()
        facts["settings"]["metric"] = "/tmp/mine.py:profit"
        interrupted.write_facts(facts)
    elif where == "plan":
        index = {"weights": {"/tmp/mine.py:profit": 1.0}}
        (interrupted.path / "plan.json").write_text(json.dumps({"index": index}))
    else:
        (interrupted.path / "plan.json").unlink()
    with pytest.raises(DataError, match="were changed since this installation wrote them"):
        reopened(interrupted.run_id, home)


def test_what_a_run_finds_later_may_change(interrupted, home):
    facts = interrupted.read_facts()
    interrupted.write_facts({**facts, "home": "/elsewhere", "status": "failed", "notes": ["x"]})
    reopened(interrupted.run_id, home)
