"""The main job end to end: equal decisions, interruption, tracking, a model that travels."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from command_line import children_with, decisions, journal_trials, processes_with
from disturbed import assert_gone
from waiting import until

from automl.evaluation.journal import read

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of SQLAlchemy, through MLflow
]
OPTIONS = runpy.run_path(str(Path(__file__).with_name("conftest.py")))["OPTIONS"]
TABLE = "sklearn:breast_cancer"
SHARE = ["--test-share", "0.3"]


def wait_for_trials(home: Path, n_trials: int) -> str:
    """Run id of the only run, as soon as its journal holds some trials."""

    def begun() -> str:
        folders = (home / "runs").glob("*")
        return next((f.name for f in folders if len(read(f / "journal")) >= n_trials), "")

    return until(begun)


def wait_for_more_trials(home: Path, run_id: str) -> None:
    """Until a process that took over a run has finished two trials of its own."""
    wait_for_trials(home, len(read(home / "runs" / run_id / "journal")) + 2)


def test_a_run_ends_with_a_registered_model_and_a_test_score(finished) -> None:
    _, result = finished
    assert result["model"]["registration"] == "done"
    assert result["model"]["registered"].endswith("@champion")
    assert result["test"]["rows"] == 171
    assert result["test"]["score"] > 0.7
    assert result["reproducible"] is True
    assert result["trials"] == 14


def test_every_key_of_the_result_is_documented_and_a_good_model_needs_no_notice(finished) -> None:
    _, result = finished
    text = (Path(__file__).parents[2] / "docs" / "result.md").read_text(encoding="utf-8")
    keys = [key for key in (*result, *result["model"], *result["baseline"]) if "stage_" not in key]
    assert [key for key in keys if f"`{key}`" not in text] == []
    assert result["notices"] == []
    assert result["baseline"]["is_beaten"]
    assert result["baseline"]["model_score"] > result["baseline"]["score"]


def test_the_record_of_the_selection_adds_up_and_why_tells_of_every_trial(finished) -> None:
    command, result = finished
    checked = command.json("why", result["run_id"], "--check")
    assert (checked["adds_up"], checked["problems"]) == (True, [])
    story = command.json("why", result["run_id"])["story"]
    assert {"data", "search", "clusters", "root", "champion", "ensemble"} <= set(story)
    shown = {row["trial_id"]: row["status"] for row in result["leaderboard"]}
    for trial_id in list(shown)[:3]:
        told = command.json("why", result["run_id"], trial_id)
        assert told["disposition"]["status"]
        assert told["text"].endswith(".")


def test_a_run_that_is_stopped_killed_and_loses_its_server_decides_what_another_does(
    finished, command_in, tmp_path
) -> None:
    """One worker and three processes, of which the last one outlives its server."""
    command = command_in(tmp_path)
    process = command.start("train", TABLE, *OPTIONS, *SHARE, "--workers", "1")
    run_id = wait_for_trials(tmp_path, 3)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=170)
    assert process.returncode == 143, err
    assert processes_with(str(tmp_path)) == []
    assert all(t.reason != "cancelled" for t in journal_trials(tmp_path, run_id))
    (run,) = command.json("runs")
    assert run["status"] == "interrupted"

    process = command.start("resume", run_id)
    wait_for_more_trials(tmp_path, run_id)
    process.kill()
    process.communicate()
    assert_gone(tmp_path)

    process = command.start("resume", run_id, "--json")
    wait_for_more_trials(tmp_path, run_id)
    servers = children_with(process.pid, "server_process")
    assert servers
    for server in servers:
        server.kill()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert not [line for line in err.splitlines() if "prefect" in line.lower() or "API" in line]
    resumed, (_, result) = json.loads(out), finished
    assert any("without the orchestrator" in text for text in resumed["warnings"])
    assert decisions(resumed) == decisions(result)
    assert resumed["test"]["score"] == result["test"]["score"]
    assert resumed["model"]["registration"] == "done"


def test_journal_tracking_store_and_leaderboard_hold_the_same_trials(finished) -> None:
    from mlflow import MlflowClient

    command, result = finished
    client = MlflowClient(f"sqlite:///{command.home}/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, max_results=1000)
    tracked = {
        run.data.tags["automl.trial_id"]: run.data.metrics.get("score")
        for run in runs
        if "automl.trial_id" in run.data.tags
    }
    journal = {t.id: t for t in journal_trials(command.home, result["run_id"])}
    search = {k for k, t in journal.items() if t.stage == "search"}
    assert search == {row["trial_id"] for row in result["leaderboard"]}
    assert search <= set(tracked)
    for trial_id in search:
        if journal[trial_id].is_complete:
            assert tracked[trial_id] == pytest.approx(journal[trial_id].score)
    assert {run.info.status for run in runs} <= {"FINISHED", "KILLED", "FAILED"}


def test_predictions_of_the_bundle_take_unseen_and_missing_values_without_our_package(
    finished, tmp_path
) -> None:
    _, result = finished
    bundle = Path(result["model"]["bundle"])
    requirements = json.loads((bundle / "manifest.json").read_text())["requirements"]
    environment = tmp_path / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    install = ["-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    subprocess.run(
        [sys.executable, *install, *requirements],
        check=True,
        capture_output=True,
    )
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).data.iloc[:5].astype(object)
    frame.iloc[0, 0] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1] + '/code')\n"
        "import pandas as pd\n"
        "from automl.inference.bundle import load_bundle\n"
        "model = load_bundle(sys.argv[1])\n"
        "print(len(model.predict_proba(pd.read_csv(sys.argv[2]))))\n"
    )
    finished_process = subprocess.run(
        [str(python), "-c", code, str(bundle), str(tmp_path / "rows.csv")],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    assert finished_process.stdout.strip() == "5", finished_process.stderr


SABOTEURS = Path(__file__).parents[2] / "benchmarks" / "saboteurs.py"
SABOTAGE = ["--runs", "1", "--trials", "16", "--trial-seconds", "6"]


@pytest.mark.usefixtures("_with_server")
def test_saboteur_families_cost_their_own_trials_only(tmp_path) -> None:
    process = subprocess.run(
        [sys.executable, str(SABOTEURS), str(tmp_path), *SABOTAGE],
        check=False,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert process.returncode == 0, process.stdout + process.stderr
