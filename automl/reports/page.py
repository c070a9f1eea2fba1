"""Pages: titled sections of paragraphs, numbers, tables, figures and code, as one file of HTML.

Whoever wants a page says what is on it in the records below; the template says how it looks. A page
loads nothing from anywhere, follows the reader's choice of light or dark, and reads on a phone, on
paper and by ear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from automl.reports.figure import Cell, DataTable, Figure, figure_style, number

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a `notice` must not be overlooked, a `note` is for those who want to know."""

    text: str
    look: Literal["", "note", "notice"] = ""
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True)
class Heading:
    """The title of a part of a section."""

    text: str
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True)
class Items:
    """A list."""

    texts: tuple[str, ...]
    kind: Literal["items"] = "items"


@dataclass(frozen=True)
class BigNumber:
    """A number that is read first, what it is, and a few words below it."""

    name: str
    value: str
    more: str = ""


@dataclass(frozen=True)
class Numbers:
    """Numbers side by side."""

    entries: tuple[BigNumber, ...]
    kind: Literal["numbers"] = "numbers"


@dataclass(frozen=True)
class Facts:
    """Names and values, line by line."""

    pairs: tuple[tuple[str, str], ...]
    kind: Literal["facts"] = "facts"

    @classmethod
    def of(cls, facts: Mapping[str, object]) -> Facts:
        """Those that have a value."""
        return cls(
            tuple((name, str(value)) for name, value in facts.items() if value not in (None, ""))
        )


@dataclass(frozen=True)
class Code:
    """Lines to be copied."""

    text: str
    language: str = "python"
    kind: Literal["code"] = "code"


@dataclass(frozen=True)
class Figures:
    """Figures side by side, as far as there is room."""

    figures: tuple[Figure, ...]
    kind: Literal["figures"] = "figures"


@dataclass(frozen=True)
class Tabular:
    """A table."""

    table: DataTable
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Bar:
    """How much of something is done.

    Parameters
    ----------
    share : in [0, 1]
    before, after : a few words at its sides
    """

    share: float
    before: str = ""
    after: str = ""
    kind: Literal["bar"] = "bar"


Part = Paragraph | Heading | Items | Numbers | Facts | Code | Figures | Tabular | Bar


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Parameters
    ----------
    key : by which links lead to it
    """

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: str = ""


@dataclass(frozen=True)
class Fragment:
    """A part of somebody else's page, such as what a notebook shows below a cell."""

    title: str
    parts: tuple[Part, ...]

    @property
    def html(self) -> str:
        """One element with a style of its own; it takes its colors from the page around it."""
        template = _environment().get_template("fragment.html.jinja")
        return template.render(fragment=self)


def render(page: Page) -> str:
    """HTML of a page."""
    return _environment().get_template("page.html.jinja").render(page=page)


@cache
def _environment() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined
    from markupsafe import Markup

    folder = files("automl.reports") / "templates"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    environment = Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["shown"] = _shown
    environment.filters["sized"] = lambda svg, width: Markup(  # noqa: S704 - we drew it
        svg.replace("<svg ", f'<svg style="min-width:{width:.0f}px" ', 1)
    )
    environment.globals.update(
        style=figure_style() + texts["page.css"],
        fragment_style=texts["fragment.css"],
        script=texts["page.js"],
        version=_version(),
    )
    return environment


def _shown(value: Cell) -> str:
    from markupsafe import Markup

    if isinstance(value, Figure):
        return Markup(value.svg.replace('class="figure"', 'class="figure spark"', 1))  # noqa: S704
    if value is None or isinstance(value, str):
        return value or ""
    return number(value)


def _version() -> str:
    try:
        return installed("automl-flows")
    except PackageNotFoundError:  # a checkout that is not installed
        return ""
