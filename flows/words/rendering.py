"""Results on stdout: tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import typer

WHOLE_FROM = 1e4
"""Numbers from here on have no decimals: four significant digits are before the point."""
WHOLE_BELOW = 1e15
"""From here on a float does not hold every whole number, and an exponent says more."""
LEAST_COLUMNS = 40
"""Beside the names of facts; on narrower terminals the terminal itself breaks the lines."""
BROKEN_PIPE = 141
"""128 + SIGPIPE, as shells count."""


def emit(text: str) -> None:
    """Write text and a line end to stdout; a reader that went away ends the command quietly.

    Raises
    ------
    typer.Exit
        With code 141 when stdout is a closed pipe.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None


def emit_json(value: Any) -> None:
    """Write a JSON document to stdout; numbers that are not finite become null."""
    emit(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def emit_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    right: Iterable[str] = (),
) -> None:
    """Write a table to stdout, as wide as the terminal, or as wide as needed without one."""
    from rich import box
    from rich.table import Table

    is_terminal = sys.stdout.isatty()
    table = Table(
        box=box.SIMPLE_HEAD if is_terminal else None,
        title=title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for column in columns:
        justify = "right" if column in set(right) else "left"
        table.add_column(column, justify=justify, no_wrap=not is_terminal)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(_escaped(text_of(value)) for value in row))
    emit(_rendered(table, is_terminal=is_terminal))


def emit_facts(facts: Mapping[str, Any]) -> None:
    """Write aligned ``name  value`` lines to stdout; values None and "" are left out.

    On a terminal long values go on below their beginning, addresses whole.
    """
    lines, indent = facts_lines(facts)
    for line in lines:
        emit(_wrapped(line, indent) if sys.stdout.isatty() else line)


def facts_lines(facts: Mapping[str, Any]) -> tuple[list[str], int]:
    """Aligned ``name  value`` lines without those of None and "", and where the values begin."""
    shown = {key: text_of(value) for key, value in facts.items() if value not in (None, "")}
    width = max(map(len, shown), default=0)
    return [f"{key:<{width}}  {value}" for key, value in shown.items()], width + 2


def _wrapped(line: str, indent: int) -> str:
    """A line as wide as the terminal, what is below it indented."""
    columns = shutil.get_terminal_size().columns
    if columns - indent < LEAST_COLUMNS:
        return line
    return textwrap.fill(
        line,
        columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def text_of(value: Any) -> str:
    """Short text of one cell, without characters that would move the cursor."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _float_text(value)
    return "".join(c if c.isprintable() else "?" for c in str(value))


def _float_text(value: float) -> str:
    """Four significant digits, of great numbers all before the point; a dash for none."""
    if not math.isfinite(value):
        return "-"
    is_great = WHOLE_FROM <= abs(value) < WHOLE_BELOW
    return f"{value:.0f}" if is_great else f"{value:.4g}"


def moment_text(unix_seconds: float | None) -> str:
    """Local date and time."""
    if not unix_seconds:
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(unix_seconds))


def use_color(stream: TextIO) -> bool:
    """Whether colors may be written: a terminal, and `NO_COLOR` not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _rendered(renderable: Any, *, is_terminal: bool) -> str:
    import io

    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        force_terminal=use_color(sys.stdout),
        no_color=not use_color(sys.stdout),
        width=None if is_terminal else 10_000,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
