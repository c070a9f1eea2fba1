"""`automl train` as a user runs it, for the benchmarks that look into its bundle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "evidence"))

from data_sets import data_settings, read_catalog

TEST_SHARE = 0.3
COMMAND = [sys.executable, "-m", "automl_flows.commands.cli", "train"]


def train(data: Path, home: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Result of one run with one worker in a new home; 30 % of the rows stay untouched.

    Parameters
    ----------
    home
        Emptied first.
    given
        Further settings.
    """
    facts = read_catalog(data).loc[name]
    settings = {**data_settings(data, facts, name), "test_share": TEST_SHARE, **given}
    table = settings.pop("table")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    config = home / "settings.json"
    config.write_text(json.dumps(settings | {"exclude_experience": [name]}))
    options = ["--json", "--config", str(config), "--home", str(home), "--workers", "1"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AUTOML_")}
    finished = subprocess.run(
        [*COMMAND, table, *options], capture_output=True, text=True, check=False, env=kept
    )
    if finished.returncode:
        raise RuntimeError(finished.stderr[-2000:])
    result: dict[str, Any] = json.loads(finished.stdout)
    return result
