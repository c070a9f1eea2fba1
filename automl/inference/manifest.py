"""The manifest of a bundle: what it may say, and what it must agree with.

The author of a bundle wrote its manifest, so nothing in it is trusted. Every field has a type, paths stay inside
the bundle, every loaded file has a digest, and every reference must lead to something. A violation is refused with
the file and the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from automl.errors import DataError, SettingsError
from automl.inference.calibration import Calibration
from automl.inference.column_schema import UNSEEN, USED_ROLES, ColumnSchema
from automl.inference.combining import Combine
from automl.inference.dates import ELAPSED, PARTS
from automl.inference.forms import NumberForm
from automl.inference.plain_records import ShapeError, read_record
from automl.inference.readings import Reading
from automl.inference.schema import TableSchema

FORMAT = 9
"""Format of the bundles that are written."""
READABLE = (2, 3, 4, 5, 6, 7, 8, FORMAT)
"""Format 2 has one layer, and the mean of its members; before format 4 columns have no types for MLflow, before
format 5 no readings, before format 6 no named parts of dates, no differences and no texts, before format 7 no
constants as plain numbers, without a preprocessor, before format 8 no calibration, before format 9 no reading of the
target."""
MANIFEST = "manifest.json"
CHECKED_VERSIONS = ("scikit-learn", "numpy", "pandas")
MOST_BYTES = 2**27
"""A manifest of 2,000 columns with 1,000 categories each has about 2**25."""
MOST_PATH_CHARACTERS = 512
"""Far more than paths of ours have, far fewer than file systems take (by judgement)."""

Label = bool | int | float | str | None
PartKind = Literal[
    "lightgbm", "xgboost", "catboost", "trees", "histogram_trees", "category_codes", "constant"
]
LabelType = Literal[
    "object", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class PartEntry:
    """A part of an estimator in a format of its own, and its attribute path; see `automl.inference.native`."""

    kind: PartKind
    path: tuple[str, ...]
    file: str


@dataclass(frozen=True)
class EstimatorEntry:
    """How one estimator is stored."""

    class_: str
    storage: Literal["native", "skops", "cloudpickle"]
    file: str | None
    parts: tuple[PartEntry, ...]


@dataclass(frozen=True)
class StackEntry:
    """`automl.inference.second_layer.StackInputs` as lists."""

    center: tuple[float, ...]
    scale: tuple[float, ...]


@dataclass(frozen=True)
class PipelineEntry:
    """Positions of the preprocessor and of the estimator of a pipeline."""

    preprocessor: int | None
    estimator: int
    stack: StackEntry | None = None


@dataclass(frozen=True)
class MemberEntry:
    """`automl.inference.model.Member` without what it holds."""

    weight: float
    family: str
    trial: str
    pipelines: tuple[PipelineEntry, ...]
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class SignatureEntry:
    """See `automl.inference.signature`."""

    key: str
    hmac: str


@dataclass(frozen=True)
class Manifest:
    """All that a manifest holds; see `automl.inference.bundle`.

    Parameters
    ----------
    files
        SHA-256 by path.
    versions
        Version by distribution, and of Python and this program.
    extra
        Plain JSON of the run that wrote it, such as its id.
    """

    format: int
    task: Literal["binary", "multiclass", "regression"]
    target: str
    classes: tuple[Label, ...] | None
    classes_dtype: LabelType | None
    threshold: float | None
    cost_matrix: tuple[tuple[float, ...], ...] | None
    schema: TableSchema
    preprocessors: tuple[str, ...]
    estimators: tuple[EstimatorEntry, ...]
    members: tuple[MemberEntry, ...]
    extra: Mapping[str, Any]
    needs_trust: bool
    versions: Mapping[str, str]
    requirements: tuple[str, ...]
    files: Mapping[str, str]
    combine: Combine = "mean"
    calibration: Calibration | None = None
    target_reading: Reading | None = None
    signature: SignatureEntry | None = field(default=None)


def parse_manifest(path: Path) -> tuple[dict[str, Any], Manifest]:
    """A manifest as in its file, and as a consistent record.

    Raises
    ------
    SettingsError
        If there is no manifest that can be read, or its format is none of `READABLE`.
    DataError
        If a field of it is not what it must be.
    """
    content = _read(path)
    try:
        manifest = read_record(Manifest, content)
        _check(manifest)
    except ShapeError as error:
        raise DataError(f"{path}: {error}") from None
    return content, manifest


def _read(path: Path) -> dict[str, Any]:
    """JSON object of a format that is known."""
    content: object = None
    reason = "it is not there or no file"
    try:
        if path.is_file():
            content, reason = _json(path), "it holds no JSON object"
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error)[:200]
    if not isinstance(content, dict):
        raise SettingsError(f"{path.parent} is not a model bundle: {path.name}: {reason}")
    version = content.get("format")
    if isinstance(version, bool) or not isinstance(version, int):
        raise SettingsError(f"{path}: format must be one of {', '.join(map(str, READABLE))}")
    if version not in READABLE:
        relation = "later" if version > FORMAT else "earlier"
        raise SettingsError(
            f"{path}: format {version} is {relation} than {FORMAT}, the one that this version knows"
        )
    return content


def _json(path: Path) -> object:
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    return json.loads(path.read_text(encoding="utf-8"))


def _check(manifest: Manifest) -> None:
    """What the types do not say."""
    _check_files(manifest)
    for number, entry in enumerate(manifest.estimators):
        _check_estimator(entry, f"estimators[{number}]")
    has_pickle = any(entry.storage == "cloudpickle" for entry in manifest.estimators)
    if manifest.needs_trust != has_pickle:
        raise ShapeError("needs_trust", f"{has_pickle}, by the estimators", manifest.needs_trust)
    for name in CHECKED_VERSIONS:
        if name not in manifest.versions:
            raise ShapeError(f"versions[{name!r}]", "there", "nothing")
    _check_classes(manifest)
    _check_calibration(manifest)
    _check_target_reading(manifest)
    _check_members(manifest)
    _check_columns(manifest.schema)


def _check_files(manifest: Manifest) -> None:
    """Whether paths stay inside, and whatever is loaded has a digest."""
    for name, digest in manifest.files.items():
        _check_path(name, "a name in files")
        if not _DIGEST.fullmatch(digest):
            raise ShapeError(f"files[{name!r}]", "a SHA-256 of 64 hexadecimal digits", digest)
    for place, name in _loaded_files(manifest):
        _check_path(name, place)
        if name not in manifest.files:
            raise ShapeError(place, "a path that files has a digest of", name)


def _check_classes(manifest: Manifest) -> None:
    if (manifest.classes is None) != (manifest.classes_dtype is None):
        raise ShapeError("classes_dtype", "null exactly if classes is null", manifest.classes_dtype)
    costs = manifest.cost_matrix or ()
    if any(len(row) != len(costs) for row in costs):
        raise ShapeError("cost_matrix", "square", [list(row) for row in costs])


def _check_calibration(manifest: Manifest) -> None:
    calibration = manifest.calibration
    if calibration is None:
        return
    if not calibration.power > 0:
        raise ShapeError("calibration.power", "above 0", calibration.power)
    if len(calibration.biases) != len(manifest.classes or ()):
        raise ShapeError("calibration.biases", "one for each class", list(calibration.biases))


def _check_target_reading(manifest: Manifest) -> None:
    reading = manifest.target_reading
    if reading is None:
        return
    if manifest.task != "regression":
        raise ShapeError("target_reading", f"null for the task {manifest.task}", reading.to_json())
    if not isinstance(reading.form, NumberForm):
        raise ShapeError("target_reading.form.kind", "number", reading.form.kind)


def _loaded_files(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Place and name of every file that a model is loaded from."""
    for number, name in enumerate(manifest.preprocessors):
        yield f"preprocessors[{number}]", name
    for number, entry in enumerate(manifest.estimators):
        if entry.file is not None:
            yield f"estimators[{number}].file", entry.file
        for position, part in enumerate(entry.parts):
            yield f"estimators[{number}].parts[{position}].file", part.file


def _check_path(name: str, place: str) -> None:
    path = PurePosixPath(name)
    is_plain = name == path.as_posix() and name.isprintable() and "\\" not in name
    is_inside = not path.is_absolute() and ".." not in path.parts and path.parts
    if not is_plain or not is_inside or len(name) > MOST_PATH_CHARACTERS:
        raise ShapeError(place, "a relative path inside the bundle", name)


def _check_estimator(entry: EstimatorEntry, place: str) -> None:
    """Whether file and parts are those that the storage has."""
    is_native = entry.storage == "native"
    if (entry.file is None) != is_native:
        raise ShapeError(f"{place}.file", "null exactly if the storage is native", entry.file)
    n_parts = len(entry.parts)
    if (is_native and n_parts != 1) or (entry.storage == "cloudpickle" and n_parts):
        raise ShapeError(
            f"{place}.parts", "one part if native, none in a pickle", list(entry.parts)
        )
    for number, part in enumerate(entry.parts):
        is_whole = not part.path
        if is_whole != is_native or not all(map(_ATTRIBUTE.fullmatch, part.path)):
            expected = "names of attributes, and empty exactly if the storage is native"
            raise ShapeError(f"{place}.parts[{number}].path", expected, list(part.path))


def _check_members(manifest: Manifest) -> None:
    """Whether positions are of what is there."""
    if not manifest.members:
        raise ShapeError("members", "a list of at least one", [])
    for number, member in enumerate(manifest.members):
        if not member.pipelines:
            raise ShapeError(f"members[{number}].pipelines", "a list of at least one", [])
        for source in member.inputs:
            _check_position(source, len(manifest.members), f"members[{number}].inputs")
        for position, pipeline in enumerate(member.pipelines):
            place = f"members[{number}].pipelines[{position}]"
            _check_position(pipeline.estimator, len(manifest.estimators), f"{place}.estimator")
            if pipeline.preprocessor is not None:
                n_preprocessors = len(manifest.preprocessors)
                _check_position(pipeline.preprocessor, n_preprocessors, f"{place}.preprocessor")
            if pipeline.stack is not None and 0.0 in pipeline.stack.scale:
                raise ShapeError(f"{place}.stack.scale", "without zeros", 0.0)


def _check_position(position: int, n: int, place: str) -> None:
    if not 0 <= position < n:
        raise ShapeError(place, f"at least 0 and below {n}, the number of them", position)


def _check_columns(schema: TableSchema) -> None:
    """Whether names are distinguished."""
    _check_distinct([column.name for column in schema.columns], "schema.columns: names")
    _check_distinct(schema.feature_names, "schema: outputs")
    for number, column in enumerate(schema.columns):
        place = f"schema.columns[{number}]"
        if column.role not in USED_ROLES:
            raise ShapeError(f"{place}.role", f"one of {', '.join(USED_ROLES)}", column.role)
        if not column.outputs:
            raise ShapeError(f"{place}.outputs", "at least one name", [])
        _check_distinct([*column.categories, UNSEEN], f"{place}.categories")
        _check_parts(column, place)
    for number, difference in enumerate(schema.differences):
        for name in (difference.first, difference.second):
            if name not in schema.dates:
                place = f"schema.differences[{number}]"
                raise ShapeError(place, "of two columns of dates", name)


def _check_parts(column: ColumnSchema, place: str) -> None:
    """Whether a column of dates has the elapsed days, and no part that is not known."""
    for part in column.parts:
        if part not in PARTS:
            raise ShapeError(f"{place}.parts", f"of {', '.join(PARTS)}", part)
    _check_distinct(list(column.parts), f"{place}.parts")
    if column.role == "date" and ELAPSED not in column.date_parts:
        raise ShapeError(f"{place}.parts", f"a list with {ELAPSED}", list(column.parts))
    if column.parts and len(column.parts) + column.n_marks != len(column.outputs):
        expected = "one name for each part and each mark"
        raise ShapeError(f"{place}.outputs", expected, list(column.outputs))


def _check_distinct(names: list[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ShapeError(place, "distinct", name)
        seen.add(name)
