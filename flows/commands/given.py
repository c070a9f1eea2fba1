"""From options of the command line to values of `Settings`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from automl.errors import SettingsError

if TYPE_CHECKING:
    pass

_NOT_SETTINGS = ("config", "home", "as_json", "dry_run")


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Values by settings key of the options that were given.

    Raises
    ------
    SettingsError
        If an option's text cannot be understood; names the option.
    """
    given = {key: value for key, value in options.items() if key not in _NOT_SETTINGS}
    _refuse_test_name(given["test"])
    given["budget_seconds"] = given.pop("budget")
    given["roles"] = parse_roles(given.pop("role"))
    given["metric"] = parse_metric(given["metric"])
    matrix = given["cost_matrix"]
    given["cost_matrix"] = None if matrix is None else read_cost_matrix(matrix)
    for key in ("table", "test", "priors"):
        if not (key == "priors" and given[key] == "learned"):
            given[key] = _absolute(given[key])
    return {key: value for key, value in given.items() if value is not None}


def parse_roles(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Roles by column from texts such as ``zip=nominal``.

    Raises
    ------
    SettingsError
        If a text has no equals sign or a column is given twice.
    """
    if not texts:
        return None
    roles: dict[str, str] = {}
    for text in texts:
        column, equals, role = text.rpartition("=")
        if not equals or not column or not role:
            raise SettingsError(f"--role must look like COLUMN=ROLE; got {text!r}")
        if column in roles:
            raise SettingsError(f"--role is given twice for column {column!r}")
        roles[column] = role.strip()
    return roles


def parse_metric(text: str | None) -> str | dict[str, float] | None:
    """A metric's name, or weights from a text such as ``auc=2,accuracy=1``.

    Raises
    ------
    SettingsError
        If a weight is not a number.
    """
    if text is None or "=" not in text:
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = part.partition("=")
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            raise SettingsError(
                f"--metric must look like NAME=WEIGHT,NAME=WEIGHT; got {part!r}"
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
        raise SettingsError(f"cost matrix {path} cannot be read: {error}") from None
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


def _refuse_test_name(source: str | None) -> None:
    if not source or Path(source).exists():
        return
    from automl.settings import Settings  # slow, only where it is needed

    if source in get_args(Settings.model_fields["selection_test"].annotation):
        raise SettingsError(
            f"--test takes a table of test rows and there is no file {source!r}; the statistical "
            f"test of the selection is chosen by --selection-test {source}"
        )


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


def _absolute(source: str | None) -> str | None:
    """A local file's absolute path, so that the run can be resumed from anywhere."""
    if not source or ":" in source or not Path(source).expanduser().exists():
        return source
    return str(Path(source).expanduser().resolve())
