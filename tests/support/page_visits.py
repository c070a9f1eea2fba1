"""Pages in a real browser: Debian's Chromium, driven by Playwright, and what must hold of every page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK, PHONE = 1280, 390
"""Widths in pixels."""
HEIGHT = 1000
HERE = ("127.0.0.1", "localhost", "")
"""Hosts of requests that stay on the machine; files and data have none."""
SIZELESS = """() => [...document.querySelectorAll('img, svg[role=img], canvas')]
  .filter(picture => picture.checkVisibility())
  .filter(picture => { const box = picture.getBoundingClientRect();
                       return box.width < 2 || box.height < 2 || picture.naturalWidth === 0; })
  .map(picture => picture.outerHTML.slice(0, 120))"""
WORDLESS = """() => [...document.querySelectorAll('img, svg[role=img]')]
  .filter(picture => !(picture.alt || picture.getAttribute('aria-label') || '').trim())
  .map(picture => picture.outerHTML.slice(0, 120))"""
LEVELS = "() => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => Number(h.tagName[1]))"
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Visit:
    """A page that is open, and what went wrong on it.

    Parameters
    ----------
    errors
        Of the console and of scripts, with the address that each is about.
    left
        Addresses on other machines that were asked for.
    """

    page: Page
    folder: Path
    errors: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def shoot(self, name: str, *, whole: bool = True) -> None:
        """Take a picture into the folder."""
        self.page.screenshot(path=self.folder / f"{name}.png", full_page=whole)

    def heard(self, message: ConsoleMessage) -> None:
        """Take down an error of the console."""
        if message.type == "error":
            self.errors.append(f"{message.text} {message.location.get('url', '')}")

    def asked(self, address: str) -> None:
        """Take down a request that leaves the machine."""
        if (urlsplit(address).hostname or "") not in HERE:
            self.left.append(address)

    def check(self, *excused: str) -> None:
        """Nothing went wrong, but for errors with one of these texts; every picture has a size."""
        found = [error for error in self.errors if not any(text in error for text in excused)]
        assert found == []
        assert self.left == []
        assert self.page.evaluate(SIZELESS) == []

    def check_document(self) -> None:
        """Also what we answer for where the page is ours: order, words, and width."""
        self.check()
        levels: list[int] = self.page.evaluate(LEVELS)
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert self.page.evaluate(WORDLESS) == []
        assert self.page.evaluate(OVERFLOW) <= 0

    def barriers(self, *without: str) -> str:
        """What axe-core finds against those who see or hear a page differently; "" where nothing.

        Parameters
        ----------
        without
            Rules of axe-core that do not apply.
        """
        from axe_playwright_python.sync_playwright import Axe

        rules = {rule: {"enabled": False} for rule in without}
        found = Axe().run(self.page, options={"resultTypes": ["violations"], "rules": rules})
        return found.generate_report() if found.violations_count else ""


@contextmanager
def visit(
    browser: Browser,
    address: str,
    folder: Path,
    *,
    width: int = DESK,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
) -> Iterator[Visit]:
    """Open a page in a window of its own, which remembers nothing of others; a narrow one is touched."""
    options: dict[str, Any] = {"color_scheme": scheme, "reduced_motion": "reduce"}
    options |= {"java_script_enabled": scripts, "has_touch": width == PHONE}
    context = browser.new_context(viewport={"width": width, "height": HEIGHT}, **options)
    context.set_default_timeout(1000 * PATIENCE_SECONDS)
    page = context.new_page()
    visited = Visit(page, folder)
    page.on("console", visited.heard)
    page.on("pageerror", lambda error: visited.errors.append(str(error)))
    page.on("request", lambda request: visited.asked(request.url))
    page.goto(address)
    try:
        yield visited
    finally:
        context.close()
