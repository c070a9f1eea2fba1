"""A home of its own for every test, and run folders as a driver leaves them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_records import final_of, model_of, result_of, write

from automl.evaluation.journal import Journal
from automl.home import Home, RunFolder
from automl.privacy import make_private_folder
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl_flows.commands.cli import run

RUN_IDS = ("20260101-000000-aaaa", "20260102-000000-bbbb", "20260103-000000-cccc")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in ("PREFECT_API_URL", "MLFLOW_TRACKING_URI", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTOML_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path / "home")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """60 rows, a number, a text category, a binary target."""
    lines = [f"{i * 37 % 50},{'abc'[i % 3]},{'yes' if i * 7 % 11 < 5 else 'no'}" for i in range(60)]
    path = tmp_path / "table.csv"
    path.write_text("x,kind,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


class Outcome:
    """Exit code, stdout and stderr of a command that ran in this process."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def automl(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def make_run(home: Home, run_id: str, *, status: str = "running", trials: int = 0) -> RunFolder:
    folder = RunFolder(home.runs / run_id)
    for private in (home.path, home.runs):
        make_private_folder(private)
    folder.write_facts(
        {
            "run_id": run_id,
            "settings": {"table": "t.csv", "target": "y", "name": ""},
            "started_at": time.time() - 60,
            "pid": 1,
            "status": status,
            "data": {
                "rows": 60, "columns": 2, "task": "binary", "classes": ["no", "yes"],
                "target": "y", "notes": ["1 row repeats"], "test_rows": 0,
            },
        }
    )  # fmt: skip
    if trials:
        with Journal(folder.journal) as journal:
            for index in range(trials):
                trial = make_trial(run_id, index)
                journal.append({"type": "trial", "trial": trial.to_json(), "decision": {}})
    return folder


def make_trial(run_id: str, index: int) -> Trial:
    folds = tuple(FoldResult(0, fold, 0.1 * index + fold / 100, 20, 0.1, 0.01) for fold in range(3))
    return Trial(
        run_id=run_id,
        index=index,
        configuration=Configuration("ridge", {"alpha": float(index)}),
        status=TrialStatus.COMPLETE,
        score=0.1 * index,
        folds=folds,
        seconds=0.33,
        origin="default",
    )


def finish(folder: RunFolder, *, registration: str = "off") -> None:
    facts = folder.read_facts()
    folder.write_facts({**facts, "status": "finished"})
    result = result_of(
        f"{folder.run_id}-s00002",
        run_id=folder.run_id,
        problem="t-y",
        trials=3,
        complete_trials=3,
        seconds=12.0,
        ledger={"search": {"planned": 10.0, "used": 9.0}, "search ridge": {"used": 1.0}},
        model=model_of(registration),
    )
    write(folder, final_of(), result)


@pytest.fixture
def runs(own_home: Home) -> list[RunFolder]:
    """An interrupted, a finished and another interrupted run."""
    folders = [make_run(own_home, run_id, trials=3) for run_id in RUN_IDS]
    finish(folders[1])
    return folders


@pytest.fixture(name="finish")
def finish_fixture() -> Callable[..., None]:
    return finish
