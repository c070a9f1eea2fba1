"""Tables of the data folder, as settings of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd


def read_catalog(data: Path) -> pd.DataFrame:
    """Facts of the tables by name."""
    return pd.read_csv(data / "catalog.csv").set_index("name")


def data_settings(data: Path, facts: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What belongs to a table: itself, its target, kind of task and nominal columns.

    Parameters
    ----------
    facts
        Line of the catalog.
    """
    columns = json.loads((data / "schema.json").read_text())[name]["columns"]
    return {
        "table": str((data / facts["file"]).resolve()),
        "target": facts["target"],
        "task": facts["task"],
        "roles": {column: "nominal" for column, kind in columns.items() if kind == "nominal"},
    }
