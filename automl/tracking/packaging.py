"""A bundle in MLflow's form: a `pyfunc` model that carries its own loading code."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from automl.inference.example import input_example
from automl.inference.manifest import MANIFEST, parse_manifest
from automl.tracking.store import quiet

LOADER_MODULE = "automl.inference.pyfunc"


def read_manifest(bundle: Path) -> dict[str, Any]:
    """Manifest of a bundle, without loading anything that can predict.

    Raises
    ------
    SettingsError, DataError
        See `automl.inference.manifest.parse_manifest`.
    """
    return parse_manifest(bundle / MANIFEST)[0]


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
    with quiet(), _requirements_as_they_are():
        pyfunc.save_model(
            str(local),
            loader_module=LOADER_MODULE,
            data_path=str(bundle),
            code_paths=[str(bundle / "code" / "automl")],
            mlflow_model=model,
            pip_requirements=list(manifest["requirements"]),
            # as objects: what is missing is null in JSON, not NaN
            input_example=DataFrame(input_example(manifest), dtype=object),
        )
    for cache in local.rglob("__pycache__"):
        shutil.rmtree(cache, ignore_errors=True)


@contextmanager
def _requirements_as_they_are() -> Iterator[None]:
    """Let MLflow not hold the requirements against this environment, which they are read from.

    For a warning that cannot come it reads the metadata of every installed distribution: 0.8 s of a processor.
    """
    from mlflow.utils import environment

    names, check = vars(environment), "warn_dependency_requirement_mismatches"
    before = names[check]
    names[check] = lambda _: None
    try:
        yield
    finally:
        names[check] = before


def _signature(manifest: Mapping[str, Any]) -> Any:
    """Every column optional and of any type: the model itself reads what comes, and says what it cannot read.

    MLflow's types would change or refuse rows that the model takes: ``long`` makes 1 of 1.5 and refuses null,
    ``boolean`` makes true of null and of any text, ``double`` refuses a frame's whole numbers (MLflow 3.17,
    `mlflow.models.utils._enforce_mlflow_datatype`).
    """
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType, DataType

    inputs: list[ColSpec | TensorSpec] = [
        ColSpec(AnyType(), column["name"], required=False)  # type: ignore[no-untyped-call]
        for column in manifest["schema"]["columns"]
    ]
    outputs = Schema([ColSpec(column_type(output_type(manifest)), "prediction")])
    params = ParamSchema([ParamSpec("proba", DataType.boolean, default=False)])
    return ModelSignature(inputs=Schema(inputs), outputs=outputs, params=params)


def column_type(value_type: str) -> Any:
    """MLflow's name of a `value_type`."""
    from mlflow.types.schema import AnyType, DataType

    types = {
        "integer": DataType.long,
        "float": DataType.double,
        "boolean": DataType.boolean,
        "text": DataType.string,
        "date": DataType.datetime,
    }
    return types[value_type] if value_type in types else AnyType()  # type: ignore[no-untyped-call]


def output_type(manifest: Mapping[str, Any]) -> str:
    """`value_type` of what the model predicts."""
    labels = manifest.get("classes")
    if not labels:
        return "float"
    kinds = {type(label) for label in labels}
    names = {bool: "boolean", int: "integer", float: "float", str: "text"}
    return names.get(kinds.pop(), "any") if len(kinds) == 1 else "any"
