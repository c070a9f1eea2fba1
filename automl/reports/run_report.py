"""The stage of a run that writes its report, and the report of any run when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from automl.errors import AutoMLError
from automl.home import Home, RunFolder
from automl.records import Trial
from automl.reports.command_line import command
from automl.reports.run_page import write_report
from automl.reports.sections.behavior import could_look_longer
from automl.run.session import Session
from automl.run_records.report import LOOK_SECONDS, PATIENT_SECONDS, ReportRecord
from automl.run_state import last_activity

LEAST_SECONDS = 0.5
"""Fewest seconds of an idle machine: to read the records and to draw them takes a third of a second."""


def make_report(session: Session, _trials: Sequence[Trial]) -> ReportRecord:
    """Write the report of the run that is driven; a record of why not, where there is no time.

    Whatever happens here, the model is there: no error of a page ends a run.
    """
    left = session.ledger.left_for(ReportRecord.stage)
    if left is not None and left < LEAST_SECONDS * session.ledger.slowness:
        return ReportRecord(
            reason=f"no time was left for the report; {_command(session.folder)} makes it"
        )
    try:
        write_report(
            session.folder,
            session.folder.report,
            seconds=_look_seconds(session),
            model=session.model,
        )
    except AutoMLError as error:
        reason = error.message
    except Exception as error:  # noqa: BLE001 - a finished model is worth more than a page about it
        reason = f"{type(error).__name__} {error}"
    else:
        return ReportRecord(size_kib=session.folder.report.stat().st_size / 1024)
    session.warnings.append(
        f"the report could not be made ({reason}); {_command(session.folder)} tries again"
    )
    return ReportRecord(reason=f"the report could not be made: {reason}")


def current_report(folder: RunFolder, *, seconds: float = PATIENT_SECONDS) -> bool:
    """Write the report of a run anew where it has none, or less than is known; whether it did.

    Parameters
    ----------
    seconds : see `run_page`
    """
    page, outbox = folder.report, folder.path / "outbox.json"
    if page.is_file() and not folder.is_driven():
        told = outbox.stat().st_mtime if outbox.exists() else 0.0
        is_newest = page.stat().st_mtime >= max(last_activity(folder), told)
        if is_newest and not could_look_longer(page.read_text(encoding="utf-8"), seconds):
            return False
    write_report(folder, page, seconds=seconds)
    return True


def _look_seconds(session: Session) -> float:
    """For the deployed model: what is left beside reading and drawing."""
    left = session.ledger.left_for(ReportRecord.stage)
    if left is None:
        return LOOK_SECONDS
    return min(max(left - LEAST_SECONDS * session.ledger.slowness, 0.0), LOOK_SECONDS)


def _command(folder: RunFolder) -> str:
    return command(Home(folder.path.parents[1]), "report", folder.run_id)
