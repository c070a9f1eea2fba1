"""Two rows that a model of a bundle accepts: one filled, one with every value missing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from automl.records import JsonScalar

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
