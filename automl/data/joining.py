"""One frame from several: the same columns in each, rows one after the other."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from automl.data.findings import listed
from automl.data.memory_limit import check_size
from automl.errors import DataError
from automl.inference.columns import category_text, stored_kind


def joined(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows of all parts, in the order of their names, with the columns in the order of the first part.

    A column of numbers in one part and of texts in another becomes one of texts, as it would be read
    from one file.

    Parameters
    ----------
    parts
        Frames by file; at least one.

    Raises
    ------
    DataError
        If the columns of a part differ, one column holds dates and something else, or all rows together
        are too large for this machine; `file` is the part.
    """
    (first_name, first), *others = parts.items()
    for name, part in others:
        _check_columns(part, name, first, first_name)
    check_size(sum(int(part.memory_usage().sum()) for part in parts.values()), "the joined table")
    columns = [_joined_column(column, parts) for column in first.columns]
    return pd.concat(columns, axis=1) if columns else pd.DataFrame()


def _check_columns(part: pd.DataFrame, name: str, first: pd.DataFrame, first_name: str) -> None:
    kinds = {
        "without": [column for column in first.columns if column not in part.columns],
        "with": [column for column in part.columns if column not in first.columns],
    }
    found = [f"{kind} {listed(names)}" for kind, names in kinds.items() if names]
    if found:
        raise DataError(
            f"{name} has other columns than {first_name}: {' and '.join(found)}", file=name
        )


def _joined_column(column: str, parts: Mapping[str, pd.DataFrame]) -> pd.Series:
    pieces, n_rows = {}, 0
    for name, part in parts.items():
        places = pd.RangeIndex(n_rows, n_rows + len(part))
        pieces[name] = part[column].set_axis(places)
        n_rows += len(part)
    told = {name: piece for name, piece in pieces.items() if not piece.isna().all()}
    if not told:
        return pd.Series(float("nan"), pd.RangeIndex(n_rows), name=column)
    kinds = {name: stored_kind(piece) for name, piece in told.items()}
    if len(set(kinds.values())) > 1:
        _refuse_dates_beside_others(column, kinds)
        told = {name: _as_texts(piece) for name, piece in told.items()}
    values: pd.Series = pd.concat([*told.values()]).reindex(pd.RangeIndex(n_rows))
    return values


def _refuse_dates_beside_others(column: str, kinds: Mapping[str, str]) -> None:
    """Values that are stored as dates have no common form with others."""
    dates = next((name for name, kind in kinds.items() if kind == "date"), None)
    if dates is None:
        return
    other, kind = next((name, kind) for name, kind in kinds.items() if kind != "date")
    raise DataError(
        f"column {column!r} holds dates in {dates} and {kind}s in {other}; one kind is expected",
        file=other,
    )


def _as_texts(piece: pd.Series) -> pd.Series:
    return piece.astype(object).map(lambda value: category_text(value, "text"), na_action="ignore")
