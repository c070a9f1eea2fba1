"""A `TableModel` as a folder of plain files.

::

    manifest.json         what the model is, how each part is stored, layers, digests, versions, requirements
    preprocessors/N.skops
    estimators/N.skops    the estimator without the parts that have a format of their own
    estimators/N.K.txt    … which lie beside it (`automl.inference.native`)
    estimators/N.pickle   only where skops cannot or may not hold it
    reference.json        what the training table looked like (`automl.inference.reference`); not in earlier bundles
    requirements.txt
    code/automl/          the packages that predict, so that the model loads without ours installed

To load it elsewhere put ``code`` on the import path and call `load_bundle`. Pickles and types outside the reviewed
list (`automl.inference.trusted`) run code of whoever wrote the file. They are read with ``trust=True``, or where
the manifest is signed with the key of the installation that reads it (`automl.inference.signature`).
"""

from __future__ import annotations

import json
import shutil
import uuid
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from automl.errors import DataError, SettingsError
from automl.inference.example import input_example
from automl.inference.manifest import (
    FORMAT,
    MANIFEST,
    Manifest,
    MemberEntry,
    PipelineEntry,
    parse_manifest,
)
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.packing import (
    copy_code,
    read_estimator,
    read_preprocessor,
    versions,
    warn_of_versions,
    write_estimator,
    write_preprocessor,
)
from automl.inference.plain_records import ShapeError
from automl.inference.provenance import KIND, digests, is_own, verify
from automl.inference.reference import REFERENCE, TrainingReference
from automl.inference.second_layer import StackInputs
from automl.inference.signature import signed

PYTHON_NAMES = {"python", "automl"}


def write_bundle(
    model: TableModel,
    folder: str | Path,
    *,
    extra: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> dict[str, Any]:
    """Write a model; a bundle that is there already is replaced at once when the new one is complete.

    Parameters
    ----------
    folder
        Becomes the bundle.
    extra
        Plain JSON that is kept in the manifest, such as the run's id.
    key
        Of this installation, to sign the manifest with. Only for models that this process fitted, or read from
        files that were proven: the signature lets their pickles run.

    Returns
    -------
    The manifest.

    Raises
    ------
    SettingsError
        If a class label is neither text, number, boolean nor None, or `folder` is not a bundle.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise SettingsError(f"{folder} is not empty and not a bundle; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}")
    try:
        manifest = _write(model, partial, dict(extra or {}), key)
        _replace(folder, partial)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


def load_bundle(
    folder: str | Path, *, trust: bool = False, key: bytes | None = None, run: str = ""
) -> TableModel:
    """Read a model.

    Parameters
    ----------
    folder
        Written by `write_bundle`.
    trust
        Whether pickles and types that are not reviewed may be loaded, whoever wrote them: they can run any code.
    key
        Of this installation. Where the manifest is signed with it, they are loaded without `trust`.
    run
        Id of the run that the bundle is said to be of; the signature proves nothing about another run's.

    Raises
    ------
    DataError
        If the manifest is malformed or was changed since it was signed with `key`, a file is missing, differs
        from its digest or cannot be read, or the parts do not fit each other.
    SettingsError
        If the folder is no bundle, has another format, or needs `trust`.

    Warns
    -----
    AutoMLWarning
        If a library's version differs from the one that wrote the bundle.
    """
    folder = _place(Path(folder))
    content, manifest = parse_manifest(folder / MANIFEST)
    is_proven = is_own(folder, content, key, run)
    verify(folder, manifest.files)
    warn_of_versions(manifest.versions)
    model = _model(folder, manifest, trust=trust or is_proven)
    if not is_proven:
        _try(model, folder, content)
    return model


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Manifest of a bundle.

    Raises
    ------
    DataError, SettingsError
        See `automl.inference.manifest.parse_manifest`.
    """
    return parse_manifest(_place(Path(folder)) / MANIFEST)[0]


def _model(folder: Path, manifest: Manifest, *, trust: bool) -> TableModel:
    preprocessors = [read_preprocessor(folder / n, trust=trust) for n in manifest.preprocessors]
    estimators = [read_estimator(folder, entry, trust=trust) for entry in manifest.estimators]
    members = [_member(entry, preprocessors, estimators) for entry in manifest.members]
    try:
        return TableModel(
            manifest.schema,
            members,
            task=manifest.task,
            target=manifest.target,
            classes=_labels(manifest),
            threshold=manifest.threshold,
            cost_matrix=manifest.cost_matrix,
            combine=manifest.combine,
            calibration=manifest.calibration,
            target_reading=manifest.target_reading,
            reference=_reference(folder, manifest),
        )
    except ValueError as error:
        raise DataError(f"{folder / MANIFEST}: {error}") from None


def _reference(folder: Path, manifest: Manifest) -> TrainingReference | None:
    """Reference of the training table; None if the bundle has none."""
    if REFERENCE not in manifest.files:
        return None
    try:
        text = (folder / REFERENCE).read_text(encoding="utf-8")
        return TrainingReference.from_json(text, manifest.schema)
    except (ShapeError, ValueError, RecursionError) as error:
        raise DataError(f"{folder / REFERENCE}: {error}") from None


def _try(model: TableModel, folder: Path, content: Mapping[str, Any]) -> None:
    """Predict rows made from the schema: untrusted parts may not fit each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.raw(pd.DataFrame(input_example(content), dtype=object))
        except Exception as error:  # noqa: BLE001 - whatever parts from elsewhere raise together
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise DataError(
                f"{folder / MANIFEST}: the model cannot predict rows of its own schema: {reason}"
            ) from None


def _replace(folder: Path, new: Path) -> None:
    """Move a complete bundle to its folder; an old one lies aside until the new one is there."""
    aside = _aside(folder)
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    try:
        new.rename(folder)
    except OSError:
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _place(folder: Path) -> Path:
    """The folder, or where its bundle lies aside since its replacement was cut short."""
    aside = _aside(folder)
    return aside if not folder.exists() and (aside / MANIFEST).exists() else folder


def _write(
    model: TableModel, folder: Path, extra: dict[str, Any], key: bytes | None
) -> dict[str, Any]:
    for name in ("preprocessors", "estimators"):
        (folder / name).mkdir(parents=True)
    pipelines = [pipeline for member in model.members for pipeline in member.pipelines]
    preprocessors = _distinct([p.preprocessor for p in pipelines if p.preprocessor is not None])
    estimators = _distinct([pipeline.estimator for pipeline in pipelines])
    manifest = {
        "format": FORMAT,
        **_facts(model),
        "preprocessors": [
            write_preprocessor(value, folder, number) for number, value in enumerate(preprocessors)
        ],
        "estimators": [
            write_estimator(value, folder, number) for number, value in enumerate(estimators)
        ],
        "members": _members(model, preprocessors, estimators),
        "extra": extra,
    }
    manifest["needs_trust"] = any(
        entry["storage"] == "cloudpickle" for entry in manifest["estimators"]
    )
    manifest["versions"] = versions(manifest["estimators"])
    manifest["requirements"] = [
        f"{name}=={version}"
        for name, version in manifest["versions"].items()
        if name not in PYTHON_NAMES
    ]
    (folder / "requirements.txt").write_text("\n".join([*manifest["requirements"], ""]))
    if model.reference is not None:
        (folder / REFERENCE).write_text(model.reference.to_json(), encoding="utf-8")
    copy_code(folder / "code" / "automl")
    manifest["files"] = digests(folder)
    if key is not None:
        manifest = signed(manifest, key, KIND)
    text = json.dumps(manifest, indent=1, allow_nan=False, ensure_ascii=False)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return manifest


def _facts(model: TableModel) -> dict[str, Any]:
    is_classification = model.task != "regression"
    costs = model.cost_matrix_ if is_classification else None
    return {
        "task": str(model.task),
        "target": model.target,
        "classes": _plain_labels(model.classes_) if is_classification else None,
        "classes_dtype": str(model.classes_.dtype) if is_classification else None,
        "threshold": getattr(model, "threshold_", None),
        "cost_matrix": None if costs is None else costs.tolist(),
        "combine": model.combine,
        "calibration": None if model.calibration is None else model.calibration.to_json(),
        "target_reading": None if model.target_reading is None else model.target_reading.to_json(),
        "schema": model.schema.to_json(),
    }


def _members(
    model: TableModel, preprocessors: Sequence[Any], estimators: Sequence[Any]
) -> list[dict[str, Any]]:
    places = [
        {id(value): i for i, value in enumerate(each)} for each in (preprocessors, estimators)
    ]
    return [
        {
            "weight": float(member.weight),
            "family": member.family,
            "trial": member.trial,
            "inputs": list(member.inputs),
            "pipelines": [
                {
                    "preprocessor": places[0].get(id(pipeline.preprocessor)),
                    "estimator": places[1][id(pipeline.estimator)],
                    "stack": None if pipeline.stack is None else pipeline.stack.to_json(),
                }
                for pipeline in member.pipelines
            ],
        }
        for member in model.members
    ]


def _member(entry: MemberEntry, preprocessors: Sequence[Any], estimators: Sequence[Any]) -> Member:
    pipelines = [_pipeline(part, preprocessors, estimators) for part in entry.pipelines]
    return Member(entry.weight, pipelines, entry.family, entry.trial, entry.inputs)


def _pipeline(
    entry: PipelineEntry, preprocessors: Sequence[Any], estimators: Sequence[Any]
) -> FittedPipeline:
    place, stack = entry.preprocessor, entry.stack
    return FittedPipeline(
        None if place is None else preprocessors[place],
        estimators[entry.estimator],
        None if stack is None else StackInputs(np.array(stack.center), np.array(stack.scale)),
    )


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())


def _plain_labels(classes: np.ndarray[Any, Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    for label in labels:
        if not isinstance(label, (str, int, float, bool, type(None))):
            raise SettingsError(
                f"a class label must be text, a number or a boolean to be stored; got {label!r}"
            )
    return labels


def _labels(manifest: Manifest) -> list[Any] | None:
    """Class labels in the type that they had."""
    if manifest.classes is None or manifest.classes_dtype == "object":
        return None if manifest.classes is None else list(manifest.classes)
    try:
        return list(np.array(manifest.classes, dtype=manifest.classes_dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"classes must be labels of type {manifest.classes_dtype}: {error}"
        ) from None
