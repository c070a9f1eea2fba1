"""Lists in pages of the documentation that the code writes itself, between two marks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

PAGE_START = "<!-- the list begins -->"
PAGE_END = "<!-- the list ends -->"


def renewed(text: str, tables: str) -> str:
    """A page with the list as it is now.

    Raises
    ------
    ValueError
        If the page lacks a mark.
    """
    before, start, rest = text.partition(PAGE_START)
    _, end, after = rest.partition(PAGE_END)
    if not start or not end:
        raise ValueError(f"the page must have the marks {PAGE_START} and {PAGE_END}")
    return f"{before}{start}\n\n{tables}\n{end}{after}"


def renew_page(tables: Callable[[], str]) -> None:
    """Renew the list in the page that the command line names."""
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text(encoding="utf-8"), tables()), encoding="utf-8")
