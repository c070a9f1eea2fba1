"""Figures as inline SVG: one look for all pages, light and dark, sharp on paper, without a library.

A figure is about 400 units wide, so that its letters are as large as those of the text around it on a
phone. Colors are names of classes (`templates/figure.css`), so that one file says how every page looks.
The numbers that a figure shows are a table beside it, for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Literal, TypeAlias

WIDTH = 400.0
"""Width of a usual figure: what a phone of 390 pixels shows at its own size."""
LETTER = 5.7
"""Mean width of a letter of the labels, whose height is 11."""
SHORTEST = 4
"""Letters that a shortened label has at least (by judgement)."""
FARTHEST = 1e307
"""Greatest number on an axis: the distance of two of them is finite."""
LEAST_DIGITS = 3
"""Significant digits of a tick among very large or very small ones, at least (by judgement)."""

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]


class Estimate(str):
    """A number with its interval, ``0.958 [0.940, 0.972]``: a cell that stands as numbers do, on one line."""

    __slots__ = ()


Cell: TypeAlias = "str | int | float | Figure | None"
"""Cell of a table; floats are rounded where they are shown, None is an empty cell."""


@dataclass(frozen=True)
class DataTable:
    """Rows of words and numbers.

    Parameters
    ----------
    caption : what the rows are
    columns : the first one names the row
    rows : of as many cells as there are columns
    is_folded : whether a page shows it only when it is asked for
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_folded: bool = False

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds nothing but numbers and empty cells."""
        cells = [row[column] for row in self.rows]
        others = [cell for cell in cells if not isinstance(cell, Estimate)]
        return all(not isinstance(cell, (str, Figure)) for cell in others) and any(
            cell is not None for cell in cells
        )


@dataclass(frozen=True)
class Figure:
    """A picture, and what it says in words and numbers.

    Parameters
    ----------
    title : a few words
    description : what is drawn and how to read it, one sentence or two
    width, height : in its own units
    body : elements of SVG
    table : the numbers that are drawn; None where the text around it has them
    """

    title: str
    description: str
    width: float
    height: float
    body: str
    table: DataTable | None = None

    @property
    def svg(self) -> str:
        """The picture alone, as an element of a page that has the style."""
        return (
            f'<svg class="figure" viewBox="0 0 {place(self.width)} {place(self.height)}" '
            f'role="img" aria-label="{escape(f"{self.title}. {self.description}")}" '
            f'xmlns="http://www.w3.org/2000/svg">{self.body}</svg>'
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return (
            f"<figure style='max-width:{place(1.6 * self.width)}px'><style>{figure_style()}</style>"
            f"<figcaption><b>{escape(self.title)}</b> {escape(self.description)}</figcaption>"
            f"{self.svg}</figure>"
        )


@cache
def figure_style() -> str:
    """The style of all figures."""
    return (files("automl.reports") / "templates" / "figure.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Scale:
    """Values to places on a line; values beyond the ends are drawn at the ends.

    Parameters
    ----------
    low, high : values at the ends, low < high
    start, end : places of the ends
    """

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(
        cls, values: Sequence[float], start: float, end: float, *, margin: float = 0.04
    ) -> Scale:
        """Around finite values, with a margin as a share of their range at both ends; `FARTHEST` ends it."""
        low, high = min(values, default=0.0), max(values, default=1.0)
        low, high = max(low, -FARTHEST), min(high, FARTHEST)
        room = margin * (high - low) or 0.5 * abs(high) or 0.5
        return cls(low - room, high + room, start, end)

    def __call__(self, value: float) -> float:
        """Place of a value."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values between the ends, at most about so many, and at least two."""
        rough = (self.high - self.low) / max(most, 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        if last <= first:  # no more than one value of this step lies between the ends
            return self.ticks(2 * most)
        return [round(i * step, 12) for i in range(first, last + 1)]


@dataclass
class Drawing:
    """Elements of a figure, in the order in which they are drawn."""

    width: float = WIDTH
    height: float = 240.0
    _parts: list[str] = field(default_factory=list)

    def line(self, start: Point, end: Point, look: str, title: str = "") -> None:
        """A straight line."""
        (x1, y1), (x2, y2) = start, end
        places = f'x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}"'
        self._add("line", f'{places} class="{look}"', title)

    def rect(
        self, corner: Point, size: Point, look: str, title: str = "", *, opacity: float = 1.0
    ) -> None:
        """A box from its upper left corner; its opacity shows a share."""
        (x, y), (width, height) = corner, size
        shown = "" if opacity == 1.0 else f' fill-opacity="{opacity:.2f}"'
        sizes = f'width="{place(max(width, 0.0))}" height="{place(max(height, 0.0))}"'
        self._add("rect", f'x="{place(x)}" y="{place(y)}" {sizes} class="{look}"{shown}', title)

    def circle(self, at: Point, radius: float, look: str, title: str = "") -> None:
        """A dot."""
        size = f'cx="{place(at[0])}" cy="{place(at[1])}" r="{place(radius)}"'
        self._add("circle", f'{size} class="{look}"', title)

    def path(self, points: Sequence[Point], look: str, title: str = "") -> None:
        """A line through points."""
        text = "L".join(f"{place(x)} {place(y)}" for x, y in points)
        self._add("path", f'd="M{text}" class="{look}"', title)

    def text(
        self,
        at: Point,
        text: str,
        look: str = "f-label",
        anchor: Anchor = "start",
        *,
        room: float = math.inf,
    ) -> None:
        """Words; what is wider than the room is shortened, and shown whole where one points at it."""
        shown = shortened(text, room)
        inside = escape(shown) + ("" if shown == text else f"<title>{escape(text)}</title>")
        where = f'x="{place(at[0])}" y="{place(at[1])}" text-anchor="{anchor}"'
        self._parts.append(f'<text {where} class="{look}">{inside}</text>')

    def finished(self, title: str, description: str, table: DataTable | None = None) -> Figure:
        """The figure."""
        return Figure(title, description, self.width, self.height, "".join(self._parts), table)

    def _add(self, kind: str, attributes: str, title: str) -> None:
        inside = f"><title>{escape(title)}</title></{kind}>" if title else "/>"
        self._parts.append(f"<{kind} {attributes}{inside}")


@dataclass(frozen=True)
class Plot:
    """A drawing with two axes.

    Parameters
    ----------
    x, y : scales of the axes
    """

    drawing: Drawing
    x: Scale
    y: Scale

    def x_axis(
        self, label: str, ticks: Sequence[float] | None = None, *, below: float = 0.0
    ) -> None:
        """Numbers below the plot, a line for each, and what they are.

        Parameters
        ----------
        below : units between the plot and the axis, for marks that have no value
        """
        base = max(self.y.start, self.y.end) + below
        top = min(self.y.start, self.y.end)
        shown = self.x.ticks() if ticks is None else ticks
        for tick in shown:
            self.drawing.line((self.x(tick), top), (self.x(tick), base), "f-grid")
            self.drawing.text((self.x(tick), base + 14), tick_text(tick, shown), "f-tick", "middle")
        middle = (self.x.start + self.x.end) / 2
        self.drawing.text((middle, base + 30), label, "f-axis", "middle")

    def y_axis(self, label: str, ticks: Sequence[float] | None = None) -> None:
        """Numbers left of the plot, a line for each; what they are stands above them."""
        shown = self.y.ticks() if ticks is None else ticks
        for tick in shown:
            self.drawing.line((self.x.start, self.y(tick)), (self.x.end, self.y(tick)), "f-grid")
            self.drawing.text(
                (self.x.start - 6, self.y(tick) + 4), tick_text(tick, shown), "f-tick", "end"
            )
        self.drawing.text((2, min(self.y.start, self.y.end) - 9), label, "f-axis")

    def curve(self, points: Sequence[tuple[float, float]], look: str, title: str = "") -> None:
        """A line through values."""
        self.drawing.path([(self.x(x), self.y(y)) for x, y in points], look, title)


def plot(
    xs: Sequence[float], ys: Sequence[float], *, height: float = 260.0, left: float = 48.0,
    margin: float = 0.04,
) -> Plot:  # fmt: skip
    """A drawing with axes around values, labels left and below."""
    drawing = Drawing(WIDTH, height)
    return Plot(
        drawing,
        Scale.over(xs, left, WIDTH - 12, margin=margin),
        Scale.over(ys, height - 38, 22, margin=margin),
    )


def place(value: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{value:.1f}".removesuffix(".0")


def shortened(text: str, room: float) -> str:
    """A text that is not wider than a room, with an ellipsis where it was cut."""
    if len(text) <= max(room / LETTER, SHORTEST):
        return text
    return f"{text[: max(int(room / LETTER), SHORTEST) - 1]}…"


def tick_text(value: float, ticks: Sequence[float]) -> str:
    """A tick with as many digits as tell it from its neighbor."""
    step = min((abs(b - a) for a, b in pairwise(ticks)), default=abs(value))
    decimals = -math.floor(math.log10(step) + 1e-9) if step > 0 else 0
    if step > 0 and abs(round(step, decimals) - step) > 1e-9 * step:
        decimals += 1  # steps of 2.5 have a digit more
    greatest = max((abs(tick) for tick in ticks), default=0.0)
    if greatest >= 1e5 or (greatest and greatest < 1e-3):
        significant = math.floor(math.log10(greatest)) + 1 + decimals
        return f"{value:.{max(significant, LEAST_DIGITS)}g}"
    return f"{value:.{max(decimals, 0)}f}"


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: so many significant digits, thousands apart, an en dash for none."""
    if value is None or not math.isfinite(value):
        return "\u2013"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", "\u202f")
    if abs(value) >= 10.0**digits:
        return f"{float(f'{value:.{digits}g}'):,.0f}".replace(",", "\u202f")
    text = f"{value:.{digits}g}"
    return text.replace("-", "\u2212") if "e" not in text else text
