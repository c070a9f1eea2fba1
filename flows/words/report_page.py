"""The report of a run as a file: its address, a browser that shows it, a frame in a notebook."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from html import escape
from pathlib import Path

from automl.home import RunFolder
from automl.reports.run_page import write_report
from automl.reports.run_report import current_report
from automl.run_records.report import PATIENT_SECONDS

FRAME_HEIGHT = 640
"""Pixels of the frame in a notebook: the answer and its numbers, with the cell above still in sight."""


@dataclass(frozen=True)
class ReportPage:
    """A page that has been written.

    Parameters
    ----------
    file : absolute path
    is_new : whether it was written just now
    """

    file: Path
    is_new: bool

    @property
    def address(self) -> str:
        """What a browser takes."""
        return self.file.as_uri()

    def open(self) -> None:
        """Show it in a browser."""
        open_in_browser(self.file)

    def __fspath__(self) -> str:
        return str(self.file)

    def __str__(self) -> str:
        return self.address

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame, which runs nothing."""
        text = escape(self.file.read_text(encoding="utf-8"))
        return (
            f'<iframe title="Report of a run" srcdoc="{text}" sandbox loading="lazy" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:1px solid rgba(128,128,128,.4)">'
            "</iframe>"
        )


def report_page(
    folder: RunFolder, output: Path | None = None, *, seconds: float | None = None
) -> ReportPage:
    """The report of a run, written where it is missing or says less than is known.

    Parameters
    ----------
    output : where it is written in any case; None for the run's folder
    seconds
        That looking at the deployed model may take; the report is then written anew. None for the default.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    is_new = True
    if output is None and seconds is None:
        is_new = current_report(folder)
    else:
        write_report(folder, output or folder.report, seconds=seconds or PATIENT_SECONDS)
    return ReportPage((output or folder.report).resolve(), is_new)


def open_in_browser(file: Path) -> None:
    """Show a page in a browser."""
    webbrowser.open(file.as_uri())
