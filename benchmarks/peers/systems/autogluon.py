"""AutoGluon's `best_quality`, raw columns; folds one after another, with which it keeps its budget on two cores."""

from __future__ import annotations

import pandas as pd

from systems.protocol import N_CORES, Job

METRICS = {"roc_auc": "roc_auc", "log_loss": "log_loss", "rmse": "root_mean_squared_error"}
PRESETS = "best_quality"


def fit(job: Job):
    from autogluon.tabular import TabularPredictor

    X, y = job.training()
    predictor = TabularPredictor(
        label=job.target,
        problem_type=job.task,
        eval_metric=METRICS[job.metric],
        path=str(job.folder / "autogluon-models"),
        verbosity=1,
    ).fit(
        X.assign(**{job.target: y}),
        time_limit=job.left,
        presets=PRESETS,
        num_cpus=N_CORES,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
    )
    if job.is_regression:
        return lambda: pd.DataFrame({"prediction": predictor.predict(job.test())})
    return lambda: predictor.predict_proba(job.test())
