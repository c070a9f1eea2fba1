"""A bag of fold models beside models that are fitted once more on all rows, with the members of one run.

    python benchmarks/ensembles/refits.py DATA_FOLDER OUT_FOLDER [--tables letter,pol] [--seconds 200]

Each table gets one run with one worker by AMLB's metric (area under the curve, log loss, root mean squared error).
Its blend predicts 30 % of the rows that it never saw: with the fold models of the members, with one refit of each,
with both, and with both in equal parts. Weights, calibration and rounds of boosting are the run's. One line per table in OUT_FOLDER/refits.jsonl; what is
there is not run again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from runs import read_catalog, train
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from threadpoolctl import threadpool_limits

from automl.data.table import Table
from automl.evaluation.fitting import rounds_on_all_rows
from automl.evaluation.fold_models import load_models
from automl.evaluation.journal import read
from automl.evaluation.model_jobs import refit
from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.bundle import load_bundle
from automl.inference.model import TableModel
from automl.records import Trial

TABLES = (
    "cal_housing", "house_8L", "elevators", "pol", "bike-sharing",
    "magic-telescope", "eeg-eye-state", "letter", "nursery", "jm1",
)  # fmt: skip
"""7,600 to 15,900 training rows."""
METRICS = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "rmse"}


def risk(model: TableModel, test: Table) -> float:
    """AMLB's metric on rows that the model never saw; less is better."""
    raw = np.asarray(model.raw_typed(test.frame), dtype=np.float64)
    if model.task == "regression":
        return float(np.sqrt(mean_squared_error(test.y, raw)))
    if model.task == "binary":
        return float(1.0 - roc_auc_score(test.y, raw[:, 1]))
    return float(log_loss(test.y, raw / raw.sum(axis=1, keepdims=True), labels=range(raw.shape[1])))


def compared(folder: RunFolder) -> dict[str, Any]:
    """Risks of the bag, of the refits and of both, with the seconds that they cost."""
    model, test = load_bundle(folder.bundle, trust=True), Table.load(folder.test)
    journaled = [Trial.from_json(r["trial"]) for r in read(folder.journal) if r["type"] == "trial"]
    trials = {trial.id: trial for trial in journaled if trial.stage == "search"}
    bags = [member.pipelines for member in model.members]
    started = time.perf_counter()
    refits = [_refit(folder, trials[member.trial]) for member in model.members]
    seconds = time.perf_counter() - started

    def of(pipelines: Callable[[int], list[Any]]) -> float:
        members = [replace(m, pipelines=pipelines(i)) for i, m in enumerate(model.members)]
        model.members = members
        return risk(model, test)

    used = [trials[member.trial] for member in model.members]
    return {
        "bag": of(lambda i: bags[i]),
        "refit": of(lambda i: refits[i]),
        "both": of(lambda i: [*bags[i], *refits[i]]),
        "halves": of(lambda i: [*bags[i], *refits[i] * len(bags[i])]),
        "members": {m.trial: [m.family, float(m.weight), len(m.pipelines)] for m in model.members},
        "trials": len(trials),
        "fit_seconds": sum(trial.fit_seconds for trial in used),
        "refit_seconds": seconds,
    }


def _refit(folder: RunFolder, trial: Trial) -> list[Any]:
    name = f"{trial.id}-refit"
    payload = {
        "configuration": trial.configuration.to_json(),
        "save_as": name,
        "most_rounds": rounds_on_all_rows(EvaluationPlan(folder.path), trial),
    }
    with threadpool_limits(1):
        refit(str(folder.path), payload)
    return list((load_models(folder.path, name) or {}).values())


def measured(data: Path, out: Path, name: str, seconds: float) -> dict[str, Any]:
    """Line of one table."""
    home = out / f"home-{name}"
    task = read_catalog(data).loc[name, "task"]
    given = {"budget": f"{seconds:.0f}s", "seed": 1, "layers": 1, "final": "bag"}
    given |= {"metric": METRICS[task]}
    result = train(data, home, name, given)
    line = compared(RunFolder(home / "runs" / result["run_id"]))
    shutil.rmtree(home)
    return {"table": name, **line}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--seconds", type=float, default=200.0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = options.out / "refits.jsonl"
    text = lines.read_text() if lines.exists() else ""
    done = {json.loads(line)["table"] for line in text.splitlines()}
    for name in options.tables:
        if name in done:
            continue
        line = measured(options.data, options.out, name, options.seconds)
        with lines.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        ratios = [line[kind] / line["bag"] for kind in ("refit", "both", "halves")]
        print(name, line["bag"], *(f"{ratio:.4f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
