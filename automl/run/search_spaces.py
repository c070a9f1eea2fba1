"""Search spaces of a run: those of the families, with priors, narrowed by the setting `spaces`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from automl.errors import SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family, kind_of
from automl.families.registry import get_family, load_families
from automl.home import RunFolder
from automl.priors.files import Priors
from automl.records import JsonScalar, Task
from automl.settings import LEARNED, Settings
from automl.spaces.nodes import PREP
from automl.spaces.tree import SpaceTree


def space_of(plan: EvaluationPlan, family: Family, settings: Settings) -> SpaceTree:
    """The family's search space with the run's priors, narrowed, with the facts of its table.

    A range in the setting `spaces` takes the place of the priors of that name, and the setting
    `preprocessing` that of the choices in the family's file.

    Raises
    ------
    SettingsError
        If what the settings say about this family does not fit; names family, hyperparameter, key.
    """
    table = plan.table
    space = requested_space(family, table.task, settings)
    space = _with_priors(space, table.task, RunFolder(plan.folder).priors)
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


def requested_space(family: Family, task: Task | str, settings: Settings) -> SpaceTree:
    """The family's space with the setting `preprocessing`, as far as it has a meaning in it.

    A learner that takes missing numbers as they are needs no fill values, one without a reducer no
    share, one without indicators no rule for many categories. Choices of the family's file that the
    setting does not name go on as they are.
    """
    space = family.space(task)
    names = ("prep.reducer", "prep.numeric_imputer", "prep.encoder")
    reducers, imputers, encoders = (_values(space, name) for name in names)
    idle = set()
    if encoders and "onehot" not in encoders:
        idle.add("many_categories")
    if set(reducers) <= {"none"}:
        idle.add("reducer_share")
    if set(imputers) == {"none"}:
        idle.add("numeric_imputer")
    requested = settings.preprocessing.items()
    chosen = {f"{PREP}{name}": values for name, values in requested if name not in idle}
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


def _misfit(family: Family, kind: str, settings: Settings) -> SettingsError | None:
    try:
        _narrowed(requested_space(family, kind, settings), settings.spaces[family.name])
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
