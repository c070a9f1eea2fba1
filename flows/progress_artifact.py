"""The progress of a run as an artifact on Prefect's page."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from automl.progress import Progress
from automl.run_state import FINISHED
from automl_flows.words.progress_display import sparkline, state_text

UPDATE_SECONDS = 5.0
"""Between two updates: a page is looked at now and then, and each update is a request to the server."""
END_SECONDS = 1.0
"""For the last update: a server on the same machine answers in a tenth of it; other servers are not waited for."""

_log = logging.getLogger(__name__)


class ProgressArtifact:
    """Tells Prefect's page how far a run is, from a thread that nothing waits for.

    Enter it in the flow run that the artifact belongs to. What the server does not take is dropped: a page
    that lags is no harm.

    Parameters
    ----------
    look : state of the run now
    """

    def __init__(self, key: str, look: Callable[[], Progress]) -> None:
        self._key, self._look = key, look
        self._artifact: UUID | None = None
        self._is_over, self._is_well = threading.Event(), False
        context = contextvars.copy_context()  # names the flow run
        self._thread = threading.Thread(target=context.run, args=(self._tell_on,), daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: object, *_: object) -> None:
        self._is_well = kind is None
        self._is_over.set()
        self._thread.join(END_SECONDS)

    def _tell_on(self) -> None:
        while True:
            is_last = self._is_over.is_set()
            try:
                self._tell(self._look(), is_last=is_last)
            except Exception as error:  # noqa: BLE001 - the server's troubles are none of the run's
                _log.debug("the progress is not on the page: %s", error)
                is_last = is_last or self._is_over.is_set()
            if is_last:
                return
            self._is_over.wait(UPDATE_SECONDS)

    def _tell(self, progress: Progress, *, is_last: bool) -> None:
        percent = 100.0 * progress.share_done
        if is_last and self._is_well:
            percent, progress = 100.0, replace(progress, stage=FINISHED, budget=None)
        text = described(progress)
        if self._artifact is None:
            made = create_progress_artifact(percent, key=self._key, description=text)
            self._artifact = cast(UUID, made)  # no coroutine: this thread has no event loop
        else:
            update_progress_artifact(self._artifact, percent, description=text)


def described(progress: Progress) -> str:
    """Stage and state as Markdown, with the line of best scores."""
    curve = "" if progress.best is None else sparkline(progress.best.history)
    return f"**{progress.stage}**: {state_text(progress)}{f' `{curve}`' if curve else ''}"
