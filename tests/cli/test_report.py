"""`automl report`: a page of any run, where it is, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from automl.home import RunFolder


@pytest.fixture(autouse=True)
def _no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is opened, whoever runs the tests."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("place", [0, 1], ids=["interrupted", "finished"])
def test_a_run_whose_table_is_gone_has_a_page_of_what_is_left(
    automl: Any, runs: list[RunFolder], place: int
) -> None:
    outcome = automl("report", runs[place].run_id)
    assert outcome.code == 0, outcome.err
    assert outcome.out.strip() == runs[place].report.resolve().as_uri()
    text = runs[place].report.read_text(encoding="utf-8")
    assert ("has no result" in text) == (place == 0)
    assert "cannot be shown" in text


def test_json_says_where_the_page_is_and_whether_it_is_new(
    automl: Any, runs: list[RunFolder]
) -> None:
    run_id = runs[1].run_id
    first, second = (automl("report", run_id, "--json").json for _ in range(2))
    assert first == {"run_id": run_id, "file": str(runs[1].report.resolve()), "is_new": True}
    assert second == {**first, "is_new": False}


def test_the_page_goes_into_the_file_that_is_named(
    automl: Any, runs: list[RunFolder], tmp_path: Path
) -> None:
    outcome = automl("report", runs[1].run_id, "-o", tmp_path / "page.html", "--no-open")
    assert outcome.code == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert not runs[1].report.exists()


@pytest.mark.parametrize(
    ("output", "words"), [(".", "must name a file"), ("nowhere/page.html", "a folder that exists")]
)
def test_a_file_that_cannot_be_is_refused(
    automl: Any, runs: list[RunFolder], output: str, words: str
) -> None:
    outcome = automl("report", runs[1].run_id, "-o", output)
    assert outcome.code == 2
    assert words in outcome.err


def test_an_unknown_run_is_refused(automl: Any, runs: list[RunFolder]) -> None:
    outcome = automl("report", "20990101")
    assert outcome.code == 2
    assert "no run" in outcome.err
