"""``automl demo``: a bundled real table, end to end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.home import Home
from automl.reports.command_line import command
from automl_flows.words.rendering import emit

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


def show_next_steps(result: Mapping[str, Any], home: Home) -> None:
    """Print commands that work when they are copied."""
    folder = home.path / "demo"
    sample = write_sample(folder)
    run_id = str(result["run_id"])
    emit("")
    emit("What to do next")
    steps = {
        "predict": (
            "predict",
            run_id,
            str(sample),
            "-o",
            str(folder / "predictions.csv"),
            "--proba",
        ),
        "decisions": ("show", run_id),
        "pages": ("ui",),
        "own table": ("train", "TABLE.csv", "--target", "COLUMN", "--budget", "10m"),
    }
    for title, arguments in steps.items():
        emit(f"  {title:<10} {command(home, *arguments)}")
