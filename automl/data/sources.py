"""How the files of a problem become its table.

=============  =====================================================================================
mode           the table is
=============  =====================================================================================
``replace``    the newest file
``append``     all files, oldest first
``partition``  a folder of Parquet files, flat or with columns in the names of its folders
``window``     the last rows of all files: of so many days before the newest one, or so many rows
=============  =====================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd

from automl.addresses import public_address
from automl.data.findings import Findings
from automl.data.joining import joined
from automl.data.partitions import local_parts, read_partitions
from automl.data.readers import FOLDER_EXTENSIONS, read_table
from automl.data.remote import folder_parts
from automl.data.row_columns import time_numbers
from automl.errors import DataError, SettingsError
from automl.inference.raw_table import Column
from automl.lookup import did_you_mean

Mode = Literal["replace", "append", "partition", "window"]
MODES = get_args(Mode)
_WINDOW = re.compile(r"(\d+(?:\.\d+)?)\s*(d|days?|rows?)")


@dataclass(frozen=True)
class Window:
    """The last rows of a table.

    Parameters
    ----------
    amount : positive
        Days or rows.
    time
        Column with the times of the rows; None if rows are counted.
    """

    amount: float
    time: str | None = None

    @classmethod
    def parse(cls, text: str, time: str | None = None) -> Window:
        """From ``90 days`` with a column of times, or ``5000 rows``.

        Raises
        ------
        SettingsError
            If it is written in another way, or days come without a column of times.
        """
        match = _WINDOW.fullmatch(text.strip().lower())
        if match is None or not float(match[1]):
            raise SettingsError(
                f"a window must look like '90 days' or '5000 rows'; got {text!r}", value=text
            )
        amount, is_days = float(match[1]), match[2].startswith("d")
        if is_days and time is None:
            raise SettingsError(f"the window {text!r} needs the column with the times of the rows")
        if not is_days and not amount.is_integer():
            raise SettingsError(f"a window must have a whole number of rows; got {text!r}")
        return cls(amount, time if is_days else None)

    def last_rows(self, frame: pd.DataFrame, source: str) -> pd.DataFrame:
        """The rows of the window, in their order.

        Raises
        ------
        DataError
            If the column of times is not there, has no dates, or misses some.
        """
        if self.time is None:
            return frame.iloc[-int(self.amount) :].reset_index(drop=True)
        days = _days(frame, self.time, source)
        last: pd.DataFrame = frame[days > days.max() - self.amount].reset_index(drop=True)
        return last


@dataclass(frozen=True)
class TableSource:
    """Files and how they become a table.

    Parameters
    ----------
    files
        Addresses, oldest first, by the names that messages and partitions have for them.
    window : of the mode ``window``
    """

    files: Mapping[str, str]
    mode: str = "replace"
    window: Window | None = None

    def read(self) -> pd.DataFrame:
        """The table, with a RangeIndex.

        Raises
        ------
        DataError
            If a file cannot be read or does not fit the others; `file` is its address, where one is
            to blame.
        SettingsError, ServiceError
            As `automl.data.readers.read_table`.
        """
        addresses = list(self.files.values())
        if not addresses:
            raise DataError("there is no file to make a table of")
        if self.mode == "partition":
            return read_partitions(self.files, _read, source="the folder")
        if self.mode == "replace":
            return _read(self.files[max(self.files, key=_by_numbers)])
        frame = joined({address: _read(address) for address in addresses})
        return frame if self.window is None else self.window.last_rows(frame, "the joined table")


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """Sorts ``part-10`` behind ``part-2``."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def source_at(
    address: str, mode: str = "replace", window: str | None = None, time: str | None = None
) -> TableSource:
    """Source of what is at an address now: one file, or all tables of a folder in the order of their names.

    Raises
    ------
    SettingsError
        As `check_mode`, and where the address cannot be meant.
    DataError
        If a folder holds no table.
    ServiceError
        If a remote folder cannot be listed.
    """
    last = check_mode(mode, window, time)
    parts = files_at(address)
    if parts is None:
        return TableSource({address: address}, "append" if mode == "partition" else mode, last)
    if mode != "partition":
        parts = {name: file for name, file in parts.items() if is_table_name(name)}
    if not parts:
        raise DataError(f"{public_address(address)} is a directory that holds no table")
    return TableSource(parts, mode, last)


def files_at(address: str) -> dict[str, str] | None:
    """Files of a folder, here or behind a URI, by their paths from there; None if it is no folder."""
    if "://" in address:
        return folder_parts(address)
    folder = Path(address)
    return local_parts(folder) if folder.is_dir() else None


def is_table_name(name: str) -> bool:
    """Whether a file of this name in a folder is taken for a table."""
    return name.lower().removesuffix(".gz").endswith(FOLDER_EXTENSIONS)


def check_mode(mode: str, window: str | None, time: str | None) -> Window | None:
    """Window of a mode that has one.

    Raises
    ------
    SettingsError
        If there is no such mode, or mode and window do not fit each other.
    """
    if mode not in MODES:
        raise SettingsError(
            f"mode must be one of {', '.join(MODES)}; got {mode!r}{did_you_mean(mode, MODES)}",
            setting="mode",
        )
    if (mode == "window") != (window is not None):
        raise SettingsError(
            "mode window and a window such as '90 days' or '5000 rows' belong together; "
            f"got mode {mode} and {'no window' if window is None else f'window {window!r}'}",
            setting="window",
        )
    if time is not None and window is None:
        raise SettingsError("a column of times is for the mode window", setting="time")
    return None if window is None else Window.parse(window, time)


def _read(address: str) -> pd.DataFrame:
    """One file; errors name it as the one to blame."""
    try:
        return read_table(address)
    except DataError as error:
        raise DataError(
            error.message, problems=error.problems, **{"file": address, **_fields(error)}
        ) from None


def _fields(error: DataError) -> dict[str, object]:
    return {key: value for key, value in error.fields.items() if key not in ("problems", "file")}


def _days(frame: pd.DataFrame, time: str, source: str) -> np.ndarray:
    if time not in frame.columns:
        raise DataError(
            f"{source}: there is no column {time!r} with the times of the rows"
            f"{did_you_mean(time, frame.columns)}"
        )
    column, findings = Column(frame[time]), Findings(source)
    if column.kind in ("number", "boolean"):
        raise DataError(f"{source}: column {time!r} must hold dates; found {column.kind}s")
    days = time_numbers(column, findings)
    if days is None:
        raise DataError.of(findings.problems, source=source)
    if np.isnan(days).any():
        row = int(np.isnan(days).argmax()) + 1
        raise DataError(f"{source}: column {time!r} is empty in row {row}; every row needs a time")
    return days
