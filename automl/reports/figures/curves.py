"""Curves of several things in one picture, each with its name at its end, and numbers with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automl.reports.curves import thinned
from automl.reports.figure import WIDTH, DataTable, Drawing, Figure, Plot, Scale, number

LOOKS = ("f-blue", "f-orange", "f-green", "f-violet", "f-red", "f-muted")
"""Of the first six curves; the others repeat them, dashed."""
SIDE = 112.0
"""Room for the names at the ends: nineteen letters."""
LINE = 13.0
"""Between two names, a little more than the height of the letters."""
MARGIN = 0.01
"""Of the range of an axis whose curves begin and end at its ends: as wide as their lines."""
MOST_SPOTS = 300
"""Points of all curves of a picture that say what they are (by judgement)."""
ROW = 26.0
"""Height of a row with air around it."""
NAMES = 158.0
"""Room for a row's name: twenty-seven letters."""


@dataclass(frozen=True)
class Interval:
    """A number and how sure it is.

    Parameters
    ----------
    low, high : ends of the interval; None where it is not known
    is_marked : whether it is the one in use
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    is_marked: bool = False


def curves(
    steps: Sequence[float], values: Mapping[str, Sequence[float]], *, title: str, description: str,
    labels: tuple[str, str],
) -> Figure:  # fmt: skip
    """Lines over the same steps.

    Parameters
    ----------
    steps : (T,), ascending
    values : (T,), finite, by name
    labels : what the steps and the values are
    """
    height = 260.0
    flat = [value for line in values.values() for value in line]
    right = WIDTH - SIDE
    chart = Plot(
        Drawing(WIDTH, height),
        Scale.over(list(steps), 48.0, right, margin=MARGIN),
        Scale.over(flat, height - 38, 22),
    )
    chart.x_axis(labels[0])
    chart.y_axis(labels[1])
    looks = {name: _look(k) for k, name in enumerate(values)}
    for name, line in values.items():
        chart.curve(list(zip(steps, line, strict=True)), looks[name], name)
    for name, line in values.items():
        told = [
            f"{name}, {labels[0]} {number(x)}: {number(y)}"
            for x, y in zip(steps, line, strict=True)
        ]
        _spots(chart, (steps, line), told, MOST_SPOTS // len(values))
    ends = {name: chart.y(line[-1]) for name, line in values.items()}
    for name, y in _apart(ends, height - 38).items():
        chart.drawing.line((right + 6, y), (right + 14, y), looks[name])
        chart.drawing.text((right + 18, y + 4), name, room=SIDE - 20)
    rows = tuple((name, line[0], line[-1]) for name, line in values.items())
    table = DataTable(title, ("", f"{labels[1]} at the beginning", "at the end"), rows)
    return chart.drawing.finished(title, description, table)


def intervals(
    entries: Sequence[Interval], *, title: str, description: str, label: str, first: str
) -> Figure:
    """Dots with lines for their intervals, one below the other.

    Parameters
    ----------
    label : what the numbers are
    first : what the names are, over the first column of the table
    """
    drawing = Drawing(WIDTH, ROW * len(entries) + 46)
    ends = [v for e in entries for v in (e.value, e.low, e.high) if v is not None]
    bottom = ROW * len(entries) + 6
    plot = Plot(drawing, Scale.over(ends, NAMES + 10, WIDTH - 12), Scale(0.0, 1.0, bottom, 6.0))
    plot.x_axis(label)
    for i, entry in enumerate(entries):
        y = 6 + ROW * (i + 0.5)
        color = "blue" if entry.is_marked else "muted"
        drawing.text((NAMES, y + 4), entry.name, anchor="end", room=NAMES)
        if entry.low is not None and entry.high is not None:
            drawing.line((plot.x(entry.low), y), (plot.x(entry.high), y), f"f-{color}")
        words = f"{entry.name}: {number(entry.value)}"
        if entry.low is not None and entry.high is not None:
            words += f", interval {number(entry.low)} to {number(entry.high)}"
        drawing.circle((plot.x(entry.value), y), 3.6, f"f-fill-{color}", words)
    rows = tuple((e.name, e.value, e.low, e.high) for e in entries)
    table = DataTable(title, (first, label, "low", "high"), rows)
    return drawing.finished(title, description, table)


def density(
    points: Sequence[float], heights: Sequence[float], *, title: str, description: str, label: str,
    is_log: bool,
) -> Figure:  # fmt: skip
    """A density beside a flat one of height 1.

    Parameters
    ----------
    points : (T,), ascending; positive where `is_log`
    heights : (T,), at least 0
    """
    places = np.log10(points) if is_log else np.asarray(points, dtype=float)
    height = 190.0
    chart = Plot(
        Drawing(WIDTH, height),
        Scale.over(places.tolist(), 48.0, WIDTH - 12, margin=MARGIN),
        Scale(0.0, 1.05 * max(*heights, 1.0), height - 38, 22),
    )
    chart.x_axis(f"{label}, power of ten" if is_log else label)
    chart.y_axis("density, 1: the plain range")
    chart.curve([(chart.x.low, 1.0), (chart.x.high, 1.0)], "f-zero", "the plain range")
    chart.curve(list(zip(places.tolist(), heights, strict=True)), "f-blue", title)
    told = [
        f"{label} {number(x)}: density {number(y, 3)}" for x, y in zip(points, heights, strict=True)
    ]
    _spots(chart, (places.tolist(), heights), told, MOST_SPOTS)
    return chart.drawing.finished(title, description)


def _spots(
    chart: Plot, curve: tuple[Sequence[float], Sequence[float]], told: Sequence[str], most: int
) -> None:
    """Points of a curve that are seen where one points at them.

    Parameters
    ----------
    curve : places along both axes
    told : what each point says
    most : points that are drawn at most
    """
    xs, ys = curve
    for i in thinned(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float), most):
        chart.drawing.circle((chart.x(xs[i]), chart.y(ys[i])), 4, "f-spot f-fill-muted", told[i])


def _look(position: int) -> str:
    look = LOOKS[position % len(LOOKS)]
    return look if position < len(LOOKS) else f"{look} f-dash"


def _apart(ends: Mapping[str, float], bottom: float) -> dict[str, float]:
    """Places of names, in the order of their curves' ends, none over another."""
    order = sorted(ends, key=lambda name: ends[name])
    places: dict[str, float] = {}
    above = -LINE
    for name in order:
        above = places[name] = max(ends[name], above + LINE)
    below = bottom + LINE
    for name in reversed(order):
        below = places[name] = min(places[name], below - LINE)
    return places
