"""The report of a run: a page that stands alone, reads well, and says what the records say."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from automl.home import RunFolder
from automl.inference.manifest import MANIFEST, parse_manifest
from automl.metrics.words import estimate_text
from automl.reports.figure import number
from automl.reports.page import render
from automl.reports.run_choices import choices_of
from automl.reports.run_page import run_page, write_report
from automl.reports.run_report import current_report
from automl.reports.sections.repeating import unusual_settings
from automl.reports.sections.usage import python_lines
from automl.run_records.report import ReportRecord
from automl.run_records.result import RunResult

KINDS = ("binary", "multiclass", "regression", "interrupted", "constant")
MOST_BYTES = 3_000_000
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Reader(HTMLParser):
    """What a page is made of, with every element closed where it must be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest) -> RunFolder:
    made: RunFolder = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def page(folder: RunFolder) -> str:
    return render(run_page(folder))


def test_a_page_is_whole_and_its_headings_are_in_order(page: str) -> None:
    levels = [int(heading[1]) for heading in Reader(page).headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_page_loads_nothing_and_is_small(page: str) -> None:
    for tag, attributes in Reader(page).elements:
        loaded = [attributes.get(key, "") for key in ("src", "href", "data", "action", "srcset")]
        assert all(not each or each.startswith("#") for each in loaded), (tag, attributes)
    assert "@import" not in page
    assert "url(" not in page
    assert len(page.encode()) < MOST_BYTES


def test_pictures_have_words_and_tables_have_scopes(page: str) -> None:
    for tag, attributes in Reader(page).elements:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert len(attributes["aria-label"]) > 20
        if tag == "th":
            assert attributes["scope"] in {"row", "col"}


def test_links_lead_to_sections(page: str) -> None:
    elements = Reader(page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"][1:] for tag, attributes in elements if tag == "a"]
    assert links
    assert set(links) <= set(ids)


def test_names_of_the_table_are_text(page: str) -> None:
    assert "green <b>" not in page


def test_numbers_of_the_answer_are_those_of_the_result(folder: RunFolder, page: str) -> None:
    result, words = RunResult.read(folder), Reader(page).words
    if result is None:
        assert any("has no result" in text for text in words)
        return
    for value in (result.score, *result.metrics.values()):
        assert number(value) in words
    tested = {} if result.test is None else result.test.metrics
    for name, value in tested.items():
        interval = result.test.intervals.metrics.get(name)  # type: ignore[union-attr]
        shown = number(value) if interval is None else estimate_text(value, interval)
        assert shown.replace("-", "\u2212") in words
    for metric in result.honest.of_metrics.values():
        shown = estimate_text(metric.value, (metric.low, metric.high))
        assert shown.replace("-", "\u2212") in words
    honest = result.honest.of_model
    assert any("no honest score" in text for text in words) == (honest is None)
    if honest is not None:
        assert number(honest.score) in words


def test_the_bootstraps_are_those_that_repeated_the_choice_of_the_model(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = RunResult.read(folder)
    if result is None or result.honest.of_model is None:
        pytest.skip("no honest score")
    estimate = replace(result.honest.of_model, n_bootstraps=17)
    honest = replace(result.honest, n_bootstraps=99, **{result.honest.chosen: estimate})
    monkeypatch.setattr(RunResult, "read", lambda _: replace(result, honest=honest))
    words = " ".join(Reader(render(run_page(folder))).words)
    assert "17 bootstraps of the rows" in words
    assert "99 bootstraps" not in words


def test_a_constant_model_is_called_no_better_than_the_baseline(constant: RunFolder) -> None:
    result = RunResult.read(constant)
    assert result is not None
    assert result.baseline is not None
    words = " ".join(Reader(render(run_page(constant))).words)
    assert ("No better than the baseline" in words) == bool(result.baseline.notice)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_the_lines_of_python_run_as_they_are_pasted(
    kind: str, request: pytest.FixtureRequest
) -> None:
    folder: RunFolder = request.getfixturevalue(kind)
    manifest = parse_manifest(folder.bundle / MANIFEST)[1]
    lines = python_lines(folder, folder.read_facts(), manifest)
    assert len(lines.splitlines()) == 3
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(lines, "report", "exec"), {})
    assert len(printed.getvalue().split()) >= 5
    of_memory = python_lines(folder, {**folder.read_facts(), "is_frame": True}, manifest)
    with contextlib.redirect_stdout(printed):
        exec(compile(of_memory, "report", "exec"), {})


def test_settings_that_were_given_are_named(binary: RunFolder) -> None:
    given = unusual_settings(binary.read_facts()["settings"])
    assert {"table", "target", "trials", "workers", "families", "test_share"} <= given.keys()
    assert "folds" not in given


def test_a_run_makes_its_report_as_its_last_stage(binary: RunFolder) -> None:
    record = ReportRecord.read(binary)
    assert record is not None
    assert record.reason == ""
    assert record.size_kib == pytest.approx(binary.report.stat().st_size / 1024)


def test_a_report_is_made_anew_only_where_more_is_known(binary: RunFolder) -> None:
    current_report(binary)
    assert not current_report(binary)
    binary.report.unlink()
    assert current_report(binary)


def test_a_report_goes_into_any_file(interrupted: RunFolder, tmp_path: Path) -> None:
    write_report(interrupted, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert choices_of(interrupted).run_id in text
