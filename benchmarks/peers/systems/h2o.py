"""H2O AutoML, raw columns; the start of its JVM counts."""

from __future__ import annotations

import pandas as pd

from systems.protocol import N_CORES, Job

METRICS = {"roc_auc": "AUC", "log_loss": "logloss", "rmse": "RMSE"}


def fit(job: Job):
    import h2o
    from h2o.automl import H2OAutoML

    h2o.init(nthreads=N_CORES, max_mem_size="8G", bind_to_localhost=True, verbose=False)
    X, y = job.training()
    kinds = dict.fromkeys(job.nominal, "enum")
    if not job.is_regression:
        kinds[job.target] = "enum"
    frame = h2o.H2OFrame(X.assign(**{job.target: y}), column_types=kinds)
    model = H2OAutoML(
        max_runtime_secs=int(job.left), sort_metric=METRICS[job.metric], seed=job.seed
    )
    model.train(y=job.target, training_frame=frame)

    def predict() -> pd.DataFrame:
        test = h2o.H2OFrame(job.test(), column_types=dict.fromkeys(job.nominal, "enum"))
        found = model.leader.predict(test).as_data_frame()
        if job.is_regression:
            return found.rename(columns={"predict": "prediction"})
        labels = frame[job.target].levels()[0]
        return found.drop(columns="predict").set_axis(labels, axis=1)

    return predict
