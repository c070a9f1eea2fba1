"""Where to look at a run: pages when a tracking server is known, otherwise ids. No mlflow."""

from __future__ import annotations

import os
from urllib.parse import quote, urlencode

from automl.addresses import public_address
from automl.flow_run_notes import latest_note
from automl.home import RunFolder
from automl.tracking.layout import KIND_TAG, RUN_ID_TAG
from automl.tracking.mirror_process import registration
from automl.tracking.outbox import Outbox
from automl.tracking.views import RUNS, TRIALS, VIEW_PARAMETER

PAGE_OF_TRAINING_RUNS = "?workflowType=machine_learning"
"""Makes MLflow show training runs; without it the page opens on traces of language models."""


def links(folder: RunFolder, *, server: str | None = None) -> dict[str, str]:
    """Experiment, run, trials (best first), model and flow run in Prefect of a run, those that exist.

    No address in them has a user or a password.

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
    base = f"{public_address(uri).rstrip('/')}/#" if uri else ""
    addresses = {"tracking_store": outbox.store}
    if outbox.experiment:
        runs = f"{base}/experiments/{outbox.experiment}/runs"
        view = f"{runs}{PAGE_OF_TRAINING_RUNS}&{VIEW_PARAMETER}={RUNS.key}"
        addresses["experiment"] = view if base else outbox.experiment
        if outbox.parent:
            page = f"{runs}/{outbox.parent}{PAGE_OF_TRAINING_RUNS}"
            addresses["run"] = page if base else outbox.parent
        if base:
            addresses["trials"] = f"{runs}{PAGE_OF_TRAINING_RUNS}&{_best_trials(folder.run_id)}"
    if version and registered:
        label = registered.partition("@")[0]  # the alias may move later
        name = quote(outbox.done["registered_name"], safe="")
        page = f"{base}/models/{name}/versions/{version}{PAGE_OF_TRAINING_RUNS}"
        addresses["model"] = page if base else label
    if note := latest_note(folder):
        addresses["prefect"] = public_address(note.page) or note.flow_run
    return {key: value for key, value in addresses.items() if value}


def _best_trials(run_id: str) -> str:
    """Part of a page's address: the trials of a run's search, best score first."""
    kind = f"tags.`{KIND_TAG}` = '{TRIALS.kind}' and {TRIALS.condition}"
    trials = f"tags.`{RUN_ID_TAG}` = '{run_id}' and {kind}"
    order = {"orderByKey": "metrics.`score`", "orderByAsc": "false", "searchFilter": trials}
    return urlencode(order, quote_via=quote)
