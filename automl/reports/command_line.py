"""Command lines that are shown to be copied."""

from __future__ import annotations

import os
import shlex

from automl.home import HOME_VARIABLE, Home, default_home


def command(home: Home, *arguments: str) -> str:
    """A command line that works when it is copied, whatever the working folder."""
    parts = ["automl", *arguments]
    if not os.environ.get(HOME_VARIABLE) or home.path != default_home():
        parts += ["--home", str(home.path)]
    return shlex.join(parts)
