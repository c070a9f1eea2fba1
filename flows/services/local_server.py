"""The Prefect server beside a run: the standing one, or one that lives as long as the run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from automl.home import Home
from automl_flows.services.prefect_api import CALL_SECONDS, PrefectAPI, answers, given_url
from automl_flows.services.reconciliation import reconcile
from automl_flows.services.server import ASK_SECONDS, DRAIN_SECONDS, LocalServer, flush_clients
from automl_flows.services.standing import read_services

CLOSE_SECONDS = 12.0
"""More than the limits of what is done at the end together."""


def local_server(home: Path, *, has_time: bool = True) -> LocalServer | None:
    """The server that a run in `home` should use, not yet started.

    Parameters
    ----------
    has_time
        Whether the run is likely to have time for a search. Else a new server is idle: its start takes as much of a
        processor as all that the run itself needs.

    Returns
    -------
    None when a flow calls us or `PREFECT_API_URL` names another one; the standing one of `automl up`
    when it lives; else a new one.
    """
    if given_url():
        return None
    standing = read_services(home).get("prefect")
    if standing is not None and answers(f"{standing.url}/api/health"):
        lives = lambda: standing.process() is not None  # noqa: E731 one word, used here alone
        return LocalServer(home / "prefect", url=standing.url, lives=lives)
    return LocalServer(home / "prefect", is_idle=not has_time)


def running_api(home: Home) -> str:
    """API of the flow that calls us, of `PREFECT_API_URL`, or of the standing server of a home; empty without any."""
    standing = read_services(home.path).get("prefect")
    return given_url() or (f"{standing.url}/api" if standing else "")


def settle(home: Home) -> None:
    """Inform the running server about the home's runs; none is started for that."""
    url = running_api(home)
    if url and answers(f"{url}/health", CALL_SECONDS):
        reconcile(home, PrefectAPI(url))


@contextmanager
def running(server: LocalServer | None, home: Home) -> Iterator[None]:
    """Start a server if one is needed, and stop it at the end, however that comes.

    Before that, the server is informed about the home's runs. This is done in a
    thread: a notebook's own event loop may run in this one, and no server may hold up the end.
    """
    if server is not None:
        server.start()
    try:
        yield
    finally:
        api = PrefectAPI(given_url()) if server is None else server.api  # a thread knows no flow
        closing = threading.Thread(target=_close, args=(server, api, home), daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        if server is not None:
            server.stop()


def _close(server: LocalServer | None, api: PrefectAPI, home: Home) -> None:
    """Let everything that clients and run folders know get into the server's database."""
    if server is not None and server.is_idle:
        return
    if not answers(f"{api.url}/health", ASK_SECONDS):
        return
    flush_clients(DRAIN_SECONDS)
    reconcile(home, api)
    if server is not None and server.is_owned:
        server.drain(DRAIN_SECONDS)
