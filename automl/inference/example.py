"""Rows of raw columns that a model must be able to predict, made from its schema."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from automl.inference.forms import form_from_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Scalar = None | bool | int | float | str


def input_example(manifest: Mapping[str, Any]) -> list[dict[str, Scalar]]:
    """Two records of raw columns, made from the schema: a filled one, and one without the optional columns' values."""
    columns = manifest["schema"]["columns"]
    filled = {column["name"]: _value(column) for column in columns}
    optional = [column["name"] for column in columns if column.get("is_optional", True)]
    return [filled, {**filled, **dict.fromkeys(optional)}]


def _value(column: Mapping[str, Any]) -> Scalar:
    """A value of the column's type that the schema knows."""
    stored, categories = column["stored"], column["categories"]
    if column["role"] == "date":
        return _date(column)
    text = str(categories[0]) if column["role"] == "nominal" and categories else _number(column)
    if stored == "boolean":
        return text.lower() in ("true", "1")
    if stored == "number":
        return int(text) if column.get("value_type") == "integer" else float(text)
    return text


def _number(column: Mapping[str, Any]) -> str:
    reading = column.get("reading")
    return form_from_json(reading["form"]).example if reading else "0"


def _date(column: Mapping[str, Any]) -> str:
    day = _EPOCH + timedelta(days=float(column["date_origin"]))
    reading = column.get("reading")  # before format 5 of bundles there is a date_format instead
    form = str(reading["form"]["format"] if reading else column.get("date_format") or "")
    return day.strftime(form if "%" in form else "%Y-%m-%d")
