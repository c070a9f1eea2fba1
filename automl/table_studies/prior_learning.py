"""From what was tried on tables to a file of priors (B14, chapter 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from automl.durable import write_whole
from automl.errors import DataError, SettingsError
from automl.experience.data_set import Experience
from automl.experience.knowledge import read_knowledge
from automl.experience.store import read_export
from automl.priors.accepted_values import PriorSettings
from automl.priors.files import Priors
from automl.priors.general import LearnedPrior, learn_priors
from automl.table_studies.learned_folder import LearnedFolder


def gathered(
    folder: LearnedFolder, names: Iterable[str], files: Iterable[Path]
) -> list[Experience]:
    """Experiences of learned tables and of files; of equal ids the first counts.

    Raises
    ------
    SettingsError
        If a file holds no experience.
    """
    records = (folder.read(name) for name in names)
    experiences = [record.experience for record in records if record is not None]
    experiences += [experience for file in files for experience in read_experiences(file)]
    by_id: dict[str, Experience] = {}
    for experience in experiences:
        by_id.setdefault(experience.id, experience)
    return list(by_id.values())


def read_experiences(file: Path) -> tuple[Experience, ...]:
    """Experiences of an export or of a file of knowledge.

    Raises
    ------
    SettingsError
        If it is neither.
    """
    try:
        return read_knowledge(file).experiences
    except SettingsError:
        return read_export(file).experiences


def make_priors(
    experiences: Sequence[Experience],
    path: Path,
    *,
    settings: PriorSettings,
    families: Sequence[str] = (),
    seed: int = 0,
    command: str = "",
) -> tuple[LearnedPrior, ...]:
    """Learn priors and write them as text, with how they came about.

    Raises
    ------
    DataError
        If too little is known for a single one.
    ServiceError
        If the file cannot be written; an earlier one stays.
    """
    learned = learn_priors(experiences, settings, families=families, seed=seed)
    if not learned:
        raise DataError(
            f"no priors can be learned: no signature has {settings.least_trials} complete trials "
            f"on each of {settings.least_data_sets} data sets; more tables, or a longer --table-limit, help"
        )
    record = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "seed": seed,
        "settings": asdict(settings),
        "data_sets": sorted({experience.data.name for experience in experiences}),
    }
    text = Priors.of(learned).text(record)
    write_whole(path, [text.encode()], "the file of priors", makes_folder=True)
    return learned
