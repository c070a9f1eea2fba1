"""`automl train` with two settings of the ensemble, on rows that no run saw.

    python benchmarks/ensembles/end_to_end.py DATA_FOLDER OUT_FOLDER [--tables cmc,car] [--seeds 2] [--trials 25]
        [--first '{"ensemble_calibration": false}'] [--second '{}']

Each (table, seed) is two runs of the command with the same trials by log loss or squared error; 30 % of the rows stay
untouched. One line per run in OUT_FOLDER/end_to_end.jsonl, and what is there is not run again; prints the paired differences.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

from data_sets import data_settings, read_catalog

TABLES = ("cmc", "vehicle", "ilpd", "dresses-sales", "car", "credit-g")
TEST_SHARE = 0.3


def trained(data: Path, home: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Result of the command on a table, with some settings."""
    facts = read_catalog(data).loc[name]
    metric = "mse" if facts["task"] == "regression" else "log_loss"
    settings = {**data_settings(data, facts, name), "test_share": TEST_SHARE, "metric": metric}
    table = settings.pop("table")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    config = home / "settings.json"
    config.write_text(json.dumps({**settings, **given}))
    command = [sys.executable, "-m", "automl_flows.commands.cli", "train", table, "--json"]
    command += ["--config", str(config), "--home", str(home), "--workers", "1"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AUTOML_")}
    kept["AUTOML_EXCLUDE_EXPERIENCE"] = name
    finished = subprocess.run(command, capture_output=True, text=True, check=True, env=kept)
    shutil.rmtree(home)
    return dict(json.loads(finished.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--first", type=json.loads, default={"ensemble_calibration": False})
    parser.add_argument("--second", type=json.loads, default={})
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = options.out / "end_to_end.jsonl"
    found = {}
    for line in lines.read_text().splitlines() if lines.exists() else ():
        found[json.dumps(json.loads(line)["key"])] = json.loads(line)
    differences = []
    for seed in range(options.seeds):
        for name in options.tables:
            pair = []
            for given in (options.first, options.second):
                key = [name, seed, options.trials, given]
                if json.dumps(key) not in found:
                    asked = {**given, "trials": options.trials, "seed": seed}
                    result = trained(options.data, options.out / "home", name, asked)
                    kept = {"key": key, "test": result["test"], "members": result["model"]}
                    found[json.dumps(key)] = kept
                    with lines.open("a") as stream:
                        stream.write(json.dumps(kept, default=str) + "\n")
                pair.append(found[json.dumps(key)]["test"])
            differences.append(pair[1]["score"] - pair[0]["score"])
            print(f"{name} {seed}: {pair[0]['score']:.4f} {pair[1]['score']:.4f}", flush=True)
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    print(f"second less first: {np.mean(differences):+.4f}, standard error {error:.4f}")


if __name__ == "__main__":
    main()
