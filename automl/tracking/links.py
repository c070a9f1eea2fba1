"""Where to look at a run: pages when a tracking server is known, otherwise ids. No mlflow."""

from __future__ import annotations

import os
from urllib.parse import quote

from automl.home import RunFolder
from automl.tracking.outbox import Outbox
from automl.tracking.process import registration


def links(folder: RunFolder, *, server: str | None = None) -> dict[str, str]:
    """Experiment, run and model of a run, those that exist.

    Parameters
    ----------
    folder
        Run folder.
    server
        Address of a page that shows the store; default: the store itself if it is a server, else
        `MLFLOW_TRACKING_URI` if that is one.
    """
    outbox = Outbox.load(folder.path / "outbox.json")
    uri = server or next(
        (u for u in (outbox.store, os.environ.get("MLFLOW_TRACKING_URI", "")) if "http" in u[:4]),
        "",
    )
    version = outbox.done.get("version")
    registered = registration(folder).registered
    base = f"{uri.rstrip('/')}/#" if uri else ""
    found = {"tracking_store": outbox.store}
    if outbox.experiment:
        experiment = f"{base}/experiments/{outbox.experiment}" if base else outbox.experiment
        found["experiment"] = experiment
    if outbox.parent:
        page = f"{base}/experiments/{outbox.experiment}/runs/{outbox.parent}"
        found["run"] = page if base else outbox.parent
    if version and registered:
        name = quote(outbox.done["registered_name"], safe="")
        found["model"] = f"{base}/models/{name}/versions/{version}" if base else registered
    return {key: value for key, value in found.items() if value}
