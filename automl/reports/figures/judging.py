"""Predictions beside the truth: confusion, ROC, precision and recall, calibration, residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.reports.curves import (
    Calibration,
    ClassCurve,
    ClassCurves,
    ConfusionTable,
    ResidualBin,
    thinned,
)
from automl.reports.figure import WIDTH, DataTable, Drawing, Figure, Plot, Scale, number, plot
from automl.reports.judged import JudgedRows

COLORS = ("blue", "orange", "green", "violet", "red")
"""Colors of curves; more classes than these share the gray."""
STRONGEST = 0.55
"""Opacity of a full cell: letters on it still have a contrast of 4.5, light and dark."""
FAINT_POWER = 0.5
"""Power of the share that the opacity follows: a cell with a fiftieth of a class can still be seen."""
LEAST_CELL = 19.0
"""Width of a cell that holds a number of three letters at 9 units."""
MOST_NUMBERED = 13
"""Classes of a matrix whose cells have room for numbers."""
LABELS = 84.0
"""Room for the names of true classes."""
MOST_DOTS = 600
"""Rows that are drawn as dots: more lie on each other (by judgement)."""
N_BARS = 24
"""Number of bars of the histogram of residuals, about the square root of the dots (the usual rule)."""
MOST_SPOTS = 300
"""Points of all curves of a picture that say what they are: every third of a few curves is 2 units from the next."""
UNIT = (0.0, 1.0)


def confusion(found: ConfusionTable) -> Figure:
    """Cells of true (rows) and predicted classes (columns), shaded by the share of the true class."""
    n = len(found.classes)
    size = (WIDTH - LABELS - 4) / n
    height = min(size, 44.0)
    drawing = Drawing(WIDTH, 38 + height * n)
    drawing.text((LABELS + (WIDTH - LABELS) / 2, 12), "predicted", "f-axis", "middle")
    drawing.text((2, 12), "true", "f-axis")
    sizes = found.counts.sum(axis=1)
    for i, name in enumerate(found.classes):
        _class_names(drawing, name, (i, size, height), n)
        for j, other in enumerate(found.classes):
            count, share = int(found.counts[i, j]), found.counts[i, j] / max(sizes[i], 1)
            corner = (LABELS + size * j, 34 + height * i)
            title = f"true {name}, predicted {other}: {count} rows, {share:.1%} of {name}"
            color = "blue" if i == j else "orange"
            drawing.rect(corner, (size - 1, height - 1), "f-fill-band")
            look = f"f-fill-{color}"
            drawing.rect(
                corner, (size - 1, height - 1), look, title, opacity=STRONGEST * share**FAINT_POWER
            )
            if n <= MOST_NUMBERED and (count or i == j):
                middle = (corner[0] + size / 2, corner[1] + height / 2 + 4)
                drawing.text(middle, number(count), _count_look(size), "middle")
    description = (
        f"{number(int(sizes.sum()))} rows. Blue is right, orange is wrong; the stronger, the larger the share "
        "of the true class."
    )
    return drawing.finished("Confusion matrix", description, _confusion_table(found))


def roc(curves: ClassCurves) -> Figure:
    """Share of the class that is found over the share of the others that is taken for it."""
    chart = _unit_chart()
    chart.x_axis("share of the others taken for it", [0.0, 0.25, 0.5, 0.75, 1.0])
    chart.y_axis("share found", [0.0, 0.25, 0.5, 0.75, 1.0])
    chart.curve([(0.0, 0.0), (1.0, 1.0)], "f-zero")
    _class_lines(chart, curves.roc, "found {y:.1%} of {name}, took {x:.1%} of the others for it")
    words = _area_words(curves.roc, "below the curve; 0.5 is chance")
    return chart.drawing.finished("ROC curve", words, _area_table("ROC AUC", curves, curves.roc))


def precision_recall(curves: ClassCurves) -> Figure:
    """Share of right predictions over the share of the class that is found."""
    chart = _unit_chart()
    chart.x_axis("recall: share found", [0.0, 0.25, 0.5, 0.75, 1.0])
    chart.y_axis("precision: share that is right", [0.0, 0.25, 0.5, 0.75, 1.0])
    if len(curves.shares) == 1:
        chart.curve([(0.0, curves.shares[0]), (1.0, curves.shares[0])], "f-zero")
    _class_lines(
        chart, curves.precision_recall, "found {x:.1%} of {name}, {y:.1%} of what it took is right"
    )
    chance = "chance is the share of the class"
    words = _area_words(curves.precision_recall, f"average precision; {chance}")
    table = _area_table("average precision", curves, curves.precision_recall)
    return chart.drawing.finished("Precision and recall", words, table)


def reliability(found: Calibration) -> Figure:
    """Shares that came true over predicted probabilities, with 95 % intervals."""
    chart = _unit_chart()
    chart.x_axis("predicted probability", [0.0, 0.25, 0.5, 0.75, 1.0])
    chart.y_axis("share that came true", [0.0, 0.25, 0.5, 0.75, 1.0])
    chart.curve([(0.0, 0.0), (1.0, 1.0)], "f-zero")
    for each in found.bins:
        x = chart.x(each.predicted)
        chart.drawing.line((x, chart.y(each.low)), (x, chart.y(each.high)), "f-blue")
    chart.curve([(each.predicted, each.observed) for each in found.bins], "f-blue f-thin")
    for each in found.bins:
        title = (
            f"predicted {each.predicted:.3f}, came true {each.observed:.3f} "
            f"(95 % interval {each.low:.3f} to {each.high:.3f}), {each.rows} rows"
        )
        at = (chart.x(each.predicted), chart.y(each.observed))
        chart.drawing.circle(at, 3.2, "f-fill-blue", title)
    words = (
        f"Tenths of the rows by the probability that {found.event}. On the dotted line probabilities "
        f"come true as often as they say; the mean distance is {number(found.error, 2)}."
    )
    rows = tuple((b.predicted, b.observed, b.low, b.high, b.rows) for b in found.bins)
    columns = ("predicted", "came true", "95 % from", "to", "rows")
    return chart.drawing.finished(
        "Calibration", words, DataTable("Tenths of the rows", columns, rows)
    )


def true_and_predicted(rows: JudgedRows) -> Figure:
    """Dots of true over predicted values; on the line both are equal."""
    sample = rows.sample(MOST_DOTS)
    values = [*map(float, sample.y), *map(float, sample.prediction)]
    chart = plot(values, values, height=320)
    chart.x_axis("predicted")
    chart.y_axis("true")
    ends = [(low, low) for low in (min(values), max(values))]
    chart.curve(ends, "f-zero")
    for true, predicted in zip(sample.y, sample.prediction, strict=True):
        title = f"predicted {number(float(predicted))}, true {number(float(true))}"
        at = (chart.x(float(predicted)), chart.y(float(true)))
        chart.drawing.circle(at, 2.2, "f-fill-blue f-soft", title)
    shown = f"A sample of {len(sample)} rows" if len(sample) < len(rows) else f"{len(rows)} rows"
    return chart.drawing.finished(
        "Predicted and true", f"{shown}. On the dotted line both are equal."
    )


def residuals_by_prediction(bins: Sequence[ResidualBin]) -> Figure:
    """Median and middle eighty percent of the residuals, by tenths of the prediction."""
    values = [value for each in bins for value in (each.low, each.high, 0.0)]
    chart = plot([each.predicted for each in bins], values)
    chart.x_axis("predicted")
    chart.y_axis("true less predicted")
    chart.curve([(chart.x.low, 0.0), (chart.x.high, 0.0)], "f-zero")
    for each in bins:
        x = chart.x(each.predicted)
        title = (
            f"predicted about {number(each.predicted)}: median {number(each.median, 3)}, "
            f"middle 80 % {number(each.low, 3)} to {number(each.high, 3)}, {each.rows} rows"
        )
        chart.drawing.line((x, chart.y(each.low)), (x, chart.y(each.high)), "f-blue")
        chart.drawing.circle((x, chart.y(each.median)), 3.2, "f-fill-blue", title)
    words = (
        "Tenths of the rows by their prediction: the median error (dot) and the middle 80 % (line). "
        "Medians away from 0 are a bias there."
    )
    rows = tuple((b.predicted, b.low, b.median, b.high, b.rows) for b in bins)
    table = DataTable("Tenths of the rows", ("predicted", "10 %", "median", "90 %", "rows"), rows)
    return chart.drawing.finished("Errors by prediction", words, table)


def residual_histogram(rows: JudgedRows) -> Figure:
    """How often errors of each size occur; the outermost hundredths are in the outermost bars."""
    residual = np.asarray(rows.y - rows.prediction, dtype=np.float64)
    low, high = (float(each) for each in np.percentile(residual, [1, 99]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(np.clip(residual, low, high), bins=N_BARS, range=(low, high))
    chart = Plot(
        Drawing(WIDTH, 260.0),
        Scale(low, high, 48.0, WIDTH - 12),
        Scale(0.0, 1.05 * float(counts.max()), 222.0, 22.0),
    )
    chart.x_axis("true less predicted")
    chart.y_axis("rows")
    for count, left, right in zip(counts, edges, edges[1:], strict=False):
        corner = (chart.x(float(left)), chart.y(float(count)))
        size = (chart.x(float(right)) - corner[0] - 1, chart.y.start - corner[1])
        title = f"{number(float(left), 3)} to {number(float(right), 3)}: {count} rows"
        chart.drawing.rect(corner, size, "f-fill-blue f-soft", title)
    absolute = np.abs(residual)
    words = (
        f"Half of the rows are off by less than {number(float(np.median(absolute)), 3)}, nine in ten by less "
        f"than {number(float(np.percentile(absolute, 90)), 3)}. The outermost bars hold what lies beyond."
    )
    return chart.drawing.finished("Sizes of the errors", words)


def _unit_chart() -> Plot:
    return plot(UNIT, UNIT, height=320, margin=0.015)


def _class_lines(chart: Plot, curves: Sequence[ClassCurve], words: str) -> None:
    """A line for each class: in its color and named while there are few, else gray.

    Parameters
    ----------
    words : what a point says, with `name`, `x` and `y` in braces
    """
    is_few = len(curves) <= len(COLORS)
    for place, curve in enumerate(curves):
        look = f"f-{COLORS[place]}" if is_few else "f-muted f-thin"
        points = list(zip(map(float, curve.xs), map(float, curve.ys), strict=True))
        chart.curve(points, look, f"{curve.name}: {number(curve.area)}")
        if is_few and len(curves) > 1:
            y = chart.y.start - 12 - 15 * (len(curves) - 1 - place)
            chart.drawing.rect((chart.x.end - 150, y - 8), (9, 9), f"f-fill-{COLORS[place]}")
            text = f"{curve.name}, {number(curve.area, 3)}"
            chart.drawing.text((chart.x.end - 136, y), text, room=136)
    for place, curve in enumerate(curves):
        color = COLORS[place] if is_few else "muted"
        _spots(chart, curve, f"f-spot f-fill-{color}", (words, MOST_SPOTS // len(curves)))


def _spots(chart: Plot, curve: ClassCurve, look: str, told: tuple[str, int]) -> None:
    """Points of a curve that are seen where one points at them.

    Parameters
    ----------
    told : what a point says, and how many there are at most
    """
    words, most = told
    for i in thinned(curve.xs, curve.ys, most):
        x, y, least = float(curve.xs[i]), float(curve.ys[i]), float(curve.thresholds[i])
        taken = f"from probability {number(least, 3)}" if np.isfinite(least) else "never taken"
        title = f"{curve.name} {taken}: {words.format(name=curve.name, x=x, y=y)}"
        chart.drawing.circle((chart.x(x), chart.y(y)), 4, look, title)


def _area_words(curves: Sequence[ClassCurve], what: str) -> str:
    if not curves:
        return "No class has rows and rows of others."
    if len(curves) == 1:
        return f"Of class {curves[0].name}: {number(curves[0].area)} {what}."
    lowest = min(curves, key=lambda curve: curve.area)
    return f"Each class against all others; the lowest is class {lowest.name} with {number(lowest.area)} {what}."


def _area_table(name: str, curves: ClassCurves, shown: Sequence[ClassCurve]) -> DataTable:
    rows = tuple(
        (curve.name, curve.area, share) for curve, share in zip(shown, curves.shares, strict=True)
    )
    return DataTable(f"{name} of each class", ("class", name, "share of the rows"), rows)


def _confusion_table(found: ConfusionTable) -> DataTable:
    rows = []
    for i, name in enumerate(found.classes):
        others = found.counts[i].copy()
        others[i] = 0
        worst = found.classes[int(others.argmax())] if others.any() else ""
        rows.append(
            (
                name,
                int(found.counts[i].sum()),
                float(found.recalls[i]),
                float(found.precisions[i]),
                worst,
            )
        )
    columns = ("class", "rows", "recall", "precision", "most often taken for")
    return DataTable("Each class", columns, tuple(rows))


def _class_names(
    drawing: Drawing, name: str, cell: tuple[int, float, float], n_classes: int
) -> None:
    """Name of a class beside its row and above its column.

    Parameters
    ----------
    cell : its number, and the width and height of a cell
    """
    place, size, height = cell
    look = "f-label" if n_classes <= MOST_NUMBERED else "f-small"
    at = (LABELS - 6, 34 + height * (place + 0.5) + 4)
    drawing.text(at, name, look, "end", room=LABELS - 6)
    above = (LABELS + size * (place + 0.5), 29.0)
    if size >= LEAST_CELL or len(name) <= 2:
        drawing.text(above, name, look, "middle", room=size)


def _count_look(size: float) -> str:
    return "f-label" if size >= 2 * LEAST_CELL else "f-small"
