"""Any trial of a finished run as a model of its own, where its fitted models are still there."""

from __future__ import annotations

from dataclasses import replace

from automl.errors import SettingsError
from automl.evaluation.fold_models import load_models, models_mib
from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.model import Member, TableModel
from automl.records import Trial, short_id
from automl.run.foreign_runs import refuse_foreign
from automl.stages.blend_scores import describe_blend


def has_models(folder: RunFolder, model: TableModel, trial: Trial) -> bool:
    """Whether `model_of_trial` finds fitted models of a trial.

    Parameters
    ----------
    model : that the run has made
    """
    return _place(model, trial) is not None or models_mib(folder.path, trial.id) > 0


def model_of_trial(
    folder: RunFolder, model: TableModel, trial: Trial, *, trust: bool = False
) -> TableModel:
    """Model of one trial, with the decision rule that its out-of-fold predictions speak for.

    Parameters
    ----------
    model : that the run has made; members of it are taken from there
    trust
        Whether the plan of a run that another installation began may be read.

    Raises
    ------
    SettingsError
        If the trial's models are not there, or nothing proves that this installation began the run.
    DataError
        If the run's settings or plan were changed.
    """
    members = _of_bundle(model, trial) or _of_run(folder, trial)
    if not members:
        raise SettingsError(
            f"run {folder.run_id} has no fitted models of trial {short_id(trial.id)}; give --keep-models to "
            "automl train to keep those of the best trials",
            run=folder.run_id,
        )
    if not trust:
        refuse_foreign(folder, folder.read_facts())
    plan = EvaluationPlan(folder.path)
    described = describe_blend(plan, {trial.id: 1.0})
    rule = plan.index.rule if described is None else described.rule
    return TableModel(
        model.schema,
        members,
        task=model.task,
        target=model.target,
        classes=model.classes,
        threshold=rule.threshold if rule and plan.table.n_classes == 2 else None,
        cost_matrix=model.cost_matrix,
        target_reading=model.target_reading,
        reference=model.reference,
        strict=model.strict,
    )


def _place(model: TableModel, trial: Trial) -> int | None:
    places = (place for place, member in enumerate(model.members) if member.trial == trial.id)
    return next(places, None)


def _of_bundle(model: TableModel, trial: Trial) -> list[Member]:
    """The member of the model that the trial is, after those whose predictions it takes."""
    place = _place(model, trial)
    if place is None:
        return []
    member = model.members[place]
    inputs = [replace(model.members[source], weight=0.0) for source in member.inputs]
    return [*inputs, replace(member, weight=1.0, inputs=tuple(range(len(inputs))))]


def _of_run(folder: RunFolder, trial: Trial) -> list[Member]:
    """The trial's fold models that the run has kept."""
    models = load_models(folder.path, trial.id)
    if not models:
        return []
    return [Member(1.0, list(models.values()), trial.configuration.family, trial.id)]
