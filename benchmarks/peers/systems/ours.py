"""`automl train` and `automl predict`, as a user runs them; our knowledge of the table under test left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

from systems.protocol import N_CORES, Job

COMMAND = [sys.executable, "-m", "automl_flows.commands.cli"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("AUTOML_")}
"""Without settings of the shell that starts the benchmark."""

SIBLINGS = {
    "cpu_act": ("cpu_small",),
    "sick": ("hypothyroid",),
    "puma32H": ("puma8NH",),
    "elevators": ("delta_elevators",),
}
"""Known tables of the same rows or the same machine as the one under test: they would teach about it."""


def options_of(job: Job) -> list[str]:
    """What `automl train` is told of a table and its columns, and the knowledge that it may not use."""
    roles = [word for column in job.nominal for word in ("--role", f"{column}=nominal")]
    unknown = ",".join((job.name, *SIBLINGS.get(job.name, ())))
    return [
        "--target", job.target, "--task", job.task, "--metric", job.metric, "--seed", str(job.seed),
        "--exclude-experience", unknown, *roles,
    ]  # fmt: skip


def prediction_of(job: Job, run_id: str, out: Path) -> list[str]:
    """Words of `automl` that predict the test rows into a file."""
    options = [] if job.is_regression else ["--proba"]
    return ["predict", run_id, str(job.folder / "test.csv"), "-o", str(out), *options]


def fit(job: Job):
    home = ["--home", str(job.folder / "ours-home")]
    settings = job.folder / "settings.yaml"
    config = ["--config", str(settings)] if settings.exists() else []
    done = subprocess.run(
        [
            *COMMAND, "train", str(job.folder / "train.csv"), "--budget", f"{job.left:.0f}s",
            "--workers", str(N_CORES), *options_of(job), *config, *home, "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    result = json.loads(done.stdout)
    (job.folder / "ours-result.json").write_text(done.stdout)

    def predict() -> pd.DataFrame:
        out = job.folder / "ours-predictions.csv"
        command = [*COMMAND, *prediction_of(job, result["run_id"], out), *home]
        subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
        found = pd.read_csv(out)
        return found if job.is_regression else found.drop(columns="prediction")

    return predict
