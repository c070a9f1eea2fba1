"""Box plots of fold scores: families with their defaults and optimized, and the selection tree.

B14, figures 5.1, 5.2 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from automl.errors import DataError
from automl.reports.boxplots import FamilyScores
from automl.reports.decision_table import chance_name, decision_rows
from automl.reports.figure import LETTER, WIDTH, DataTable, Drawing, Figure, Plot, Scale
from automl.reports.selection_tree import (
    TITLES,
    WORDS,
    Row,
    columns_of,
    member_name,
    node_text,
    side_text,
)
from automl.selection.dispositions import chance_text
from automl.selection.selection_records import SelectionRecord, Verdict

WHISKER = 1.5
"""Interquartile ranges that a whisker is long at most (Tukey); scores beyond are dots."""
COLORS = {Verdict.PROMOTED: "blue", Verdict.OUTRANKED: "muted", Verdict.WORSE: "orange"}
ROW = 22.0
"""Height of a row, twice the height of the letters."""
TREE_ROW = 19.0
"""Height of a row of the tree, where rows are many."""
TREE_PLOT = 110.0
"""Width of the plot in a column of the tree: four columns fit into a window of 1280 pixels."""
TREE_JOIN = 14.0
"""Room left of the names of a column of the tree, where lines from the column before end."""
NEAR_CHANCE = 0.5
"""Lowest score from which chance is on the axis: above, all boxes would be pressed together at one end."""
TREE_NAMES, TREE_SIDES = 118.0, 86.0
"""Most room for the names (twenty letters), and room for a p-value (fourteen), in a column of the tree."""
NODE = 428.0
"""Room for the name of a node, over the column beside its own."""
NAMES, SIDES = 128.0, 74.0
"""Room for the names of families (twenty-two letters) and for p-values (twelve)."""


@dataclass(frozen=True)
class Box:
    """Quartiles, whiskers, and scores beyond them."""

    low: float
    first: float
    median: float
    third: float
    high: float
    beyond: tuple[float, ...]

    @property
    def words(self) -> str:
        """What its picture shows, but for the scores beyond the whiskers."""
        return f"median {self.median:.4f}, middle half {self.first:.4f} to {self.third:.4f}"

    @classmethod
    def of(cls, scores: Sequence[float]) -> Box:
        """Of at least one score."""
        first, median, third = (float(each) for each in np.percentile(scores, [25, 50, 75]))
        reach = WHISKER * (third - first)
        inside = [score for score in scores if first - reach <= score <= third + reach]
        beyond = tuple(score for score in scores if score not in inside)
        return cls(min([*inside, first]), first, median, third, max([*inside, third]), beyond)


@dataclass(frozen=True)
class TreeColumn:
    """Places of a column of the tree, from left to right: lines, names, plot, p-values.

    Parameters
    ----------
    left, right : its ends
    """

    left: float
    scale: Scale
    right: float

    @classmethod
    def after(cls, left: float, names: Sequence[str], scores: Sequence[float]) -> TreeColumn:
        """The column that begins there; scores of all columns share a scale."""
        room = min(LETTER * max(map(len, names)), TREE_NAMES)
        start = left + TREE_JOIN + room + 6
        scale = Scale.over(scores, start, start + TREE_PLOT)
        return cls(left, scale, scale.end + TREE_SIDES)


def default_against_optimized(rows: Sequence[FamilyScores], *, alpha: float) -> Figure:
    """Box plots of default (thin) and optimized fold scores (thick) of each family, the first on top.

    Parameters
    ----------
    rows : see `automl.reports.boxplots.rows_of_run`
    alpha : in (0, 1)
        Significance level behind the rows.

    Raises
    ------
    DataError
        If there are no rows.
    """
    if not rows:
        raise DataError("a picture of families needs at least one")
    drawing = Drawing(WIDTH, 64 + ROW * 1.3 * len(rows))
    shown = [score for row in rows for score in (*row.optimized, *(row.default or ()))] or [1.0]
    has_chance = min(shown) < NEAR_CHANCE
    scale = Scale.over([*shown, *([0.0] if has_chance else [])], NAMES + 8, WIDTH - SIDES)
    bottom = drawing.height - 38
    chart = Plot(drawing, scale, Scale(0.0, 1.0, bottom, 6.0))
    chart.x_axis("score (0: chance, 1: perfect)", scale.ticks(4))
    if has_chance:
        drawing.line((scale(0.0), 6.0), (scale(0.0), bottom), "f-zero", "0: chance")
    best = max((float(np.mean(row.optimized)) for row in rows if row.optimized), default=0.0)
    for i, row in enumerate(rows):
        middle = 10 + ROW * 1.3 * (i + 0.5)
        drawing.text((NAMES, middle + 4), row.family, anchor="end", room=NAMES)
        _family(drawing, scale, row, middle)
        drawing.text((WIDTH - SIDES + 6, middle + 4), _chance(row, best), "f-side", room=SIDES)
    description = (
        "Fold scores of each family's best candidate (thick; blue where no test tells it from the best, at a "
        f"level of {alpha:g}) and of its default on the folds of the search (thin). "
        "The box holds the middle half of the folds."
        + (" The dotted line is chance." if has_chance else " Chance, 0, is left of what is shown.")
    )
    return drawing.finished(
        "The families, default and optimized", description, _family_table(rows, best)
    )


def tree_of_selection(record: SelectionRecord) -> Figure:
    """Box plots of the candidates' scores at every node, from the leaves on the left to the root.

    Promoted members are joined to their place at the next node.

    Raises
    ------
    DataError
        If nothing was decided.
    """
    if not record.decisions:
        raise DataError("a picture of a selection needs a decision")
    columns = columns_of(record.decisions)
    tallest = max(rows[-1].height for rows in columns.values())
    scores = {candidate.trial_id: candidate.scores for candidate in record.candidates}
    families = {c.trial_id: c.configuration.family for c in record.candidates}
    bounds = [score for candidate in record.candidates for score in candidate.scores]
    places: list[TreeColumn] = []
    for rows in columns.values():
        names = [member_name(row, families) for row in rows]
        places.append(TreeColumn.after(places[-1].right if places else 0.0, names, bounds))
    drawing = Drawing(max(places[-1].right, WIDTH), 92 + TREE_ROW * (tallest + 1))
    _tree_legend(drawing)
    _join(drawing, list(columns.values()), places)
    for (level, rows), place in zip(columns.items(), places, strict=True):
        scale, bottom = place.scale, drawing.height - 38
        Plot(drawing, scale, Scale(0.0, 1.0, bottom, 44.0)).x_axis("score", scale.ticks(3))
        drawing.text((scale.start, 36), TITLES[level], "f-label f-strong")
        for row in rows:
            name = member_name(row, families)
            _member(drawing, place, row, scores[row.member.trial_id], name)
    description = (
        "Scores on the folds where the candidates were compared. Members that went on are joined to their "
        "place at the next node; the p-value is against the best member of the node."
    )
    return drawing.finished(
        "The selection, from the leaves to the root", description, _tree_table(record)
    )


def _family(drawing: Drawing, scale: Scale, row: FamilyScores, middle: float) -> None:
    color = "blue" if row.is_equal else "muted"
    if row.default:
        name = f"{row.family}, default"
        _box((drawing, scale), row.default, (middle + 8, 5.0), "muted", name)
    elif row.default is not None:
        drawing.circle(
            (scale(0.0), middle + 8), 2, "f-fill-muted", f"{row.family}: its default does not work"
        )
    if row.optimized:
        name = f"{row.family}, optimized"
        _box((drawing, scale), row.optimized, (middle - 3, 11.0), color, name)


def _member(
    drawing: Drawing, place: TreeColumn, row: Row, scores: Sequence[float], name: str
) -> None:
    middle, scale = _height(row), place.scale
    if row.member is row.decision.members[0]:
        at = (place.left + 6, middle - TREE_ROW * 0.75)
        drawing.text(at, node_text(row.decision), "f-strong f-small", room=NODE)
    told = f"{name}, {WORDS[row.member.verdict]}"
    drawing.text((scale.start - 6, middle + 4), name, anchor="end", room=TREE_NAMES)
    _box((drawing, scale), scores, (middle, 10.0), COLORS[row.member.verdict], told)
    drawing.text((scale.end + 6, middle + 4), side_text(row), "f-side", room=TREE_SIDES - 8)


def _box(
    pen: tuple[Drawing, Scale],
    scores: Sequence[float],
    across: tuple[float, float],
    color: str,
    name: str,
) -> None:
    """One box plot.

    Parameters
    ----------
    pen : where it is drawn, and the scale along it
    across : middle and width of the box, across the scale
    name : whose scores these are
    """
    (drawing, scale), (middle, width) = pen, across
    box, look = Box.of(scores), f"f-{color}"
    drawing.line((scale(box.low), middle), (scale(box.first), middle), look)
    drawing.line((scale(box.third), middle), (scale(box.high), middle), look)
    corner, size = (
        (scale(box.first), middle - width / 2),
        (scale(box.third) - scale(box.first), width),
    )
    drawing.rect(corner, (max(size[0], 1.0), width), f"f-fill-{color} f-box {look}")
    drawing.line(
        (scale(box.median), middle - width / 2), (scale(box.median), middle + width / 2), look
    )
    title = f"{name}: {box.words}, mean {np.mean(scores):.4f}, {len(scores)} scores"
    left, right = scale(box.low), scale(box.high)
    drawing.rect((left - 2, middle - width / 2), (right - left + 4, width), "f-hit", title)
    for score in box.beyond:
        drawing.circle((scale(score), middle), 1.4, f"f-fill-{color}", f"{name}: {score:.4f}")


def _height(row: Row) -> float:
    return 66 + TREE_ROW * row.height


def _join(drawing: Drawing, columns: Sequence[Sequence[Row]], places: Sequence[TreeColumn]) -> None:
    """Lines from every promoted member to its place at the next node, behind the boxes."""
    for i, rows in enumerate(columns):
        for row in (row for row in rows if row.member.verdict is Verdict.PROMOTED):
            later = (
                (j, other)
                for j in range(i + 1, len(columns))
                for other in columns[j]
                if other.member.trial_id == row.member.trial_id
            )
            j, other = next(later, (0, row))
            if j:
                start = (places[i].right - 22, _height(row))
                drawing.line(start, (places[j].left + 4, _height(other)), "f-join")


def _tree_legend(drawing: Drawing) -> None:
    x = 2.0
    for verdict, color in COLORS.items():
        drawing.rect((x, 6), (10, 10), f"f-fill-{color} f-box f-{color}")
        drawing.text((x + 15, 15), WORDS[verdict], "f-side")
        x += 40 + 5.5 * len(WORDS[verdict])


def _chance(row: FamilyScores, best: float) -> str:
    if not row.optimized:
        return "" if row.default else "does not work"
    if row.pvalue is not None or row.probability is not None:
        return chance_text(row.pvalue, row.probability)
    return "best" if float(np.mean(row.optimized)) == best else ""


def _family_table(rows: Sequence[FamilyScores], best: float) -> DataTable:
    def mean(scores: Sequence[float] | None) -> float | None:
        return float(np.mean(scores)) if scores else None

    return DataTable(
        "Mean scores of the families",
        ("family", "default", "optimized", "against the best"),
        tuple((r.family, mean(r.default), mean(r.optimized), _chance(r, best)) for r in rows),
    )


def _tree_table(record: SelectionRecord) -> DataTable:
    columns = ("decided at", "trial", "mean score", "test", chance_name(record), "became")
    rows, node = [], ""
    for cells in decision_rows(record):
        node = cells[0] or node
        rows.append((node, *cells[1:]))
    return DataTable("Every member of every decision", columns, tuple(rows))
