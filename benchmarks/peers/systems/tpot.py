"""TPOT, ordinal codes."""

from __future__ import annotations

from systems.protocol import N_CORES, Job, answer, as_codes

SCORERS = {"roc_auc": "roc_auc", "log_loss": "neg_log_loss", "rmse": "neg_root_mean_squared_error"}


def fit(job: Job):
    from tpot import TPOTClassifier, TPOTRegressor

    X, y = job.training()
    X, test = as_codes(X, job.test())
    labels = sorted(y.unique())
    coded = y if job.is_regression else y.map({label: i for i, label in enumerate(labels)})
    kind = TPOTRegressor if job.is_regression else TPOTClassifier
    model = kind(
        scorers=[SCORERS[job.metric]],
        scorers_weights=[1],
        max_time_mins=job.left / 60,
        n_jobs=N_CORES,
        random_state=job.seed,
    )
    model.fit(X, coded)

    def predict():
        found = answer(model, test, job)
        return found if job.is_regression else found.set_axis(labels, axis=1)

    return predict
