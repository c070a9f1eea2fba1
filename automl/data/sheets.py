"""The first sheet of a spreadsheet, by the extra ``excel``."""

from __future__ import annotations

import zipfile
from typing import BinaryIO

import pandas as pd

from automl.data.dialect import Opener
from automl.data.findings import Oddity
from automl.data.memory_limit import check_size
from automl.errors import DataError
from automl.inference.columns import MISSING_TEXTS

SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def read_sheet(open_file: Opener, name: str) -> tuple[pd.DataFrame, list[Oddity]]:
    """Rows below the first one, which names the columns; and a note where there are further sheets.

    Raises
    ------
    DataError
        If the extra is missing, the file is no spreadsheet, is too large, or has no rows.
    """
    try:
        from python_calamine import CalamineError
    except ImportError:
        raise DataError(
            f"{name} is a spreadsheet; save the sheet as csv, or install the extra: "
            "pip install 'automl-flows[excel]'"
        ) from None
    with open_file() as stream:
        _check_unzipped(stream, name)
        try:
            sheets, sheet = _first_sheet(stream)
        except (CalamineError, OSError, ValueError) as error:
            raise DataError(f"{name} is not a readable spreadsheet: {error}") from None
    if len(sheet) < 2:
        raise DataError(f"{name} is empty; a header line and rows are expected")
    header = ["" if pd.isna(value) else str(value) for value in sheet.iloc[0]]
    frame = sheet.iloc[1:].set_axis(header, axis=1).infer_objects()
    if len(sheets) == 1:
        return frame, []
    note = f"the first of {len(sheets)} sheets is read ({sheets[0]!r})"
    return frame, [Oddity(note, f"{note}; save the sheet that is meant as csv")]


def _first_sheet(stream: BinaryIO) -> tuple[list[str], pd.DataFrame]:
    with pd.ExcelFile(stream, engine="calamine") as book:
        names = [str(sheet) for sheet in book.sheet_names]
        sheet = pd.read_excel(
            book, header=None, keep_default_na=False, na_values=list(MISSING_TEXTS)
        )
    return names, sheet


def _check_unzipped(stream: BinaryIO, name: str) -> None:
    if not zipfile.is_zipfile(stream):
        return
    with zipfile.ZipFile(stream) as archive:
        check_size(sum(member.file_size for member in archive.infolist()), name)
    stream.seek(0)
