"""The main job on real tables beside default models and, where installed, FLAML.

    python benchmarks/main_job.py DATA_FOLDER OUT_FOLDER --seconds 60 [--systems automl,lightgbm]
        [--tables credit-g,adult] [--flaml-python /path/to/python]

DATA_FOLDER has a ``catalog.csv`` with the columns name, task, target and file, and a
``schema.json`` with the type of each feature. Every system gets the same 70 % of the rows and
is scored on the other 30 % with the performance index (0 = baseline, 1 = ideal) whose baseline
comes from the test rows, on the labels and probabilities that the system predicts. Finished pairs are not repeated. Prints one table, and writes
``results.csv``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from automl.data.splits import split_test
from automl.inference.decision import DecisionRule
from automl.metrics.building import build_index
from automl.records import Task

TABLES = [
    "credit-g",
    "adult",
    "letter",
    "spambase",
    "bank-marketing",
    "soybean",
    "abalone",
    "bike-sharing",
    "cal_housing",
    "colonTumor",
]
BOOTSTRAPS = 200


def prepare(data: Path, out: Path, name: str, seed: int) -> Path:
    catalog = pd.read_csv(data / "catalog.csv").set_index("name").loc[name]
    schema = json.loads((data / "schema.json").read_text())[name]
    types = schema["columns"]
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "split.json").exists():
        return folder
    nominal = [column for column, kind in types.items() if kind == "nominal"]
    frame = pd.read_csv(data / catalog["file"], dtype=dict.fromkeys(nominal, "str"))
    target = catalog["target"]
    frame = frame.dropna(subset=[target])
    task = Task(str(catalog["task"]))
    y = frame[target].to_numpy()
    if task.is_classification:
        y = np.unique(y.astype(str), return_inverse=True)[1]
    training, test = split_test(y, task, share=0.3, seed=seed)
    frame.iloc[training].to_csv(folder / "train.csv", index=False)
    frame.iloc[test].to_csv(folder / "test.csv", index=False)
    split = {"target": target, "task": str(task), "nominal": [c for c in nominal if c != target]}
    (folder / "split.json").write_text(json.dumps(split))
    return folder


def run(system: str, folder: Path, seconds: float, python: str, extra: list[str]) -> dict:
    if not (folder / f"{system}.npz").exists():
        command = [python, str(Path(__file__).with_name("competitors.py")), system, str(folder)]
        started = time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        with (folder / f"{system}.log").open("w") as log:
            subprocess.run([*command, str(seconds), *extra], stdout=log, stderr=log, check=False)
        record = {
            "process_seconds": time.monotonic() - started,
            "max_rss_mib": max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
            / 1024,
        }
        (folder / f"{system}.json").write_text(json.dumps(record))
    return json.loads((folder / f"{system}.json").read_text())


def score(folder: Path, systems: list[str]) -> list[dict]:
    split = json.loads((folder / "split.json").read_text())
    task, target = Task(split["task"]), split["target"]
    train = pd.read_csv(folder / "train.csv", usecols=[target])[target]
    test = pd.read_csv(folder / "test.csv", usecols=[target])[target]
    if task.is_classification:
        labels = sorted(train.astype(str).unique())
        y = test.astype(str).map({label: i for i, label in enumerate(labels)}).to_numpy()
    else:
        y = test.to_numpy(float)
    index = build_index(
        task=task, y_all=y, n_classes=len(labels) if task.is_classification else None
    )
    rng = np.random.default_rng(0)
    samples = [rng.integers(len(y), size=len(y)) for _ in range(BOOTSTRAPS)]
    found = {}
    for system in systems:
        path = folder / f"{system}.npz"
        if path.exists():
            with np.load(path) as arrays:
                found[system] = {name: arrays[name] for name in arrays.files}

    def score_of(system: str, rows: np.ndarray | slice = slice(None)) -> float:
        prediction = found[system]["prediction"].astype(np.float32)[rows]
        return index.score(y[rows], prediction, labels=labels_of(system, prediction))

    def labels_of(system: str, prediction: np.ndarray) -> np.ndarray | None:
        threshold = float(found[system]["threshold"])
        return DecisionRule(threshold).codes(prediction) if task.is_classification else None

    rows = []
    for system, arrays in found.items():
        row = {"table": folder.name, "system": system, "seconds": float(arrays["seconds"])}
        row["score"] = score_of(system)
        prediction = arrays["prediction"].astype(np.float32)
        row |= index.metrics(y, prediction, labels=labels_of(system, prediction))
        if "lightgbm" in found and system != "lightgbm":
            differences = [score_of(system, s) - score_of("lightgbm", s) for s in samples]
            row["minus_lightgbm"] = row["score"] - score_of("lightgbm")
            row["standard_error"] = float(np.std(differences))
        rows.append(row | json.loads((folder / f"{system}.json").read_text()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--systems", default="lightgbm,forest,automl,flaml")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flaml-python", default=sys.executable)
    parser.add_argument("--automl-options", default="", help="more options of `automl train`")
    arguments = parser.parse_args()
    systems, rows = arguments.systems.split(","), []
    for name in arguments.tables.split(","):
        folder = prepare(arguments.data, arguments.out, name, arguments.seed)
        for system in systems:
            python = arguments.flaml_python if system == "flaml" else sys.executable
            extra = arguments.automl_options.split() if system == "automl" else []
            run(system, folder, arguments.seconds, python, extra)
        rows += score(folder, systems)
        table = pd.DataFrame(rows)
        table.to_csv(arguments.out / "results.csv", index=False)
        print(table[table["table"] == name].round(4).to_string(index=False), flush=True)
    print(pd.DataFrame(rows).pivot_table("score", "table", "system").round(4).to_string())


if __name__ == "__main__":
    main()
