"""The optimizer and the allocator that settings choose, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable

from automl.bandits.registry import allocator_name, get_allocator
from automl.bandits.special_names import ONLY
from automl.errors import SettingsError
from automl.optimizers.parametric import check_priors_are_there
from automl.optimizers.registry import (
    IMPROVEMENT,
    OptimizerEntry,
    get_optimizer,
    optimizer_name,
    per_cost,
)
from automl.settings import Settings


def check_choices(settings: Settings) -> None:
    """Refuse an optimizer or allocator that is not known or cannot be used.

    Raises
    ------
    SettingsError
        With the nearest known name, or what the choice needs.
    """
    reads_clock(settings)
    optimizer_of(settings)
    check_only_family(settings, settings.takes_part)
    _check_priors_are_there(settings)


def optimizer_of(settings: Settings) -> OptimizerEntry:
    """Entry of the optimizer; it divides by the cost of a trial where the allocator leaves that to it.

    Raises
    ------
    SettingsError
        If it cannot.
    """
    allocator = get_allocator(settings.chosen_allocator)
    if not (allocator.joins_families and allocator.reads_clock):
        return get_optimizer(settings.optimizer)
    entry = per_cost(settings.optimizer)
    if entry is None:
        raise SettingsError(
            f"allocator {allocator_name(settings.chosen_allocator)} needs an optimizer with acquisition"
            f" {IMPROVEMENT}, such as gp_prior; got {optimizer_name(settings.optimizer)}",
            setting="allocator",
        )
    return entry


def reads_clock(settings: Settings) -> bool:
    """Whether measured seconds decide anything: then equal runs need not be equal.

    A limit of the time to predict may; allocator and optimizer need leave under trials.

    Raises
    ------
    SettingsError
        If they do without it, or are not known.
    """
    allocator, optimizer = settings.chosen_allocator, settings.optimizer
    is_read = {
        f"optimizer {optimizer_name(optimizer)}": get_optimizer(optimizer).reads_clock,
        f"allocator {allocator_name(allocator)}": get_allocator(allocator).reads_clock,
    }
    readers = [name for name, reads in is_read.items() if reads]
    if readers and not settings.may_read_clock:
        raise SettingsError(
            f"{readers[0]} reads the clock; with trials set cost_aware in the settings",
            setting=readers[0].partition(" ")[0],
        )
    ranks_by_speed = settings.may_read_clock and settings.criteria.get("speed", 0.0) > 0
    return bool(readers) or ranks_by_speed or settings.max_predict_ms is not None


def check_only_family(settings: Settings, takes_part: Callable[[str], bool]) -> None:
    """Refuse ``only:F`` where the family F takes no part.

    Raises
    ------
    SettingsError
        If it does not.
    """
    name = allocator_name(settings.chosen_allocator)
    kind, _, family = name.partition(":")
    if kind == ONLY and family and not takes_part(family):
        raise SettingsError(
            f"allocator {name}: family {family!r} does not take part",
            setting="allocator",
        )


def _check_priors_are_there(settings: Settings) -> None:
    """Refuse an optimizer that would be random search, since nothing brings it priors.

    What the setting `priors` brings is known when the table has been read.
    """
    if get_optimizer(settings.optimizer).needs_priors and not settings.priors:
        from automl.run.search_spaces import requested_spaces

        check_priors_are_there(requested_spaces(settings), optimizer_name(settings.optimizer))


def check_names(settings: Settings) -> None:
    """Refuse names that no registry knows, ranges that fit no family and models that would not load, before anything starts.

    Raises
    ------
    SettingsError
        With the nearest known name.
    """
    from automl.families.registry import get_family, is_from_outside, load_families
    from automl.run.choices import check_choices

    if settings.family_folder:
        load_families(settings.family_folder)
    for name in (*settings.families, *settings.exclude):
        get_family(name)
    if settings.spaces:
        from automl.run.search_spaces import check_spaces  # slow, only where it is needed

        check_spaces(settings)
    if settings.priors:
        from automl.run.search_spaces import check_priors

        check_priors(settings)
    check_choices(settings)
    if settings.family_folder or any(is_from_outside(name) for name in settings.families):
        from automl.run.model_storage import check_storage  # slow, only where it is needed

        check_storage(settings)
