"""Search spaces of a run: those of the families, with priors, narrowed by the setting `spaces`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from automl.errors import SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family, kind_of
from automl.families.registry import WITHOUT_MODEL, families, get_family, load_families
from automl.home import RunFolder
from automl.priors.files import Priors
from automl.records import JsonScalar, Task
from automl.settings import LEARNED, Settings
from automl.spaces.nodes import PREP
from automl.spaces.tree import SpaceTree

SCREENING = ("select_k", "select_few", "none")
"""Reducers that are searched on a table with more columns than rows, the default first."""


def space_of(plan: EvaluationPlan, family: Family, settings: Settings) -> SpaceTree:
    """The family's search space with the run's priors, narrowed, with the facts of its table.

    A range in the setting `spaces` takes the place of the priors of that name, and the setting
    `preprocessing` that of the choices in the family's file.

    Raises
    ------
    SettingsError
        If what the settings say about this family does not fit; names family, hyperparameter, key.
    """
    task = plan.table.task
    space = requested_space(family, task, requested_preprocessing(plan, settings))
    space = _with_priors(space, task, RunFolder(plan.folder).priors)
    space = _narrowed(space, settings.spaces.get(family.name) or {})
    return space.with_facts(**plan.facts)


def spaces_of(
    plan: EvaluationPlan, families: Mapping[str, Family], settings: Settings
) -> dict[str, SpaceTree]:
    """`space_of` for each of the families, by name.

    Raises
    ------
    SettingsError
        As `space_of`.
    """
    return {name: space_of(plan, family, settings) for name, family in families.items()}


def requested_preprocessing(
    plan: EvaluationPlan, settings: Settings
) -> Mapping[str, Sequence[JsonScalar]]:
    """The setting `preprocessing`, and on a table with more columns than rows a choice of columns.

    Screening the columns inside each fold is then the first choice, for the many families that lose
    their way among thousands of columns without information.
    """
    n_rows, n_columns = plan.table.frame.shape
    screened = {"reducer": SCREENING} if n_columns > n_rows else {}
    return {**screened, **settings.preprocessing}


def requested_space(
    family: Family, task: Task | str, requested: Mapping[str, Sequence[JsonScalar]]
) -> SpaceTree:
    """The family's space with preprocessing that is requested for all, as far as it has a meaning in it.

    A learner that takes missing numbers as they are needs no fill values, one without a reducer no
    share, one without indicators no rule for many categories. Columns are reduced for learners that need
    complete numbers. Choices of the family's file that are not requested go on as they are.
    """
    space = family.space(task)
    imputers, encoders = (
        _values(space, f"{PREP}{name}") for name in ("numeric_imputer", "encoder")
    )
    idle = set()
    if encoders and "onehot" not in encoders:
        idle.add("many_categories")
    if "native" in encoders or "none" in imputers or family.name in WITHOUT_MODEL:
        idle.add("reducer")
    if set(imputers) == {"none"}:
        idle.add("numeric_imputer")
    chosen = {f"{PREP}{name}": each for name, each in requested.items() if name not in idle}
    reducers = chosen.get(f"{PREP}reducer") or _values(space, f"{PREP}reducer")
    if set(reducers) <= {"none"}:
        chosen.pop(f"{PREP}reducer_share", None)
    return space.with_prep(chosen) if chosen else space


def keep_priors(folder: RunFolder, settings: Settings) -> None:
    """Copy the file that the setting `priors` names into the run, which then needs it no more.

    Raises
    ------
    SettingsError
        If it fits no family; names file, key and reason.
    """
    if settings.priors and settings.priors != LEARNED:
        check_priors(settings)
        shutil.copyfile(Path(settings.priors).expanduser(), folder.priors)


def check_priors(settings: Settings) -> None:
    """Refuse priors that fit no family, before the run begins.

    Raises
    ------
    SettingsError
        With file, key and reason.
    """
    if settings.family_folder:
        load_families(settings.family_folder)
    if settings.priors and settings.priors != LEARNED:
        Priors.read(Path(settings.priors).expanduser()).check()


def check_spaces(settings: Settings) -> None:
    """Refuse overrides that fit no kind of target that the run may have, before it begins.

    Raises
    ------
    SettingsError
        With family, hyperparameter and key.
    """
    for name in settings.spaces:
        family = get_family(name)
        kinds = family.kinds if settings.task == "auto" else (settings.task,)
        errors = [error for kind in kinds if (error := _misfit(family, kind, settings))]
        if len(errors) == len(kinds):
            raise errors[0]


def requested_spaces(settings: Settings) -> Iterator[SpaceTree]:
    """Spaces before any priors, of the families that take part and each kind of target that fits."""
    for family in families().values():
        kinds = [kind for kind in family.kinds if settings.task in ("auto", kind)]
        for kind in kinds or [kind_of(settings.task)]:
            if settings.takes_part(family.name) and not _misfit(family, kind, settings):
                yield _requested(family, kind, settings)


def _requested(family: Family, kind: str, settings: Settings) -> SpaceTree:
    space = requested_space(family, kind, settings.preprocessing)
    return _narrowed(space, settings.spaces.get(family.name) or {})


def _misfit(family: Family, kind: str, settings: Settings) -> SettingsError | None:
    try:
        _requested(family, kind, settings)
    except SettingsError as error:
        return error
    return None


def _with_priors(space: SpaceTree, task: Task, path: Path) -> SpaceTree:
    try:
        written = path.stat().st_mtime_ns
    except FileNotFoundError:
        return space
    return _read(path, written).applied(space, kind_of(task))


@lru_cache(maxsize=4)
def _read(path: Path, written: int) -> Priors:  # noqa: ARG001 a file that changes is read again
    return Priors.read(path)


def _values(space: SpaceTree, name: str) -> tuple[JsonScalar, ...]:
    nodes = (node for node in space.hyperparameters() if node.name == name)
    return next((tuple(choice.value for choice in node.choices) for node in nodes), ())


def _narrowed(space: SpaceTree, overrides: Mapping[str, Any]) -> SpaceTree:
    if not overrides:
        return space
    try:
        return space.narrow(overrides)
    except SettingsError as error:
        raise SettingsError(
            f"setting spaces: {error.message}", setting="spaces", family=space.family
        ) from None
