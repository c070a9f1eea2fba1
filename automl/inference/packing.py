"""Estimators and preprocessors to files and back, with versions and the traveling code."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import platform
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import automl
from automl.errors import AutoMLError, AutoMLWarning, DataError, SettingsError
from automl.inference import native
from automl.inference.manifest import CHECKED_VERSIONS, EstimatorEntry
from automl.inference.quick_skops import skops_io
from automl.inference.trusted import TRUSTED_TYPES, class_name
from automl.preprocessing import TablePreprocessor

TRAVELING = ("__init__.py", "errors.py", "listing.py", "preprocessing", "estimators", "inference")
ALWAYS_REQUIRED = ("numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "skops")
MOST_EXPANDED_BYTES = 2**30
MOST_EXPANSION = 200
"""An archive that expands beyond both is refused; packed trees expand to some ten times their size."""

T = TypeVar("T")


def write_preprocessor(preprocessor: Any, folder: Path, number: int) -> str:
    """Write one preprocessor; its path in the bundle."""
    name = f"preprocessors/{number:03d}.skops"
    (folder / name).write_bytes(skops_io().dumps(preprocessor))
    return name


def write_estimator(estimator: Any, folder: Path, number: int) -> dict[str, Any]:
    """Write one fitted estimator.

    Returns
    -------
    Entry of the manifest: ``class``; ``storage`` (``native``, ``skops`` or ``cloudpickle``); ``file`` or None;
    ``parts`` with ``kind``, ``path`` and ``file``.
    """
    name = class_name(estimator)
    stem = f"estimators/{number:03d}"
    entry: dict[str, Any] = {"class": name, "storage": "native", "file": None, "parts": []}
    shell, parts = native.take_apart(estimator)
    if shell is not None:
        data = _skops_bytes(shell)
        if data is None:
            return {**entry, **_write_pickle(estimator, folder, stem)}
        entry |= {"storage": "skops", "file": f"{stem}.skops"}
        (folder / entry["file"]).write_bytes(data)
    for place, (kind, path, value) in enumerate(parts):
        file = f"{stem}.{place}{native.SUFFIXES[kind]}"
        rounds = native.rounds_of(estimator, path) if kind == "lightgbm" else None
        native.write_part(kind, value, rounds, folder / file)
        entry["parts"].append({"kind": kind, "path": list(path), "file": file})
    return entry


def needs_pickle(estimator: Any) -> bool:
    """Whether nothing but a pickle can hold an estimator, fitted or not."""
    shell, _ = native.take_apart(estimator)
    return shell is not None and _skops_bytes(shell) is None


def pickle_refusal(estimator: Any) -> str:
    """Sentence about an estimator for which `needs_pickle` holds."""
    return (
        f"{class_name(estimator)} can be stored only as a pickle, which is never loaded without trust; "
        "give --trust to store it so, or leave the family out"
    )


def read_preprocessor(file: Path, *, trust: bool) -> TablePreprocessor:
    """Inverse of `write_preprocessor`.

    Raises
    ------
    DataError
        If the file cannot be read, or holds something else.
    SettingsError
        See `read_skops`.
    """
    preprocessor = read_skops(file, trust=trust)
    if not isinstance(preprocessor, TablePreprocessor):
        raise DataError(f"{file} must hold a TablePreprocessor; got {class_name(preprocessor)}")
    return preprocessor


def read_estimator(folder: Path, entry: EstimatorEntry, *, trust: bool) -> Any:
    """Inverse of `write_estimator`.

    Raises
    ------
    DataError
        If a file cannot be read, or a part has no place in the estimator.
    SettingsError
        If the estimator is a pickle, or has types that are not reviewed, and `trust` is not given.
    """
    file = None if entry.file is None else folder / entry.file
    if entry.storage == "cloudpickle" and file is not None:
        if not trust:
            raise SettingsError(
                f"{entry.file} ({entry.class_}) is a pickle, which can run any code, and nothing proves that this "
                "installation wrote it; load it with trust only if you trust who wrote it"
            )
        import pickle

        return _read(file, lambda: pickle.loads(file.read_bytes()))
    shell = None if file is None else read_skops(file, trust=trust)
    parts = [(part.kind, part.path, folder / part.file) for part in entry.parts]
    for _, _, part in parts:
        _check_expansion(part)
    place = file if file is not None else parts[0][2]
    return _read(place, lambda: native.put_together(shell, parts))


def read_skops(file: Path, *, trust: bool) -> Any:
    """Object of a skops file.

    Raises
    ------
    DataError
        If the file cannot be read.
    SettingsError
        If it contains types outside `TRUSTED_TYPES` and those that skops trusts, and `trust` is not given.
    """
    _check_expansion(file)
    data = file.read_bytes()
    skops = skops_io()
    untrusted = _read(file, lambda: skops.get_untrusted_types(data=data))
    unknown = sorted(set(untrusted) - TRUSTED_TYPES)
    if unknown and not trust:
        raise SettingsError(
            f"{file.name} contains {', '.join(unknown)}, which is not in the reviewed list; "
            "load it with trust only if you trust who wrote it"
        )
    return _read(file, lambda: skops.loads(data, trusted=[*sorted(TRUSTED_TYPES), *unknown]))


def _read(file: Path, read: Callable[[], T]) -> T:
    """What a library reads of a file; whatever it raises means that it cannot be read."""
    try:
        return read()
    except AutoMLError:
        raise
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise DataError(
            f"{file} needs the package {package}, which is not installed here; install the distribution "
            "that provides it to load the model"
        ) from None
    except Exception as error:  # noqa: BLE001 - readers of other libraries, for files of anybody
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise DataError(f"{file} cannot be read: {reason}") from None


def _check_expansion(file: Path) -> None:
    """Refuse an archive that is a small file and a large content."""
    if not zipfile.is_zipfile(file):
        return
    size = _read(file, lambda: _expanded_size(file))
    if size > max(MOST_EXPANDED_BYTES, MOST_EXPANSION * file.stat().st_size):
        raise DataError(f"{file} expands to {size / 2**20:.0f} MiB, which no model does")


def _expanded_size(file: Path) -> int:
    with zipfile.ZipFile(file) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def versions(estimators: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Versions of what is needed to load the estimators' manifest entries."""
    names = list(ALWAYS_REQUIRED)
    packages = {entry["class"].partition(".")[0] for entry in estimators}
    packages |= {part["kind"] for entry in estimators for part in entry["parts"]}
    names += [name for name in ("xgboost", "catboost") if name in packages]
    pickled = {entry["class"] for entry in estimators if entry["storage"] == "cloudpickle"}
    if pickled:
        names += ["cloudpickle", *_distributions(pickled)]
    by_name = {name: importlib.metadata.version(name) for name in names}
    return {"automl": automl.__version__, "python": platform.python_version(), **by_name}


def warn_of_versions(written: Mapping[str, str]) -> None:
    """Warn where a checked library differs in major or minor version from the bundle's."""
    for name in CHECKED_VERSIONS:
        here = importlib.metadata.version(name)
        if here.split(".")[:2] != written[name].split(".")[:2]:
            text = f"the model was written with {name} {written[name]}; {here} is installed here"
            warnings.warn(text, AutoMLWarning, stacklevel=3)


def copy_code(target: Path) -> None:
    """Copy the packages that predict."""
    source = Path(automl.__file__).parent
    target.mkdir(parents=True)
    for name in TRAVELING:
        if (source / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source / name, target / name, ignore=ignored)
        else:
            shutil.copy(source / name, target / name)


def _skops_bytes(shell: Any) -> bytes | None:
    """The object as skops writes it; None if skops cannot, or types are not in the list."""
    skops = skops_io()
    try:
        data: bytes = skops.dumps(shell)
        unknown = set(skops.get_untrusted_types(data=data)) - TRUSTED_TYPES
    except (skops.exceptions.UnsupportedTypeException, TypeError, AttributeError):
        return None
    return None if unknown else data


def _write_pickle(estimator: Any, folder: Path, stem: str) -> dict[str, Any]:
    """Pickle an estimator; the pickle holds classes of modules that cannot be installed."""
    import cloudpickle  # type: ignore[import-untyped]

    file, modules = f"{stem}.pickle", _own_modules()
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        (folder / file).write_bytes(cloudpickle.dumps(estimator))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return {"storage": "cloudpickle", "file": file}


def _own_modules() -> list[ModuleType]:
    """Loaded modules that are neither Python's, nor this program's, nor of an installed distribution."""
    providers = importlib.metadata.packages_distributions()
    python_or_ours = {*sys.stdlib_module_names, "automl"}
    return [
        module
        for name, module in list(sys.modules.items())
        if (package := name.partition(".")[0]) not in python_or_ours
        and getattr(module, "__name__", "") == name
        and isinstance(file := getattr(module, "__file__", None), str)
        and not any(_provides(provider, Path(file)) for provider in providers.get(package, ()))
    ]


@functools.cache
def _folder_of(distribution: str) -> Path | None:
    """Folder that an installed distribution's modules lie in; None if it is installed as editable."""
    found = importlib.metadata.distribution(distribution)
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    is_editable = origin.get("dir_info", {}).get("editable", False)
    return None if is_editable else Path(str(found.locate_file("")))


def _provides(distribution: str, file: Path) -> bool:
    """Whether a module's file is a distribution's, and not a module of the user's that has its name."""
    folder = _folder_of(distribution)
    return folder is None or file.is_relative_to(folder)


def _distributions(classes: Iterable[str]) -> list[str]:
    """Installed distributions that classes, named ``module.Class``, come from."""
    packages = importlib.metadata.packages_distributions()
    return sorted({d for name in classes for d in packages.get(name.partition(".")[0], ())})
