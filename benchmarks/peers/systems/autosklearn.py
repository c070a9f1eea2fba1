"""auto-sklearn, pandas' categories."""

from __future__ import annotations

import pandas as pd

from systems.protocol import N_CORES, Job, as_categories


def fit(job: Job):
    from autosklearn import metrics
    from autosklearn.classification import AutoSklearnClassifier
    from autosklearn.regression import AutoSklearnRegressor

    X, y = job.training()
    X, test = as_categories(X, job.test())
    name = {"rmse": "root_mean_squared_error"}.get(job.metric, job.metric)
    kind = AutoSklearnRegressor if job.is_regression else AutoSklearnClassifier
    model = kind(
        time_left_for_this_task=int(job.left),
        metric=getattr(metrics, name),
        n_jobs=N_CORES,
        memory_limit=None,
        seed=job.seed,
    )
    model.fit(X, y)
    if job.is_regression:
        return lambda: pd.DataFrame({"prediction": model.predict(test)})
    return lambda: pd.DataFrame(model.predict_proba(test), columns=sorted(y.unique()))
