"""A browser for a module, and the folder of its screenshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_visits import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs the extra: pip install 'automl-flows[browser]'"
    )
    pytest.importorskip("axe_playwright_python", reason="needs the extra `browser`")
    if CHROMIUM is None:
        pytest.skip("no chromium is installed; Debian has it: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages go."""
    given = request.config.getoption("--screenshots")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
