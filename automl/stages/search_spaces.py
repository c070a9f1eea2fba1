"""Search spaces of a run: those of the families, narrowed by the setting `spaces`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.errors import SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family
from automl.families.registry import get_family
from automl.records import Task
from automl.settings import Settings
from automl.spaces.tree import SpaceTree


def space_of(plan: EvaluationPlan, family: Family, settings: Settings) -> SpaceTree:
    """The family's search space, narrowed, with the facts of the run's table.

    Raises
    ------
    SettingsError
        If what the settings say about this family does not fit; names family, hyperparameter, key.
    """
    table = plan.table
    space = _narrowed(family, table.task, settings.spaces.get(family.name) or {})
    return space.with_facts(
        n_rows=len(table), n_columns=table.frame.shape[1], n_classes=table.n_classes
    )


def check_spaces(settings: Settings) -> None:
    """Refuse overrides that fit no kind of target that the run may have, before it begins.

    Raises
    ------
    SettingsError
        With family, hyperparameter and key.
    """
    for name, overrides in settings.spaces.items():
        family = get_family(name)
        kinds = family.kinds if settings.task == "auto" else (settings.task,)
        errors = [error for kind in kinds if (error := _misfit(family, kind, overrides))]
        if len(errors) == len(kinds):
            raise errors[0]


def _misfit(family: Family, kind: str, overrides: Mapping[str, Any]) -> SettingsError | None:
    try:
        _narrowed(family, kind, overrides)
    except SettingsError as error:
        return error
    return None


def _narrowed(family: Family, kind: Task | str, overrides: Mapping[str, Any]) -> SpaceTree:
    space = family.space(kind)
    if not overrides:
        return space
    try:
        return space.narrow(overrides)
    except SettingsError as error:
        raise SettingsError(
            f"setting spaces: {error.message}", setting="spaces", family=family.name
        ) from None
