"""Messages on stderr."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line on stderr; never fails."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def one_line(text: str) -> str:
    """The text with all white space runs, line ends included, as single spaces."""
    return " ".join(text.split())
