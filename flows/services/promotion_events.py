"""The event that Prefect gets when a model becomes the champion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.home import Home
from automl.tracking.new_champions import has_new_champions, take_new_champions
from automl_flows.services.drop_runs import emitter
from automl_flows.services.local_server import running_api
from automl_flows.services.prefect_api import CALL_SECONDS, answers, given_server, given_url
from automl_flows.services.server import DRAIN_SECONDS, LocalServer, flush_clients

PROMOTED_EVENT = "automl.champion.promoted"


def emit_new_champions(home: Home) -> None:
    """Emit an event for each model that has become the champion in a home, to the API of the settings."""
    for new in take_new_champions(home.path):
        payload = {"model": new.model, "run_id": new.run_id, **evidence(new.promotion)}
        emitter(new.problem)(PROMOTED_EVENT, payload)


def tell_new_champions(home: Home) -> None:
    """`emit_new_champions` to the running Prefect server, for what may be no flow.

    Where none runs, nobody is to be told. One that does not answer is left to the next call.
    """
    if not has_new_champions(home.path):
        return
    url = running_api(home)
    if not url:
        take_new_champions(home.path)
    elif answers(f"{url}/health", CALL_SECONDS):
        server = LocalServer(home.path / "prefect", url=url.removesuffix("/api"))
        with given_server() if given_url() else server.connected():
            emit_new_champions(home)
            flush_clients(DRAIN_SECONDS)


def evidence(promotion: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and words of a decision, as short as a page wants them."""
    names = ("champion", "rule", "look", "pvalue", "level", "low", "high", "reason")
    new, old = promotion.get("score"), promotion.get("champion_score")
    difference = None if new is None or old is None else new - old
    values = {**{name: promotion.get(name) for name in names}, "difference": difference}
    return {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in values.items()}
