"""``automl demo``: a bundled real table, end to end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.home import Home
from automl.reports.command_line import command
from automl_flows.words.result_display import next_commands

if TYPE_CHECKING:
    from automl.settings import Settings

DEMO_TABLE = "sklearn:breast_cancer"
DEMO_TARGET = "target"
SAMPLE_ROWS = 20
"""A screenful to predict."""


def demo_settings(budget: str) -> Settings:
    """Settings of the demo run: the default preset on a small table with a fifth as test rows."""
    from automl.settings.sources import resolve_settings

    return resolve_settings(
        {
            "table": DEMO_TABLE,
            "target": DEMO_TARGET,
            "budget_seconds": budget,
            "test_share": 0.2,
            "name": "demo",
        },
        environment={},
        called={"budget_seconds": "--budget"},
    )


def write_sample(folder: Path) -> Path:
    """Write some rows without their target as an input for `automl predict`."""
    from automl.data.readers import read_table

    frame = read_table(DEMO_TABLE).drop(columns=DEMO_TARGET)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "breast_cancer_sample.csv"
    frame.sample(SAMPLE_ROWS, random_state=0).to_csv(path, index=False)
    return path


def demo_commands(result: Mapping[str, Any], home: Home) -> dict[str, str]:
    """What to do after the demo, by name; writes the table that the command of `predict` names."""
    folder = home.path / "demo"
    sample, out = str(write_sample(folder)), str(folder / "predictions.csv")
    usual = next_commands(result, home)
    predict = command(home, "predict", str(result["run_id"]), sample, "-o", out, "--proba")
    return {
        "why": usual["why"],
        "report": usual["report"],
        "predict": predict,
        "pages": command(home, "ui"),
        "own table": command(home, "train", "TABLE.csv", "--target", "COLUMN", "--budget", "10m"),
    }
