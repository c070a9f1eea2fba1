"""A few calls of Prefect's REST API, without its client: each has a time limit and no retry."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from automl.addresses import basic, request_to

CALL_SECONDS = 5.0
"""For an answer, which a busy machine makes slow (by judgement)."""


class PrefectAPI:
    """The API at one address.

    Parameters
    ----------
    url
        Such as ``http://127.0.0.1:4200/api``; may name a user.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def post(self, path: str, body: Any, *, seconds: float = CALL_SECONDS) -> Any:
        """Answer to a POST.

        Raises
        ------
        OSError
            If the server is away, is too slow, or refuses.
        """
        request = self._request(path)
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
        return _answer(request, seconds)

    def get(self, path: str, *, seconds: float = CALL_SECONDS) -> Any:
        """Answer to a GET; raises as `post`."""
        return _answer(self._request(path), seconds)

    def _request(self, path: str) -> urllib.request.Request:
        """Request with the credentials of Prefect's own environment, unless the address has some."""
        request = request_to(f"{self.url}/{path}")
        if not request.has_header("Authorization"):
            user, key = (os.environ.get(f"PREFECT_API_{name}") for name in ("AUTH_STRING", "KEY"))
            if user:
                request.add_header("Authorization", basic(user))
            elif key:
                request.add_header("Authorization", f"Bearer {key}")
        return request


def given_url() -> str:
    """API of the flow or task that calls us, else that of `PREFECT_API_URL`; empty without both."""
    run = _calling_run()
    if run is not None:
        return str(run.client.api_url).rstrip("/")
    return os.environ.get("PREFECT_API_URL", "").rstrip("/")


@contextmanager
def given_server() -> Iterator[None]:
    """Point the Prefect client at the server of `PREFECT_API_URL`, with its credentials.

    Prefect reads its environment when it is imported. Where that was before the address was set, its
    client would start a server of its own. The flow or task that calls us keeps its server.
    """
    from prefect.settings import (
        PREFECT_API_AUTH_STRING,
        PREFECT_API_KEY,
        PREFECT_API_URL,
        temporary_settings,
    )

    ours = (PREFECT_API_URL, PREFECT_API_KEY, PREFECT_API_AUTH_STRING)
    given = {one: os.environ[one.name] for one in ours if os.environ.get(one.name)}
    if _calling_run() is not None or PREFECT_API_URL not in given:
        yield
        return
    with temporary_settings(given):
        yield


def _calling_run() -> Any:
    """Context of the flow or task that calls us; None without one."""
    context = sys.modules.get("prefect.context")  # not there: nothing of Prefect calls us
    if context is None:
        return None
    return context.FlowRunContext.get() or context.TaskRunContext.get()


def answers(url: str, timeout: float = 1.0) -> bool:
    """Whether a GET of `url`, which may name a user, succeeds within `timeout` seconds."""
    try:
        with urllib.request.urlopen(request_to(url), timeout=timeout) as response:  # noqa: S310 http only
            return bool(response.status == 200)
    except (OSError, ValueError, HTTPException):
        return False


def _answer(request: urllib.request.Request, seconds: float) -> Any:
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:  # noqa: S310 http only
            content = response.read()
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    except (ValueError, HTTPException) as error:
        raise OSError(f"{request.full_url}: {error}") from error
    return json.loads(content) if content else None
