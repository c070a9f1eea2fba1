"""Progress where a run is watched: below the cell of a notebook, or on stderr."""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from typing import Any, Protocol, Self

from automl.durations import seconds_text
from automl.progress import Progress
from automl.reports.page import Bar, Fragment, Paragraph, Part
from automl_flows.words.progress_display import (
    ProgressDisplay,
    best_text,
    left_text,
    sparkline,
    trials_text,
)

TITLE = "AutoML"


class Display(Protocol):
    """Shows the progress of a run for as long as it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...

    def update(self, progress: Progress) -> None:
        """Show a state; may be called from any thread."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows what IPython displays."""
    if "IPython" not in sys.modules:
        return False
    return hasattr(import_module("IPython").get_ipython(), "kernel")


def progress_display() -> Display:
    """The display that fits the place."""
    return NotebookDisplay() if in_notebook() else ProgressDisplay()


class NotebookDisplay:
    """Shows the latest `Progress` below the cell, by IPython's displays alone; it stays when the run is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: Any = None
        self._understood = ""
        self._latest: Progress | None = None

    def __enter__(self) -> Self:
        shown = _Shown(Fragment(TITLE, (Paragraph("starting"),)))
        self._handle = import_module("IPython.display").display(shown, display_id=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            if self._latest is not None:
                self._show(self._last_parts(self._latest, is_well=kind is None))

    def update(self, progress: Progress) -> None:
        """Show a state; may be called from any thread."""
        with self._lock:
            self._understood = progress.message or self._understood
            self._latest = progress
            bar = Bar(progress.share_done, progress.stage, left_text(progress))
            self._show((bar, *_state(progress)))

    def _last_parts(self, progress: Progress, *, is_well: bool) -> tuple[Part, ...]:
        took = seconds_text(progress.elapsed)
        ending = f"finished in {took}" if is_well else f"stopped at {progress.stage} after {took}"
        return (Paragraph(ending), *_state(progress))

    def _show(self, parts: tuple[Part, ...]) -> None:
        first = tuple(map(Paragraph, self._understood.splitlines()))
        self._handle.update(_Shown(Fragment(TITLE, (*first, *parts))))


class _Shown:
    """A fragment as IPython takes it."""

    def __init__(self, fragment: Fragment) -> None:
        self._fragment = fragment

    def __repr__(self) -> str:
        texts = (_plain(part) for part in self._fragment.parts)
        return "\n".join(filter(None, texts))

    def _repr_html_(self) -> str:
        return self._fragment.html


def _state(progress: Progress) -> tuple[Part, ...]:
    """The best model with the line of best scores, and the trials."""
    trials = Paragraph(trials_text(progress))
    if progress.best is None:
        return (trials,)
    best = f"{best_text(progress.best)}  {sparkline(progress.best.history)}".rstrip()
    return (Paragraph(best), trials)


def _plain(part: Part) -> str:
    if isinstance(part, Paragraph):
        return part.text
    return f"{part.before}: {part.after}".rstrip(": ") if isinstance(part, Bar) else ""
