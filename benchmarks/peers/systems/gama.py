"""GAMA, raw columns."""

from __future__ import annotations

import pandas as pd

from systems.protocol import N_CORES, Job, as_categories

SCORERS = {"roc_auc": "roc_auc", "log_loss": "neg_log_loss", "rmse": "neg_mean_squared_error"}
"""GAMA knows no root of the squared error; it orders models alike."""


def fit(job: Job):
    from gama import GamaClassifier, GamaRegressor

    X, y = job.training()
    X, test = as_categories(X, job.test())
    kind = GamaRegressor if job.is_regression else GamaClassifier
    model = kind(
        scoring=SCORERS[job.metric],
        max_total_time=int(job.left),
        n_jobs=N_CORES,
        random_state=job.seed,
        store="nothing",
    )
    model.fit(X, y)
    if job.is_regression:
        return lambda: pd.DataFrame({"prediction": model.predict(test)})
    return lambda: pd.DataFrame(model.predict_proba(test), columns=sorted(y.unique()))
