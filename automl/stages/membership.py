"""How the settings weight the members of an ensemble, and how many they allow."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from automl.ensembles.agnostic import N_BOOTSTRAPS, agnostic_bayes
from automl.ensembles.member_limits import Inputs, limit_members, limit_prediction_time
from automl.ensembles.registry import EnsembleMethod, get_ensemble
from automl.families.registry import WITHOUT_MODEL
from automl.optimizers.registry import get_optimizer
from automl.records import FloatArray, Trial
from automl.settings import Settings

MOST_MEMBERS = 12
"""Most members of a blend whose lightest members could as well be left out."""


def is_blendable(trial: Trial) -> bool:
    """Whether a blend may take a trial: a constant or a stump is there to be beaten.

    A constant changes no order of the rows, so a score of orders cannot tell how much of it a blend has.
    """
    return trial.configuration.family not in WITHOUT_MODEL


def method_of(settings: Settings) -> EnsembleMethod:
    """Method that weights the members; where an optimizer has histories, with as many bootstraps."""
    method = get_ensemble("single" if settings.ensemble == "none" else settings.ensemble)
    if not method.draws_bootstraps:
        return method
    learn = partial(agnostic_bayes, n_bootstraps=n_bootstraps_of(settings))
    return replace(method, learn=learn)


def n_bootstraps_of(settings: Settings) -> int:
    """Bootstraps of an agnostic Bayes ensemble: those of the optimizer's histories (L14, section 4), else 50."""
    return get_optimizer(settings.optimizer).n_bootstraps or N_BOOTSTRAPS


def most_members(settings: Settings) -> int:
    """What `ensemble_members` says, else 12; of bootstraps each may have a winner of its own."""
    if settings.ensemble_members is not None:
        return settings.ensemble_members
    draws = settings.ensemble != "none" and get_ensemble(settings.ensemble).draws_bootstraps
    return n_bootstraps_of(settings) if draws else MOST_MEMBERS


def limited(
    weights: FloatArray, settings: Settings, milliseconds: FloatArray, inputs: Inputs
) -> FloatArray:
    """Weights within the settings' limits of members and of the time to predict, sum 1.

    Parameters
    ----------
    weights : (n members,), non-negative
    milliseconds : (n members,), per row
    inputs : (n members,)
        Positions of the members whose predictions each one takes; empty: no second layer.
    """
    least_weight = method_of(settings).least_weight
    weights = limit_members(
        weights, most_members(settings), least_weight=least_weight, inputs=inputs
    )
    if settings.max_predict_ms is None:
        return weights
    return limit_prediction_time(weights, milliseconds, settings.max_predict_ms, inputs=inputs)
