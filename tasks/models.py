"""Tasks that evaluate, select, blend, use and score models. Each also works as ``name.fn(...)``.

Nothing is cached or persisted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike
from prefect import task
from prefect.cache_policies import NO_CACHE

from automl.home import default_home
from automl.inference.combining import Combine
from automl.inference.model import TableModel
from automl.selection.selection_records import SelectionRecord
from automl.significance import Normality, Procedure, WantedSplit
from automl.tracking import registry
from automl_tasks import standalone
from automl_tasks.standalone import Evaluation

Metric = str | Mapping[str, float]


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="evaluate {family}")
def evaluate_configuration(
    frame: pd.DataFrame | str | Path,
    target: str,
    family: str,
    values: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Evaluation:
    """Cross-validated score, metrics and out-of-fold predictions of one configuration.

    Parameters
    ----------
    frame
        Raw rows with the target, or a source such as a file.
    family
        A name that ``automl families`` lists.
    values
        Hyperparameters by name, `prep.*` included; absent ones take their defaults.
    settings
        `folds`, `metric`, `seed`, `task`, `roles`, `groups`, `time`, `weights`, `class_weight`,
        `positive` as in a run.

    Raises
    ------
    DataError
        With every problem of the table.
    SettingsError
        If a setting, the family or a value is not usable.
    """
    return standalone.evaluate_configuration(frame, target, family, values, **settings)


@task(cache_policy=NO_CACHE, persist_result=False)
def select_models(
    scores: Mapping[str, Sequence[float]],
    families: Mapping[str, str] | None = None,
    *,
    alpha: float | Mapping[str, float] = 0.05,
    top_n: int = 3,
    test: Procedure = "closed",
    normality: Normality = "kolmogorov_smirnov",
    alpha_split: WantedSplit = "auto",
    rope: float = 0.01,
    test_train_ratio: float | None = None,
) -> SelectionRecord:
    """Statistical selection among models: `winner`, and every decision with its test.

    Parameters
    ----------
    scores : each (n_folds,), maximized
        By the model's name, all on the same folds.
    families
        Family by the model's name, to compare within families first.
    alpha : in (0, 1)
        Significance level: one value, or values by level (`leaf` within a family, `root` between
        them).
    top_n
        How many of each family go on.
    test
        `closed`, `paired`, `mcb`, `bayesian`, `friedman` or `thesis`, as the setting `selection_test` of a run.
    normality
        `kolmogorov_smirnov` or `lilliefors`, for `thesis`.
    alpha_split
        What keeps alpha: each `level`, or the whole `tree`; `auto`: the tree for `closed`,
        `paired` and `mcb` with one alpha.
    rope : non-negative
        Greatest difference of scores that means nothing in practice, for `bayesian`.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold, for all tests but `friedman` and `thesis`; None: 1 / (n_folds - 1),
        give 1 / (k - 1) where k folds were repeated.

    Raises
    ------
    DataError
        If scores differ in length or are not finite.
    SettingsError
        If a setting is not usable.
    """
    return standalone.select_by_scores(
        scores,
        families=families,
        alpha=alpha,
        top_n=top_n,
        test=test,
        normality=normality,
        alpha_split=alpha_split,
        rope=rope,
        test_train_ratio=test_train_ratio,
    )


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="weigh models: {method}")
def weigh_models(
    predictions: Mapping[str, ArrayLike],
    labels: ArrayLike,
    *,
    method: str = "greedy",
    combine: Combine = "mean",
    metric: Metric = "index",
    task: str = "auto",
    seed: int = 0,
) -> dict[str, float]:
    """Weights of an ensemble, by the model's name; they sum to one.

    Parameters
    ----------
    predictions : each (n_rows, n_classes) or (n_rows,)
        Out of fold, by the model's name; columns in the sorted order of the labels.
    labels : (n_rows,)
    method
        ``greedy``, ``agnostic_bayes``, or ``single``: the best one alone.
    combine
        How the predictions will become one: ``mean``, ``median`` of values, ``vote`` of classes.

    Raises
    ------
    DataError
        If shapes do not fit.
    SettingsError
        If the method, the combination or the metric is not usable.
    """
    return standalone.weigh_models(
        predictions,
        labels,
        method=method,
        combine=combine,
        metric=metric,
        task=task,
        seed=seed,
    )


@task(cache_policy=NO_CACHE, persist_result=False)
def load_model(model: str | Path, home: str | Path | None = None) -> TableModel:
    """Final model of a run.

    Parameters
    ----------
    model
        Bundle folder, run id, ``NAME@ALIAS`` or a model URI.
    home
        State folder; default: `AUTOML_HOME` or ./automl-home.

    Raises
    ------
    SettingsError
        If there is no such model.
    """
    if Path(model).is_dir():
        from automl.inference.bundle import load_bundle
        from automl.installation import read_key

        return load_bundle(model, key=read_key())
    return registry.resolve_model(str(model), Path(home) if home else default_home())


@task(cache_policy=NO_CACHE, persist_result=False)
def predict(model: TableModel, frame: pd.DataFrame, *, proba: bool = False) -> pd.DataFrame:
    """Column ``prediction``, or one column per class, with the frame's index.

    Parameters
    ----------
    model
        From `load_model`.

    Raises
    ------
    DataError
        If a column is missing or has values of a wrong type.
    SettingsError
        If probabilities are asked of a regression.
    """
    if proba:
        shares = model.predict_proba(frame)
        return pd.DataFrame(shares, index=frame.index, columns=list(model.classes_))
    return pd.DataFrame({"prediction": model.predict(frame)}, index=frame.index)


@task(cache_policy=NO_CACHE, persist_result=False)
def score(
    model: TableModel,
    frame: pd.DataFrame,
    *,
    metric: Metric = "index",
    weights: str | None = None,
) -> dict[str, float]:
    """Score and every metric of a model on rows with their target.

    Parameters
    ----------
    weights
        Column of sample weights.

    Raises
    ------
    DataError
        If a column is missing, or a label is not among the model's classes.
    """
    return standalone.score_model(model, frame, metric=metric, weights=weights)
