"""Tasks that evaluate, select, blend, use and score models. Each also works as ``name.fn(...)``.

Nothing is cached or persisted.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE

from automl.home import default_home
from automl.inference.model import TableModel
from automl.tracking import model_registry as registry
from automl_tasks import given_predictions, standalone

evaluate_configuration = task(
    cache_policy=NO_CACHE, persist_result=False, task_run_name="evaluate {family}"
)(standalone.evaluate_configuration)
select_models = task(cache_policy=NO_CACHE, persist_result=False)(standalone.select_models)
weigh_models = task(
    cache_policy=NO_CACHE, persist_result=False, task_run_name="weigh models: {method}"
)(standalone.weigh_models)
blend = task(cache_policy=NO_CACHE, persist_result=False)(given_predictions.blend)
score_folds = task(cache_policy=NO_CACHE, persist_result=False)(given_predictions.score_folds)
score = task(cache_policy=NO_CACHE, persist_result=False)(standalone.score)


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
