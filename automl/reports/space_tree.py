"""The tree of a family's hyperparameters, as text and drawn (B14, figure 3.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from automl.reports.pictures import save_picture
from automl.spaces.distributions import Numerical
from automl.spaces.nodes import Hyperparameter, value_text
from automl.spaces.text import to_text
from automl.spaces.tree import SpaceTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_INCHES, COLUMN_INCHES, TEXT_INCHES = 0.26, 1.35, 4.2
MOST_VALUES = 8
"""Values of a choice that are written out; of more the number is."""


class Kind(StrEnum):
    """What a line of the tree stands for."""

    FAMILY = "family"
    CATEGORY = "category"
    BRANCH = "branch"
    NUMBER = "number"
    CHOICE = "choice"


@dataclass(frozen=True)
class TreeLine:
    """One line: the family, a hyperparameter, or a branch of a categorical one.

    Parameters
    ----------
    depth : 0 for the family
    parent : position of the line above it in the tree; -1 for the family
    kind
        `category` has branches below it; `choice` is a categorical leaf, `number` a numerical one.
    text
        What it is called.
    detail
        Distribution and default, or the probability of a branch.
    """

    depth: int
    parent: int
    kind: Kind
    text: str
    detail: str = ""

    def to_json(self) -> dict[str, str | int]:
        """Plain JSON form."""
        return {**self.__dict__, "kind": str(self.kind)}


def tree_lines(space: SpaceTree) -> tuple[TreeLine, ...]:
    """Lines of a space, depth first; the preprocessing's choices come last, below a branch of their own."""
    lines = [TreeLine(0, -1, Kind.FAMILY, space.family)]
    own = [node for node in space.nodes if not node.is_prep]
    _grow(lines, own, parent=0)
    prep = [node for node in space.nodes if node.is_prep]
    if prep:
        lines.append(TreeLine(1, 0, Kind.BRANCH, "preprocessing"))
        _grow(lines, prep, parent=len(lines) - 1)
    return tuple(lines)


def tree_text(space: SpaceTree) -> str:
    """The tree as lines of text with branches drawn by ``├─`` and ``└─``.

    Returns
    -------
        Categorical hyperparameters with branches stand in brackets; ends with a line feed.
    """
    lines = tree_lines(space)
    last = {line.parent: i for i, line in enumerate(lines)}
    rows = []
    for i, line in enumerate(lines):
        name = f"[{line.text}]" if line.kind is Kind.CATEGORY else line.text
        detail = f"  {line.detail}" if line.detail else ""
        rows.append(f"{_rails(lines, last, i)}{name}{detail}".rstrip())
    return "\n".join(rows) + "\n"


def save_space_tree(space: SpaceTree, file: Path) -> None:
    """Draw the tree and write the picture.

    Raises
    ------
    SettingsError
        If the file has no suffix of a picture, or cannot be written.
    """
    save_picture(lambda: space_tree(space), file)


def space_tree(space: SpaceTree, *, title: str = "") -> Figure:
    """The hierarchy of hyperparameters, from the family on the left to the leaves.

    Categorical hyperparameters that branch are in boxes, with the name of the category at each
    branch; numerical ones, the leaves, stand free with their distribution and default.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 3.1.2 and figure 3.3.
    """
    from matplotlib.figure import Figure

    lines = tree_lines(space)
    depth = max(line.depth for line in lines)
    size = (COLUMN_INCHES * depth + TEXT_INCHES, ROW_INCHES * len(lines) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    width = depth + TEXT_INCHES / COLUMN_INCHES
    axes.set(xlim=(-0.2, width), ylim=(len(lines) - 0.3, -0.7))
    axes.set_axis_off()
    axes.set_title(title or f"Hyperparameters of {space.family}", loc="left", fontsize="medium")
    for height, line in enumerate(lines):
        _draw(axes, line, height)
    return figure


def _grow(lines: list[TreeLine], nodes: Sequence[Hyperparameter], *, parent: int) -> None:
    depth = lines[parent].depth + 1
    for node in nodes:
        if not node.branch:
            kind = Kind.NUMBER if node.is_numerical else Kind.CHOICE
            lines.append(TreeLine(depth, parent, kind, _name(node), _detail(node)))
            continue
        lines.append(TreeLine(depth, parent, Kind.CATEGORY, _name(node)))
        place = len(lines) - 1
        total = sum(choice.weight for choice in node.choices)
        for choice in node.choices:
            default = ", default" if choice.value == node.default else ""
            share = f"({choice.weight / total:.0%}{default})"
            lines.append(TreeLine(depth + 1, place, Kind.BRANCH, value_text(choice.value), share))
            _grow(lines, choice.children, parent=len(lines) - 1)


def _name(node: Hyperparameter) -> str:
    return f"{node.name} (virtual)" if node.virtual else node.name


def _detail(node: Hyperparameter) -> str:
    default = f", default {value_text(node.default)}"
    if isinstance(node.distribution, Numerical):
        return f"~ {to_text(node.distribution)}{default}"
    values = [value_text(value) for value in node.distribution.values]
    if len(values) == 1:
        return f"= {values[0]}"
    shown = ", ".join(values) if len(values) <= MOST_VALUES else f"{len(values)} values"
    return f"in {{{shown}}}{default}"


def _rails(lines: Sequence[TreeLine], last: dict[int, int], place: int) -> str:
    """What stands before a line: a rail for every ancestor that has more to come, then its own."""
    line = lines[place]
    if line.parent < 0:
        return ""
    own = "└─ " if last[line.parent] == place else "├─ "
    return "".join(reversed([own, *_rails_above(lines, last, line.parent)]))


def _rails_above(lines: Sequence[TreeLine], last: dict[int, int], place: int) -> Iterator[str]:
    while lines[place].parent >= 0:
        yield "   " if last[lines[place].parent] == place else "│  "
        place = lines[place].parent


def _draw(axes: Axes, line: TreeLine, height: int) -> None:
    if line.parent >= 0:
        left, top = line.depth - 1 + 0.1, line.parent
        axes.plot([left, left, line.depth], [top + 0.35, height, height], color="gray", lw=0.8)
    is_boxed = line.kind in {Kind.FAMILY, Kind.CATEGORY}
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "black", "lw": 0.8}
    plain = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    style = "italic" if line.kind is Kind.BRANCH else "normal"
    text = line.text if line.kind in {Kind.FAMILY, Kind.CATEGORY} else f"{line.text} {line.detail}"
    axes.text(
        line.depth + 0.05,
        height,
        text.rstrip(),
        va="center",
        fontsize="small",
        style=style,
        bbox=box if is_boxed else plain,
    )
