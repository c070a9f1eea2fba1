"""Listing, showing, stopping and deleting runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from automl.evaluation.journal import Journal
from automl.record_files import StageRecords
from automl.reports.run_status import describe
from automl.run_state import Attempt
from automl.tracking.outbox import Outbox
from automl.tracking.store import own_store
from automl_flows.words.result_display import show_notices, show_result

DRIVER = """
import os, sys, time
from pathlib import Path
from automl.home import RunFolder
folder = RunFolder(Path(sys.argv[1]))
with folder.lock():
    folder.write_facts({**folder.read_facts(), "pid": os.getpid()})
    print("driving", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def driven(runs):
    """A run that another process drives."""
    folder = runs[2]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder.path)], stdout=subprocess.PIPE
    )
    assert driver.stdout is not None
    driver.stdout.readline()
    yield folder, driver
    driver.kill()
    driver.wait()
    driver.stdout.close()


def test_no_runs_is_no_error(automl):
    outcome = automl("runs")
    assert (outcome.code, outcome.out) == (0, "")
    assert automl("runs", "--json").json == []


def test_a_run_whose_driver_died_is_interrupted(automl, runs):
    statuses = {row["run_id"]: row["status"] for row in automl("runs", "--json").json}
    assert list(statuses.values()) == ["interrupted", "finished", "interrupted"]
    assert {row["trials"] for row in automl("runs", "--json").json} == {3}
    assert "interrupted, resumable" in automl("runs").out


def test_a_run_with_a_driver_is_running(automl, driven):
    folder, _ = driven
    assert automl("runs", "--json").json[0]["status"] == "running"
    shown = automl("show", folder.run_id, "--json").json
    assert shown["status"] == "running"
    assert shown["seconds"] > 50


@pytest.mark.parametrize("is_there", [True, False])
def test_a_moved_home_shows_where_model_and_store_are_now(
    automl, runs, own_home, monkeypatch, is_there
):
    if is_there:
        (runs[1].path / "bundle").mkdir()
    outbox = Outbox.load(runs[1].path / "outbox.json")
    outbox.store = own_store(own_home.path)
    outbox.save()
    record = runs[1].stages / "result.json"
    result = json.loads(record.read_text())
    result["model"] = {**(result.get("model") or {}), "bundle": str(runs[1].path / "bundle")}
    result["links"] = {"tracking_store": outbox.store}
    record.write_text(json.dumps(result))
    moved = own_home.path.rename(own_home.path.with_name("moved"))
    monkeypatch.setenv("AUTOML_HOME", str(moved))
    bundle = moved / "runs" / runs[1].run_id / "bundle"
    shown = automl("show", runs[1].run_id)
    assert str(bundle) in " ".join(shown.out.split())
    assert str(own_home.path) + os.sep not in shown.out
    found = automl("show", runs[1].run_id, "--json").json
    assert found["result"]["model"]["bundle"] == str(bundle)
    assert found["result"]["links"] == found["links"] == {"tracking_store": own_store(moved)}


def test_looking_at_a_lock_does_not_take_it(runs):
    with runs[0].lock():
        assert runs[0].is_driven()
    assert not runs[0].is_driven()
    with runs[0].lock():
        pass


def test_an_empty_run_folder_is_listed(automl, own_home):
    (own_home.runs / "20260104-000000-dddd").mkdir(parents=True)
    assert automl("runs", "--json").json[0]["status"] == "empty"
    assert automl("show", "20260104").code == 0


@pytest.mark.parametrize("damage", ["x{", "[1]", ""])
def test_a_damaged_run_is_no_empty_one(automl, own_home, damage):
    folder = own_home.create_run()
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.facts_file.write_text(damage)
    assert automl("runs", "--json").json[0]["status"] == "damaged"
    outcome = automl("resume", folder.run_id)
    assert (outcome.code, "it is damaged" in outcome.err) == (2, True)


def test_a_run_killed_before_its_table_was_read_is_empty(automl, own_home):
    folder = own_home.create_run()
    folder.write_facts({"run_id": folder.run_id, "status": "preparing", "settings": {}})
    assert automl("runs", "--json").json[0]["status"] == "empty"
    outcome = automl("resume", folder.run_id)
    assert (outcome.code, "which is not in a file; train again" in outcome.err) == (2, True)


def test_a_run_is_shown_from_its_journal_before_it_ends(automl, runs):
    shown = automl("show", runs[0].run_id, "--json").json
    assert [row["score"] for row in shown["result"]["leaderboard"]] == pytest.approx([0.2, 0.1, 0])
    assert shown["trials"] == 3
    text = automl("show", runs[0].run_id).out
    assert "automl resume" in text
    assert "ridge" in text


def test_a_finished_run_shows_leaderboard_and_ledger(automl, runs):
    text = automl("show", runs[1].run_id).out
    assert "champion" in text
    assert "planned" in text
    assert "search ridge" not in text


def test_the_last_lines_say_that_the_name_does_not_exist_yet_as_things_are_now(
    automl, runs, finish
):
    folder = runs[2]
    finish(folder, registration="pending")
    shown = automl("show", folder.run_id)
    last = shown.out.splitlines()[-1]
    assert last.startswith("attention: the model is not registered yet")
    assert "t-y@champion does not exist until then" in last
    assert automl("show", folder.run_id, "--json").json["result"]["notices"] == [
        last.removeprefix("attention: ")
    ]
    done = {"version": "1", "registered_name": "t-y", "published": "yes", "alias": "champion"}
    Outbox(folder.path / "outbox.json", done=done).save()
    assert "attention" not in automl("show", folder.run_id).out


def test_notices_are_the_last_lines_and_part_of_the_json(capsys):
    result = {"notices": ["no better than the baseline: x", "the model is not registered yet"]}
    show_notices(result, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "attention: no better than the baseline: x",
        "attention: the model is not registered yet",
    ]
    show_notices(result, as_json=True)
    assert capsys.readouterr().out == ""


def test_the_page_of_seconds_has_families_folds_and_stages(automl, runs):
    text = automl("show", runs[1].run_id, "--seconds").out
    assert "3 trials" in text
    rows = [line.split() for line in text.splitlines()]
    ridge = next(row for row in rows if row[:1] == ["ridge"])
    assert ridge[1:5] == ["3", "3", "0", "0"]
    assert [row[4] for row in rows if row[1:4] == ["of", "repeat", "1"]] == ["3", "3", "3"]
    assert ["search", "9.0", "3", "0.990"] in rows
    assert "fitting includes preprocessing here" in text
    page = automl("show", runs[1].run_id, "--seconds", "--json").json
    assert page["families"][0]["spent"]["fitting"] == pytest.approx(0.9)
    assert page["ledger"]["search"]["used"] == 9.0


def test_the_page_of_seconds_tells_what_slots_did_while_a_run_goes_on(automl, runs):
    folder = runs[0]
    known = Journal.read(folder.journal)[-1]["trial"]
    with Journal(folder.journal) as journal:
        for index in (3, 4):
            trial = {**known, "index": index, "seconds": 2.0, "started_at": 20.0 + index}
            journal.append({"type": "trial", "trial": trial, "decision": {"ask_seconds": 0.25}})
    folder.write_facts({**folder.read_facts(), "processes": [{"started_at": 1.0, "slots": 1}]})
    page = automl("show", folder.run_id, "--seconds", "--json").json
    assert page["slots"]["asking"] == 0.5
    assert "1: " in automl("show", folder.run_id, "--seconds").out


def test_the_page_of_seconds_tells_how_long_nobody_drove_the_run(automl, runs):
    folder = runs[1]
    assert "down" not in automl("show", folder.run_id, "--seconds").out
    attempts = [Attempt(0.0, 60.0, "killed"), Attempt(360.0, 400.0, "finished")]
    facts = {**folder.read_facts(), "attempts": [each.to_json() for each in attempts]}
    folder.write_facts(facts)
    assert automl("show", folder.run_id, "--seconds", "--json").json["down_seconds"] == 300.0
    shown = automl("show", folder.run_id, "--seconds").out
    assert re.search(r"down +5 min between 2 attempts, in no share below", shown)


def test_the_page_of_an_empty_run_has_no_tables(automl, own_home):
    folder = own_home.create_run()
    outcome = automl("show", folder.run_id, "--seconds")
    assert (outcome.code, "by family" in outcome.out) == (0, False)


def test_a_finished_run_shows_its_warnings_and_how_to_complete_it(
    automl, runs, finish, monkeypatch, own_home
):
    finish(runs[0], registration="pending")
    file = runs[0].stages / "result.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "warnings": ["little trust"]}))
    monkeypatch.delenv("AUTOML_HOME")
    text = automl("show", runs[0].run_id, "--home", own_home.path).out
    assert "warning: little trust" in text
    assert f"automl sync --home {own_home.path}" in text


def test_the_result_tells_what_was_noticed_about_the_table(runs, finish, own_home, capsys):
    finish(runs[0])
    result = json.loads((runs[0].stages / "result.json").read_text())
    show_result({**result, "reproducible": False}, own_home, as_json=False)
    told = capsys.readouterr().out
    assert "note: 1 row repeats" in told
    assert "no: measured time decided something" in told


def test_stop_ends_the_driver_and_waits(automl, driven):
    folder, driver = driven
    outcome = automl("stop", folder.run_id, "--timeout", 10)
    assert outcome.code == 0
    assert driver.wait(5) != 0
    assert not folder.is_driven()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"host": "another"}, "of another: stop it there"),
        ({"processes": [{"started_at": 1.0}]}, "does not say yet which process drives it now"),
    ],
)
def test_stop_signals_no_process_that_may_be_another(automl, driven, changed, said):
    folder, driver = driven
    folder.write_facts({**folder.read_facts(), **changed})
    outcome = automl("stop", folder.run_id, "--timeout", 1)
    assert outcome.code != 0
    assert said in outcome.err
    assert driver.poll() is None


def test_stop_of_a_run_without_a_driver_signals_nobody(automl, runs):
    outcome = automl("stop", runs[0].run_id)
    assert outcome.code == 2
    assert "interrupted" in outcome.err


def test_a_finished_run_is_not_resumed(automl, runs):
    outcome = automl("resume", runs[1].run_id)
    assert outcome.code == 2
    assert "finished" in outcome.err


def test_a_running_run_is_not_resumed(automl, driven):
    outcome = automl("resume", driven[0].run_id)
    assert outcome.code == 2
    assert "another process" in outcome.err


def test_clean_needs_a_yes_without_a_terminal(automl, runs):
    assert automl("clean", "--keep", 0).code == 2
    assert all(folder.path.exists() for folder in runs)


def test_clean_keeps_the_newest(automl, runs):
    outcome = automl("clean", "--keep", 1, "--yes", "--json")
    assert sorted(outcome.json["deleted"]) == [runs[0].run_id, runs[1].run_id]
    assert [folder.path.exists() for folder in runs] == [False, False, True]
    assert not list(runs[0].path.parent.glob(".deleted*"))


@pytest.mark.parametrize("keep", [1, 3])
def test_clean_deletes_what_a_killed_one_has_left(automl, own_home, runs, keep):
    left = own_home.runs / ".deleted-20250101-000000-aaaa"
    (left / "models").mkdir(parents=True)
    (left / "models" / "m").write_bytes(bytes(2**20))
    outcome = automl("clean", "--keep", keep, "--yes", "--json")
    assert len(outcome.json["deleted"]) == 3 - keep
    assert outcome.json["freed_mib"] >= 1.0
    assert not left.exists()


def test_two_processes_may_delete_at_once(automl, own_home, runs, monkeypatch):
    left = own_home.runs / ".deleted-20250101-000000-aaaa"
    for name in "ab":
        (left / name).mkdir(parents=True)
        (left / name / "m").write_bytes(b"m")
    walk = os.walk

    def meanwhile(folder):
        for place, folders, names in walk(folder):
            shutil.rmtree(left, ignore_errors=True)
            yield place, folders, names

    monkeypatch.setattr("automl_flows.retention.os.walk", meanwhile)
    assert automl("clean", "--keep", 2, "--yes", "--json").json["deleted"] == [runs[0].run_id]
    assert not list(own_home.runs.glob(".deleted*"))


def test_clean_never_deletes_a_running_run(automl, driven):
    folder, _ = driven
    outcome = automl("clean", "--keep", 0, "--yes", "--json")
    assert outcome.json["kept"] == {folder.run_id: "it is running"}
    assert folder.path.exists()


def test_clean_never_deletes_a_model_that_waits_for_registration(automl, runs, finish):
    finish(runs[0], registration="pending")
    outcome = automl("clean", runs[0].run_id, "--yes", "--json")
    assert outcome.json["deleted"] == []
    assert "automl sync" in outcome.json["kept"][runs[0].run_id]
    assert describe(runs[0]).registration == "pending"


@pytest.fixture(params=["EAST-5", "WEST+5"])
def zone(request):
    """Time zone five hours away from UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_clean_spares_young_runs_in_every_time_zone(automl, own_home, runs):
    young = own_home.create_run()
    assert young.run_id[:11] in {
        time.strftime("%Y%m%d-%H", time.gmtime(time.time() - ago)) for ago in (0, 60)
    }
    automl("clean", "--older-than", "1h", "--yes")
    assert [folder.run_id for folder in own_home.run_folders()] == [young.run_id]


def test_the_finished_stages_are_shown_in_their_order_and_nothing_else(automl, runs):
    records = StageRecords(runs[0].stages)
    for name in ("registration", "selection", "candidates", "challenge", "data"):
        records.write(name, {})
    shown = automl("show", runs[0].run_id, "--json").json
    assert shown["stages"] == ["data", "candidates", "selection"]


def test_a_warning_about_the_store_is_as_things_are_now(automl, runs):
    file = runs[1].stages / "result.json"
    result = json.loads(file.read_text())
    stale = "the tracking store lacks 36 of 36 trials; automl sync completes them"
    file.write_text(json.dumps({**result, "warnings": ["another", stale]}))
    warnings = automl("show", runs[1].run_id, "--json").json["result"]["warnings"]
    assert warnings == ["another", stale.replace("36", "3")]
    ids = [f"{runs[1].run_id}-s{index:05d}" for index in range(3)]
    Outbox(runs[1].path / "outbox.json", trials=dict.fromkeys(ids, "x")).save()
    assert "store lacks" not in automl("show", runs[1].run_id).out
