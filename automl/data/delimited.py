"""Text tables with delimiters, read strictly: what pandas would mend silently is an error with its line."""

from __future__ import annotations

import csv
import re
import warnings

import pandas as pd

from automl.data.dialect import BLANK, Dialect, Opener, find_dialect
from automl.data.findings import Oddity, odd_names
from automl.errors import DataError
from automl.inference.columns import MISSING_TEXTS, unique_names


def read_delimited(
    open_file: Opener, *, name: str, delimiter: str
) -> tuple[pd.DataFrame, list[Oddity]]:
    """Frame of a text table with a header line, and what was odd about how it is written.

    Parameters
    ----------
    open_file
        Opens the uncompressed bytes; called once per pass.
    name
        File name for messages.
    delimiter
        Usual for the extension; another one is found where it divides the records alike.

    Raises
    ------
    DataError
        If the file is empty, binary, or has a ragged row.
    """
    dialect, oddities = find_dialect(open_file, name=name, delimiter=delimiter)
    header, line, first = _first_records(open_file, name, dialect)
    if len(first) > len(header):
        raise DataError(_ragged(name, line, len(first), len(header)))
    frame = _parse(open_file, name, dialect)
    _refuse_short_rows(frame, open_file, name, dialect)
    unique = unique_names(header)
    return frame.set_axis(unique, axis=1), [*oddities, *odd_names(header, unique)]


def _parse(open_file: Opener, name: str, dialect: Dialect) -> pd.DataFrame:
    try:
        with open_file() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                stream,
                sep=r"\s+" if dialect.delimiter == BLANK else dialect.delimiter,
                encoding=dialect.encoding,
                skiprows=dialect.n_skipped,
                skipinitialspace=dialect.skips_blanks,
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
        expected, line, width = map(int, ragged.groups())
        return _ragged(name, line, width, expected)
    if "EOF inside string" in text:
        row = re.search(r"row (\d+)", text)
        where = f"the record after line {row.group(1)}" if row else "a record"
        return f"{name}: a quotation mark opened in {where} is never closed"
    return f"{name} is not a readable table: {' '.join(text.split())}"


def _ragged(name: str, line: int, width: int, expected: int) -> str:
    return (
        f"{name}, line {line}: {width} fields, but the header has {expected}; "
        "quote values that contain the delimiter"
    )


def _first_records(
    open_file: Opener, name: str, dialect: Dialect
) -> tuple[list[str], int, list[str]]:
    """Header, and line and fields of the first record."""
    try:
        records = dialect.records(open_file)
        header = next(records, (0, None))[1]
        line, first = next(records, (0, None))
    except csv.Error as error:
        raise DataError(f"{name} is not a readable table: {error}") from None
    if header is None or not any(field.strip() for field in header):
        raise DataError(f"{name} is empty; a header line and rows are expected")
    if first is None:
        raise DataError(f"{name} has a header but no rows")
    return header, line, first


def _refuse_short_rows(frame: pd.DataFrame, open_file: Opener, name: str, dialect: Dialect) -> None:
    """Pandas fills short rows with missing values, so only a table that ends in one can have them."""
    n_columns = frame.shape[1]
    if n_columns < 2 or not frame.iloc[:, -1].isna().any():
        return
    for line, fields in dialect.records(open_file):
        if len(fields) < n_columns:
            raise DataError(_ragged(name, line, len(fields), n_columns))
