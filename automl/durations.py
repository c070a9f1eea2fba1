"""Durations as people write them."""

from __future__ import annotations

import re

from automl.errors import SettingsError

_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?\s*$")
_UNIT_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def parse_duration(text: str | float) -> float:
    """Seconds of a duration such as ``90``, ``90s``, ``10m``, ``5min``, ``1.5h``.

    Raises
    ------
    SettingsError
        If the text is not a positive number with an optional unit s, m or min, h or d.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        seconds = float(text)
    else:
        match = _DURATION.match(str(text))
        if match is None:
            raise SettingsError(
                f"a duration must look like 90s, 10m or 1.5h; got {text!r}", value=text
            )
        seconds = float(match.group(1)) * _UNIT_SECONDS[match.group(2)]
    if not 0 < seconds < float("inf"):
        raise SettingsError(f"a duration must be positive and finite; got {text!r}", value=text)
    return seconds


def seconds_text(seconds: float | None) -> str:
    """A duration for people, such as ``0.4 s``, ``95 s``, ``12 min``, ``3.1 h``."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
