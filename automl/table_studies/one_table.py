"""One table: a run whose trials are a given list, and what remains of it as experience.

It is the ordinary search of the ordinary session, with slots that can be killed and a journal that
is the truth; only its opening is given, and no stage follows.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf
from typing import Any

import pandas as pd

from automl.addresses import public_address, whole_address
from automl.data.readers import read_table
from automl.errors import DataError, ServiceError
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.families.family import kind_of
from automl.origins import GIVEN
from automl.record_files import StageRecords
from automl.records import Configuration, Trial
from automl.run.beginning import begin, reopen
from automl.run.search_spaces import spaces_of
from automl.run.session import Session
from automl.stages.first_configurations import give_configurations, given_configurations
from automl.stages.participation import usable_families
from automl.stages.searching import Search, run_search
from automl.table_studies.conditions import Conditions, check_measure, sample_rows
from automl.table_studies.design import design
from automl.table_studies.facts import content_of, facts_of, target_for
from automl.table_studies.learned_folder import LearnedFolder, LearnedTable

ORIGIN = "learned"
FINGERPRINT_DIGITS = 8
"""Hexadecimal; two tables of one name share them in one of four billion cases."""
ASKED = "asked"
"""Name of the record of what a run was begun for: the measure of its scores, and configurations."""


@dataclass(frozen=True)
class Request:
    """A table and what to run on it.

    Parameters
    ----------
    data
        Settings that belong to the table; of its address the public form is enough where the whole
        one was entrusted to this process. A table of test rows is left alone.
    """

    name: str
    data: Mapping[str, Any]
    conditions: Conditions


@dataclass(frozen=True)
class Outcome:
    """What is known of a table now, and how many of its trials are new."""

    learned: LearnedTable
    n_new: int = 0

    def summary(self) -> dict[str, Any]:
        """A few plain values."""
        trials = self.learned.experience.trials
        best = max((t for t in trials if t.score is not None), key=_score, default=None)
        return {
            "trials": len(trials),
            "new": self.n_new,
            "complete": sum(trial.score is not None for trial in trials),
            "left_out": len(self.learned.left_out),
            "seconds": round(sum(trial.seconds for trial in trials), 1),
            "rows": self.learned.experience.data.rows,
            "best": None if best is None else best.score,
            "best_family": None if best is None else best.configuration.family,
        }


def _score(trial: KnownTrial) -> float:
    return -inf if trial.score is None else trial.score


def learn_table(folder: LearnedFolder, request: Request) -> Outcome:
    """Try a table with all that is asked for and that it has not been tried with yet.

    What is known of it then is added to the home's experience.

    Raises
    ------
    DataError
        With every problem of the table, or if its content is not what was learned.
    SettingsError
        If the record holds scores that were measured otherwise, or another process drives the run.
    InterruptedRunError
        If the run is being stopped; the same call continues it.
    """
    record = folder.read(request.name)
    frame = _read(request)
    n_known = 0
    if record is not None:
        _check_measure(record.measure, request, folder)
        _check_content(record, request, frame, folder)
        if is_done(record, request):
            if record.is_taken_over:
                folder.write(replace(record, rows=len(frame)))
            else:
                folder.remember(record)
            return Outcome(record)
        n_known = len(record.experience.trials)
    is_continued = bool(folder.run_home(request.name).run_folders())
    learned = _run_and_keep(folder, request, record, frame)
    if is_continued and not is_done(learned, request):  # it was begun with less to do
        learned = _run_and_keep(folder, request, learned, frame)
    return Outcome(learned, len(learned.experience.trials) - n_known)


def _run_and_keep(
    folder: LearnedFolder, request: Request, record: LearnedTable | None, frame: pd.DataFrame
) -> LearnedTable:
    home = folder.run_home(request.name)
    try:
        learned = _run(folder, request, record, frame)
    except DataError:
        shutil.rmtree(home.path, ignore_errors=True)
        raise
    folder.write(learned)
    shutil.rmtree(home.path, ignore_errors=True)
    return learned


def in_turn(names: Iterable[str], seed: int) -> list[str]:
    """Names in an order that has nothing to do with them, so that an early stop leaves a fair part."""
    return sorted(names, key=lambda name: hashlib.blake2b(f"{seed}/{name}".encode()).digest())


def is_done(record: LearnedTable, request: Request) -> bool:
    """Whether a record holds all that is asked for, as far as there was time."""
    wanted = request.conditions
    has_all = all(c.id in record.asked for c in _design(record.experience.data.task, wanted))
    has_time = not record.left_out or record.table_seconds >= wanted.table_seconds
    is_searched = record.searched >= wanted.search_trials or _spent(record) >= wanted.table_seconds
    return has_all and has_time and is_searched


def _spent(record: LearnedTable) -> float:
    """Processor seconds of all trials of a table."""
    return sum(trial.seconds for trial in record.experience.trials)


def _design(task: str, conditions: Conditions) -> list[Configuration]:
    return design(
        kind_of(task), draws=conditions.draws, seed=conditions.seed, only=conditions.families
    )


def _check_measure(known: Mapping[str, Any], request: Request, folder: LearnedFolder) -> None:
    where, remedy = f"{folder.path / request.name}", "use another --home"
    check_measure(known, request.conditions.measure(), where=where, remedy=remedy)


def _read(request: Request) -> pd.DataFrame:
    source = str(request.data["table"])
    frame = read_table(whole_address(source))
    frame.attrs["source"] = public_address(source)
    return frame


def _run(
    folder: LearnedFolder, request: Request, record: LearnedTable | None, frame: pd.DataFrame
) -> LearnedTable:
    session = _session(folder, request, frame, is_known=record is not None)
    try:
        given = _given(session, request, record)
        n_search = request.conditions.search_trials - (0 if record is None else record.searched)
        session.settings = session.settings.model_copy(
            update={"trials": max(len(given) + max(n_search, 0), 1)}
        )
        spent = 0.0 if record is None else _spent(record)
        known = record.experience.trials if record is not None and n_search > 0 else ()
        has_work = given or n_search > 0
        trials = _search(session, request.conditions, spent, known) if has_work else []
        return _joined(_learned(request, session, trials, frame), record)
    finally:
        session.close()
        session.release()


def _session(
    folder: LearnedFolder, request: Request, frame: pd.DataFrame, *, is_known: bool
) -> Session:
    """The session of an interrupted run on this table, else a new one.

    Parameters
    ----------
    is_known
        Whether there are trials of the table.

    Raises
    ------
    ServiceError
        If another process drives the run.
    SettingsError
        If the scores of the interrupted run were measured otherwise.
    """
    home = folder.run_home(request.name)
    for run in reversed(home.run_folders()):
        if run.is_driven():
            raise ServiceError(f"run {run.run_id} on {request.name} is driven by another process")
        asked = StageRecords(run.stages).read(ASKED)
        if asked is not None:
            _check_measure(asked["measure"], request, folder)
            return reopen(run.run_id, home)
    shutil.rmtree(home.path, ignore_errors=True)  # killed before its first trial
    target = target_for(request.data, frame)
    used = _used_rows(request, frame)
    data = {key: value for key, value in request.data.items() if key != "test"}
    settings = request.conditions.settings({**data, "target": target}, len(used))
    if settings.experience and is_known:  # the search is told of this table's own trials
        settings = settings.model_copy(update={"exclude_experience": (request.name,)})
    return begin(settings, home, frame=used)


def _used_rows(request: Request, frame: pd.DataFrame) -> pd.DataFrame:
    wanted = request.conditions
    return sample_rows(
        frame, target_for(request.data, frame), most=wanted.most_rows, seed=wanted.seed
    )


def _given(session: Session, request: Request, record: LearnedTable | None) -> list[Configuration]:
    """Configurations of the run: those it began with, else those that the record lacks."""
    if session.records.read(GIVEN) is not None:
        return given_configurations(session)
    wanted = _design(session.plan.table.task, request.conditions)
    there = set() if record is None else record.asked - record.left_out
    given = _admitted(session, [c for c in wanted if c.id not in there])
    measure = request.conditions.measure()
    session.records.write(ASKED, {"measure": measure, "ids": [c.id for c in wanted]})
    give_configurations(session, given)
    return given


def _admitted(session: Session, wanted: Sequence[Configuration]) -> list[Configuration]:
    """Those of families that take this table, and of their spaces."""
    settings, plan = session.settings, session.plan
    usable, _ = usable_families(settings, plan)
    spaces = spaces_of(plan, usable, settings)
    return [c for c in wanted if c.family in spaces and spaces[c.family].is_legal(c) is None]


def _search(
    session: Session, conditions: Conditions, spent: float, known: Sequence[KnownTrial]
) -> list[Trial]:
    """Trials until the time of the table is over, of which `spent` seconds are gone.

    Parameters
    ----------
    known
        Earlier trials of the table, from which the search goes on.
    """
    search = Search(session, keeps_models=False)
    for number, one in enumerate(known):
        if one.configuration.family in search.families:
            search.turns.learn(_told(session.run_id, number, one))

    def is_late() -> bool:
        return spent + sum(processor_seconds(search.turns.trials)) >= conditions.table_seconds

    run_search(search, until=is_late)
    return search.turns.trials


def _told(run_id: str, number: int, known: KnownTrial) -> Trial:
    """A known trial as decisions see it."""
    return Trial(
        run_id,
        number,
        known.configuration,
        known.status,
        known.score,
        fidelity=known.fidelity,
        seconds=known.seconds,
    )


def _joined(learned: LearnedTable, record: LearnedTable | None) -> LearnedTable:
    """What is learned now behind what was known."""
    if record is None:
        return learned
    trials = (*record.experience.trials, *learned.experience.trials)
    each_once = {(t.configuration.id, t.fidelity): t for t in reversed(trials)}
    still_open = record.left_out - {trial.configuration.id for trial in trials} - learned.left_out
    return replace(
        learned,
        experience=replace(learned.experience, trials=tuple(reversed(each_once.values()))),
        asked=learned.asked | record.asked,
        left_out=learned.left_out | still_open,
        table_seconds=record.table_seconds if still_open else learned.table_seconds,
        searched=learned.searched + record.searched,
    )


def _check_content(
    record: LearnedTable, request: Request, frame: pd.DataFrame, folder: LearnedFolder
) -> None:
    if record.experience.data.fingerprint == content_of(request.data, frame):
        return
    remedy = "use another --home"
    if record.is_taken_over:
        folder.remove(request.name)
        remedy = "another file for --into"
    raise DataError(
        f"{public_address(str(request.data['table']))} has changed since it was learned as "
        f"{request.name}; give the table another name, or {remedy}"
    )


def check_measures(
    folder: LearnedFolder, data_sets: Mapping[str, Mapping[str, Any]], conditions: Conditions
) -> None:
    """Refuse scores that could not be set beside those of records that are there.

    Raises
    ------
    SettingsError
        If a record of one of these tables holds scores that were measured otherwise.
    """
    for name, data in data_sets.items():
        record = folder.read(name)
        if record is not None:
            _check_measure(record.measure, Request(name, data, conditions), folder)


def _learned(
    request: Request, session: Session, trials: Sequence[Trial], frame: pd.DataFrame
) -> LearnedTable:
    facts = facts_of(request.name, request.data, session.plan.table, frame)
    record = session.records.read(ASKED) or {}
    measure = record["measure"]
    experience = Experience(
        identity_of(facts, measure),
        facts,
        measure["metric"],
        _known(trials),
        origin=ORIGIN,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        training_rows=session.folder.read_facts()["data"]["training_rows"],
    )
    tried = {trial.configuration.id for trial in trials}
    return LearnedTable(
        experience,
        {**request.data, "table": public_address(str(request.data["table"]))},
        measure,
        len(frame),
        asked=frozenset(record["ids"]),
        left_out=frozenset(c.id for c in given_configurations(session) if c.id not in tried),
        table_seconds=request.conditions.table_seconds,
        searched=sum(trial.origin != GIVEN for trial in trials),
    )


def _known(trials: Sequence[Trial]) -> tuple[KnownTrial, ...]:
    """The trials with the seconds that they would take on a machine that does nothing else."""
    seconds = processor_seconds(trials)
    return tuple(
        replace(KnownTrial.of(trial), seconds=own)
        for trial, own in zip(trials, seconds, strict=True)
    )


def processor_seconds(trials: Sequence[Trial]) -> list[float]:
    """Processor seconds of each trial.

    Of those that have ended early only the wall time is known; they are taken to have had the share
    of a processor that the others had.
    """
    complete = [trial for trial in trials if trial.is_complete]
    wall = sum(trial.seconds for trial in complete)
    used = sum(trial.processor_seconds for trial in complete)
    share = min(used / wall, 1.0) if used > 0 else 1.0
    return [
        trial.processor_seconds if trial.is_complete else share * trial.seconds for trial in trials
    ]


def identity_of(facts: DataSetFacts, measure: Mapping[str, Any]) -> str:
    """Id of what is learned of a table: its name, and digits of its content and of the measure."""
    text = json.dumps(measure, sort_keys=True)
    digits = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{ORIGIN}-{facts.name}-{facts.fingerprint[:FINGERPRINT_DIGITS]}-{digits}"
