"""MLJAR supervised in its mode Compete, raw columns."""

from __future__ import annotations

import pandas as pd

from systems.protocol import N_CORES, Job

TASKS = {
    "binary": "binary_classification",
    "multiclass": "multiclass_classification",
    "regression": "regression",
}
METRICS = {"roc_auc": "auc", "log_loss": "logloss", "rmse": "rmse"}


def fit(job: Job):
    from supervised.automl import AutoML

    X, y = job.training()
    model = AutoML(
        results_path=str(job.folder / "mljar-models"),
        mode="Compete",
        ml_task=TASKS[job.task],
        eval_metric=METRICS[job.metric],
        total_time_limit=int(job.left),
        n_jobs=N_CORES,
        random_state=job.seed,
        verbose=0,
    )
    model.fit(X, y)

    def predict() -> pd.DataFrame:
        if job.is_regression:
            return pd.DataFrame({"prediction": model.predict(job.test())})
        labels = sorted(y.unique())
        return pd.DataFrame(model.predict_proba(job.test()), columns=labels)

    return predict
