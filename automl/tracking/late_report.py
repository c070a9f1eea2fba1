"""The report of a run is made before its model is registered; what it could not say then is said later."""

from __future__ import annotations

import html

from automl.durable import write_whole
from automl.home import RunFolder
from automl.tracking.mirror_process import registration

WAITING = "It waits to be registered."
"""Sentence of a report that was made before the registration."""


def registered_words(label: str) -> str:
    """The sentence that takes the place of `WAITING`, of a version such as ``beans-label/2``."""
    return f"It is registered as {label}."


def tell_registration(folder: RunFolder) -> None:
    """Say in the report which version the model became; a report that says it already stays as it is.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    label = (registration(folder).registered or "").partition("@")[0]
    if not label or not folder.report.is_file():
        return
    text = folder.report.read_text(encoding="utf-8")
    if WAITING in text:
        told = text.replace(WAITING, html.escape(registered_words(label)), 1)
        write_whole(folder.report, [told.encode()], "the report")
