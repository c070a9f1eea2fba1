"""What the model makes of its columns: importance, dependence, weak slices; and small distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.inference.reference import ColumnReference
from automl.reports.columns import Dependence, Importances
from automl.reports.figure import (
    WIDTH,
    DataTable,
    Drawing,
    Figure,
    Plot,
    Scale,
    number,
    plot,
)
from automl.reports.slices import WeakSlices

MOST_SHOWN = 15
"""Columns whose importance is drawn; the table has all (by judgement)."""
MOST_LINES = 4
"""Classes that are drawn in one dependence: those whose probability changes most."""
COLORS = ("blue", "orange", "green", "violet")
NAMES = 130.0
"""Room for the names of columns, twenty-one letters: people name columns at greater length than families."""
ROW = 22.0
"""Height of a row, twice the height of the letters."""
SPARK_WIDTH, SPARK_HEIGHT = 84.0, 22.0
"""Size of a distribution within a line of text."""


def importance(found: Importances) -> Figure:
    """Bars of what the score loses when each column is shuffled, with two standard deviations."""
    shown = found.columns[:MOST_SHOWN]
    drawing = Drawing(WIDTH, 52 + ROW * len(shown))
    reach = [entry.drop + 2 * entry.deviation for entry in shown]
    least = [entry.drop - 2 * entry.deviation for entry in shown]
    scale = Scale(min([*least, 0.0]), max([*reach, 1e-9]), NAMES + 8, WIDTH - 14)
    Plot(drawing, scale, Scale(0.0, 1.0, drawing.height - 38, 4.0)).x_axis(
        "loss of score when it is shuffled", scale.ticks(4)
    )
    for i, entry in enumerate(shown):
        middle = 10 + ROW * (i + 0.4)
        drawing.text((NAMES, middle + 4), entry.column, anchor="end", room=NAMES)
        left, right = sorted((scale(0.0), scale(entry.drop)))
        drawing.rect((left, middle - 6), (max(right - left, 0.5), 12), "f-fill-blue f-soft")
        ends = (scale(entry.drop - 2 * entry.deviation), scale(entry.drop + 2 * entry.deviation))
        if entry.deviation > 0:
            drawing.line((ends[0], middle), (ends[1], middle), "f-blue")
        title = (
            f"{entry.column}: mean loss {entry.drop:.4f}, standard deviation {entry.deviation:.4f}"
        )
        whole = (scale.end - scale.start, ROW)
        drawing.rect((scale.start, middle - ROW / 2), whole, "f-hit", title)
    drawing.line((scale(0.0), 4), (scale(0.0), drawing.height - 38), "f-zero")
    more = len(found.columns) - len(shown)
    words = (
        f"Each column shuffled in {number(found.rows)} rows, whose score is {number(found.score)} as they are. "
        "The lines are two standard deviations to both sides, by bootstraps of the rows."
        + (f" {more} less important columns are in the table." if more else "")
        + " Columns that tell the same hide each other."
    )
    rows = tuple((entry.column, entry.drop, entry.deviation) for entry in found.columns)
    table = DataTable("All columns", ("column", "loss of score", "deviation"), rows)
    return drawing.finished("Which columns matter", words, table)


def dependence_bounds(found: Sequence[Dependence]) -> tuple[float, float]:
    """Least and greatest mean that is drawn, so that several columns share an axis."""
    drawn = [each.means[:, _lines(each)] for each in found]
    return min(float(each.min()) for each in drawn), max(float(each.max()) for each in drawn)


def dependence(found: Dependence, bounds: tuple[float, float] | None = None) -> Figure:
    """The mean prediction over the values of a column: a line for numbers, dots for categories.

    Parameters
    ----------
    bounds : ends of the axis of predictions; default: those of this column
    """
    lines = _lines(found)
    values = bounds or dependence_bounds([found])
    title = f"Dependence on {found.column}"
    what = "probability" if found.classes else "prediction"
    words = f"Mean {what} of {found.rows} rows if all had this value" + _class_words(found, lines)
    table = DataTable(
        f"Mean {what}",
        (found.column, *(found.classes or ("prediction",))),
        tuple((word, *map(float, row)) for word, row in zip(found.words, found.means, strict=True)),
    )
    if found.places is None:
        drawing = _category_dots(found, lines, Scale.over(values, NAMES + 8, WIDTH - 14))
    else:
        chart = plot(found.places, values, height=220)
        chart.x_axis(found.column, [] if found.role == "date" else None)
        chart.y_axis(f"mean {what}")
        for place, k in enumerate(lines):
            points = [(x, float(y)) for x, y in zip(found.places, found.means[:, k], strict=True)]
            chart.curve(points, f"f-{COLORS[place]}")
            for (x, y), word in zip(points, found.words, strict=True):
                at, text = (chart.x(x), chart.y(y)), _mean_words(found, word, k, y)
                chart.drawing.circle(at, 2.4, f"f-fill-{COLORS[place]}", text)
        if found.role == "date":
            for x, word in ((found.places[0], found.words[0]), (found.places[-1], found.words[-1])):
                chart.drawing.text((chart.x(x), chart.y.start + 14), word, "f-tick", "middle")
        drawing = chart.drawing
    return drawing.finished(title, words, table)


def weak_slices(found: WeakSlices, *, is_classification: bool, most: int = 8) -> Figure:
    """Dots of the error in each slice, joined to the error of all other rows."""
    shown = found.found[:most]
    values = [value for each in shown for value in (each.error, each.elsewhere)]
    drawing = Drawing(WIDTH, 70 + 1.6 * ROW * len(shown))
    scale = Scale.over([*values, 0.0], 16, WIDTH - 16)
    what = "share of wrong labels" if is_classification else "mean absolute error"
    bottom = drawing.height - 38
    Plot(drawing, scale, Scale(0.0, 1.0, bottom, 22.0)).x_axis(what, scale.ticks(5))
    for x, name, look in (
        (2, "in the slice", "f-fill-orange"),
        (96, "all other rows", "f-open-muted"),
    ):
        drawing.circle((x + 5, 9), 4, look)
        drawing.text((x + 13, 13), name, "f-side")
    for i, each in enumerate(shown):
        y = 42 + 1.6 * ROW * i
        text = f"{each.column}: {each.words} ({number(each.rows)} rows)"
        drawing.text((scale.start, y), text, room=WIDTH - 24)
        ends = (scale(each.elsewhere), y + 11), (scale(each.error), y + 11)
        drawing.line(*ends, "f-muted")
        others = f"all other rows than {each.column}: {each.words}: {number(each.elsewhere, 3)}"
        drawing.circle(ends[0], 3.6, "f-open-muted", others)
        drawing.circle(ends[1], 3.6, "f-fill-orange", f"{text}: {number(each.error, 3)}")
    words = (
        f"Slices of one column where the error is greater than elsewhere beyond chance: {len(found.found)} of "
        f"{found.looked_at} that were looked at (one-sided, Bonferroni, 5 % for all together)."
    )
    rows = tuple((e.column, e.words, e.rows, e.error, e.elsewhere, e.pvalue) for e in found.found)
    columns = ("column", "slice", "rows", what, "all other rows", "p")
    return drawing.finished("Where it is weakest", words, DataTable("Weak slices", columns, rows))


def distribution(name: str, reference: ColumnReference, *, unit: str = "") -> Figure:
    """The distribution of a column of the training table, small enough for a line of text.

    Parameters
    ----------
    unit : of its numbers, such as `days`
    """
    drawing = Drawing(SPARK_WIDTH, SPARK_HEIGHT)
    if reference.kind == "number" and reference.low is not None and reference.high is not None:
        _density(drawing, reference, f" {unit}".rstrip())
    elif reference.kind == "category":
        _bars(drawing, reference)
    return drawing.finished(f"Distribution of {name}", "In the training table.")


def _density(drawing: Drawing, reference: ColumnReference, unit: str) -> None:
    """Bars between the edges whose areas are the shares."""
    assert reference.low is not None
    assert reference.high is not None
    edges = np.array([reference.low, *reference.edges, reference.high])
    widths = np.diff(edges)
    span = edges[-1] - edges[0]
    if span <= 0:
        words = f"all {number(edges[0], 3)}{unit}"
        drawing.rect((SPARK_WIDTH / 2 - 2, 2), (4, SPARK_HEIGHT - 3), "f-fill-blue f-soft", words)
        return
    places, parts = (edges - edges[0]) / span, widths / span
    least = 1.0 / SPARK_WIDTH  # a spike is a unit wide
    heights = np.array(reference.shares[:-1]) / np.maximum(parts, least)
    greatest = float(np.max(heights)) or 1.0
    for i, (left, part, height) in enumerate(zip(places, parts, heights, strict=False)):
        size = (max(SPARK_WIDTH * float(part), 1.0), (SPARK_HEIGHT - 2) * float(height) / greatest)
        corner = (SPARK_WIDTH * float(left), SPARK_HEIGHT - size[1])
        ends = f"{number(edges[i], 3)} to {number(edges[i + 1], 3)}{unit}"
        words = f"{ends}: {reference.shares[i]:.1%}"
        drawing.rect(corner, size, "f-fill-blue f-soft", words)


def _bars(drawing: Drawing, reference: ColumnReference) -> None:
    shares = reference.shares[:-1]
    step, greatest = SPARK_WIDTH / max(len(shares), 3), max([*shares, 1e-9])
    for i, share in enumerate(shares):
        tall = (SPARK_HEIGHT - 2) * share / greatest
        name = reference.labels[i] if i < len(reference.labels) else "all others"
        corner, size = (step * i, SPARK_HEIGHT - tall), (step - 1, tall)
        drawing.rect(corner, size, "f-fill-blue f-soft", f"{name}: {share:.1%}")


def _lines(found: Dependence) -> list[int]:
    """Columns of the means that are drawn: of two classes the second, of many those that change most."""
    n = found.means.shape[1]
    if n <= 2:
        return [n - 1]
    change = np.ptp(found.means, axis=0)
    return [int(k) for k in np.argsort(-change, kind="stable")[:MOST_LINES]]


def _class_words(found: Dependence, lines: Sequence[int]) -> str:
    if not found.classes:
        return "."
    if len(lines) == 1:
        return f": of class {found.classes[lines[0]]}."
    named = ", ".join(
        f"{found.classes[k]} ({color})" for k, color in zip(lines, COLORS, strict=False)
    )
    return f": of class {named}."


def _category_dots(found: Dependence, lines: Sequence[int], scale: Scale) -> Drawing:
    drawing = Drawing(WIDTH, 52 + ROW * len(found.words))
    axis = Plot(drawing, scale, Scale(0.0, 1.0, drawing.height - 38, 4.0))
    axis.x_axis("mean probability" if found.classes else "mean prediction", scale.ticks(4))
    for g, word in enumerate(found.words):
        middle = 10 + ROW * (g + 0.4)
        drawing.text((NAMES, middle + 4), word, anchor="end", room=NAMES)
        for place, k in enumerate(lines):
            value = float(found.means[g, k])
            at = (scale(value), middle)
            text = _mean_words(found, word, k, value)
            drawing.circle(at, 3.6, f"f-fill-{COLORS[place]}", text)
    return drawing


def _mean_words(found: Dependence, word: str, k: int, mean: float) -> str:
    """What a mark says: the value of the column, of which class, and the mean prediction."""
    of = f" of {found.classes[k]}" if found.classes else ""
    what = "probability" if found.classes else "prediction"
    return f"{found.column} {word}: mean {what}{of} {number(mean)}"
