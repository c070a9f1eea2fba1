"""Values of settings from what is typed on a command line or written in one text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from automl.errors import SettingsError, reason_of


def parse_roles(given: Any) -> Any:
    """Roles by column from texts such as ``zip=nominal``; a mapping stays as it is.

    Raises
    ------
    SettingsError
        If a text has no equals sign or a column is given twice.
    """
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        return given
    roles: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        column, equals, role = str(text).rpartition("=")
        if not equals or not column or not role:
            raise SettingsError(f"a role must look like COLUMN=ROLE; got {text!r}")
        if column in roles:
            raise SettingsError(f"a role is given twice for column {column!r}")
        roles[column] = role.strip()
    return roles


def parse_metric(given: Any) -> Any:
    """A metric's name, or weights from a text such as ``auc=2,accuracy=1``.

    Raises
    ------
    SettingsError
        If a weight is not a number.
    """
    if not isinstance(given, str) or "=" not in given:
        return given
    weights: dict[str, float] = {}
    for part in given.split(","):
        name, _, weight = part.rpartition("=")
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            if ":" in given:
                return given  # a file of the user's own, with = in its path
            raise SettingsError(
                f"metric must look like NAME=WEIGHT,NAME=WEIGHT; got {part!r}"
            ) from None
    return weights


def read_cost_matrix(path: Path) -> list[list[float]]:
    """Square matrix from a csv file of numbers or a YAML list of lists.

    Raises
    ------
    SettingsError
        If the file cannot be read or holds no square matrix of numbers.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cost matrix {path} cannot be read: {reason_of(error)}") from None
    try:
        rows = _yaml_rows(text) if path.suffix in {".yaml", ".yml", ".json"} else _csv_rows(text)
        matrix = [[float(cell) for cell in row] for row in rows]
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"cost matrix {path} must hold numbers only, a row for each true class, "
            f"without names of classes: {error}"
        ) from None
    if not matrix or any(len(row) != len(matrix) for row in matrix):
        widths = sorted({len(row) for row in matrix})
        raise SettingsError(
            f"cost matrix {path} must be square; got {len(matrix)} rows of {widths} numbers"
        )
    return matrix


def absolute(source: str) -> str:
    """A local file's absolute path, so that the run can be resumed from anywhere."""
    if not source or ":" in source or not Path(source).expanduser().exists():
        return source
    return str(Path(source).expanduser().resolve())


def _csv_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = next((mark for mark in ",;\t" if lines and mark in lines[0]), ",")
    return list(csv.reader(lines, delimiter=delimiter))


def _yaml_rows(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
