"""Jobs of a worker that fit models to be kept, without judging them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from automl.estimators.allowance import Allowance, fitting_within
from automl.evaluation.fitting import (
    REFIT,
    SharedRounds,
    fit_estimator,
    fit_fold,
    new_preprocessor,
    open_run,
)
from automl.evaluation.fold_models import save_models
from automl.inference.model import FittedPipeline
from automl.randomness import Purpose, integer_seed
from automl.records import Configuration


def fit_folds(context: str, payload: Mapping[str, Any]) -> float:
    """Job of a worker slot: fit and keep the fold models of a search trial.

    Parameters
    ----------
    payload
        `configuration` (JSON), `save_as` (trial id), `most_rounds` as in `automl.evaluation.trial.evaluate`.

    Returns
    -------
        Seconds.
    """
    plan, cache = open_run(context)
    configuration = Configuration.from_json(payload["configuration"])
    started = time.perf_counter()
    rounds = SharedRounds.of(plan, payload.get("most_rounds"))
    pipelines = {}
    for repeat, fold in plan.stage("search").first_jobs:
        with fitting_within(Allowance(most_rounds=rounds.known)) as allowance:
            pipelines[repeat, fold], _ = fit_fold(
                plan, cache, configuration, stage="search", repeat=repeat, fold=fold
            )
        rounds.learn(allowance.found)
    save_models(plan.folder, payload["save_as"], pipelines)
    return time.perf_counter() - started


def refit(context: str, payload: Mapping[str, Any]) -> float:
    """Job of a worker slot: fit one pipeline on all training rows and keep it.

    Parameters
    ----------
    payload
        `configuration` (JSON), `save_as` (file name without suffix), `most_rounds` as in `automl.evaluation.trial.evaluate`.

    Returns
    -------
        Seconds.
    """
    plan, _ = open_run(context)
    configuration = Configuration.from_json(payload["configuration"])
    started = time.perf_counter()
    rows = np.arange(len(plan.table))
    seed = integer_seed(plan.settings.seed, Purpose.FINAL)
    preprocessor = new_preprocessor(plan, configuration, seed)
    matrix = preprocessor.fit_transform(plan.table.frame, plan.table.y)
    with fitting_within(Allowance(most_rounds=payload.get("most_rounds"))):
        estimator = fit_estimator(plan, configuration, matrix, rows, (REFIT,))
    save_models(plan.folder, payload["save_as"], {(0, 0): FittedPipeline(preprocessor, estimator)})
    return time.perf_counter() - started
