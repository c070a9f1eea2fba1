"""A bundle in MLflow's form: a `pyfunc` model that carries its own loading code."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from automl.records import JsonScalar
from automl.tracking.store import quiet

LOADER_MODULE = "automl.inference.pyfunc"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_manifest(bundle: Path) -> dict[str, Any]:
    """Manifest of a bundle, without loading anything that can predict."""
    manifest: dict[str, Any] = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    return manifest


def bundle_digest(bundle: Path) -> str:
    """SHA-256 of a bundle's manifest, which holds the digests of all its files."""
    return hashlib.sha256((bundle / "manifest.json").read_bytes()).hexdigest()


def save_pyfunc(
    bundle: Path,
    local: Path,
    *,
    model_id: str,
    location: str | None,
    run: str,
    metadata: Mapping[str, Any],
) -> None:
    """Write the MLflow form of a bundle into a new folder.

    Parameters
    ----------
    bundle
        Becomes ``data/bundle``; its code also ``code/automl``.
    local
        Folder to make.
    model_id, location, run
        Of the logged model and its run.
    metadata
        Plain JSON for the file ``MLmodel``.
    """
    with quiet():
        from mlflow import pyfunc
        from mlflow.models import Model
        from pandas import DataFrame

    manifest = read_manifest(bundle)
    model = Model(
        artifact_path=location,
        run_id=run,
        model_uuid=model_id,
        model_id=model_id,
        signature=_signature(manifest),
        metadata=dict(metadata),
    )
    with quiet():
        pyfunc.save_model(
            str(local),
            loader_module=LOADER_MODULE,
            data_path=str(bundle),
            code_paths=[str(bundle / "code" / "automl")],
            mlflow_model=model,
            pip_requirements=list(manifest["requirements"]),
            input_example=DataFrame(input_example(manifest)),
        )
    for cache in local.rglob("__pycache__"):
        shutil.rmtree(cache, ignore_errors=True)


def _signature(manifest: Mapping[str, Any]) -> Any:
    """Every column of any type and optional: the model's own schema checks and names columns.

    MLflow's typed columns would refuse whole numbers where it saw fractions, and any `category`.
    """
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType, DataType

    anything = AnyType()  # type: ignore[no-untyped-call]
    names = [column["name"] for column in manifest["schema"]["columns"]]
    inputs = Schema([ColSpec(anything, name, required=False) for name in names])
    kind = anything if manifest.get("classes") else DataType.double
    params = ParamSchema([ParamSpec("proba", DataType.boolean, default=False)])
    return ModelSignature(
        inputs=inputs, outputs=Schema([ColSpec(kind, "prediction")]), params=params
    )


def input_example(manifest: Mapping[str, Any]) -> list[dict[str, JsonScalar]]:
    """Records of raw columns: those the run put in the manifest, else made from the schema."""
    given = (manifest.get("extra") or {}).get("input_example")
    if given:
        return [dict(row) for row in given]
    columns = manifest["schema"]["columns"]
    filled = {column["name"]: _value(column) for column in columns}
    return [filled, dict.fromkeys(filled)]


def _value(column: Mapping[str, Any]) -> JsonScalar:
    stored, categories = column["stored"], column["categories"]
    if column["role"] == "date":
        return _date(column)
    if column["role"] != "nominal" or not categories:
        return 0.0
    text = str(categories[0])
    if stored == "number":
        return float(text)
    return text.lower() in ("true", "1") if stored == "boolean" else text


def _date(column: Mapping[str, Any]) -> str:
    day = _EPOCH + timedelta(days=float(column["date_origin"]))
    form = str(column["date_format"] or "")
    return day.strftime(form if "%" in form else "%Y-%m-%d")
