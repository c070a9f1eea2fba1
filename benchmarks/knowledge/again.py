"""Known configurations of some families, tried again: ``again.py DATA_FOLDER FILE HOME --families catboost,xgboost``.

For families whose code has changed since FILE, a file of knowledge, was made: their trials are run once more, under
the conditions of FILE, and take the place of the old ones. HOME keeps the tables that are finished, so that the
command can be killed and given again. FILE is written at the end, or with ``--write`` after what there was time for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from automl.data.collections import find_data_sets
from automl.errors import DataError
from automl.experience.data_set import Experience
from automl.experience.knowledge import read_knowledge
from automl.home import Home
from automl.table_studies import one_table
from automl.table_studies.conditions import Conditions
from automl.table_studies.knowledge_file import make_knowledge
from automl.table_studies.learned_folder import LearnedFolder, LearnedTable
from automl.table_studies.one_table import Request, in_turn, learn_table

NO_LIMIT = 1e9


def without(experience: Experience, families: tuple[str, ...]) -> Experience:
    """An experience without its trials of some families."""
    kept = tuple(t for t in experience.trials if t.configuration.family not in families)
    return replace(experience, trials=kept)


def is_again(record: LearnedTable | None, families: tuple[str, ...]) -> bool:
    """Whether a table has been tried again."""
    return record is not None and len(without(record.experience, families).trials) < len(
        record.experience.trials
    )


def renewed(
    folder: LearnedFolder,
    known: Mapping[str, Experience],
    data_sets: Mapping[str, Mapping[str, Any]],
    conditions: Conditions,
) -> Iterator[str]:
    """Names of the tables, each after it was tried again."""
    families = conditions.families
    for name in in_turn(known, 0):
        experience = known[name]
        kept = without(experience, families)
        old = [t.configuration for t in experience.trials if t.configuration.family in families]
        if not old or is_again(folder.read(name), families):
            continue
        asked = frozenset(trial.configuration.id for trial in kept.trials)
        measure = conditions.measure()
        folder.record(LearnedTable(kept, data_sets[name], measure, 0, asked, frozenset(), NO_LIMIT))
        try:
            with mock.patch.object(one_table, "design", lambda *_, old=old, **__: old):
                learn_table(folder, Request(name, data_sets[name], conditions))
        except DataError as error:  # the table is read differently now; its old trials stay
            yield str(error)
        else:
            yield name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("home", type=Path)
    parser.add_argument("--families", required=True)
    parser.add_argument("--trial-seconds", type=float, default=20.0)
    parser.add_argument("--write", action="store_true", help="what is finished, and run nothing")
    given = parser.parse_args()
    families = tuple(given.families.split(","))
    knowledge = read_knowledge(given.file)
    known = {experience.data.name: experience for experience in knowledge.experiences}
    data_sets = find_data_sets([str(given.data)])
    conditions = Conditions(
        draws=0,
        trial_seconds=given.trial_seconds,
        table_seconds=NO_LIMIT,
        families=families,
    )
    folder = LearnedFolder(Home(given.home))
    if not given.write:
        for name in renewed(folder, known, data_sets, conditions):
            print(name, flush=True)
    done = [name for name in known if is_again(folder.read(name), families)]
    further = f"; then benchmarks/knowledge/again.py --families {given.families}"
    make_knowledge(
        folder,
        done,
        given.file,
        measure=conditions.measure(),
        command=knowledge.command.removesuffix(further) + further,
    )


if __name__ == "__main__":
    main()
