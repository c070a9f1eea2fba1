"""Numbers from dates: parts that vary at the spacing of the column, and differences of pairs.

Days are counted since 1970-01-01 (UTC), with fractions; missing is NaN, and stays missing in all that is
made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from automl.inference.forms import SECONDS_PER_DAY, FloatArray

ELAPSED = "elapsed_days"
PARTS = ("year", "month", "day", "dayofweek", "dayofyear", ELAPSED, "hour", "minute")
MOST_DIFFERENCES = 15
"""All pairs of six columns."""


@dataclass(frozen=True)
class DateDifference:
    """Days from the date in one column to the date in another.

    Parameters
    ----------
    first, second
        Names of the raw columns.
    output
        Name of the typed column: the second minus the first.
    """

    first: str
    second: str
    output: str


def date_parts(days: FloatArray, names: Sequence[str], *, origin: float) -> dict[str, FloatArray]:
    """Parts of dates by name; missing days give missing parts.

    Parameters
    ----------
    days : (n_rows,)
    names : of `PARTS`
        ``dayofweek`` counts from Monday, 0; ``elapsed_days`` from `origin`; ``hour`` has fractions.
    """
    missing = np.isnan(days)
    whole = np.where(missing, 0.0, np.floor(days))
    dates = pd.DatetimeIndex((whole * SECONDS_PER_DAY).astype("datetime64[s]"))
    hours = np.round((days - whole) * 24.0, 6)  # microseconds survive the way through days
    parts: dict[str, Callable[[], Any]] = {
        "year": lambda: dates.year,
        "month": lambda: dates.month,
        "day": lambda: dates.day,
        "dayofweek": lambda: dates.day_of_week,
        "dayofyear": lambda: dates.day_of_year,
        ELAPSED: lambda: days - origin,
        "hour": lambda: hours,
        "minute": lambda: np.floor(np.round(hours * 60.0, 4)) % 60.0,
    }
    return {name: np.where(missing, np.nan, np.asarray(parts[name](), float)) for name in names}


def varying_parts(days: FloatArray) -> tuple[str, ...]:
    """Parts that say something about dates like these, in the order of `PARTS`.

    Those that vary, and always the elapsed days. Dates of one day of each month, or its end, are about months:
    they have no parts of days. Within one year the day of the year says what the elapsed days do.
    """
    seen = pd.unique(days[~np.isnan(days)])
    parts = date_parts(seen, PARTS, origin=0.0)
    kept = {name for name, values in parts.items() if len(np.unique(values)) > 1}
    if "day" not in kept or _are_month_ends(seen):
        kept -= {"day", "dayofweek", "dayofyear"} if "month" in kept or "year" in kept else set()
    if "year" not in kept:
        kept.discard("dayofyear")
    return tuple(name for name in PARTS if name in kept or name == ELAPSED)


def nearest_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs of columns, those closest to each other first, in the order of the columns."""
    places = combinations(range(len(names)), 2)
    ordered = sorted(places, key=lambda pair: (pair[1] - pair[0], pair[0]))
    return [(names[first], names[second]) for first, second in ordered]


def difference_note(n_dates: int) -> str:
    """Sentence on the pairs that have no difference because there are too many; empty otherwise."""
    n_pairs = n_dates * (n_dates - 1) // 2
    if n_pairs <= MOST_DIFFERENCES:
        return ""
    return (
        f"{n_dates} columns of dates have {n_pairs} differences; those of the {MOST_DIFFERENCES} pairs that "
        "are closest to each other in the table are used"
    )


def varies(values: FloatArray) -> bool:
    """Whether two values that are not missing differ."""
    seen = values[~np.isnan(values)]
    return bool(len(seen) and (seen != seen[0]).any())


def difference_of(
    elapsed: Mapping[str, FloatArray], origins: Mapping[str, float], first: str, second: str
) -> FloatArray:
    """Days from one column to another, of elapsed days and their origins by column."""
    return elapsed[second] - elapsed[first] + (origins[second] - origins[first])


def _are_month_ends(days: FloatArray) -> bool:
    next_days = date_parts(days + 1.0, ("day",), origin=0.0)["day"]
    return bool((next_days == 1.0).all())
