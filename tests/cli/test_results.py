"""`Result`: a run that explains itself in Python says what the commands print, and a notebook shows it."""

from __future__ import annotations

import json
import pickle
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.run_state import read_stage
from automl_flows import Result


def test_it_is_the_record_that_the_command_prints(runs: list[RunFolder]) -> None:
    result = Result.of(runs[1].run_id)
    assert result == read_stage(runs[1], "result")
    assert json.loads(json.dumps(result)) == result
    again = pickle.loads(pickle.dumps(result))
    assert (again, again.folder) == (result, runs[1])
    assert Result.of(runs[0].run_id[:9], runs[0].path.parents[1]).folder == runs[0]


@pytest.mark.parametrize("place", [0, 1], ids=["interrupted", "finished"])
def test_why_is_the_text_of_the_command(automl: Any, runs: list[RunFolder], place: int) -> None:
    run_id = runs[place].run_id
    told = Result.of(run_id).why()
    assert f"{told}\n" == automl("why", run_id).out
    assert repr(told) == told
    assert f"{Result.of(run_id).why('1')}\n" == automl("why", run_id, "1").out


def test_texts_are_escaped_in_a_notebook(runs: list[RunFolder]) -> None:
    facts = runs[1].read_facts()
    facts["data"]["target"] = "<script>alert(1)</script>"
    runs[1].facts_file.write_text(json.dumps(facts), encoding="utf-8")
    result = Result.of(runs[1].run_id)
    result["problem"] = "<img src=x>"
    for html in (result.why()._repr_html_(), result._repr_html_()):
        assert "<script" not in html
        assert "<img" not in html
    assert "&lt;script&gt;" in result.why()._repr_html_()


@pytest.mark.parametrize("place", [0, 1], ids=["interrupted", "finished"])
def test_what_a_notebook_shows_is_small_and_says_the_answer(
    runs: list[RunFolder], place: int
) -> None:
    html = Result.of(runs[place].run_id)._repr_html_()
    assert len(html) < 20_000
    assert runs[place].run_id in html
    assert ("<table>" in html and '<th scope="col">' in html) == (place == 1)
    assert ("has no result" in html) == (place == 0)
    assert "http" not in html


def test_the_report_is_the_page_of_the_command(
    automl: Any, runs: list[RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Result.of(runs[1].run_id).report()
    assert str(page) == automl("report", runs[1].run_id).out.strip()
    assert (page.is_new, Result.of(runs[1].run_id).report().is_new) == (True, False)
    assert Path(page) == runs[1].report.resolve()
    frame = page._repr_html_()
    assert "sandbox" in frame
    assert "<h1>" not in frame
    assert "<h1>" in unescape(frame)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page.open()
    assert opened == [str(page)]
    copy = Result.of(runs[1].run_id).report(tmp_path / "copy.html")
    assert copy.file.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_result_outlives_its_folder(runs: list[RunFolder]) -> None:
    result = Result.of(runs[1].run_id)
    shutil.rmtree(runs[1].path)
    assert "is not there" in result._repr_html_()
    for ask in (result.why, result.report, result.leaderboard):
        with pytest.raises(SettingsError, match="the folder of the run is gone"):
            ask()
