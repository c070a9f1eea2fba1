"""Searches whose trials predict untouched rows: what `blends.py` compares blends on.

    python benchmarks/ensembles/searches.py DATA_FOLDER OUT_FOLDER [--tables cmc,pbc] [--seeds 1] [--trials 50]

DATA_FOLDER has a ``catalog.csv`` with the columns name, task, target and file, and a ``schema.json``
with the type of each feature. Each (table, seed) is one search with the defaults of `automl train`, by
log loss or squared error, on 70 % of the rows. The mean of the fold models of each complete trial, which is what
would be deployed, predicts the rest. One file per search stays in OUT_FOLDER/searches, and what has one is not
searched again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

from coverage import SameProcess
from data_sets import data_settings, read_catalog

from automl.data.table import Table
from automl.evaluation.fold_models import load_models
from automl.home import Home
from automl.inference.model import FittedPipeline
from automl.preprocessing.pipeline import build_preprocessor
from automl.records import Trial
from automl.run import local_slots
from automl.run.beginning import begin
from automl.run.session import Session
from automl.settings import Settings
from automl.stages import searching
from automl.stages.line import Line

TABLES = (
    *("cmc", "dresses-sales", "housing", "yeast", "vehicle", "sensory", "car", "credit-g", "pbc"),
    *("balance-scale", "ilpd", "wine-quality-red", "dermatology", "qsar-biodeg", "airfoil"),
    *("cjs", "mfeat-morphological", "abalone"),
)
"""Of 366 to 4,177 rows: 8 tables of 3 to 10 classes, 4 of two, 6 of numbers; listed before any was blended."""

NUMBERS = ("housing", "sensory", "pbc", "wine-quality-red", "airfoil", "abalone")
TEST_SHARE = 0.3


def settings_of(data: Path, name: str, seed: int, n_trials: int) -> Settings:
    """Settings of a search."""
    facts = read_catalog(data).loc[name]
    metric = "mse" if facts["task"] == "regression" else "log_loss"
    return Settings(
        **data_settings(data, facts, name),
        test_share=TEST_SHARE,
        seed=seed,
        trials=n_trials,
        metric=metric,
        experience=True,
        exclude_experience=[name],
        workers=1,
    )


def search(settings: Settings, folder: Path) -> dict[str, Any]:
    """Predictions of the complete trials and what blends learn from."""
    session = begin(settings, Home(folder))
    try:
        line = Line(session)
        line.finish_search()
        trials = [trial for trial in line.trials if trial.is_complete]
        test = Table.load(session.folder.test)
        return {**facts_of(session, trials, test), **predictions_of(session, trials, test)}
    finally:
        session.close()
        session.release()


def facts_of(session: Session, trials: list[Trial], test: Table) -> dict[str, Any]:
    """Targets, folds, trials and features, nominal ones as codes."""
    plan = session.plan
    stage = plan.stage("search")
    preprocessor = build_preprocessor({"prep.encoder": "ordinal"}, seed=0)
    frame = plan.table.frame.iloc[stage.rows]
    features = preprocessor.fit_transform(frame, plan.table.y[stage.rows])
    return {
        "y": plan.table.y[stage.rows],
        "folds": stage.folds[0],
        "test_y": np.asarray(test.y),
        "features": np.asarray(features, dtype=np.float32),
        "test_features": np.asarray(preprocessor.transform(test.frame), dtype=np.float32),
        "n_classes": plan.table.n_classes,
        "families": [trial.configuration.family for trial in trials],
        "preprocessing": [str(list(t.configuration.preprocessing)) for t in trials],
        "scores": [trial.achieved for trial in trials],
        "order": [trial.index for trial in trials],
        "seconds": [trial.seconds for trial in trials],
    }


def predictions_of(session: Session, trials: list[Trial], test: Table) -> dict[str, Any]:
    """Out-of-fold predictions, and those of the untouched rows by the mean of the fold models."""
    n_classes = session.plan.table.n_classes or None

    def predicted(pipelines: list[FittedPipeline]) -> Any:
        return np.mean([p.predict(test.frame, n_classes) for p in pipelines], axis=0)

    untouched = []
    for trial in trials:
        models = load_models(session.folder.path, trial.id)
        assert models is not None, trial.id
        untouched.append(predicted(list(models.values())))
    out_of_fold = [np.asarray(session.plan.predictions.load(trial.id)) for trial in trials]
    return {
        "out_of_fold": np.stack(out_of_fold).astype(np.float32),
        "untouched": np.stack(untouched).astype(np.float32),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trials", type=int, default=50)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    local_slots.WorkerPool = SameProcess  # type: ignore[attr-defined, misc]
    searching.N_KEPT = 10_000  # every trial predicts the untouched rows
    (options.out / "searches").mkdir(parents=True, exist_ok=True)
    for seed in range(options.seeds):
        for name in options.tables:
            file = options.out / "searches" / f"{name}-{seed}.npz"
            if file.exists():
                continue
            folder = options.out / "homes" / f"{name}-{seed}"
            shutil.rmtree(folder, ignore_errors=True)
            found = search(settings_of(options.data, name, seed, options.trials), folder)
            np.savez_compressed(file, **found)
            shutil.rmtree(folder)
            print(f"{name} {seed}: {len(found['scores'])} trials", flush=True)


if __name__ == "__main__":
    main()
