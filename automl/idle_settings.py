"""Settings that have no effect beside others: who gives one is told, instead of waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automl.settings import Settings


LEAST_WITH_LAYERS = 3
"""Members of an ensemble of two layers: two models, and one that learns from them."""


@dataclass(frozen=True)
class _Rule:
    """Settings that are idle where a condition holds, and what they would need."""

    names: tuple[str, ...]
    is_idle: Callable[[Settings], bool]
    reason: str


_RULES = (
    _Rule(
        ("exclude",),
        lambda s: bool(s.families) and not set(s.exclude) & set(s.families),
        "families alone says who takes part, and names none of these",
    ),
    _Rule(
        ("normality",),
        lambda s: s.selection_test != "thesis",
        "only selection_test thesis tests for normality",
    ),
    _Rule(
        ("rope",),
        lambda s: s.selection_test != "bayesian",
        "only selection_test bayesian has a region of practical equivalence",
    ),
    _Rule(
        ("beta",),
        lambda s: s.beta != 1.0 and s.task == "regression",
        "F-beta is a metric of classes",
    ),
    _Rule(
        ("target_bins",),
        lambda s: s.target_bins > 0 and (s.time is not None or s.task in {"binary", "multiclass"}),
        "folds of classes are stratified by class, and folds in time order follow the time alone",
    ),
    _Rule(
        ("trust",),
        lambda s: s.family_folder is None,
        "every family that is shipped is stored without a pickle; own ones come from family_folder",
    ),
    _Rule(
        ("decision",),
        lambda s: s.task in {"multiclass", "regression"},
        "a threshold is learned, or given, of two classes only",
    ),
    _Rule(
        ("candidate_limit",),
        lambda s: s.selection_test == "thesis",
        "selection_test thesis takes the best of all clusters; clusters says how many there are",
    ),
    _Rule(
        ("candidate_scores",),
        lambda s: s.candidate_repeats is not None or s.data_mode == "halves" or s.time is not None,
        "the number of repeats is fixed by candidate_repeats, data_mode halves or the order in time",
    ),
    _Rule(
        ("layers", "ensemble_combine", "ensemble_alpha", "ensemble_members"),
        lambda s: s.ensemble == "none",
        "there is no ensemble; choose one by ensemble",
    ),
    _Rule(
        ("layers", "ensemble"),
        lambda s: (
            s.has_second_layer and (s.ensemble_members or LEAST_WITH_LAYERS) < LEAST_WITH_LAYERS
        ),
        "a second layer takes three members, two models and one that learns from them; give "
        "ensemble_members 3 or more",
    ),
    _Rule(
        ("stack_features",),
        lambda s: not s.has_second_layer,
        "there is no second layer; give layers 2 or ensemble stacking",
    ),
    _Rule(
        ("layers",),
        lambda s: s.ensemble == "stacking",
        "ensemble stacking has two layers in any case",
    ),
    _Rule(
        ("halves", "search_share"),
        lambda s: s.data_mode == "all",
        "all rows are searched on; give data_mode halves",
    ),
    _Rule(
        ("search_share",),
        lambda s: s.halves != "disjoint",
        "only disjoint halves have a share; give halves disjoint",
    ),
    _Rule(
        ("final",),
        lambda s: s.final == "bag" and s.data_mode == "halves",
        "with data_mode halves the final model is always fitted again on all rows; give final refit",
    ),
    _Rule(
        ("bag_up_to_rows",),
        lambda s: s.final == "refit" or s.data_mode == "halves",
        "the final model is never a bag; that needs final bag and data_mode all",
    ),
    _Rule(
        ("adapt_folds",),
        lambda s: s.trials is not None,
        "with a number of trials nothing adapts to time; give budget_seconds alone",
    ),
    _Rule(
        ("cost_aware",),
        lambda s: s.trials is None,
        "with a time budget alone measured seconds decide in any case; give trials",
    ),
    _Rule(
        ("lookback",),
        lambda s: s.trials is None,
        "with a time budget decisions see all that has ended; give trials",
    ),
    _Rule(
        ("warm_start",),
        lambda s: not (s.portfolio and s.experience),
        "nothing is taken over from other data sets; that needs portfolio and experience",
    ),
    _Rule(
        ("priors",),
        lambda s: s.priors == "learned" and not s.experience,
        "there is nothing to learn priors from; that needs experience",
    ),
    _Rule(
        ("blend",),
        lambda s: s.blend > 0 and not s.experience,
        "the meta-learner knows of no other data sets; that needs experience",
    ),
    _Rule(
        ("exclude_experience",),
        lambda s: not s.experience,
        "nothing of earlier runs is used; that needs experience",
    ),
    _Rule(
        ("reserve",),
        lambda s: s.seconds is None,
        "there is no time budget of which a share could be kept; give budget_seconds",
    ),
)


def idle_settings(settings: Settings) -> dict[str, str]:
    """Names of the settings that have no effect beside the others, and why."""
    return {
        name: rule.reason
        for rule in reversed(_RULES)
        if rule.is_idle(settings)
        for name in rule.names
    }


def idle_among(settings: Settings, asked: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first setting asked for that has no effect, and why; those that are switched off count not.

    Parameters
    ----------
    asked
        Settings by name, as they were given.
    """
    idle = idle_settings(settings)
    found = (name for name in asked if name in idle and getattr(settings, name) is not False)
    name = next(found, None)
    return None if name is None else (name, idle[name])
