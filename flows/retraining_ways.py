"""How much of a retraining is done: a search, a short one from the champion's recipe, or that recipe alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from automl.alternatives import AskedHow, How
from automl.errors import DataError, SettingsError
from automl.home import Home
from automl.monitoring.drift_report import DriftReport
from automl.run_records.recipe import Recipe
from automl.stages.recipes import n_trials_of, recipe_of
from automl.tracking.model_registry import champion_bundle
from automl.training_request import LIMITS, TrainingRequest

WARM_SHARE = 0.25
"""Share of the budget of a search, for one that begins with what was best on the earlier rows."""


def asked_for(
    request: TrainingRequest,
    how: How | DriftReport,
    name: str,
    home: Home,
    overrides: Mapping[str, Any],
) -> tuple[TrainingRequest, Recipe | None, DriftReport | None]:
    """A retraining's request, the recipe that it follows or begins with, and the report that chose.

    Parameters
    ----------
    request : that the problem was trained with
    how : or a report with a rung other than `keep`
    overrides : settings that differ in this retraining alone

    Raises
    ------
    SettingsError
        If the champion cannot be made once more, or a limit is given to what has none. A report's rung is
        the whole search where the champion cannot be made once more, and drops the limits of a refit.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    if not isinstance(how, DriftReport):
        return *_asked_for(request, how, name, home, given), None
    kept = {key: given[key] for key in given if how.rung != "refit" or key not in LIMITS}
    try:
        return *_asked_for(request, cast("How", how.rung), name, home, kept), how
    except SettingsError as error:
        reason = f"{how.reason}; searched in full, since {error.message}"
        report = replace(how, rung="search", reason=reason)
        return *_asked_for(request, "search", name, home, given), report


def check_limits(how: AskedHow, given: Mapping[str, Any]) -> None:
    """Refuse a limit of time or trials for what takes none.

    Raises
    ------
    SettingsError
        If there is one.
    """
    limits = sorted(given.keys() & set(LIMITS))
    if how == "refit" and limits:
        raise SettingsError(
            f"a refit takes as long as the champion's members need; {limits[0]} has no effect"
        )


def _asked_for(
    request: TrainingRequest, how: How, name: str, home: Home, given: dict[str, Any]
) -> tuple[TrainingRequest, Recipe | None]:
    if how == "search":
        return request.with_overrides(given), None
    check_limits(how, given)
    recipe = _champions_recipe(name, home)
    if how == "refit":
        given = {**given, "trials": n_trials_of(recipe)}
    elif not given.keys() & set(LIMITS):
        given = given | _shortened(request.settings, n_trials_of(recipe))
    counts = {"value_counts": "always" if recipe.value_counts else "never"}
    asked = replace(request.with_overrides(given), how=how, recipe_settings=counts)
    return asked, recipe if how == "refit" else replace(recipe, is_final=False)


def _champions_recipe(name: str, home: Home) -> Recipe:
    try:
        champion = champion_bundle(name, home.path)
    except DataError as error:
        raise SettingsError(f"{error.message}; retrain with --how search") from None
    folder = home.runs / champion.run_id
    if not champion.run_id or not folder.is_dir():
        raise SettingsError(
            f"the run that made {champion.label} is not in {home.path}: its configurations are not known; "
            "retrain with --how search"
        )
    return recipe_of(home.run(champion.run_id))


def _shortened(settings: Mapping[str, Any], least_trials: int) -> dict[str, Any]:
    """Limit of a short search: a share of the usual one, and all configurations of the recipe."""
    if settings.get("trials") is not None:
        return {"trials": max(least_trials, math.ceil(WARM_SHARE * settings["trials"]))}
    if settings.get("budget_seconds") is not None:
        return {"budget_seconds": WARM_SHARE * settings["budget_seconds"]}
    return {}
