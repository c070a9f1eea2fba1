"""The selection tree with box plots of the candidates at every node (B14, figure 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from automl.reports.pictures import save_picture
from automl.selection.dispositions import number_text
from automl.selection.selection_records import (
    Level,
    LevelDecision,
    Member,
    SelectionRecord,
    Verdict,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {Verdict.PROMOTED: "black", Verdict.OUTRANKED: "tab:blue", Verdict.WORSE: "tab:red"}
WORDS = {
    Verdict.PROMOTED: "promoted",
    Verdict.OUTRANKED: "not worse, but outranked",
    Verdict.WORSE: "worse by test",
}
TITLES = {
    Level.LEAF: "leaves",
    Level.CATEGORY: "categories",
    Level.FAMILY: "families",
    Level.ROOT: "root",
}
ROW_INCHES, MARGIN_INCHES, COLUMN_INCHES = 0.21, 1.2, 4.4
GREATEST_INCHES = 120.0
"""Height of a picture: more dots than viewers open (by judgement)."""
GAP_ROWS = 1.8
"""Rows between two nodes, for the name of the lower one."""


@dataclass(frozen=True)
class Row:
    """One box plot: a member at the node of one decision, at a height."""

    decision: LevelDecision
    member: Member
    height: float


def save_selection_tree(record: SelectionRecord, file: Path) -> None:
    """Draw a selection and write the picture.

    Parameters
    ----------
    file
        Its suffix gives the format.

    Raises
    ------
    SettingsError
        If the file has no suffix of a picture, or cannot be written.
    """
    save_picture(lambda: selection_tree(record), file)


def selection_tree(record: SelectionRecord, *, title: str = "") -> Figure:
    """Box plots of the candidates' scores at every node, from the leaves on the left to the root.

    Promoted members are black and joined to their place at the next node; outranked ones are blue, worse
    ones red. The p-value against the best member of the node stands at the right; the tests of all members
    stand beside the name of the node where they found no difference.

    Parameters
    ----------
    record
        Of any selection.
    title
        Above the picture.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 3.5 and figure 3.4.
    """
    from matplotlib.figure import Figure

    columns = columns_of(record.decisions)
    tallest = max(rows[-1].height for rows in columns.values())
    inches = min(MARGIN_INCHES + ROW_INCHES * (tallest + 2), GREATEST_INCHES)
    figure = Figure(figsize=(COLUMN_INCHES * len(columns), inches), layout="constrained")
    panels = figure.subplots(1, len(columns), squeeze=False, sharex=True)[0]
    scores = {candidate.trial_id: candidate.scores for candidate in record.candidates}
    families = {c.trial_id: c.configuration.family for c in record.candidates}
    for axes, (level, rows) in zip(panels, columns.items(), strict=True):
        _draw_column(axes, rows, scores, families, tallest)
        axes.set_title(TITLES[level])
        axes.set_xlabel("score on the folds of the candidates")
    _join(figure, panels, list(columns.values()))
    _explain(figure, title)
    return figure


def columns_of(decisions: Sequence[LevelDecision]) -> dict[Level, list[Row]]:
    """Rows of every level that decides, from the leaves to the root, at heights from the top.

    A node stands beside the rows from which its members come, as far as those above it allow.
    """
    columns: dict[Level, list[Row]] = {}
    heights: dict[str, float] = {}
    for level in Level:
        nodes = [decision for decision in decisions if decision.level is level]
        tops = [_top(decision, heights) for decision in nodes]
        bottom = 1.0 - GAP_ROWS
        for i in sorted(range(len(nodes)), key=lambda i: (tops[i], i)):
            start = max(bottom + GAP_ROWS, tops[i])
            rows = [Row(nodes[i], m, start + j) for j, m in enumerate(nodes[i].members)]
            columns.setdefault(level, []).extend(rows)
            bottom = rows[-1].height
        heights |= {row.member.trial_id: row.height for row in columns.get(level, ())}
    return columns


def _top(decision: LevelDecision, known_heights: Mapping[str, float]) -> float:
    """Height of the first row where the node would be centered beside the places it draws from."""
    heights = [known_heights[m.trial_id] for m in decision.members if m.trial_id in known_heights]
    if not heights:
        return 0.0
    return sum(heights) / len(heights) - (len(decision.members) - 1) / 2


def _draw_column(
    axes: Axes,
    rows: Sequence[Row],
    scores: Mapping[str, Sequence[float]],
    families: Mapping[str, str],
    tallest: float,
) -> None:
    for row in rows:
        _draw_box(axes, scores[row.member.trial_id], row.height, COLORS[row.member.verdict])
    for row in (row for row in rows if row.member is row.decision.members[0]):
        text = axes.annotate(
            node_text(row.decision),
            (0.0, row.height - 0.55),
            xycoords=axes.get_yaxis_transform(),
            fontsize=7,
            fontweight="bold",
            va="bottom",
        )
        text.set_in_layout(False)
    heights = [row.height for row in rows]
    names = [member_name(row, families) for row in rows]
    axes.set_yticks(heights, names, fontsize=7)
    axes.set_ylim(tallest + 0.8, -0.3)
    sides = axes.secondary_yaxis("right")
    sides.set_yticks(heights, [side_text(row) for row in rows], fontsize=7)
    sides.tick_params(length=0)
    axes.tick_params(axis="x", labelsize=7)


def _draw_box(axes: Axes, scores: Sequence[float], height: float, color: str) -> None:
    line = {"color": color, "linewidth": 0.9}
    axes.boxplot(
        [list(scores)],
        positions=[height],
        widths=0.6,
        orientation="horizontal",
        manage_ticks=False,
        boxprops=line,
        medianprops=line,
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": color},
    )


def node_text(decision: LevelDecision) -> str:
    """Name, and the test of all members where it found no difference."""
    if decision.post_hoc or not decision.tests:
        return decision.node
    last = decision.tests[-1]
    return f"{decision.node} ({last.name}, p = {number_text(last.pvalue)})"


def member_name(row: Row, families: Mapping[str, str]) -> str:
    """Short id of the member; at the root its family after it."""
    trial_id = row.member.trial_id
    name = trial_id.rpartition("-")[2] or trial_id
    return f"{name} {families[trial_id]}" if row.decision.level is Level.ROOT else name


def side_text(row: Row) -> str:
    """p-value against the best member, or the probability of being worse; the winner is named."""
    is_winner = row.decision.level is Level.ROOT and row.member is row.decision.members[0]
    texts = ["champion"] if is_winner else []
    if row.member.trial_id == row.decision.best:
        texts += ["best"] if len(row.decision.members) > 1 and not is_winner else []
    elif chance := row.member.chance:
        texts.append(chance)
    return ", ".join(texts)


def _join(figure: Figure, panels: Sequence[Axes], columns: Sequence[Sequence[Row]]) -> None:
    """Lines from every promoted member to its place at the next node."""
    from matplotlib.patches import ConnectionPatch

    for i, rows in enumerate(columns):
        for row in rows:
            if row.member.verdict is not Verdict.PROMOTED:
                continue
            for j in range(i + 1, len(columns)):
                above = [r for r in columns[j] if r.member.trial_id == row.member.trial_id]
                if above:
                    patch = ConnectionPatch(
                        (1.0, row.height),
                        (0.0, above[0].height),
                        panels[i].get_yaxis_transform(),
                        panels[j].get_yaxis_transform(),
                        color="black",
                        linewidth=0.4,
                        alpha=0.35,
                    )
                    patch.set_in_layout(False)
                    figure.add_artist(patch)
                    break


def _explain(figure: Figure, title: str) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=COLORS[verdict], label=WORDS[verdict]) for verdict in Verdict]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False
    )
    if title:
        figure.suptitle(title)
