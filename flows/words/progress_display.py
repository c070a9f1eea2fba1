"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Self

from automl.durations import seconds_text
from automl.progress import Progress
from automl_flows.words.messages import say
from automl_flows.words.rendering import use_color

LINE_SECONDS = 10.0
"""Between two lines where there is no terminal: ten minutes fill sixty lines of a log."""


class ProgressDisplay:
    """Shows the latest `Progress`; `update` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._said_at = float("-inf")
        self._stage = ""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._open_bar()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def update(self, progress: Progress) -> None:
        """Show a state; without a terminal at most one line every ten seconds and per stage."""
        with self._lock:
            if self._bar is not None:
                self._update_bar(progress)
            else:
                self._say_line(progress)

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True, no_color=not use_color(sys.stderr))
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=1.0, state="")
        self._bar.start()

    def _update_bar(self, progress: Progress) -> None:
        if progress.message:
            self._bar.console.print(progress.message, markup=False, highlight=False)
        self._bar.update(
            self._task,
            completed=progress.share_done,
            description=progress.stage,
            state=state_text(progress),
        )

    def _say_line(self, progress: Progress) -> None:
        now = time.monotonic()
        is_due = progress.stage != self._stage or now - self._said_at >= LINE_SECONDS
        if progress.message:
            say(progress.message)
        if is_due:
            say(f"[{seconds_text(progress.elapsed)}] {progress.stage}: {state_text(progress)}")
            self._said_at, self._stage = now, progress.stage


def state_text(progress: Progress) -> str:
    """Trials, best score and time left in one short text."""
    planned = f"/{progress.trials_planned}" if progress.trials_planned else ""
    parts = [f"{progress.trials_done}{planned} trials"]
    if progress.trials_running:
        parts.append(f"{progress.trials_running} running")
    if progress.best_score is not None:
        family = f" ({progress.best_family})" if progress.best_family else ""
        parts.append(f"best {progress.best_score:.4f}{family}")
    if progress.seconds_left is not None and not progress.trials_planned:
        parts.append(f"{seconds_text(progress.seconds_left)} left")
    return ", ".join(parts)
