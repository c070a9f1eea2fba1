"""FLAML, pandas' categories."""

from __future__ import annotations

from systems.protocol import N_CORES, Job, answer, as_categories, plainly_named


def fit(job: Job):
    from flaml import AutoML

    X, y = job.training()
    X, test = plainly_named(*as_categories(X, job.test()))
    metric = "roc_auc_ovr" if job.metric == "roc_auc" and job.task == "multiclass" else job.metric
    model = AutoML()
    model.fit(
        X,
        y,
        task="regression" if job.is_regression else "classification",
        metric=metric,
        time_budget=job.left,
        n_jobs=N_CORES,
        seed=job.seed,
        verbose=0,
    )
    return lambda: answer(model, test, job)
