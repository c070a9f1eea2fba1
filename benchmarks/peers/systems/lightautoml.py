"""LightAutoML's preset for tables, raw columns."""

from __future__ import annotations

import pandas as pd

from systems.protocol import N_CORES, Job

KINDS = {"binary": "binary", "multiclass": "multiclass", "regression": "reg"}
METRICS = {"roc_auc": "auc", "log_loss": "crossentropy", "rmse": "mse"}


def fit(job: Job):
    from lightautoml.automl.presets.tabular_presets import TabularAutoML
    from lightautoml.tasks import Task

    X, y = job.training()
    labels = [] if job.is_regression else sorted(y.unique())
    coded = y if job.is_regression else y.map({label: i for i, label in enumerate(labels)})
    model = TabularAutoML(
        task=Task(KINDS[job.task], metric=METRICS[job.metric]),
        timeout=int(job.left),
        cpu_limit=N_CORES,
        reader_params={"random_state": job.seed, "n_jobs": N_CORES},
    )
    model.fit_predict(X.assign(**{job.target: coded}), roles={"target": job.target}, verbose=0)

    def predict() -> pd.DataFrame:
        found = model.predict(job.test()).data
        if job.is_regression:
            return pd.DataFrame({"prediction": found[:, 0]})
        if job.task == "binary":
            return pd.DataFrame({labels[0]: 1 - found[:, 0], labels[1]: found[:, 0]})
        position = model.reader.class_mapping or {i: i for i in range(len(labels))}
        return pd.DataFrame({label: found[:, position[i]] for i, label in enumerate(labels)})

    return predict
