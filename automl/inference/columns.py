"""Raw column values to numbers, category codes and dates, whatever pandas type holds them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import DataError

NOMINAL_MARKERS = frozenset({"", "?"})
NUMBER_MARKERS = frozenset(
    {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing"}
)
DATE_FORMATS = (
    "ISO8601",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "mixed",
)
_SECONDS_PER_DAY = 86_400.0
_PLAIN_KINDS = {"i": "integer", "u": "integer", "f": "float", "b": "boolean", "M": "date"}


def stored_kind(series: pd.Series) -> str:
    """``number``, ``boolean``, ``date`` or ``text``: what the values of a column are."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return stored_kind(pd.Series(dtype.categories))
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    if pd.api.types.is_object_dtype(dtype):
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        return {
            "boolean": "boolean",
            "integer": "number",
            "floating": "number",
            "mixed-integer-float": "number",
            "decimal": "number",
            "datetime": "date",
            "datetime64": "date",
            "date": "date",
        }.get(inferred, "text")
    return "text"


def value_type(series: pd.Series) -> str:
    """``integer``, ``float``, ``boolean``, ``text`` or ``date``: the plain type that holds a column's values.

    ``any`` where MLflow has no type for it: whole numbers among which some are missing (as floats they would be
    refused as soon as none is missing), categories, dates with a time zone, values of several types.
    """
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        is_any = dtype == np.uint64 or (dtype.kind == "f" and _holds_optional_integers(series))
        return "any" if is_any else _PLAIN_KINDS.get(dtype.kind, "any")
    if isinstance(dtype, pd.StringDtype):
        return "text"
    if pd.api.types.is_object_dtype(dtype):
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        known = {"string": "text", "boolean": "boolean"}
        return known.get(inferred, "date" if inferred.startswith("date") else "any")
    if pd.api.types.is_numeric_dtype(dtype) and not series.isna().any():
        return value_type(pd.Series(series.to_numpy()))
    return "any"


def _holds_optional_integers(series: pd.Series) -> bool:
    values = series.to_numpy()
    missing = np.isnan(values)
    return bool(missing.any() and (values[~missing] % 1.0 == 0.0).all())


def values_of(series: pd.Series) -> tuple[NDArray[np.intp], list[Any]]:
    """Position of each row's value among the distinct values (-1 is missing), and these values."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy().astype(np.intp), list(series.dtype.categories)
    try:
        codes, uniques = pd.factorize(series)
    except TypeError as error:
        raise DataError(f"column {series.name!r} must hold plain values; found {error}") from None
    return codes, list(uniques)


def category_text(value: object, stored: str) -> str | None:
    """Canonical text of a category; None where the value is a missing marker.

    Parameters
    ----------
    stored : see `stored_kind`
        What the column held at first; texts are read as this where they can be.
    """
    if isinstance(value, str):
        return _read_text(value, stored)
    if isinstance(value, (bool, np.bool_, int, np.integer, float, np.floating)):
        return _number_text(value, stored)
    return str(value)


def category_texts(series: pd.Series, stored: str) -> list[str]:
    """Distinct categories that occur, in order: numbers by size, texts by letters."""
    codes, values = values_of(series)
    occurring = np.unique(codes[codes >= 0])
    texts = {category_text(values[code], stored) for code in occurring} - {None}
    known = [text for text in texts if text is not None]
    return sorted(known, key=_number_first) if stored == "number" else sorted(known)


def category_codes(
    values: tuple[NDArray[np.intp], list[Any]], known: Mapping[str, int], stored: str, unseen: int
) -> NDArray[np.intp]:
    """Category code of each row: -1 for missing, `unseen` for a text that is not `known`."""
    codes, distinct = values
    table = np.full(len(distinct) + 1, -1, dtype=np.intp)
    for position, value in enumerate(distinct):
        text = category_text(value, stored)
        if text is not None:
            table[position] = known.get(text, unseen)
    return table[codes]


def numbers(series: pd.Series, *, name: str, stored: str = "number") -> NDArray[np.float64]:
    """Values as float64, missing as NaN.

    Raises
    ------
    DataError
        If a value is neither a number, a boolean, a text of a number, nor missing.
    """
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes, distinct = values_of(series)
        table = numbers(pd.Series(distinct, dtype=dtype.categories.dtype), name=name, stored=stored)
        return np.append(table, np.nan)[codes]
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        return series.to_numpy(dtype=np.float64)
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise DataError(f"column {name!r} must hold numbers; found {dtype}")
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _parsed_numbers(series, name, stored)


def detect_date_format(series: pd.Series, *, name: str) -> str | None:
    """First of `DATE_FORMATS` that reads every value; None where the values are dates already.

    Raises
    ------
    DataError
        If no format reads every value.
    """
    if stored_kind(series) == "date":
        return None
    texts = _date_texts(pd.Series(values_of(series)[1]))
    for date_format in DATE_FORMATS:
        if not _parsed_dates(texts, date_format)[texts.notna()].isna().any():
            return date_format
    bad = texts[_parsed_dates(texts, "mixed").isna() & texts.notna()]
    raise DataError(f"column {name!r} must hold dates; found {bad.iloc[0]!r}")


def date_numbers(series: pd.Series, *, name: str, date_format: str | None) -> NDArray[np.float64]:
    """Days since 1970-01-01 (UTC), with fractions; missing as NaN.

    Raises
    ------
    DataError
        If a value is not a date in this format.
    """
    if stored_kind(series) == "date":
        dates = pd.to_datetime(
            series.astype(object) if series.dtype == "category" else series, utc=True
        )
        return _days(dates)
    codes, distinct = values_of(series)
    texts = _date_texts(pd.Series(distinct, dtype=object))
    dates = _parsed_dates(texts, date_format or "ISO8601")
    wrong = dates.isna() & texts.notna()
    if wrong.any():
        shown = "" if date_format is None else f" in the format {date_format}"
        raise DataError(f"column {name!r} must hold dates{shown}; found {texts[wrong].iloc[0]!r}")
    return np.append(_days(dates), np.nan)[codes]


def date_parts(
    days: NDArray[np.float64], *, origin: float, with_hour: bool
) -> dict[str, NDArray[np.float64]]:
    """Year, month, day of month, of week (Monday is 0) and of year, days since `origin`, hour.

    Parameters
    ----------
    days : (n_rows,), days since 1970-01-01
        Missing days give missing parts.
    """
    missing = np.isnan(days)
    whole = np.where(missing, 0.0, np.floor(days))
    dates = pd.DatetimeIndex((whole * _SECONDS_PER_DAY).astype("datetime64[s]"))
    parts: dict[str, Any] = {
        "year": dates.year,
        "month": dates.month,
        "day": dates.day,
        "dayofweek": dates.day_of_week,
        "dayofyear": dates.day_of_year,
        "elapsed_days": days - origin,
    }
    if with_hour:
        parts["hour"] = np.round(
            (days - whole) * 24.0, 6
        )  # microseconds survive the way through days
    return {
        name: np.where(missing, np.nan, np.asarray(values, dtype=np.float64))
        for name, values in parts.items()
    }


def _number_text(value: Any, stored: str) -> str | None:
    if np.isnan(value):
        return None
    if value in (0, 1) and (stored == "boolean" or isinstance(value, (bool, np.bool_))):
        return str(int(value)) if stored == "number" else str(bool(value))
    is_whole = np.isfinite(value) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _read_text(text: str, stored: str) -> str | None:
    short = text.strip()
    if short in NOMINAL_MARKERS:
        return None
    if stored == "boolean" and short.lower() in ("true", "false"):
        return short.capitalize()
    if stored == "number":
        try:
            return _number_text(float(short), stored)
        except ValueError:
            return text
    return text


def _number_first(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _parsed_numbers(series: pd.Series, name: str, stored: str) -> NDArray[np.float64]:
    codes, distinct = values_of(series)
    table = np.full(len(distinct) + 1, np.nan)
    for position, value in enumerate(distinct):
        table[position] = _number(value, name, stored)
    return table[codes]


def _number(value: Any, name: str, stored: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        text = str(value).strip().lower() if isinstance(value, str) else None
    if text in NUMBER_MARKERS:
        return np.nan
    if stored == "boolean" and text in ("true", "false"):
        return float(text == "true")
    raise DataError(f"column {name!r} must hold numbers; found {value!r}")


def _date_texts(values: pd.Series) -> pd.Series:
    texts = [None if pd.isna(value) else category_text(value, "text") for value in values]
    return pd.Series(texts, dtype=object)


def _parsed_dates(texts: pd.Series, date_format: str) -> pd.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas guesses about mixed formats aloud
        return pd.to_datetime(texts, format=date_format, errors="coerce", utc=True)


def _days(dates: pd.Series) -> NDArray[np.float64]:
    seconds = dates.dt.tz_convert(None).to_numpy(dtype="datetime64[us]")
    days = seconds.astype(np.int64) / (_SECONDS_PER_DAY * 1e6)
    return np.where(np.isnat(seconds), np.nan, days)
