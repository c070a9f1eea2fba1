"""What is reported of the score by its budget, and one cell as the command makes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def modules(benchmark_module: Callable[..., ModuleType]) -> tuple[ModuleType, ModuleType]:
    """The script and its report."""
    found = (benchmark_module(name, "time_curve") for name in ("time_curve", "curve_report"))
    return next(found), next(found)


def cell(
    table: str, budget: float, seed: int, score: float, *, load: float = 0.1, spread: float = 0.01
) -> dict[str, Any]:
    """Record of a run whose scores of drawn rows have a spread of their own."""
    rng = np.random.default_rng([seed, int(budget)])
    drawn = (score + spread * rng.normal(size=200)).tolist()
    found = {"table": table, "budget": budget, "seed": seed, "is_trials": False, "load": load}
    return {**found, "score": score, "drawn": drawn}


def written(out: Path, cells: list[dict[str, Any]]) -> Path:
    (out / "cells").mkdir(parents=True, exist_ok=True)
    for i, one in enumerate(cells):
        (out / "cells" / f"{i:03d}.json").write_text(json.dumps(one))
    return out


def test_the_report_has_means_and_names_a_table_that_falls_by_more_than_its_noise(
    modules: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    scores = {
        "falls": {30: [0.60, 0.61, 0.62], 60: [0.50, 0.51, 0.53]},
        "noisy": {30: [0.60, 0.70, 0.80], 60: [0.75, 0.60, 0.70]},
        "rises": {30: [0.40, 0.41, 0.42], 60: [0.60, 0.62, 0.61]},
    }
    cells = [
        cell(table, float(budget), seed, score)
        for table, by_budget in scores.items()
        for budget, by_seed in by_budget.items()
        for seed, score in enumerate(by_seed)
    ]
    told = modules[1].text(written(tmp_path, cells))
    # -0.0967, -0.0167 and 0.2: mean 0.0289, sd 0.1534
    assert "| 30s | 3 | 0.5733 |  |" in told
    assert "| 60s | 3 | 0.6022 | +0.0289 ± 0.0886 (3 tables) |" in told
    assert "| falls | 0.6100 | 0.5133 |" in told
    assert "1 of 3 pairs of budgets of a table fall" in told
    assert "- falls: -0.0967 ±" in told
    assert "noisy: -" not in told
    assert "beside other work" not in told


def test_the_noise_is_the_greater_one_of_seeds_and_of_rows(
    modules: tuple[ModuleType, ModuleType],
) -> None:
    report = modules[1]
    pairs = [(cell("t", 30.0, s, 0.5), cell("t", 60.0, s, 0.4 + 0.05 * s)) for s in range(3)]
    difference, noise = report.difference_of(pairs)
    assert difference == pytest.approx(-0.05)
    assert noise == pytest.approx(0.05 / np.sqrt(3))  # of -0.1, -0.05 and 0
    loud = [(cell("t", 30.0, s, 0.5, spread=0.2), cell("t", 60.0, s, 0.4)) for s in range(3)]
    assert report.difference_of(loud)[1] == pytest.approx(0.2 / np.sqrt(3), rel=0.1)
    assert report.difference_of(loud[:1])[1] == pytest.approx(0.2, rel=0.1)


def test_cells_that_lack_their_pair_and_busy_machines_are_told_of(
    modules: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    report = modules[1]
    assert report.text(tmp_path) == "no cells"
    cells = [cell("a", 30.0, 0, 0.5), cell("a", 60.0, 1, 0.6, load=3.0), cell("b", 60.0, 0, 0.7)]
    told = report.text(written(tmp_path, cells))
    assert "0 of 0 pairs" in told
    assert "| b |  | 0.7000 |" in told
    assert "1 cells began beside other work" in told
    assert "a 60 s seed 1 (load 3.0)" in told


def data_folder(folder: Path) -> Path:
    """A catalog of one small table."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=90) > 0, "yes", "no")
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y}).to_csv(folder / "tiny.csv", index=False)
    catalog = [{"name": "tiny", "task": "binary", "target": "y", "file": "tiny.csv"}]
    pd.DataFrame(catalog).to_csv(folder / "catalog.csv", index=False)
    columns = {"a": "numeric", "b": "numeric", "y": "nominal"}
    (folder / "schema.json").write_text(json.dumps({"tiny": {"columns": columns}}))
    return folder


@pytest.mark.integration
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("_with_server")
def test_a_cell_is_one_run_of_the_command_and_is_not_repeated(
    modules: tuple[ModuleType, ModuleType],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    curve = modules[0]
    data, out = data_folder(tmp_path / "data"), tmp_path / "out"
    options = ["--trials", "3", "--tables", "tiny", "--seeds", "1", "--workers", "1"]
    curve.main([str(data), str(out), *options])
    (found,) = modules[1].read(out)
    assert found["score"] == pytest.approx(found["run_score"])  # the one that the run reports
    assert (found["rows"], len(found["drawn"]), found["trials"]) == (27, 200, 3)
    assert np.mean(found["drawn"]) == pytest.approx(found["score"], abs=0.15)
    assert not list((out / "homes").iterdir())
    assert f"| tiny | {found['score']:.4f} |" in capsys.readouterr().out
    monkeypatch.setattr(curve, "trained", lambda *_: pytest.fail("made again"))
    curve.main([str(data), str(out), *options])
    with pytest.raises(SystemExit, match="has no table 'huge'"):
        curve.main([str(data), str(out), "--tables", "huge", "--trials", "3"])


def test_a_cell_that_fails_says_why_and_is_tried_again(
    modules: tuple[ModuleType, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve = modules[0]
    data, out = data_folder(tmp_path / "data"), tmp_path / "out"

    def fails(*_: Any) -> None:
        raise curve.subprocess.CalledProcessError(3, "automl", stderr="first\nno such target\n")

    monkeypatch.setattr(curve, "trained", fails)
    asked = curve.Cell("tiny", 30.0, 0)
    assert curve.run(data, out, asked, 1)["error"] == "no such target"
    assert not (out / "cells").exists()
