"""Progress on stderr: a display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from automl.durations import seconds_text
from automl.progress import Best, Progress
from automl_flows.words.messages import say
from automl_flows.words.rendering import text_of, use_color

LINE_SECONDS = 10.0
"""Between two lines where there is no terminal: ten minutes fill sixty lines of a log."""
BAR_WIDTH = 40
"""With the words beside it, half of a usual terminal of 80 columns and more."""
SPARK_WIDTH = 24
"""Marks of the line of best scores, which leaves room for the family on the same line."""
SPARKS = "▁▂▃▄▅▆▇█"
FLAT_SHARE = 5
"""One of so many marks is for the climb out of the first trials (by judgement)."""


class ProgressDisplay:
    """Shows the latest `Progress`; `update` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: Any = None
        self._said_at = float("-inf")
        self._stage = ""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def update(self, progress: Progress) -> None:
        """Show a state; without a terminal at most one line every ten seconds and per stage."""
        with self._lock:
            if self._live is not None:
                self._show(progress)
            else:
                self._say_line(progress)

    def _open(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, no_color=not use_color(sys.stderr))
        self._live = Live("starting", console=console, transient=True, auto_refresh=False)
        self._live.start(refresh=True)

    def _show(self, progress: Progress) -> None:
        if progress.message:
            self._live.console.print(progress.message, markup=False, highlight=False)
        takes_marks = self._live.console.encoding.startswith("utf")
        self._live.update(_panel(progress, takes_marks=takes_marks), refresh=True)

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
    parts = [trials_text(progress), best_text(progress.best), left_text(progress)]
    return ", ".join(filter(None, parts))


def trials_text(progress: Progress) -> str:
    """``48/60 trials (2 failed, 5 raced), 2 of 2 slots busy``."""
    planned = f"/{progress.trials_planned}" if progress.trials_planned else ""
    counts = {"failed": progress.trials_failed, "raced": progress.trials_raced}
    ends = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    busy = ""
    if progress.trials_running:
        busy = f", {progress.trials_running} running"
        if progress.slots:
            n_busy = min(progress.trials_running, progress.slots)
            busy = f", {n_busy} of {progress.slots} slots busy"
    return f"{progress.trials_done}{planned} trials{f' ({ends})' if ends else ''}{busy}"


def best_text(best: Best | None) -> str:
    """``best accuracy 0.8729, score 0.7031 (svm)``; empty before the first complete trial."""
    if best is None:
        return ""
    natural = "" if best.value is None else f"{best.metric} {text_of(best.value)}, score "
    family = f" ({best.family})" if best.family else ""
    return f"best {natural}{best.score:.4f}{family}"


def left_text(progress: Progress) -> str:
    """``31 s left``, with ``about`` if it follows from the pace of the trials; empty if unknown."""
    if progress.trials_planned:
        about = progress.trials_seconds_left
        return "" if not about else f"about {seconds_text(about)} left"
    if progress.seconds_left is None:
        return ""
    return f"{seconds_text(progress.seconds_left)} left"


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH) -> str:
    """Marks of values that never fall, the latest at the right; empty of fewer than two.

    What the first fifth has reached is the lowest mark: the first trials are so poor that all others would
    look alike. Where nothing was better after it, the first trial is.
    """
    if len(values) < 2:
        return ""
    n_marks = min(width, len(values))
    shown = [values[(place + 1) * len(values) // n_marks - 1] for place in range(n_marks)]
    climbed = shown[n_marks // FLAT_SHARE]
    low = climbed if climbed < shown[-1] else shown[0]
    span = shown[-1] - low
    heights = [max(0.0, value - low) / span if span else 0.0 for value in shown]
    return "".join(SPARKS[round(height * (len(SPARKS) - 1))] for height in heights)


def _panel(progress: Progress, *, takes_marks: bool) -> Any:
    """Stage, bar and time left; the best model; the trials.

    Parameters
    ----------
    takes_marks : whether the terminal shows the line of best scores
    """
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=1.0, completed=progress.share_done, width=BAR_WIDTH)
    table.add_row(Text(progress.stage, style="bold"), bar, Text(left_text(progress)))
    lines = Table.grid(padding=(0, 2))
    lines.add_row(table)
    if progress.best is not None:
        curve = sparkline(progress.best.history) if takes_marks else ""
        lines.add_row(Text(f"{best_text(progress.best)}  {curve}".rstrip(), no_wrap=True))
    lines.add_row(Text(trials_text(progress), no_wrap=True))
    return lines
