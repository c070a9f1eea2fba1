"""Which families take part in a search, what their defaults are, and which of them were not tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automl.errors import SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family
from automl.families.registry import families, families_of_packages, get_family
from automl.records import Configuration, Trial, TrialStatus
from automl.run.model_storage import needs_trust
from automl.run.search_spaces import space_of
from automl.settings import Settings
from automl.spaces.tree import SpaceTree


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
            or _needs_trust(settings, plan, family)
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


def _needs_trust(settings: Settings, plan: EvaluationPlan, family: Family) -> str | None:
    """Why a family that a package brought along cannot take part without leave."""
    if settings.trust or families_of_packages().get(family.name) is not family:
        return None
    return needs_trust(family, plan.table.task)


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
    settings: Settings,
    taking_part: Mapping[str, Family],
    refused: Mapping[str, str],
    untried: Mapping[str, str],
    failed: Mapping[str, str],
) -> list[str]:
    """A sentence for each thing that the settings ask of families and that they did not get.

    Parameters
    ----------
    taking_part
        Families that take part.
    refused
        Families that cannot take part, and why.
    untried
        Families that take part and got no trial, and why.
    failed
        Families whose trials failed, every one, and why the last did.
    """
    excluded = dict.fromkeys(settings.exclude, "exclude names it as well")
    reasons = {**untried, **refused, **excluded}
    said = [
        f"setting families: {name} got no trial: {reasons[name]}"
        for name in dict.fromkeys(settings.families)
        if name in reasons
    ]
    said += [
        f"setting families: every trial of {name} failed, the last one with: {failed[name]}"
        for name in dict.fromkeys(settings.families)
        if name in failed
    ]
    unweighted = [name for name, family in taking_part.items() if not _takes_class_weights(family)]
    if settings.class_weight != "none" and unweighted:
        said.append(
            f"setting class_weight: {', '.join(unweighted)} cannot weight classes; their models "
            "were trained without"
        )
    return said


def all_failed(trials: Sequence[Trial]) -> dict[str, str]:
    """Families whose trials failed, every one, and the reason of the last."""
    failed: dict[str, str] = {}
    for trial in trials:
        if trial.status is TrialStatus.FAILED:
            failed[trial.configuration.family] = trial.reason
    others = {t.configuration.family for t in trials if t.status is not TrialStatus.FAILED}
    return {family: reason for family, reason in failed.items() if family not in others}


def _takes_class_weights(family: Family) -> bool:
    """Whether weights of classes reach the estimator, by its own argument or as weights of rows."""
    return family.capabilities.class_weight or family.capabilities.sample_weight
