"""From run folders to experience."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from automl.data.table import Table
from automl.errors import AutoMLError, AutoMLWarning
from automl.evaluation.journal import follow
from automl.experience.data_set import META_FEATURES, DataSetFacts, Experience, KnownTrial
from automl.experience.fingerprints import fingerprint, layout
from automl.experience.store import ExperienceStore
from automl.home import Home, RunFolder
from automl.problem_names import problem_name
from automl.records import Task, Trial


def harvest(folder: RunFolder, *, reads_table: bool = True) -> Experience | None:
    """Every trial of a run's search, whatever became of the run; None if there is none.

    Works on runs that were killed and on those that go on in another process.

    Parameters
    ----------
    reads_table
        Whether the table of a run that an earlier version has made is read for its fingerprint;
        else such a run has no experience.
    """
    try:
        facts = folder.read_facts()
        trials = _trials(folder)
        data = facts.get("data") or {}
        if not trials or "task" not in data:
            return None
        return Experience(
            id=folder.run_id,
            data=_facts(folder, facts, _with_digests(folder, data) if reads_table else data),
            metric=str(data["metric"]),
            trials=trials,
            created=_moment(facts.get("started_at")),
            training_rows=int(data.get("training_rows", 0)),
        )
    except (AutoMLError, OSError, AttributeError, KeyError, TypeError, ValueError):
        return None  # a folder that something else has written, or an unfinished copy of one


def data_set_facts(folder: RunFolder) -> DataSetFacts:
    """Facts of the table of a run that has been prepared.

    Raises
    ------
    SettingsError
        If the run does not exist.
    """
    facts = folder.read_facts()
    return _facts(folder, facts, _with_digests(folder, facts["data"]))


def collect(
    home: Home, *, among: Sequence[RunFolder] | None = None, reads_tables: bool = True
) -> list[str]:
    """Add runs that have ended without adding themselves, such as by a kill; their ids.

    Parameters
    ----------
    among
        Look at these only; None looks at all.
    reads_tables
        Whether it may take the time to read the tables of runs that an earlier version has made.

    Raises
    ------
    ServiceError
        If the store cannot be written.
    """
    store = ExperienceStore(home.experience)
    added = []
    for folder in home.run_folders() if among is None else among:
        if _is_known(store, folder) or folder.is_driven():
            continue
        experience = harvest(folder, reads_table=reads_tables)
        if experience is not None and store.add(experience):
            added.append(experience.id)
    return added


def _is_known(store: ExperienceStore, folder: RunFolder) -> bool:
    """Whether the store has all of a run, as nothing was journaled since, or shall forget it."""
    if store.is_forgotten(folder.run_id):
        return True
    written = store.written_at(folder.run_id)
    if written is None:
        return False
    try:
        return all(path.stat().st_mtime_ns <= written for path in folder.journal.iterdir())
    except OSError:
        return True


def _trials(folder: RunFolder) -> tuple[KnownTrial, ...]:
    trials: dict[int, KnownTrial] = {}
    for _, record in follow(folder.journal):
        if record.get("type") == "trial" and record["trial"]["stage"] == "search":
            trial = Trial.from_json(record["trial"])
            trials.setdefault(trial.index, KnownTrial.of(trial))
    return tuple(trials[index] for index in sorted(trials))


def _facts(folder: RunFolder, facts: Mapping[str, Any], data: Mapping[str, Any]) -> DataSetFacts:
    return DataSetFacts(
        name=problem_name(facts["settings"]),
        fingerprint=str(data["fingerprint"]),
        layout=str(data["layout"]),
        task=Task(data["task"]),
        rows=int(data["rows"]),
        columns=int(data["columns"]),
        classes=len(data["classes"] or ()),
        meta_features=_meta_features(folder),
        matrix=data.get("matrix") or {},
    )


def _with_digests(folder: RunFolder, data: Mapping[str, Any]) -> Mapping[str, Any]:
    if "fingerprint" in data:
        return data
    table = Table.load(folder.table)
    return {**data, "fingerprint": fingerprint(table), "layout": layout(table)}


def _meta_features(folder: RunFolder) -> dict[str, float]:
    try:
        text = (folder.stages / f"{META_FEATURES}.json").read_text(encoding="utf-8")
        values = json.loads(text)["values"]
        return {str(name): float(value) for name, value in values.items() if value is not None}
    except (OSError, AttributeError, KeyError, TypeError, ValueError):
        return {}


def _moment(unix_seconds: object) -> str:
    if not isinstance(unix_seconds, int | float):
        return ""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds")


def remember(folder: RunFolder, home: Home) -> None:
    """Add the trials of the run to the home's experience; says so if that fails."""
    try:
        experience = harvest(folder)
        if experience is not None:
            ExperienceStore(home.experience).add(experience)
        if folder.read_facts().get("status") == "finished":
            folder.experience.unlink(missing_ok=True)
    except (AutoMLError, OSError) as error:
        warnings.warn(f"the run is not remembered: {error}", AutoMLWarning, stacklevel=2)
