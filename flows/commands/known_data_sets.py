"""Actions behind the commands of `automl experience`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from automl.data.findings import nearest
from automl.errors import SettingsError
from automl.experience.cleaning import is_measurable
from automl.experience.data_set import Experience
from automl.experience.harvest import collect
from automl.experience.knowledge import SHIPPED, is_knowledge, read_knowledge, shipped
from automl.experience.snapshot import is_named
from automl.experience.store import ExperienceStore, Reading, read_export, take_in
from automl.home import Home
from automl_flows.words.messages import say


@dataclass(frozen=True)
class KnownDataSet:
    """Experience of one content.

    Parameters
    ----------
    runs : ids, oldest first
    best : greatest score of a complete trial
    metrics : what the scores are; those of different ones are not compared
    """

    names: tuple[str, ...]
    fingerprint: str
    layout: str
    task: str
    rows: int
    columns: int
    trials: int
    runs: tuple[str, ...]
    best: float | None
    metrics: tuple[str, ...]
    origins: tuple[str, ...]
    newest: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)


@dataclass(frozen=True)
class Import:
    """Outcome of an import.

    Parameters
    ----------
    added, known : runs
    trials : of the runs that were added
    skipped : how many of what was left out
    """

    added: int
    known: int
    trials: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)


def remembered(home: Home) -> tuple[Experience, ...]:
    """Everything in the store, after the runs that could not add themselves were added.

    Raises
    ------
    ServiceError
        If the store cannot be written.
    """
    collect(home)
    reading = ExperienceStore(home.experience).read()
    for note in reading.notes:
        say(f"note: {note}")
    return reading.experiences


def by_data_set(experiences: Sequence[Experience]) -> list[KnownDataSet]:
    """One entry per content, those with the newest runs first."""
    grouped: dict[str, list[Experience]] = {}
    for experience in sorted(experiences, key=lambda known: (known.created, known.id)):
        grouped.setdefault(experience.data.fingerprint, []).append(experience)
    data_sets = [_data_set(group) for group in grouped.values()]
    return sorted(data_sets, key=lambda known: known.newest, reverse=True)


def named(names: Sequence[str], experiences: Sequence[Experience]) -> list[str]:
    """Ids of the entries that the names mean, in the order of the entries.

    Raises
    ------
    SettingsError
        If a name means none; proposes the nearest one.
    """
    for name in names:
        if not any(is_named(experience, name) for experience in experiences):
            there = sorted({experience.data.name for experience in experiences})
            hint = nearest(name, there)
            if name == SHIPPED:
                hint = "; --exclude-experience shipped leaves out what the package ships"
            raise SettingsError(f"the experience has no data set or run {name!r}{hint}")
    return [
        experience.id
        for experience in experiences
        if any(is_named(experience, name) for name in names)
    ]


def import_file(path: Path, home: Home) -> Import:
    """Add what a file has: an export of `automl experience export`, or a file of knowledge.

    Raises
    ------
    SettingsError
        If there is no such file, or it is none.
    ServiceError
        If the store cannot be written.
    """
    reading = _read(path)
    home.prepare()
    return _taken(home, reading.experiences, "imported", notes=reading.notes)


def _read(path: Path) -> Reading:
    return Reading(read_knowledge(path).experiences) if is_knowledge(path) else read_export(path)


def import_store(uri: str, home: Home) -> Import:
    """Add what the past runs of a tracking store have tried, besides the home's own.

    Raises
    ------
    ServiceError
        If either store fails.
    SettingsError
        If there is no such tracking store.
    """
    from automl.tracking.team_history import read_history  # slow: imports MLflow

    collect(home)
    experiences = ExperienceStore(home.experience).read().experiences
    own = [entry.id for entry in experiences if entry.origin == "run"]
    history = read_history(uri, home.path, besides=own)
    return _taken(home, history.experiences, "mlflow", skipped=history.skipped)


def _taken(
    home: Home,
    experiences: Sequence[Experience],
    origin: str,
    *,
    skipped: Mapping[str, int] | None = None,
    notes: tuple[str, ...] = (),
) -> Import:
    in_package = {experience.id: len(experience.trials) for experience in shipped()}
    others = [
        experience
        for experience in experiences
        if len(experience.trials) > in_package.get(experience.id, -1)
    ]
    added = set(take_in(ExperienceStore(home.experience), others, origin=origin))
    n_trials = sum(
        1 for experience in experiences if experience.id in added for _ in experience.trials
    )
    n_known = len(experiences) - len(added)
    return Import(len(added), n_known, n_trials, dict(skipped or {}), notes)


def _data_set(group: Sequence[Experience]) -> KnownDataSet:
    data = group[-1].data
    scores = [trial.score for experience in group for trial in experience.trials]
    return KnownDataSet(
        names=tuple(dict.fromkeys(experience.data.name for experience in group)),
        fingerprint=data.fingerprint,
        layout=data.layout,
        task=str(data.task),
        rows=data.rows,
        columns=data.columns,
        trials=len(scores),
        runs=tuple(experience.id for experience in group),
        best=max((s for s in scores if s is not None and is_measurable(s)), default=None),
        metrics=tuple(dict.fromkeys(experience.metric for experience in group)),
        origins=tuple(dict.fromkeys(experience.origin for experience in group)),
        newest=max(experience.created for experience in group),
    )
