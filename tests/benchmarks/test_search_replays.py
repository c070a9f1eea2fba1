"""The command that replays optimizers, on a generated folder of score tables."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

COMMAND = Path(__file__).parents[2] / "benchmarks" / "search" / "optimizers.py"
N_CANDIDATES = 40
OPTIMIZERS = ("random", "hypercube", "local", "gp_prior")


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three data sets with random SVMs."""
    folder = tmp_path_factory.mktemp("metadata")
    rng = np.random.default_rng(0)
    rows = [
        {
            "dataset": name,
            "C": 2.0 ** rng.uniform(-5, 6),
            "kernel": "rbf",
            "degree": 0,
            "gamma": 10.0 ** rng.uniform(-4, 3),
            "accuracy": rng.uniform(),
        }
        for name in ("one", "two", "three")
        for _ in range(N_CANDIDATES)
    ]
    (folder / "svm_adaboost").mkdir()
    pd.DataFrame(rows).to_csv(folder / "svm_adaboost" / "svm.csv.gz", index=False)
    compositions = {"local": {"base": "smac", "surrogate": {"name": "forest", "n_trees": 3}}}
    (folder / "compositions.json").write_text(json.dumps(compositions))
    return folder


def command(metadata: Path, out: Path) -> list[str]:
    return [
        *(sys.executable, str(COMMAND), str(metadata), str(out), "--sources", "svm"),
        *("--profile", "tiny", "--half", "both", "--no-asks", "--workers", "1"),
        *("--compositions", str(metadata / "compositions.json"), "--optimizers", *OPTIMIZERS),
    ]


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]


def kill_in_the_middle(process: subprocess.Popen[bytes], out: Path) -> None:
    """Kill the command after its first line, and wait until its workers have followed."""
    while not (out / "cells.jsonl").exists() or not (out / "cells.jsonl").stat().st_size:
        assert process.poll() is None
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


@pytest.mark.integration
def test_a_killed_command_continues_without_losing_or_repeating_a_cell(
    metadata: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        command(metadata, tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    kill_in_the_middle(process, tmp_path)
    cells = tmp_path / "cells.jsonl"
    first = cells.read_text().splitlines()[0]
    cells.write_text(f"{first}\n{first[: len(first) // 2]}")
    subprocess.run(command(metadata, tmp_path), check=True, capture_output=True)
    found = lines(tmp_path)
    assert json.dumps(found[0]) == json.dumps(json.loads(first))
    assert len(found) == 2 * len(OPTIMIZERS)
    assert len({(line["table"], line["optimizer"]) for line in found}) == len(found)
    again = subprocess.run(command(metadata, tmp_path), check=True, capture_output=True)
    assert not again.stdout
    assert lines(tmp_path) == found
    for line in found:
        assert sorted(line["chosen"]) == list(range(N_CANDIDATES))  # fewer than the trials
        assert min(line["ranks"]) == 1
        assert max(line["scores"]) == line["best"]
    starts = {(line["table"], tuple(line["chosen"][:5])) for line in found}
    assert len(starts) == 2  # equal initial points for all


def test_an_unknown_optimizer_is_refused_at_once(metadata: Path, tmp_path: Path) -> None:
    wrong = [*command(metadata, tmp_path)[:-1], "smack"]
    told = subprocess.run(wrong, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "smack" in told.stderr
    assert "Traceback" not in told.stderr


def test_a_table_knows_others_and_never_itself(
    metadata: Path, benchmark_module: Callable[[str], ModuleType]
) -> None:
    tables = benchmark_module("tables")
    for name in ("one", "two", "three"):
        others = tables.known_tables(metadata, "svm", name, "others")
        assert sorted([name, *others]) == ["one", "three", "two"]
        sources = tables.sources_for(metadata, "svm", name, "others")
        assert (sources.n_tasks, len(sources.y)) == (2, 2 * N_CANDIDATES)
        tuning = tables.known_tables(metadata, "svm", name, "tuning")
        assert tuning == [other for other in others if tables.half_of(other) == "tuning"]


def test_a_twin_tells_what_its_space_shares(benchmark_module: Callable[[str], ModuleType]) -> None:
    tables = benchmark_module("tables")
    svm = tables.flat_parameters(tables.SVM)
    given = {"C": 2.0**14, "gamma": 0.5, "tol": 1e-3, "kernel": "rbf"}
    assert tables.translated(given, svm) == {"C": 2.0**6, "gamma": 0.5, "kernel": "rbf"}
    assert tables.translated({**given, "kernel": "sigmoid"}, svm) is None
    flow = tables.flat_parameters(tables.FLOW_ADABOOST)
    assert tables.translated({"iterations": 2, "product_terms": 3}, flow) == {"n_estimators": 50}


def test_a_twin_leaves_the_same_data_out(
    tmp_path: Path, benchmark_module: Callable[[str], ModuleType]
) -> None:
    tables = benchmark_module("tables")
    file = tmp_path / tables.TASK_NAMES
    file.parent.mkdir(parents=True)
    file.write_text("task_id,task_name\n31,credit-g\n54,vehicle\n")
    assert tables.data_name(tmp_path, "31") == tables.data_name(tmp_path, "german-numer")
    assert tables.data_name(tmp_path, "54") == tables.data_name(tmp_path, "vehicle")
    assert tables.data_name(tmp_path, "pima") == "diabetes"
