"""How a run comes to life: begun from settings, or reopened from its folder."""

from __future__ import annotations

import os
import shutil
import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pandas as pd

from automl.errors import SettingsError
from automl.evaluation.journal import Journal
from automl.evaluation.journal import read as read_journal
from automl.experience.snapshot import ExperienceRecord
from automl.home import Home, RunFolder
from automl.record_files import StageRecords
from automl.records import Trial
from automl.run.foreign_runs import PLAN, plan_digest, refuse_foreign, signed_facts
from automl.run.ledger import is_late, ledger_of
from automl.run.local_slots import MakeSlots, local_slots
from automl.run.memory import recall_snapshot, take_snapshot
from automl.run.own_priors import keep_own_priors
from automl.run.preparation import prepare, versions
from automl.run.session import Session
from automl.run.stage_table import unknown_tail
from automl.run.table_description import describe_table
from automl.run.workers import check_workers
from automl.run_state import (
    HOST,
    KILLED,
    RUNNING,
    Attempt,
    attempts_of,
    last_activity,
)
from automl.settings import Settings
from automl.settings.sources import validated_settings
from automl.tracking.problem_experiment import check_problem
from automl.training_request import KEY as REQUEST
from automl.training_request import TrainingRequest

GIVEN_FRAME = "is_frame"
"""Key in `run.json`: the table was given from memory, so that it cannot be read once more."""


@dataclass(frozen=True)
class Place:
    """Where the trials of a run are made.

    Parameters
    ----------
    cluster : address of a Dask scheduler; None for this machine
    """

    cluster: str | None


def begin(
    settings: Settings,
    home: Home,
    *,
    frame: pd.DataFrame | None = None,
    started: float | None = None,
    request: TrainingRequest | None = None,
    make_slots: MakeSlots = local_slots,
) -> Session:
    """Start a new run: slots in the background, then the table.

    The tables are read here and never again, so the run keeps their public addresses alone.

    Parameters
    ----------
    frame
        The table itself, instead of the source in the settings.
    started
        `time.monotonic()` of the command's first line.
    request
        Of a retraining: where its settings come from; kept in `run.json`.
    make_slots
        Makes the slots that trials run in.

    Raises
    ------
    DataError, SettingsError
        See `automl.run.preparation.prepare`; the run folder is removed then.
    """
    check_workers(settings)
    check_problem(home.path, settings)
    folder = home.create_run()
    try:
        session = _open(settings.public, home, folder, started, make_slots)
    except BaseException:
        _remove(folder)
        raise
    began = time.time() - session.ledger.elapsed
    try:
        facts = {
            "run_id": folder.run_id,
            "settings": settings.public.model_dump(mode="json"),
            "started_at": began,
            "attempts": [Attempt(began).to_json()],
            "pid": os.getpid(),
            HOST: socket.gethostname(),
            "versions": versions(),
            "seed": settings.seed,
            "status": "preparing",
            **({} if frame is None else {GIVEN_FRAME: True}),
            **({} if request is None else {REQUEST: request.to_json()}),
            "processes": [process_facts(session)],
        }
        folder.write_facts(signed_facts(facts))
        _take_table(session, settings, facts, frame)
    except BaseException:
        session.close()
        _remove(folder)
        session.release()
        raise
    return session


def _take_table(
    session: Session, settings: Settings, facts: dict[str, Any], frame: pd.DataFrame | None = None
) -> None:
    """Read the table, and learn what depends on it alone; the run can begin to search.

    Parameters
    ----------
    settings
        Those of the session, with what is secret in the addresses of tables.
    facts
        What `run.json` says so far.
    """
    with session.ledger.stage("data"):
        data = prepare(session.folder, settings, frame=frame, slots=session.pool.n_slots)
    if not session.is_late:
        describe_table(session)
    session.experience = take_snapshot(session)
    keep_own_priors(session)
    experience = (ExperienceRecord.read(session.folder) or ExperienceRecord()).digest
    run_facts = {PLAN: plan_digest(session.folder), "data": data, "status": RUNNING}
    session.folder.write_facts(signed_facts({**facts, "experience": experience, **run_facts}))
    session.records.write("data", data)


def reopen(
    run_id: str,
    home: Home,
    *,
    started: float | None = None,
    trust: bool = False,
    place: Place | None = None,
    make_slots: MakeSlots = local_slots,
) -> Session:
    """Continue an interrupted run from its journal and stage records.

    The budget is what the run had left when it was interrupted, and at least what the stages
    after the search need.

    Parameters
    ----------
    trust
        Whether a run that another installation has begun may be continued: its settings can name code.
    place
        Of the trials that this process makes; None for the one that the run was begun with, which
        stays recorded.
    make_slots
        Makes the slots that trials run in.

    Raises
    ------
    SettingsError
        If there is no such run, it was ended before it had read a table that no file holds, another
        process drives it, or it needs `trust`.
    DataError
        If its settings or its plan were changed since this installation wrote them.
    """
    folder = home.run(run_id)
    facts = folder.read_facts()
    if "data" not in facts and (facts.get(GIVEN_FRAME) or not facts.get("settings")):
        raise SettingsError(
            f"run {folder.run_id} was interrupted before it had read its table, which is not in a file; "
            "train again",
            run=folder.run_id,
        )
    if not trust:
        refuse_foreign(folder, facts)
    moved = {} if place is None else {"cluster": place.cluster}
    settings = validated_settings({**facts["settings"], **moved}, of=f"run {folder.run_id}")
    session = _open(settings, home, folder, started, make_slots)
    session.earlier = [
        Trial.from_json(record["trial"])
        for record in read_journal(folder.journal)
        if record.get("type") == "trial"
    ]
    before = _earlier_attempts(folder, facts)
    used = sum(attempt.seconds for attempt in before)
    total = session.ledger.total
    session.ledger.started -= used if total is None else min(used, _most_used(total))
    facts["attempts"] = [attempt.to_json() for attempt in (*before, Attempt(time.time()))]
    facts["processes"] = [*facts.get("processes", ()), process_facts(session)]
    facts |= {"pid": os.getpid(), HOST: socket.gethostname(), "status": RUNNING}
    if "data" in facts:
        folder.write_facts(facts)
        session.experience = recall_snapshot(session)
    else:
        _take_table(session, session.settings, facts)
    return session


def _most_used(total: float) -> float:
    """Seconds of a budget, without what the stages after a search need."""
    return max(total - sum(unknown_tail().values()), 0.0)


def process_facts(session: Session) -> dict[str, float | int]:
    """When this process began to drive the run, and on how many slots."""
    return {"started_at": time.time(), "slots": session.pool.n_slots}


def _earlier_attempts(folder: RunFolder, facts: dict[str, Any]) -> list[Attempt]:
    """Attempts before this one, the last of which may have been killed."""
    *earlier, last = attempts_of(facts)
    if last.ended is None:
        last = Attempt(last.began, max(last.began, last_activity(folder)), KILLED)
    return [*earlier, last]


def _open(
    settings: Settings,
    home: Home,
    folder: RunFolder,
    started: float | None,
    make_slots: MakeSlots,
) -> Session:
    with ExitStack() as held:
        held.enter_context(folder.lock())
        ledger = ledger_of(settings, started)
        pool = make_slots(settings, folder, starts_at_once=not is_late(settings, ledger))
        journal, records = Journal(folder.journal), StageRecords(folder.stages)
        kept = held.pop_all()
    return Session(settings, home, folder, ledger, pool, journal, records, earlier=[], held=kept)


def _remove(folder: RunFolder) -> None:
    shutil.rmtree(folder.path, ignore_errors=True)
