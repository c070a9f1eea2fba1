"""A model made once more on other rows: the configurations and weights of a run that is finished."""

from __future__ import annotations

from collections.abc import Sequence

from automl.data_facts import has_value_counts
from automl.errors import SettingsError
from automl.evaluation.journal import read as read_journal
from automl.home import RunFolder
from automl.records import Trial
from automl.run.session import Session
from automl.run_records.ensemble import EnsembleRecord, Share
from automl.run_records.final import FinalRecord
from automl.run_records.recipe import Recipe
from automl.stages.blend_scores import describe_blend, normalized
from automl.stages.first_configurations import constant_of, give_configurations


def recipe_of(folder: RunFolder) -> Recipe:
    """Recipe of the model that a run has made.

    Raises
    ------
    SettingsError
        If the run has no model, or one with a second layer, whose models learn from predictions.
    """
    final, ensemble = FinalRecord.read(folder), EnsembleRecord.read(folder)
    if final is None or ensemble is None:
        raise SettingsError(f"run {folder.run_id} has no model to be made once more")
    if any(member.inputs for member in final.members):
        raise SettingsError(
            f"the model of run {folder.run_id} has a second layer, which learns from predictions and "
            "must be searched again",
            run=folder.run_id,
        )
    records = (r for r in read_journal(folder.journal) if r.get("type") == "trial")
    trials = {trial.id: trial for trial in (Trial.from_json(r["trial"]) for r in records)}
    members = [member for member in final.members if member.weight > 0]
    return Recipe(
        folder.run_id,
        tuple(trials[member.trial_id].configuration for member in members),
        tuple(member.weight for member in members),
        ensemble.combine,
        ensemble.calibration,
        has_value_counts(folder.read_facts()["data"]),
    )


def n_trials_of(recipe: Recipe) -> int:
    """Trials of a run that follows a recipe: each configuration, and the constant that all are beside."""
    return 1 + len(recipe.configurations)


def give_recipe(session: Session, recipe: Recipe) -> None:
    """Let a run that has just begun follow a recipe; kept with the run, for the case that it is resumed."""
    recipe.write(session.records)
    give_configurations(session, [constant_of(session), *recipe.configurations])


def followed(session: Session) -> Recipe | None:
    """Recipe that a run follows to the end; None if it chooses by itself."""
    recipe = Recipe.read(session.folder)
    return recipe if recipe is not None and recipe.is_final else None


def weighted(session: Session, trials: Sequence[Trial], recipe: Recipe) -> EnsembleRecord | None:
    """The ensemble of a recipe, with the weights of members that could not be fitted given to the others.

    Returns
    -------
        None if no member is complete with predictions.
    """
    by_configuration = {t.configuration.id: t for t in trials if t.is_complete}
    shares: dict[str, float] = {}
    for configuration, weight in zip(recipe.configurations, recipe.weights, strict=True):
        if trial := by_configuration.get(configuration.id):
            shares[trial.id] = shares.get(trial.id, 0.0) + weight
    is_whole = all(each.id in by_configuration for each in recipe.configurations)
    calibration = recipe.calibration if is_whole else None
    shares = normalized(shares)
    scores = describe_blend(session.plan, shares, recipe.combine, calibration) if shares else None
    if scores is None:
        return None
    heaviest_first = sorted(shares.items(), key=lambda share: -share[1])
    return EnsembleRecord(
        members=tuple(Share(*share) for share in heaviest_first),
        replaced_champion=len(shares) > 1,
        combine=recipe.combine,
        n_library=len(shares),
        rule=scores.rule,
        score=scores.score,
        metrics=scores.metrics,
        calibration=calibration,
        recipe=recipe.run_id,
    )
