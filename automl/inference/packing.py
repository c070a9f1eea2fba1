"""Estimators and preprocessors to files and back, with digests, versions and the traveling code."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import platform
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import automl
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference import native
from automl.inference.trusted import TRUSTED_TYPES, class_name

TRAVELING = ("__init__.py", "errors.py", "preprocessing", "estimators", "inference")
ALWAYS_REQUIRED = ("numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "skops")
CHECKED_VERSIONS = ("scikit-learn", "numpy", "pandas")


def write_preprocessor(preprocessor: Any, folder: Path, number: int) -> str:
    """Write one preprocessor; its path in the bundle."""
    import skops.io

    name = f"preprocessors/{number:03d}.skops"
    (folder / name).write_bytes(skops.io.dumps(preprocessor))
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
        f"{class_name(estimator)} can be stored only as a pickle, which nobody loads without trust; "
        "give --trust to store it so, or leave the family out"
    )


def read_estimator(folder: Path, entry: Mapping[str, Any], *, trust: bool) -> Any:
    """Inverse of `write_estimator`.

    Raises
    ------
    SettingsError
        If the estimator is a pickle, or has types that are not reviewed, and `trust` is not given.
    """
    if entry["storage"] == "cloudpickle":
        if not trust:
            raise SettingsError(
                f"{entry['file']} ({entry['class']}) is a pickle, which can run any code; "
                "load it with trust only if you trust who wrote it"
            )
        import pickle

        with (folder / entry["file"]).open("rb") as stream:
            return pickle.load(stream)
    shell = None
    if entry["storage"] == "skops":
        shell = read_skops(folder / entry["file"], trust=trust)
    parts = [(part["kind"], tuple(part["path"]), folder / part["file"]) for part in entry["parts"]]
    return native.put_together(shell, parts)


def read_skops(file: Path, *, trust: bool) -> Any:
    """Object of a skops file.

    Raises
    ------
    SettingsError
        If it contains types outside `TRUSTED_TYPES` and those that skops trusts, and `trust` is not given.
    """
    import skops.io

    data = file.read_bytes()
    unknown = sorted(set(skops.io.get_untrusted_types(data=data)) - TRUSTED_TYPES)
    if unknown and not trust:
        raise SettingsError(
            f"{file.name} contains {', '.join(unknown)}, which is not in the reviewed list; "
            "load it with trust only if you trust who wrote it"
        )
    return skops.io.loads(data, trusted=[*sorted(TRUSTED_TYPES), *unknown])


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): _digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def verify(folder: Path, expected: Mapping[str, str]) -> None:
    """Compare files with their digests.

    Raises
    ------
    DataError
        With every file that is missing or differs.
    """
    problems = []
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing from the bundle")
        elif _digest(path) != digest:
            problems.append(f"{path} differs from what was written (its SHA-256 is another)")
    if problems:
        raise DataError(problems[0], problems=problems)


def versions(estimators: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Versions of what is needed to load the estimators' manifest entries."""
    names = list(ALWAYS_REQUIRED)
    packages = {entry["class"].partition(".")[0] for entry in estimators}
    packages |= {part["kind"] for entry in estimators for part in entry["parts"]}
    names += [name for name in ("xgboost", "catboost") if name in packages]
    pickled = {entry["class"] for entry in estimators if entry["storage"] == "cloudpickle"}
    if pickled:
        names += ["cloudpickle", *_distributions(pickled)]
    found = {name: importlib.metadata.version(name) for name in names}
    return {"automl": automl.__version__, "python": platform.python_version(), **found}


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
    """The object as skops writes it; None where skops cannot, or types are not in the list."""
    import skops.io
    import skops.io.exceptions

    try:
        data: bytes = skops.io.dumps(shell)
        unknown = set(skops.io.get_untrusted_types(data=data)) - TRUSTED_TYPES
    except (skops.io.exceptions.UnsupportedTypeException, TypeError, AttributeError):
        return None
    return None if unknown else data


def _write_pickle(estimator: Any, folder: Path, stem: str) -> dict[str, Any]:
    """Pickle an estimator; classes of modules that nobody can install travel in the pickle."""
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
    known = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions(), "automl"}
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] not in known
        and getattr(module, "__name__", "") == name
        and isinstance(getattr(module, "__file__", None), str)
    ]


def _distributions(classes: Iterable[str]) -> list[str]:
    """Installed distributions that classes, named ``module.Class``, come from."""
    packages = importlib.metadata.packages_distributions()
    return sorted({d for name in classes for d in packages.get(name.partition(".")[0], ())})


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
