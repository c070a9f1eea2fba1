"""Which families take part in a search, what their defaults are, and which of them were not tried."""

from __future__ import annotations

from collections.abc import Mapping

from automl.errors import SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family
from automl.families.registry import families, get_family
from automl.records import Configuration
from automl.settings import Settings
from automl.spaces.tree import SpaceTree
from automl.stages.search_spaces import space_of


def usable_families(
    settings: Settings, plan: EvaluationPlan
) -> tuple[dict[str, Family], dict[str, str]]:
    """Families that take part, in prior order, and why the others do not.

    Raises
    ------
    SettingsError
        If a named family does not exist, its space is narrowed to nothing that exists, or no
        family is left.
    """
    table = plan.table
    for name in (*settings.families, *settings.exclude):
        get_family(name)
    training, _ = plan.rows_of("search", 0, 0)
    usable: dict[str, Family] = {}
    refused: dict[str, str] = {}
    for name, family in families().items():
        if name == "constant" or (settings.families and name not in settings.families):
            continue
        if name in settings.exclude:
            continue
        reason = (
            family.supports(table.task, len(training), table.frame.shape[1], table.n_classes)
            or _needs_weights(plan, family)
            or _has_no_default(space_of(plan, family, settings))
        )
        if reason:
            refused[name] = reason
        else:
            usable[name] = family
    if not usable:
        reasons = "; ".join(refused.values()) or "all are excluded"
        raise SettingsError(f"no family is left for this table: {reasons}")
    return usable, refused


def _has_no_default(space: SpaceTree) -> str | None:
    try:
        space.default()
    except SettingsError as error:
        return str(error)
    return None


def _needs_weights(plan: EvaluationPlan, family: Family) -> str | None:
    if plan.weights is None or family.capabilities.sample_weight:
        return None
    return f"{family.name} cannot take row weights"


def defaults_of(
    settings: Settings, plan: EvaluationPlan, taking_part: Mapping[str, Family]
) -> dict[str, Configuration]:
    """Default of each family by its name, those that are cheap to fit first."""
    training, _ = plan.rows_of("search", 0, 0)
    n_columns = plan.table.frame.shape[1]
    ordered = sorted(
        taking_part.values(), key=lambda family: family.relative_seconds(len(training), n_columns)
    )
    return {family.name: space_of(plan, family, settings).default() for family in ordered}


def unkept_requests(
    settings: Settings, refused: Mapping[str, str], untried: Mapping[str, str]
) -> list[str]:
    """A sentence for each family that the settings name and that got no trial.

    Parameters
    ----------
    refused
        Families that cannot take part, and why.
    untried
        Families that take part and got no trial, and why.
    """
    reasons = {**untried, **refused}
    return [
        f"setting families: {name} got no trial: {reasons[name]}"
        for name in dict.fromkeys(settings.families)
        if name in reasons
    ]
