"""A log of rows and their predictions: Parquet files by day, in a folder of one model, of bounded size.

::

    FOLDER/date=2026-11-23/151204-3f2a91c0.parquet

A file holds the model's raw columns, those that are neither numbers nor booleans as texts, and the predictions in columns
whose names begin with `PREDICTED`. It appears whole or not at all. The oldest files make room.
"""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pandas as pd

from automl.errors import StorageError
from automl.privacy import make_private_folder

PREDICTED = "predicted."
MOST_MIB = 512.0
"""Most MiB of one model's log: some ten million rows of ten columns."""


def append(
    folder: Path, rows: pd.DataFrame, predictions: pd.DataFrame, *, most_mib: float = MOST_MIB
) -> Path:
    """Log rows and their predictions; older files go where there is no room.

    Parameters
    ----------
    rows : (n_rows, any number of columns)
        Raw.
    predictions : (n_rows, any number of columns)
    most_mib : positive
        Of all files together; the newest one stays whatever its size.

    Raises
    ------
    StorageError
        If the disk refuses.
    """
    now = datetime.now(UTC)
    day = folder / f"date={now:%Y-%m-%d}"
    path = day / f"{now:%H%M%S-%f}-{uuid.uuid4().hex[:8]}.parquet"
    frame = pd.concat(
        [_plain(rows), predictions.add_prefix(PREDICTED).set_index(rows.index)], axis=1
    )
    try:
        for private in (folder, day):
            make_private_folder(private)
        partial = path.with_name(f".{path.name}")
        frame.to_parquet(partial, index=False)
        partial.replace(path)
        _make_room(folder, most_mib * 2**20, path)
    except OSError as error:
        raise StorageError.of(error, str(folder)) from error
    return path


def read(folder: Path, *, days: int | None = None) -> pd.DataFrame:
    """Rows and predictions of the last days, today among them; of all without `days`."""
    first = None if days is None else datetime.now(UTC).date() - timedelta(days=days - 1)
    files = [path for path in _files(folder) if first is None or _day_of(path) >= first]
    return pd.concat(map(pd.read_parquet, files), ignore_index=True) if files else pd.DataFrame()


def raw_rows(logged: pd.DataFrame) -> pd.DataFrame:
    """The rows of a log without their predictions."""
    return logged.loc[:, [not name.startswith(PREDICTED) for name in logged.columns]]


def _files(folder: Path) -> list[Path]:
    """Complete files, the oldest first."""
    found = folder.glob("date=*/*.parquet")
    return sorted(path for path in found if not path.name.startswith("."))


def _day_of(path: Path) -> date:
    return date.fromisoformat(path.parent.name.removeprefix("date="))


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns that Parquet holds whatever was in them: numbers and booleans as they are, all else as texts."""
    kept = {}
    for name, column in rows.items():
        is_plain = pd.api.types.is_numeric_dtype(column.dtype)
        texts = column if is_plain else column.astype(object).where(column.notna(), None)
        kept[str(name)] = column if is_plain else texts.map(_text)
    return pd.DataFrame(kept, index=rows.index)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _make_room(folder: Path, most_bytes: float, newest: Path) -> None:
    files = _files(folder)
    size = sum(path.stat().st_size for path in files)
    for path in files:
        if size <= most_bytes or path == newest:
            return
        size -= path.stat().st_size
        path.unlink(missing_ok=True)
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
