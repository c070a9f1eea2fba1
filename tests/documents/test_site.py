"""The documentation site builds without a warning, has every page, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from automl.generated_lists import renewed
from automl_flows.api_reference import api_sections
from automl_flows.commands.reference import command_sections

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
LOADED = re.compile(r"""(?:<(?:script|img|iframe)[^>]*\ssrc|<link[^>]*\shref)=["'](?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("documentation")
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / ".ci" / "site", folder],
        env={**os.environ, "PATH": found},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_navigation_once() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = [
        page
        for group in config["nav"]
        for found in group.values()
        for page in ([found] if isinstance(found, str) else [v for e in found for v in e.values()])
    ]
    assert sorted(pages) == sorted(path.name for path in DOCS.glob("*.md"))


def test_the_site_builds_strictly_and_loads_nothing_from_other_hosts(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {path.stem for path in DOCS.glob("*.md")} <= {path.stem for path in pages}
    assert [str(path) for path, text in pages.items() if LOADED.search(text)] == []
    sheets = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert not any(re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet) for sheet in sheets)


def test_the_links_of_the_readme_lead_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    places = [link.partition("#") for link in links if "://" not in link]
    assert [path for path, _, _ in places if not (ROOT / path).exists()] == []


def test_the_front_page_installs_as_the_readme_does() -> None:
    front = (DOCS / "index.md").read_text(encoding="utf-8")
    (line,) = (line for line in front.splitlines() if " pip install " in line)
    assert line in README.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "sections", "module"),
    [
        ("commands.md", command_sections, "automl_flows.commands.reference"),
        ("api.md", api_sections, "automl_flows.api_reference"),
    ],
)
def test_a_page_made_from_the_code_is_up_to_date(page, sections, module) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text == renewed(text, sections()), f"python -m {module} docs/{page}"
