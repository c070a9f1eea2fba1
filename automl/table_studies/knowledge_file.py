"""From the records of tables to the file of knowledge that a package ships."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from automl.addresses import public_address, whole_address
from automl.data.readers import read_table
from automl.data.table import prepare_table
from automl.errors import DataError
from automl.experience.data_set import Experience
from automl.experience.knowledge import Knowledge, read_knowledge, write_knowledge
from automl.table_studies.conditions import check_measure, sample_rows
from automl.table_studies.facts import PREPARED_BY, facts_of, target_for
from automl.table_studies.learned_folder import LearnedFolder, LearnedTable

SCORE_DIGITS, SECONDS_DIGITS = 6, 3
"""Digits behind the point that a file of knowledge keeps; less is noise."""


def make_knowledge(
    folder: LearnedFolder,
    names: Iterable[str],
    path: Path,
    *,
    measure: Mapping[str, Any],
    command: str,
) -> Knowledge:
    """Write what is known of some tables as one file; what it holds of others stays in it.

    Left out are tables that are not learned, or whose scores were measured otherwise.

    Parameters
    ----------
    measure
        What the scores depend on, see `Conditions.measure`.
    command
        That makes the file, as it can be given again.

    Raises
    ------
    DataError
        If none of them is learned so.
    SettingsError
        If there is a file that is not whole, or holds scores that were measured otherwise.
    ServiceError
        If the file cannot be written.
    """
    learned = [record for name in names if (record := folder.read(name)) is not None]
    fresh = {one.experience.data.name: one for one in learned if one.measure == measure}
    if not fresh:
        raise DataError(f"none of these tables is learned in {folder.path}")
    experiences = read_measured(path, measure).experiences if path.exists() else ()
    kept = [experience for experience in experiences if experience.data.name not in fresh]
    every = [*kept, *(_rounded(one.experience) for one in fresh.values())]
    knowledge = Knowledge(
        command,
        datetime.now(UTC).date().isoformat(),
        tuple(sorted(every, key=lambda experience: experience.data.name)),
        dict(measure),
    )
    write_knowledge(path, knowledge)
    return knowledge


def read_measured(path: Path, measure: Mapping[str, Any]) -> Knowledge:
    """A file of knowledge whose scores can be set beside those of a measure.

    Raises
    ------
    SettingsError
        If the file is not whole, or its scores were measured otherwise.
    """
    knowledge = read_knowledge(path)
    check_measure(knowledge.conditions, measure, where=str(path), remedy="use another file")
    return knowledge


def take_over(
    folder: LearnedFolder,
    data_sets: Mapping[str, Mapping[str, Any]],
    path: Path,
    *,
    measure: Mapping[str, Any],
) -> list[str]:
    """Make records of the tables that a file of knowledge holds and the folder does not.

    They are remembered when the tables have been seen to be the same.

    What the file holds of a table is then not run again; what else is asked for joins it.

    Parameters
    ----------
    data_sets
        Settings that belong to the tables, by name; others of the file are left alone.
    measure
        What the scores depend on now, see `Conditions.measure`.

    Returns
    -------
    Names of the tables.

    Raises
    ------
    SettingsError
        If the file is not whole, or its scores were measured otherwise.
    """
    knowledge = read_measured(path, measure)
    taken = []
    for experience in knowledge.experiences:
        name = experience.data.name
        if name not in data_sets or folder.read(name) is not None:
            continue
        table = {**data_sets[name], "table": public_address(str(data_sets[name]["table"]))}
        asked = frozenset(trial.configuration.id for trial in experience.trials)
        folder.record(
            LearnedTable(experience, table, knowledge.conditions, 0, asked, frozenset(), 0.0)
        )
        taken.append(name)
    return taken


def refresh_facts(folder: LearnedFolder, name: str) -> LearnedTable | None:
    """Facts of a learned table, computed anew from the table by the code as it is now.

    Returns
    -------
    The record with its new facts, which is also written; None if there is no record.

    Raises
    ------
    DataError
        If the table cannot be read any more.
    """
    learned = folder.read(name)
    if learned is None:
        return None
    frame = read_table(whole_address(str(learned.table["table"])))
    target = target_for(learned.table, frame)
    options = {key: learned.table[key] for key in PREPARED_BY if key in learned.table}
    used = sample_rows(
        frame, target, most=learned.measure["most_rows"], seed=learned.measure["seed"]
    )
    part = prepare_table(used, target=target, **options)
    facts = facts_of(name, learned.table, part, frame)
    if facts.task is not learned.experience.data.task:
        raise DataError(f"{name}: the table has another target than when it was learned")
    renewed = replace(learned, experience=replace(learned.experience, data=facts))
    folder.write(renewed)
    return renewed


def _rounded(experience: Experience) -> Experience:
    return replace(
        experience,
        trials=tuple(
            replace(
                trial,
                score=None if trial.score is None else round(trial.score, SCORE_DIGITS),
                seconds=round(trial.seconds, SECONDS_DIGITS),
            )
            for trial in experience.trials
        ),
    )
