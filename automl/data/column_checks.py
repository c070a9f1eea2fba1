"""Checks of single feature columns: mixed types, numbers written oddly, infinite values, unused columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.findings import Findings, listed
from automl.data.roles import (
    ColumnRole,
    Role,
    is_marker,
    is_nested,
    is_number,
    text_counts,
    text_shares,
)
from automl.errors import DataError
from automl.inference.columns import numbers, stored_kind

MIXED_SHARE = 0.9
MIXED_DISTINCT = 20
PLAIN_NUMBERS = "write them like 1234.5, without separators, units or currencies"

_COMMA_NUMBER = re.compile(r"\s*[-+]?\d{1,3}(\.?\d{3})*,\d+\s*|\s*[-+]?\d+,\d+\s*")
_AMOUNT = re.compile(
    r"\s*[-+]?[$€£¥]?\s?[-+]?(?:\d{1,3}(?:[,']\d{3})+|\d+)(?:[.,]\d+)?\s?[%$€£¥]?\s*"
)
_OTHER_DATE = re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})(\s+\d{1,2}:\d{2}(:\d{2})?)?\s*")


def value_problem(series: pd.Series, *, is_given: bool = False) -> str | None:
    """What is wrong with the kinds of values in a column; None where all is well.

    Parameters
    ----------
    series : (n_rows,)
        Its index gives the row positions for the message.
    is_given
        The user gave the column's role, so that texts beside numbers are meant.
    """
    dtype = series.dtype
    if pd.api.types.is_complex_dtype(dtype):
        return f"column {series.name!r} holds complex numbers; real numbers are expected"
    if pd.api.types.is_timedelta64_dtype(dtype):
        return f"column {series.name!r} holds durations; write them as numbers, such as seconds"
    if not pd.api.types.is_object_dtype(dtype):
        return None
    present = series.dropna()
    kinds = present.map(_kind)
    nested = kinds.eq("nested").to_numpy()
    if nested.any():
        row = int(nested.argmax())
        return (
            f"column {series.name!r} must hold plain values; found the "
            f"{type(present.iloc[row]).__name__} {present.iloc[row]!r:.40} "
            f"in row {present.index[row] + 1}"
        )
    if is_given or kinds.nunique() < 2:
        return None
    other = int(kinds.ne(kinds.iloc[0]).to_numpy().argmax())
    return (
        f"column {series.name!r} mixes types: {kinds.iloc[0]} ({present.iloc[0]!r} in row "
        f"{present.index[0] + 1}) and {kinds.iloc[other]} ({present.iloc[other]!r} in row "
        f"{present.index[other] + 1}); make them one type, or give the column a role"
    )


def _kind(value: object) -> str:
    if is_nested(value):
        return "nested"
    if isinstance(value, bool | np.bool_):
        return "a boolean"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Number | Decimal):
        return "a number"
    return "a date" if isinstance(value, date | np.datetime64) else type(value).__name__


def check_finite(series: pd.Series, findings: Findings) -> bool:
    """Whether a numeric column has no infinite numbers; a problem where it has some."""
    try:
        values = numbers(series, name=str(series.name))
    except DataError:
        return True  # the schema says what is wrong
    infinite = np.isinf(values)
    if infinite.any():
        findings.problems.append(
            f"column {series.name!r} holds {int(infinite.sum())} infinite values, the first in row "
            f"{series.index[int(infinite.argmax())] + 1}; replace them by numbers or leave them empty"
        )
    return not infinite.any()


def odd_number(values: NDArray[Any]) -> str | None:
    """A text such as ``1,5``, ``1,234.50`` or ``45 %``, where nearly all texts are such numbers.

    Parameters
    ----------
    values : (n_distinct,), objects

    Returns
    -------
        None also where there are few distinct amounts, which may be names of categories.
    """
    odd = [str(value) for value in values if _is_odd_number(value)]
    commas = sum(_COMMA_NUMBER.fullmatch(text) is not None for text in odd)
    if commas and commas >= MIXED_SHARE * len(values):
        return odd[0]
    n_numbers = len(odd) + sum(map(is_number, values))
    if len(odd) > MIXED_DISTINCT and n_numbers >= MIXED_SHARE * len(values):
        return odd[0]
    return None


def _is_odd_number(value: object) -> bool:
    text = str(value)
    is_amount = _AMOUNT.fullmatch(text) or _COMMA_NUMBER.fullmatch(text)
    return is_amount is not None and not is_number(value)


def check_texts(series: pd.Series, findings: Findings) -> None:
    """Find a text among numbers, and numbers written with other characters, in a column of texts."""
    if stored_kind(series) != "text":
        return
    counts = text_counts(series.dropna())
    values = counts.index.to_numpy(dtype=object)
    n_present = int(counts.sum())
    if not n_present:
        return
    odd = odd_number(values)
    if odd is not None:
        findings.problems.append(
            f"column {series.name!r} holds numbers with commas or other characters, such as {odd!r}; {PLAIN_NUMBERS}, "
            "or give the column the role nominal"
        )
        return
    shares = text_shares(values, counts.to_numpy())
    n_known = shares.numbers + shares.other
    varied = shares.distinct_numbers > min(MIXED_DISTINCT, n_known / 2)
    if shares.numbers >= MIXED_SHARE * n_known and shares.other and varied:
        bad = next(v for v in values if not is_number(v) and not is_marker(v))
        row = series.index[int(series.eq(bad).to_numpy(dtype=bool, na_value=False).argmax())] + 1
        findings.problems.append(
            f"column {series.name!r} mixes numbers and texts: {bad!r} in row {row}; correct the value, "
            "leave it empty, or give the column the role nominal"
        )


def note_unused(raw: pd.DataFrame, roles: Mapping[str, ColumnRole], findings: Findings) -> None:
    """Say which columns are left out and why; hint at dates in an order that is not recognized."""
    reasons: dict[str, list[ColumnRole]] = {}
    for role in roles.values():
        if not role.role.is_used and not role.is_given:
            kind = "constant" if role.reason.startswith("it has the value") else str(role.role)
            reasons.setdefault(kind, []).append(role)
    for kind, unused in reasons.items():
        if len(unused) > 3:
            names = listed(role.name for role in unused)
            what = "empty" if kind == Role.IGNORED else kind
            findings.notes.append(f"{len(unused)} columns are not used ({what}): {names}")
            continue
        label = f" ({kind})" if kind in (Role.ID, Role.TEXT) else ""
        findings.notes.extend(
            f"column {role.name!r} is not used{label}: {role.reason}" for role in unused
        )
    for name, role in roles.items():
        if (
            role.role in (Role.NOMINAL, Role.ID)
            and not role.is_given
            and _has_other_dates(raw[name])
        ):
            findings.notes.append(
                f"column {name!r} looks like dates that are not ISO; give it the role date to use it so"
            )


def _has_other_dates(series: pd.Series) -> bool:
    if stored_kind(series) != "text":
        return False
    sample = series.dropna().astype(str).iloc[:200]
    return bool(len(sample)) and bool(sample.str.fullmatch(_OTHER_DATE.pattern).mean() >= 0.95)
