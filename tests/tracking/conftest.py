"""Run folders as the driver leaves them, and one prepared SQLite store copied per test."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from run_records import candidates_of, ensemble_of, final_of, result_of, selection_of, write
from tiny_models import tiny_model

from automl.evaluation.journal import Journal
from automl.home import Home, RunFolder
from automl.inference.bundle import write_bundle
from automl.installation import make_key
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.selection.dispositions import Disposition, Place, Status
from automl.tracking.mirror import Mirror, complete
from automl.tracking.moved_home import take_along
from automl.tracking.publication import Publisher
from automl.tracking.store import open_store, store_address

STATUSES = [TrialStatus.COMPLETE] * 5 + [TrialStatus.TIMED_OUT, TrialStatus.RACED]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "_MLFLOW_SERVER_ARTIFACT_ROOT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def prepared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("prepared")
    open_store(store_address(home))
    connection = sqlite3.connect(home / "mlflow.db")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return home / "mlflow.db"


@pytest.fixture
def home(tmp_path: Path, prepared_store: Path) -> Path:
    shutil.copy(prepared_store, tmp_path / "mlflow.db")
    take_along(tmp_path)
    return tmp_path


def make_trial(run_id: str, index: int, *, stage: str = "search") -> Trial:
    status = STATUSES[index % len(STATUSES)]
    complete = status is TrialStatus.COMPLETE
    family = ("lightgbm", "ridge")[index % 2]
    folds = tuple(FoldResult(0, f, 0.5 + index / 1000, 30, 0.02, 0.001) for f in range(3))
    return Trial(
        run_id=run_id,
        index=index,
        configuration=Configuration(family, {"alpha": index / 10, "prep.encoder": "onehot"}),
        status=status,
        score=None if status is TrialStatus.TIMED_OUT else 0.5 + index / 1000,
        folds=folds if complete else folds[:1],
        metrics={"accuracy": 0.8, "log_loss": 0.4, "auc": float("nan")} if complete else {},
        seconds=0.2,
        peak_memory_mib=80.0,
        origin="hypercube",
        stage=stage,
        reason="" if complete else "it took too long",
        started_at=1.79e9 + index,
    )


def append_trials(folder: RunFolder, numbers: range, *, stage: str = "search") -> list[Trial]:
    trials = [make_trial(folder.run_id, i, stage=stage) for i in numbers]
    with Journal(folder.journal) as journal:
        for trial in trials:
            decision = {"sees": max(0, trial.index - 4), "optimizer": "hypercube"}
            journal.append({"type": "trial", "trial": trial.to_json(), "decision": decision})
    return trials


class ExampleRuns:
    """Run folders of one home and what a driver does to them."""

    trial = staticmethod(make_trial)
    append = staticmethod(append_trials)

    def __init__(self, home: Path) -> None:
        self.home = home

    def make(self, n_trials: int = 8, *, target: str = "label", **facts: Any) -> RunFolder:
        folder = Home(self.home).create_run()
        folder.write_facts(
            {
                "run_id": folder.run_id,
                "settings": {"table": "data/beans.csv", "target": target, "name": ""},
                "started_at": time.time(),
                "data": {"digest": "abc123", "rows": 90, "task": "binary", "target": target},
                "versions": {"numpy": "2.4.6"},
                "status": "running",
                "seed": 7,
                **facts,
            }
        )
        append_trials(folder, range(n_trials))
        return folder

    @staticmethod
    def finish(folder: RunFolder, champion: int = 4) -> None:
        """Stage records of a run that ended well, without a model."""
        identity = make_trial(folder.run_id, champion).id
        other = make_trial(folder.run_id, 1).id
        worse = Disposition(
            Status.WORSE,
            Place.SELECTION,
            node="root",
            test="corrected t",
            against=identity,
            statistic=float("inf"),
            pvalue=0.01,
            alpha=0.05,
        )
        winner = Disposition(Status.WINNER, Place.SELECTION, node="root", rank=1.0)
        write(
            folder,
            candidates_of(identity, other),
            selection_of(identity, dispositions={identity: winner, other: worse}),
            ensemble_of({other: 0.5}),
            result_of(identity, metrics={"accuracy": 0.8}),
        )
        facts = json.loads(folder.facts_file.read_text())
        folder.write_facts({**facts, "status": "finished"})


@pytest.fixture
def runs(home: Path) -> ExampleRuns:
    return ExampleRuns(home)


@pytest.fixture
def registered(runs: ExampleRuns) -> RunFolder:
    """A finished run whose small model is registered."""
    folder = runs.make(3)
    write_bundle(tiny_model(), folder.bundle, extra={"run": folder.run_id}, key=make_key())
    runs.finish(folder, champion=0)
    write(folder, final_of(kind="refit"), result_of())
    assert complete(Mirror(folder), 60)
    return folder


@pytest.fixture
def warm_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about something else than the clean process and what it loads."""
    monkeypatch.setattr(Publisher, "_cold_load_problem", lambda _: "")
    monkeypatch.setattr(Publisher, "start_cold_load", lambda _: None)
    monkeypatch.setattr("automl.tracking.publication.save_pyfunc", _copy)


def _copy(bundle: Path, local: Path, **_: Any) -> None:
    shutil.copytree(bundle, local / "data" / "bundle")
