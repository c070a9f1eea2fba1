"""scikit-learn's random forest as it comes, on ordinal codes."""

from __future__ import annotations

from systems.protocol import N_CORES, Job, answer, as_codes


def make(job: Job, **options: object):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if job.is_regression else RandomForestClassifier
    return kind(n_jobs=N_CORES, random_state=job.seed, **options)


def fit(job: Job):
    X, y = job.training()
    X, test = as_codes(X, job.test())
    model = make(job).fit(X, y)
    return lambda: answer(model, test, job)
