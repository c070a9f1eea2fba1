"""`automl train` as a user runs it: its model with and without the calibration, on rows that it never saw.

    python benchmarks/ensembles/end_to_end.py DATA_FOLDER OUT_FOLDER [--tables cmc,car] [--seeds 2] [--trials 25]

One run of each (table, seed) by log loss; 30 % of the rows stay untouched, and the stored bundle predicts them as it is and
with its calibration taken away. The weights do not depend on the calibration, so the second one is what a run without it
makes, as long as the blend replaces the champion in both. One line per run in OUT_FOLDER/end_to_end.jsonl; what is
there is not run again.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from runs import train

from automl.data.table import Table
from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.bundle import load_bundle

TABLES = ("cmc", "vehicle", "ilpd", "dresses-sales", "car", "credit-g")


def trained(data: Path, home: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Scores of the model of one run on the untouched rows."""
    result = train(data, home, name, given | {"metric": "log_loss"})
    scores = scores_of(RunFolder(home / "runs" / result["run_id"]))
    shutil.rmtree(home)
    return {**scores, "members": len(result["model"]["members"]), "trials": result["trials"]}


def scores_of(folder: RunFolder) -> dict[str, Any]:
    """Index of the bundle as it is stored, and without its calibration."""
    model, test = load_bundle(folder.bundle, trust=True), Table.load(folder.test)
    index = EvaluationPlan(folder.path).index
    power = None if model.calibration is None else model.calibration.power
    scores = [index.score(test.y, model.raw_typed(test.frame))]
    model.calibration = None
    scores.append(index.score(test.y, model.raw_typed(test.frame)))
    return {"with": scores[0], "without": scores[1], "power": power}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trials", type=int, default=25)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = options.out / "end_to_end.jsonl"
    text = lines.read_text() if lines.exists() else ""
    found = {(r["table"], r["seed"]): r for r in map(json.loads, text.splitlines())}
    for seed in range(options.seeds):
        for name in options.tables:
            if (name, seed) not in found:
                given = {"trials": options.trials, "seed": seed}
                line = {"table": name, "seed": seed}
                line |= trained(options.data, options.out / "home", name, given)
                found[name, seed] = line
                with lines.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
            print(found[name, seed], flush=True)
    gains = [found[key]["with"] - found[key]["without"] for key in found]
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    print(f"gain {np.mean(gains):+.4f}, standard error {error:.4f}, {len(gains)} runs")


if __name__ == "__main__":
    main()
