"""Command lines that are shown to be copied."""

from __future__ import annotations

import shlex

from automl.home import Home, default_home


def command(home: Home, *arguments: str) -> str:
    """A command line that works when it is copied; it names the home where that is not the usual one."""
    parts = ["automl", *arguments]
    if home.path.resolve() != default_home():
        parts += ["--home", str(home.path)]
    return shlex.join(parts)
