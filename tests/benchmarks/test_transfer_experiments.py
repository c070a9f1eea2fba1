"""The experiments on surrogates that transfer, on a generated folder of score tables."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "transfer"
NAMES = ("one", "two", "three", "four", "five")
FEATURES = ("num_classes", "log_num_attributes", "log_inst_per_attr", "class_entropy")


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metadata") / "svm_adaboost"
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = [
        {"dataset": name, "iterations": steps, "product_terms": terms, "accuracy": rng.uniform()}
        for name in NAMES
        for steps in (2, 10, 100, 1000, 10000)
        for terms in (2, 5, 10, 30)
    ]
    pd.DataFrame(rows).to_csv(folder / "adaboost.csv.gz", index=False)
    meta = pd.DataFrame(rng.random((len(NAMES), len(FEATURES))), columns=list(FEATURES))
    meta.insert(0, "dataset", NAMES)
    meta.to_csv(folder / "metafeatures.csv", index=False)
    return folder.parent


def run(script, *arguments):
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.integration
def test_what_is_finished_is_not_run_again_and_all_is_reported(metadata, tmp_path):
    chosen = ("--profile", "tiny", "--workers", "1", "--tables", "adaboost")
    first = run("experiments.py", metadata, tmp_path, *chosen)
    cells = sorted((tmp_path / "tiny").glob("*/*.json"))
    assert len(cells) == 2 * 5 + 2 * 7 + 2 * 2
    assert len(first.splitlines()) == len(cells)
    cells[0].unlink()
    again = run("experiments.py", metadata, tmp_path, *chosen)
    assert sum(line.endswith("known") for line in again.splitlines()) == len(cells) - 1

    text = run("report.py", tmp_path, "--profile", "tiny")
    report = tmp_path / "tiny" / "report"
    assert "adaboost, printed" in (report / "table_1.md").read_text() in text
    for name in ("figure_2.png", "figure_3.png", "figure_4.png"):
        assert (report / name).stat().st_size > 0
    curves = pd.read_csv(report / "curves.csv")
    ranks = curves[(curves["part"] == "tuning") & (curves["measure"] == "rank")]
    np.testing.assert_allclose(ranks.groupby("trial")["mean"].mean(), 4.0)  # of seven strategies
    result = json.loads((report / "result.json").read_text())
    assert {entry["model"] for entry in result["table_1"]} == {"RF", "SVR", "FM", "MLP", "FMLP"}
