"""Text tables with delimiters, read strictly: what pandas would mend silently is an error with its line."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pandas as pd

from automl.data.findings import Oddity, odd_names
from automl.errors import DataError
from automl.inference.columns import MISSING_TEXTS, unique_names

_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}
_BYTE_ORDER_MARKS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}

Opener = Callable[[], BinaryIO]


def read_delimited(
    open_file: Opener, *, name: str, delimiter: str
) -> tuple[pd.DataFrame, list[Oddity]]:
    """Frame of a text table with a header line, and what was odd about the header.

    Parameters
    ----------
    open_file
        Opens the uncompressed bytes; called once per pass.
    name
        File name for messages.

    Raises
    ------
    DataError
        If the file is empty, not UTF-8, not a table with this delimiter, or has a ragged row.
    """
    try:
        header, first = _first_records(open_file, name, delimiter)
        _check_header(header, name, delimiter)
        if first is not None and len(first) > len(header):
            raise DataError(_ragged(name, 2, len(first), len(header)))
        frame = _parse(open_file, name, delimiter)
        _refuse_short_rows(frame, open_file, name, delimiter)
    except UnicodeDecodeError as error:
        raise DataError(_undecodable(open_file, name, error)) from None
    unique = unique_names(header)
    return frame.set_axis(unique, axis=1), odd_names(header, unique)


def _parse(open_file: Opener, name: str, delimiter: str) -> pd.DataFrame:
    try:
        with open_file() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                stream,
                sep=delimiter,
                encoding="utf-8-sig",
                keep_default_na=False,
                na_values=list(MISSING_TEXTS),
                index_col=False,
                low_memory=False,
            )
    except pd.errors.ParserError as error:
        raise DataError(_parser_message(name, str(error))) from None


def _parser_message(name: str, text: str) -> str:
    ragged = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if ragged:
        expected, line, found = map(int, ragged.groups())
        return _ragged(name, line, found, expected)
    if "EOF inside string" in text:
        row = re.search(r"row (\d+)", text)
        where = f"the record after line {row.group(1)}" if row else "a record"
        return f"{name}: a quotation mark opened in {where} is never closed"
    return f"{name} is not a readable table: {' '.join(text.split())}"


def _ragged(name: str, line: int, found: int, expected: int) -> str:
    return (
        f"{name}, line {line}: {found} fields, but the header has {expected}; "
        "quote values that contain the delimiter"
    )


def _records(open_file: Opener, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line where each record ends, counted from 1, and its fields; blank lines left out."""
    with open_file() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        reader = csv.reader(text, delimiter=delimiter)
        for fields in reader:
            if fields:
                yield reader.line_num, fields


def _first_records(
    open_file: Opener, name: str, delimiter: str
) -> tuple[list[str], list[str] | None]:
    with open_file() as stream:
        head = stream.read(4)
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise DataError(f"{name} is encoded in {encoding}; save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{name} is a binary file, not a text table; check its extension")
    try:
        records = _records(open_file, delimiter)
        header = next(records, (0, None))[1]
        first = next(records, (0, None))[1]
    except csv.Error as error:
        raise DataError(f"{name} is not a readable table: {error}") from None
    if header is None or not any(field.strip() for field in header):
        raise DataError(f"{name} is empty; a header line and rows are expected")
    if first is None:
        raise DataError(f"{name} has a header but no rows")
    return header, first


def _check_header(header: list[str], name: str, delimiter: str) -> None:
    if len(header) > 1:
        return
    for other, words in _OTHER_DELIMITERS.items():
        if other != delimiter and other in header[0]:
            expected = _OTHER_DELIMITERS[delimiter]
            raise DataError(
                f"{name}: the header {header[0][:60]!r} is a single column, it seems to be delimited by "
                f"{words}; {expected} are expected for this extension"
            )


def _refuse_short_rows(frame: pd.DataFrame, open_file: Opener, name: str, delimiter: str) -> None:
    """Pandas fills short rows with missing values, so only a table that ends in one can have them."""
    n_columns = frame.shape[1]
    if n_columns < 2 or not frame.iloc[:, -1].isna().any():
        return
    for line, fields in _records(open_file, delimiter):
        if len(fields) < n_columns:
            raise DataError(_ragged(name, line, len(fields), n_columns))


def _undecodable(open_file: Opener, name: str, error: UnicodeDecodeError) -> str:
    with open_file() as stream:
        for line, content in enumerate(stream, start=1):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as found:
                byte = content[found.start]
                return (
                    f"{name}, line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
                )
    return f"{name} is not UTF-8 ({error.reason}); save the file as UTF-8"
