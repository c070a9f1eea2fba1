"""The documentation site in a browser, from a server on this machine: search works on no page that is a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from page_visits import DESK, PHONE, visit

ROOT = Path(__file__).parents[2]
PAGES = ("index", "tutorial", "report", "settings")
"""What comes first, a long page with code, one with tables, one that is generated."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    subprocess.run(
        [ROOT / ".ci" / "site", folder], env=environment, check=True, capture_output=True
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_documentation(site, browser, screenshots, name, width):
    with visit(browser, f"{site}/{name}.html", screenshots, width=width) as visited:
        visited.page.get_by_role("heading", level=1).wait_for()
        visited.shoot(f"docs-{name}-{width}", whole=False)
        visited.check_document()


def test_the_search_of_the_documentation_finds_pages(site, browser, screenshots):
    with visit(browser, f"{site}/index.html", screenshots) as visited:
        page = visited.page
        page.get_by_role("button", name="Search").click()
        page.keyboard.type("ensemble")
        page.get_by_role("link", name=re.compile("Ensemble")).last.wait_for()
        visited.shoot("docs-search", whole=False)
        visited.check()
