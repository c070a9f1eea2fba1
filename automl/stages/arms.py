"""The arms of a search: what the allocator gives turns to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from automl.bandits.registry import get_allocator
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family
from automl.forecasts.timings import KnownTimings
from automl.optimizers.fidelities import Levels, levels_for
from automl.optimizers.parametric import check_priors_are_there, has_priors
from automl.optimizers.registry import get_optimizer, optimizer_name
from automl.recommendation.meta_vote import MetaVote
from automl.records import Trial
from automl.run.choices import optimizer_of
from automl.run.search_spaces import spaces_of
from automl.search.proposing import Arm
from automl.settings import Settings
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.union import UnionTree
from automl.surrogates.earlier_data import Sources


def arms_of(
    plan: EvaluationPlan,
    settings: Settings,
    families: Mapping[str, Family],
    *,
    timings: KnownTimings,
    sources: Callable[[ConfigurationEncoder], Sources] | None = None,
    votes: Callable[[ConfigurationEncoder], MetaVote | None] | None = None,
) -> dict[str, Arm]:
    """Arms by name, in the order of the families.

    An allocator that joins families has a single arm, whose space is the union of all (X20, section II-D).

    Parameters
    ----------
    families
        Those that take part.
    timings
        What the run knows of seconds, for optimizers that divide by them.
    sources
        Trials on other data sets in an encoding; called for optimizers that learn from them.
    votes
        Vote of a meta-learner on configurations in an encoding.

    Raises
    ------
    SettingsError
        If the optimizer needs priors and no space has any, or cannot divide by the cost of a trial.
    """
    spaces = spaces_of(plan, families, settings)
    if get_allocator(settings.chosen_allocator).joins_families and len(spaces) > 1:
        union = UnionTree.of(list(spaces.values()))
        spaces = {union.family: union}
    entry, called = optimizer_of(settings), optimizer_name(settings.optimizer)
    if entry.needs_priors:
        check_priors_are_there(spaces.values(), called)
    arms = {}
    for name, space in spaces.items():
        options: dict[str, Any] = {}
        if entry.has_levels:
            members = [families[part.family] for part in space.parts]
            options["levels"] = fidelity_levels(plan, settings, members)
        if entry.reads_clock:
            options["timings"] = timings
        if entry.uses_experience and sources is not None:
            options["sources"] = sources(ConfigurationEncoder(space, form=entry.encoding).fit())
        if entry.takes_vote and votes is not None:
            options["vote"] = votes(ConfigurationEncoder(space, form=entry.encoding).fit())
        arms[name] = Arm(space, entry.make(space, **options), called)
    return arms


def drawn_at_random(
    plan: EvaluationPlan,
    settings: Settings,
    families: Mapping[str, Family],
    trials: Iterable[Trial],
) -> list[str]:
    """What to say of the families that an optimizer of priors drew from, although they have none."""
    if not get_optimizer(settings.optimizer).needs_priors:
        return []
    called, spaces = optimizer_name(settings.optimizer), spaces_of(plan, families, settings)
    drawn = {trial.configuration.family for trial in trials if trial.origin == called}
    bare = sorted(name for name in drawn if not has_priors(spaces[name]))
    return [f"optimizer {called} drew at random, without priors: {', '.join(bare)}"] if bare else []


def fidelity_levels(plan: EvaluationPlan, settings: Settings, families: list[Family]) -> Levels:
    """Ladder of fidelities that all these families can climb."""
    training, _ = plan.rows_of("search", 0, 0)
    return levels_for(
        settings.fidelity,
        n_folds=len(plan.stage("search").jobs),
        n_rows=len(training),
        has_iterations=all(family.capabilities.iterations for family in families),
    )
