"""LightGBM as it comes."""

from __future__ import annotations

from systems.protocol import N_CORES, Job, answer, as_categories, plainly_named


def fit(job: Job):
    from lightgbm import LGBMClassifier, LGBMRegressor

    X, y = job.training()
    X, test = plainly_named(*as_categories(X, job.test()))
    kind = LGBMRegressor if job.is_regression else LGBMClassifier
    model = kind(n_jobs=N_CORES, verbose=-1, random_state=job.seed).fit(X, y)
    return lambda: answer(model, test, job)
