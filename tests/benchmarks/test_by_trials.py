"""What the comparison at equal trials says of answers whose risks are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def by_trials(benchmark_module: Callable[..., ModuleType]) -> ModuleType:
    return benchmark_module("by_trials", "peers")


def runs_with(module: ModuleType, out: Path, offs: dict[str, dict[str, float]]) -> list[object]:
    """Runs by table and settings whose answers are off by so much on every row."""
    y = np.random.default_rng(0).normal(size=50)
    runs = []
    for table, by_settings in offs.items():
        split = out / table / "seed-1"
        split.mkdir(parents=True)
        pd.DataFrame({"y": y}).to_csv(split / "test.csv", index=False)
        (split / "split.json").write_text(json.dumps({"task": "regression", "target": "y"}))
        for name, off in by_settings.items():
            run = module.Run(split, Path(f"{name}.yaml"), 60, 1)
            runs.append(run)
            run.folder.mkdir(parents=True)
            pd.DataFrame({"prediction": y + off}).to_csv(run.folder / "answer.csv", index=False)
            (run.folder / "result.json").write_text(json.dumps({"score": 0.5}))
    return runs


def test_ratios_are_to_the_first_settings_and_their_mean_is_geometric(
    by_trials: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offs = {"one": {"first": 1.0, "second": 2.0}, "two": {"first": 1.0, "second": 0.5}}
    found = by_trials.compare(runs_with(by_trials, tmp_path, offs))
    second = found[found["settings"] == "second"]
    assert second["ratio"].tolist() == pytest.approx([2.0, 0.5])
    assert second["difference"].tolist() == pytest.approx([1.0, -0.5])
    assert second["standard_error"].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    # the logarithms are +ln 2 and -ln 2: their mean is 0, its standard error ln 2
    assert "second: x 1.0000 +- 0.6931 on 2 splits" in capsys.readouterr().out


def test_a_split_that_one_of_the_settings_lacks_is_not_compared(
    by_trials: ModuleType, tmp_path: Path
) -> None:
    offs = {"one": {"first": 1.0, "second": 2.0}, "two": {"first": 1.0, "second": 0.5}}
    runs = runs_with(by_trials, tmp_path, offs)
    (runs[-1].folder / "answer.csv").unlink()
    assert set(by_trials.compare(runs)["table"]) == {"one"}
    (runs[0].folder / "answer.csv").unlink()
    with pytest.raises(SystemExit, match="no split has answers of all settings"):
        by_trials.compare(runs)
