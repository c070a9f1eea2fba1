"""The flow `predict`: the files of a folder, on request or on a schedule."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from prefect import flow

from automl.home import Home, default_home
from automl_flows.prediction import Predictor
from automl_flows.prediction_folder import predict_files

_log = logging.getLogger(__name__)


@flow(name="predict", flow_run_name="predict {folder} with {model}", log_prints=False)
def predict(
    model: str, folder: str, output: str, *, proba: bool = False, log: bool = False
) -> dict[str, Any]:
    """Predict every new file of a folder.

    Parameters
    ----------
    model
        NAME@ALIAS, a run id or a model URI; looked up at every run, so that a new champion is taken.
    folder
        Of the tables.
    output
        Folder of the predictions.
    proba
        Also one column of probabilities per class.
    log
        Keep rows and predictions for `automl drift`.

    Raises
    ------
    SettingsError, ServiceError
        If there is no such model or folder, or the registry cannot be reached. A bad file ends nothing: it is set aside.
    """
    predictor = Predictor.open(model, Home(default_home()), proba=proba, log=log)
    outcome = predict_files(predictor, Path(folder), Path(output))
    for name, rows in outcome.predicted.items():
        _log.info("%s: %d predictions", name, rows)
    for name, reason in outcome.failed.items():
        _log.warning("%s is set aside: %s", name, reason)
    return outcome.to_json()
