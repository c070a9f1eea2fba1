"""The journal and the store hold the same trials, whatever is killed and when."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from run_records import TEST, ensemble_of, final_of, write
from waiting import until

from automl.errors import ServiceError
from automl.home import Home, RunFolder
from automl.run_records.registration import RegistrationRule
from automl.run_records.search import SearchRecord
from automl.tracking.descriptions import Described, run_description
from automl.tracking.late_report import WAITING, tell_registration
from automl.tracking.links import links
from automl.tracking.mirror import Mirror, complete, end_killed_runs
from automl.tracking.mirror_process import MirrorProcess, n_unwritten, registration
from automl.tracking.outbox import Outbox
from automl.tracking.store import open_store, store_address
from automl.tracking.synchronization import sync
from automl.tracking.writer import RunWriter

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def all_runs(home: Path) -> list[Any]:
    client = open_store(store_address(home))
    experiments = [e.experiment_id for e in client.search_experiments()]
    return list(client.search_runs(experiments, max_results=5000))


def of_kind(home: Path, kind: str) -> list[Any]:
    return [run for run in all_runs(home) if run.data.tags.get("automl.kind") == kind]


def trial_ids(home: Path) -> list[str]:
    return sorted(run.data.tags["automl.trial_id"] for run in of_kind(home, "trial"))


def test_store_holds_the_trials_of_the_journal_with_their_values(home: Path, runs: Any) -> None:
    folder = runs.make(8)
    runs.finish(folder)
    assert complete(Mirror(folder), 60)
    found = {run.data.tags["automl.decision"]: run for run in of_kind(home, "trial")}
    assert len(found) == 8
    trial, run = runs.trial(folder.run_id, 4), found["4"]
    assert run.info.run_name == "0.5040 lightgbm · s00004"
    assert run.data.params == {"alpha": "0.4", "prep.encoder": "onehot"}
    assert run.data.metrics["score"] == trial.score
    assert run.data.metrics["accuracy"] == 0.8
    assert "auc" not in run.data.metrics
    assert run.data.metrics["fit_seconds"] == pytest.approx(0.06)
    assert run.data.tags["automl.disposition"] == "winner"
    assert "automl.role" not in run.data.tags
    assert run.data.tags["automl.optimizer"] == "hypercube"
    assert len(json.loads(run.data.tags["automl.folds"])) == 3
    assert run.info.end_time - run.info.start_time == 200
    of_other = found["1"].data.tags
    told = {key.removeprefix("automl."): of_other[key] for key in of_other if "dispos" in key}
    assert told == {
        "disposition": "worse",
        "disposition_node": "root",
        "disposition_test": "corrected t",
        "disposition_statistic": "inf",
        "disposition_pvalue": "0.01",
        "disposition_place": "selection",
        "disposition_against": trial.id,
        "disposition_reason": f"worse at root: corrected t against {trial.id}, statistic inf, "
        "p = 0.01 < 0.05",
    }
    assert (of_other["automl.role"], of_other["automl.ensemble_weight"]) == (
        "ensemble member",
        "0.5",
    )
    assert {i: r.info.status for i, r in found.items() if int(i) > 3} == {
        "4": "FINISHED",
        "5": "FAILED",
        "6": "KILLED",
        "7": "FINISHED",
    }
    assert "score" not in found["6"].data.metrics
    assert "partial_score" in found["6"].data.metrics


def test_trials_hang_below_their_family_and_repeat_the_tags_of_the_run(
    home: Path, runs: Any
) -> None:
    folder = runs.make(4)
    runs.finish(folder)
    write(folder, final_of(test=TEST), RegistrationRule(register=False))
    complete(Mirror(folder), 60)
    (parent,) = of_kind(home, "run")
    families = {run.info.run_id: run for run in of_kind(home, "family")}
    assert {run.info.run_name for run in families.values()} == {"lightgbm", "ridge"}
    for run in families.values():
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
    for run in of_kind(home, "trial"):
        assert run.data.tags["mlflow.parentRunId"] in families
        assert run.data.tags["automl.run_id"] == folder.run_id
        assert run.data.tags["automl.data_digest"] == "abc123"
        assert run.data.tags["automl.seed"] == "7"
    assert parent.inputs.dataset_inputs[0].dataset.digest == "abc123"
    assert parent.data.metrics["test_score"] == 0.45
    assert parent.data.metrics["test_accuracy"] == 0.7
    assert parent.info.artifact_uri.startswith(f"{home}/artifacts/beans-label/")


def test_models_of_the_second_layer_hang_below_their_family_without_speaking_for_it(
    home: Path, runs: Any
) -> None:
    folder = runs.make(4)
    first, used, left = runs.append(folder, range(100, 103), stage="stack")
    assert [trial.id[-6:] for trial in (first, used, left)] == ["l00100", "l00101", "l00102"]
    runs.finish(folder)
    base = runs.trial(folder.run_id, 2).id
    write(folder, ensemble_of({used.id: 1.0}, stack=(used, left), base=(base,)))
    assert complete(Mirror(folder), 60)
    found = {run.data.tags["automl.trial_id"]: run for run in of_kind(home, "trial")}
    families = {run.info.run_id: run for run in of_kind(home, "family")}
    tags = found[used.id].data.tags
    assert found[used.id].info.run_name.endswith(" · l00101")
    assert tags["automl.stage"] == "stack"
    assert (tags["automl.disposition"], tags["automl.role"]) == ("second layer", "ensemble member")
    assert found[left.id].data.tags["automl.disposition"] == "second layer"
    assert "automl.role" not in found[left.id].data.tags
    assert found[base].data.tags["automl.role"] == "input of the second layer"
    family = families[tags["mlflow.parentRunId"]]
    assert family.data.metrics["best_score"] == runs.trial(folder.run_id, 3).score


def test_trials_on_fresh_folds_are_not_counted_as_trials_of_the_search(
    home: Path, runs: Any
) -> None:
    folder = runs.make(4)
    runs.append(folder, range(200, 203), stage="candidates")
    runs.finish(folder)
    assert complete(Mirror(folder), 60)
    (parent,) = of_kind(home, "run")
    families = {run.info.run_name: run.data.metrics for run in of_kind(home, "family")}
    assert parent.data.metrics["trials"] == 4
    assert sum(metrics["trials"] for metrics in families.values()) == 4
    assert max(metrics["best_score"] for metrics in families.values()) == pytest.approx(0.503)


def test_completing_twice_adds_nothing(home: Path, runs: Any) -> None:
    folder = runs.make(5)
    runs.finish(folder)
    assert complete(Mirror(folder), 60)
    before = len(all_runs(home))
    assert complete(Mirror(folder), 60)
    (folder.path / "outbox.json").unlink()
    assert complete(Mirror(folder), 60)
    assert len(all_runs(home)) == before
    assert Mirror(folder).is_up_to_date


def test_the_report_is_an_artifact_and_replaced_where_it_was_made_anew(
    home: Path, runs: Any
) -> None:
    folder = runs.make(4)
    runs.finish(folder)
    folder.report.write_text("<p>first</p>")
    assert complete(Mirror(folder), 60)
    folder.report.write_text("<p>second</p>")
    assert not Mirror(folder).is_up_to_date
    assert complete(Mirror(folder), 60)
    (parent,) = of_kind(home, "run")
    assert Path(parent.info.artifact_uri, "report.html").read_text() == "<p>second</p>"


def test_the_pages_of_a_run_say_what_it_is_and_found(home: Path, runs: Any) -> None:
    folder = runs.make(4)
    runs.finish(folder)
    write(folder, final_of(test=TEST), RegistrationRule(register=False))
    assert complete(Mirror(folder), 60)
    client = open_store(store_address(home))
    (parent,) = of_kind(home, "run")
    assert parent.info.run_name.startswith("beans-label · 20")
    assert "It predicts `label`" in parent.data.tags["mlflow.note.content"]
    assert "settings.json" in parent.data.tags["mlflow.note.content"]
    assert parent.data.params == {"table": "data/beans.csv", "target": "label"}
    assert "score" not in parent.data.metrics
    assert "model_score" in parent.data.metrics
    experiment = client.get_experiment(parent.info.experiment_id)
    assert experiment.tags["mlflow.note.content"].startswith("Predicts `label`")
    view = json.loads(experiment.tags["mlflow.sharedViewState.automl-runs"])
    state = json.loads(view["state"])
    found = client.search_runs(
        [experiment.experiment_id], state["searchFilter"], order_by=[f"{state['orderByKey']} DESC"]
    )
    assert [run.info.run_id for run in found] == [parent.info.run_id]
    settings = Path(parent.info.artifact_uri, "settings.json")
    assert json.loads(settings.read_text())["target"] == "label"
    assert json.loads(Path(parent.info.artifact_uri, "records/run.json").read_text())["versions"]


def test_the_report_says_which_version_the_model_became(runs: Any) -> None:
    folder = runs.make(1)
    runs.finish(folder)
    write(folder, final_of())
    folder.report.write_text(f"<p>A model. {WAITING}</p>")
    tell_registration(folder)
    assert WAITING in folder.report.read_text()
    done = {"version": "2", "registered_name": "beans-label", "alias": "champion"}
    Outbox(folder.path / "outbox.json", done=done).save()
    for _ in range(2):
        tell_registration(folder)
        assert folder.report.read_text() == "<p>A model. It is registered as beans-label/2.</p>"


def test_the_description_names_the_flow_runs_that_were_noted(runs: Any) -> None:
    folder = runs.make(1)
    notes = {
        "1": {"server": "local", "is_settled": True, "flow_run": "f1", "page": ""},
        "2": {"server": "http://host:4200/api", "flow_run": "f2", "page": "http://host:4200/f2"},
    }
    (folder.path / "orchestrator.json").write_text(json.dumps(notes))
    text = run_description(Described.of(folder, folder.read_facts()))
    assert "Flow run in Prefect: `f1`, [f2](http://host:4200/f2), on the page" in text


@pytest.mark.parametrize("call", ["create_run", "log_batch", "set_terminated"])
@pytest.mark.parametrize("number", [1, 2, 5, 9])
def test_a_death_around_any_call_leaves_each_trial_exactly_once(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    folder = runs.make(6)
    mirror = Mirror(folder)
    original, left = getattr(type(mirror_client(home)), call), [number]

    def dying(*arguments: Any, **keywords: Any) -> Any:
        result = original(*arguments, **keywords)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(type(mirror_client(home)), call, dying)
        with pytest.raises(KeyboardInterrupt):
            mirror.finish(60)
    runs.finish(folder)
    assert complete(Mirror(folder), 60)
    assert trial_ids(home) == [runs.trial(folder.run_id, i).id for i in range(6)]
    assert len(of_kind(home, "run")) == 1
    assert len(of_kind(home, "family")) == 2
    for run in all_runs(home):
        assert run.info.status != "RUNNING"
        assert run.data.tags["automl.kind"] != "trial" or "seconds" in run.data.metrics


def mirror_client(home: Path) -> Any:
    return open_store(store_address(home))


def test_a_killed_mirror_process_is_continued_without_doubles(home: Path, runs: Any) -> None:
    folder = runs.make(120)
    command = [sys.executable, "-m", "automl.tracking.mirror", str(folder.path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while len(Outbox.load(folder.path / "outbox.json").trials) < 20:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(trial_ids(home)) < 120
    summary = sync(home)
    assert summary.pending == {}
    assert max(Counter(trial_ids(home)).values()) == 1
    assert len(trial_ids(home)) == 120
    assert "RUNNING" not in {run.info.status for run in all_runs(home)}


def test_two_runs_are_mirrored_at_once_into_one_new_store(tmp_path: Path, runs: Any) -> None:
    (tmp_path / "mlflow.db").unlink()
    folders = [runs.make(10), runs.make(10)]
    for folder in folders:
        runs.finish(folder)
    processes = [MirrorProcess(folder) for folder in folders]
    for process in processes:
        process.start()
    assert [process.finish(90) for process in processes] == ["done", "done"]
    for process in processes:
        process.stop()
    assert len(trial_ids(tmp_path)) == 20
    assert len(of_kind(tmp_path, "run")) == 2


def test_a_store_that_is_away_leaves_everything_pending_until_sync(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runs.make(5)
    runs.finish(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    began = time.monotonic()
    assert not complete(Mirror(folder), 180)
    assert time.monotonic() - began < 30
    assert "does not answer" in registration(folder).reason
    assert folder.run_id in sync(home).pending
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    summary = sync(home)
    assert (summary.runs, summary.trials, summary.pending) == (1, 5, {})
    assert len(trial_ids(home)) == 5
    assert sync(home).trials == 0


def test_a_store_whose_maker_was_killed_is_made_anew(home: Path, runs: Any) -> None:
    folder = runs.make(3)
    runs.finish(folder)
    (home / "mlflow.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(home / "mlflow.db")) as half:
        half.execute("create table experiments (experiment_id integer)")
        half.execute("create table trace_info (request_id text)")
        half.execute("create table alembic_version (version_num text)")
        half.execute("insert into alembic_version values ('acf3f17fdcc7')")
        half.commit()
    assert complete(Mirror(folder), 60)
    assert len(of_kind(home, "trial")) == 3
    assert not list(home.glob("mlflow.db.draft*"))
    assert not list(home.glob("mlflow.db.whole*"))


def test_a_foreign_database_is_left_as_it_is(home: Path) -> None:
    (home / "mlflow.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(home / "mlflow.db")) as foreign:
        foreign.execute("create table customers (name text)")
    with suppress(ServiceError):
        open_store(store_address(home))
    assert b"customers" in (home / "mlflow.db").read_bytes()


def test_what_the_time_does_not_suffice_for_is_not_left_running(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runs.make(30)
    runs.finish(folder)
    mirror = Mirror(folder)
    written = RunWriter.write_trials

    def out_of_time(self: RunWriter, trials: Any, until: float) -> None:
        written(self, trials, until)
        monkeypatch.setattr("automl.tracking.mirror.time.monotonic", lambda: 1e12)

    monkeypatch.setattr(RunWriter, "write_trials", out_of_time)
    monkeypatch.setattr("automl.tracking.mirror.BATCH", 5)
    assert not complete(mirror, 60)
    assert "RUNNING" not in {run.info.status for run in all_runs(home)}
    assert len(of_kind(home, "trial")) == 5
    assert n_unwritten(folder, mirror.view.trials) == 25


def test_a_killed_run_ends_as_killed_and_is_reopened_when_it_goes_on(home: Path, runs: Any) -> None:
    folder = runs.make(3)
    sync(home)
    assert {run.info.status for run in of_kind(home, "run")} == {"KILLED"}
    runs.append(folder, range(3, 5))
    with folder.lock():
        assert complete(Mirror(folder), 60)
        assert {run.info.status for run in of_kind(home, "run")} == {"RUNNING"}
        assert sync(home).skipped.keys() == {folder.run_id}
    runs.finish(folder)
    sync(home)
    assert {run.info.status for run in of_kind(home, "run")} == {"FINISHED"}
    assert len(trial_ids(home)) == 5


def killed(runs: Any) -> RunFolder:
    """A run whose mirror and driver were killed between two trials."""
    folder: RunFolder = runs.make(3)
    mirror = Mirror(folder)
    assert mirror.write_some() == 3
    client, outbox = mirror.open().client, mirror.outbox
    client.update_run(outbox.trials.pop(next(iter(outbox.trials))), status="RUNNING")
    outbox.writing = [trial for trial in mirror.view.trials if trial not in outbox.trials]
    outbox.save()
    return folder


def statuses(home: Path, folder: RunFolder) -> set[str]:
    own = [r for r in all_runs(home) if r.data.tags.get("automl.run_id") == folder.run_id]
    return {run.info.status for run in own}


@pytest.mark.parametrize("is_search_over", [False, True])
def test_a_mirror_ends_what_killed_runs_left_running(
    home: Path, runs: Any, is_search_over: bool
) -> None:
    gone, driven, own = killed(runs), killed(runs), runs.make(1)
    if is_search_over:
        write(own, SearchRecord(trials=1, complete=1))
    assert "RUNNING" in statuses(home, gone)
    with driven.lock(), own.lock(), MirrorProcess(own) as process:
        process.finish(60)
        until(lambda: statuses(home, gone) == {"FINISHED", "KILLED"})
        assert "RUNNING" in statuses(home, driven)
        assert end_killed_runs(Home(home)) == []
    assert len(trial_ids(home)) == 3 + 3 + 1
    with gone.lock():
        mirror = Mirror(gone)
        mirror.open()
        assert "RUNNING" in statuses(home, gone)


def test_the_followed_journal_is_written_while_the_run_goes_on(home: Path, runs: Any) -> None:
    folder = runs.make(3)
    write(folder, SearchRecord(trials=3, complete=3))
    with MirrorProcess(folder) as process:
        until(lambda: len(Outbox.load(folder.path / "outbox.json").trials) == 3)
        runs.append(folder, range(3, 6))
        runs.finish(folder)
        assert process.finish(60) == "done"
    assert len(trial_ids(home)) == 6


def test_a_mirror_that_dies_while_it_is_told_leaves_the_run_pending(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runs.make(1)
    process = MirrorProcess(folder)
    process.start()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    monkeypatch.setattr(MirrorProcess, "start", lambda _: None)
    until(lambda: process.pid is None)
    assert process.finish(5) == "pending"
    process.stop()


def test_no_mirror_is_started_for_no_time(runs: Any) -> None:
    mirror = MirrorProcess(runs.make(1))
    assert mirror.finish(0.0) == "pending"
    assert mirror.pid is None


def test_the_mirror_ends_with_its_driver(runs: Any) -> None:
    folder = runs.make(1)
    code = (
        "import sys, time; from pathlib import Path; from automl.home import RunFolder\n"
        "from automl.tracking.mirror_process import MirrorProcess\n"
        "p = MirrorProcess(RunFolder(Path(sys.argv[1]))); p.start(); print(p.pid, flush=True)\n"
        "time.sleep(60)"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", code, str(folder.path)], stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    pid = int(driver.stdout.readline())
    assert os.getsid(pid) == pid
    driver.kill()
    driver.wait()
    driver.stdout.close()
    until(lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))


def test_links_are_pages_when_a_server_is_known_and_ids_otherwise(home: Path, runs: Any) -> None:
    folder = runs.make(1)
    complete(Mirror(folder), 60)
    parent = Outbox.load(folder.path / "outbox.json").parent
    assert links(folder)["run"] == parent
    page = links(folder, server="http://localhost:5000")["run"]
    assert page.startswith("http://localhost:5000/#/experiments/")
    assert page.endswith(f"/runs/{parent}?workflowType=machine_learning")
    trials = links(folder, server="http://localhost:5000")["trials"]
    assert folder.run_id in trials
    assert "score" in trials
    assert "automl.stage" in trials


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
