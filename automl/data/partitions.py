"""A folder of Parquet files that is one table: flat, or with values of columns in the names of its folders.

``sales/year=2026/part-0.parquet`` has the column ``year`` with the value 2026, as Hive, Spark, pyarrow
and DuckDB write it. Names that begin with ``_`` or ``.`` are no part of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pandas as pd

from automl.data.joining import joined
from automl.data.memory_limit import check_size
from automl.errors import DataError

PARQUET = ".parquet"
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""How Hive writes a missing value."""
Read = Callable[[str], pd.DataFrame]


def is_part(name: str) -> bool:
    """Whether a file of a folder, by its path from there, belongs to the table."""
    return not any(step.startswith(("_", ".")) for step in PurePosixPath(name).parts)


def local_parts(folder: Path) -> dict[str, str]:
    """Files of a local folder by their paths from there, in order."""
    found = {
        path.relative_to(folder).as_posix(): str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {name: path for name, path in found.items() if is_part(name)}


def read_partitions(parts: Mapping[str, str], read: Read, *, source: str) -> pd.DataFrame:
    """All partitions as one frame, in the order given.

    Parameters
    ----------
    parts
        Addresses of the files by their paths in the folder.
    read
        Reads one of them.
    source
        What messages call the folder.

    Raises
    ------
    DataError
        If there is no Parquet file, another file, or a file with other columns or folder names than the
        first one.
    """
    if not parts:
        raise DataError(f"{source} is a directory without a Parquet file; a table is expected")
    for name in parts:
        if not name.lower().endswith(PARQUET):
            raise DataError(
                f"{source} is a directory and holds {name}; one that is a table holds Parquet files "
                "alone, other files are read one by one",
                file=parts[name],
            )
    first_keys = tuple(_values_of(next(iter(parts))))
    frames: dict[str, pd.DataFrame] = {}
    n_bytes = 0
    for name, address in parts.items():
        values = _values_of(name)
        if tuple(values) != first_keys:
            raise DataError(
                f"{source}: {name} is in folders of {_keys(values)}, the first file in folders of "
                f"{_keys(first_keys)}",
                file=address,
            )
        frames[address] = _with_values(read(address), values, f"{source}: {name}", address)
        n_bytes += int(frames[address].memory_usage().sum())
        check_size(n_bytes, source)
    table = joined(frames)
    return table.assign(**{key: _numbers_if_all(table[key]) for key in first_keys})


def _keys(keys: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(keys) or "no column"


def _values_of(name: str) -> dict[str, str | None]:
    """Values of columns that the folders of a file say, outermost first."""
    pairs = (step.partition("=") for step in PurePosixPath(name).parts[:-1] if "=" in step)
    return {unquote(key): None if value == NO_VALUE else unquote(value) for key, _, value in pairs}


def _with_values(
    frame: pd.DataFrame, values: Mapping[str, str | None], label: str, address: str
) -> pd.DataFrame:
    for key in values:
        if key in frame.columns:
            raise DataError(
                f"{label} has the column {key!r}, which the name of its folder has too",
                file=address,
            )
    columns = {
        key: pd.Series([value] * len(frame), frame.index, dtype=object)
        for key, value in values.items()
    }
    return frame.assign(**columns)


def _numbers_if_all(texts: pd.Series) -> pd.Series:
    """Values of folder names as numbers where all of them are."""
    try:
        return pd.to_numeric(texts)
    except ValueError:
        return texts
