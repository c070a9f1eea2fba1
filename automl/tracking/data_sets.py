"""The training table as MLflow's data set: where it is, its digest and its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from automl.addresses import public_address
from automl.home import RunFolder
from automl.inference.manifest import MANIFEST
from automl.tracking import layout
from automl.tracking.packaging import column_type, output_type, read_manifest

if TYPE_CHECKING:
    from mlflow.entities import Dataset

DIGEST_CHARACTERS = 36
"""MLflow's limit of a data set's digest."""
SCHEMA_CHARACTERS = 1_000_000
"""MLflow's limit of a schema is 1,048,576 bytes (`MAX_DATASET_SCHEMA_SIZE`); a wider table goes without."""


def data_set(folder: RunFolder, facts: Mapping[str, Any]) -> Dataset | None:
    """The training table of a run; None if its digest is not known.

    Parameters
    ----------
    facts : content of `run.json`
    """
    from mlflow.entities import Dataset

    data = facts.get("data") or {}
    if not data.get("digest"):
        return None
    address = public_address(str(facts["settings"].get("table", "")))
    kind, key = _source(address)
    profile = {"num_rows": data.get("rows", 0), "num_columns": data.get("columns")}
    return Dataset(
        name=layout.problem_name(facts),
        digest=str(data["digest"])[:DIGEST_CHARACTERS],
        source_type=kind,
        source=json.dumps({key: address}),
        schema=_schema(folder),
        profile=json.dumps({name: value for name, value in profile.items() if value is not None}),
    )


def _source(address: str) -> tuple[str, str]:
    """MLflow's name of the kind of place that a table is in, and of its address there."""
    scheme = address.partition("://")[0] if "://" in address else ""
    if scheme in ("http", "https"):
        return "http", "url"
    return scheme or "local", "uri"


def _schema(folder: RunFolder) -> str | None:
    """Columns of the table that the model takes, and its target; None if there is no model."""
    from mlflow.types import ColSpec, Schema

    if not (folder.bundle / MANIFEST).is_file():
        return None
    manifest = read_manifest(folder.bundle)
    columns = [
        ColSpec(column_type(column["value_type"]), column["name"], required=False)
        for column in manifest["schema"]["columns"]
    ]
    target = ColSpec(column_type(output_type(manifest)), manifest["target"])
    text = json.dumps({"mlflow_colspec": Schema([*columns, target]).to_dict()})
    return text if len(text) <= SCHEMA_CHARACTERS else None
