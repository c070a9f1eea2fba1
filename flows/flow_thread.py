"""A flow in a thread that an interrupted program does not wait for."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prefect.exceptions import FailedRun

from automl.errors import DataError
from automl_flows.services.prefect_api import given_server

if TYPE_CHECKING:
    from automl_flows.services.server import LocalServer


class FlowThread(threading.Thread):
    """Runs a flow beside the server that was started for it, if any.

    Parameters
    ----------
    call
        Runs the flow and gives its result, a mapping.
    server
        As `automl_flows.services.server.local_server` gives it.

    Attributes
    ----------
    result : None unless the flow has ended well
    error : what it ended with; the message of a failed state as a DataError
    """

    def __init__(
        self, call: Callable[[], Any], server: LocalServer | None, *, name: str = "automl-flow"
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._call, self._server = call, server
        self._context = contextvars.copy_context()
        self.error: Exception | None = None
        self.result: dict[str, Any] | None = None

    def is_lost(self) -> bool:
        """Whether the server that was started for the flow has ended before it."""
        return self._server is not None and self._server.is_owned and not self._server.is_alive()

    def run(self) -> None:
        """What the thread does."""
        try:
            self._context.run(self._run)
        except FailedRun as error:
            self.error = DataError(str(error))
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error

    def _run(self) -> None:
        connection = given_server()
        if self._server is not None:
            self._server.wait_ready()
            connection = self._server.connected()
        with connection:
            result = self._call()
        assert isinstance(result, dict)  # a failed state has been raised
        self.result = result
