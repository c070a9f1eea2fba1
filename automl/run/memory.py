"""A run's knowledge of other data, and its own addition to it."""

from __future__ import annotations

from automl.errors import AutoMLError, SettingsError
from automl.experience.data_set import Experience
from automl.experience.harvest import collect
from automl.experience.knowledge import shipped
from automl.experience.snapshot import LEAST_DIGITS, ExperienceRecord, Snapshot
from automl.experience.store import ExperienceStore, read_export, write_export
from automl.forecasts.earlier_runs import MOST_RUNS
from automl.home import Home
from automl.run.session import Session
from automl.settings import Settings


def take_snapshot(session: Session) -> tuple[Experience, ...]:
    """Experience of the home and the package at the start of the run, kept in the run folder.

    Raises
    ------
    ServiceError
        If it cannot be kept.
    """
    snapshot = Snapshot()

    def make() -> ExperienceRecord:
        nonlocal snapshot
        snapshot = _snapshot(session)
        if snapshot.experiences:
            write_export(session.folder.experience, snapshot.experiences)
        return snapshot.record

    session.record(ExperienceRecord, make)
    return snapshot.experiences or recall_snapshot(session)


def recall_snapshot(session: Session) -> tuple[Experience, ...]:
    """Experience that the run began with, whatever the home has learned since.

    A run that an earlier version began knew nothing.
    """
    record = session.record(ExperienceRecord, ExperienceRecord)
    if not record.entries:
        return ()
    try:
        kept = Snapshot.of(read_export(session.folder.experience).experiences)
    except SettingsError:
        kept = Snapshot()
    if kept.digest != record.digest:
        session.is_reproducible = False
        session.warnings.append(
            f"the experience that the run began with is incomplete in "
            f"{session.folder.experience}: {len(kept.experiences)} of {len(record.entries)} "
            "entries can be read"
        )
    return kept.experiences


def _snapshot(session: Session) -> Snapshot:
    settings = session.settings
    if not settings.experience:
        return Snapshot()
    try:
        newest = session.home.run_folders()[-MOST_RUNS:]
        collect(session.home, among=newest, reads_tables=False)
    except AutoMLError as error:
        session.warnings.append(f"earlier runs could not be remembered: {error.message}")
    reading = ExperienceStore(session.home.experience).read()
    experiences = (*reading.experiences, *shipped())
    snapshot = Snapshot.of(experiences, settings.exclude_experience)
    session.warnings += reading.notes
    session.warnings += _about_unknown(snapshot)
    return snapshot


def unknown_exclusions(home: Home, settings: Settings) -> list[str]:
    """A sentence for each name of `exclude_experience` by which nothing is known in this home."""
    if not settings.exclude_experience:
        return []
    experiences = (*ExperienceStore(home.experience).read().experiences, *shipped())
    return _about_unknown(Snapshot.of(experiences, settings.exclude_experience))


def _about_unknown(snapshot: Snapshot) -> list[str]:
    return [
        f"setting exclude_experience: the experience has no data set or run {text!r}, and no "
        f"fingerprint or layout begins with it (these need {LEAST_DIGITS} digits or more)"
        for text in snapshot.unknown
    ]
