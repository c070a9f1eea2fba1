"""The pages of one run, as people see them: its report, MLflow's pages and Prefect's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from command_line import Command, any_ports
from page_visits import DESK, PHONE, visit
from waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

DEPLOYMENTS = Path(__file__).parents[2] / "deployments" / "prefect.yaml"
PROBLEM = "tumors"
OPTIONS = ["--target", "target", "--trials", "6", "--seed", "3", "--test-share", "0.2", "--name"]
FAMILIES = ["--families", "logistic_regression,knn", "--workers", "2"]
SECTIONS = [
    "The answer", "Why this one", "Default against optimized", "What the data are", "What was tried",
    "How the model behaves", "The ensemble", "How to use it", "How to repeat it",
]  # fmt: skip
PICTURES = [
    "The selection, from the leaves to the root", "The families, default and optimized",
    "Trials over time", "Where the search spent its time", "Confusion matrix",
    "ROC curve", "Precision and recall", "Calibration", "Which columns matter",
]  # fmt: skip
SCROLLED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Wait until the event of a scroll, which hides what a mark says, has come: it comes with the next frame."""
TIPS = {
    "The families, default and optimized": r"median \S+, middle half \S+ to \S+, mean \S+, \d+ scores",
    "ROC curve": r"from probability \S+: found \S+% of \w+, took \S+% of the others for it",
    "Precision and recall": r"from probability \S+: found \S+% of \w+, \S+% of what it took is right",
    "Confusion matrix": r"true \w+, predicted \w+: \d+ rows, \S+% of \w+",
    "Calibration": r"predicted \S+, came true \S+ \(95 % interval \S+ to \S+\), \d+ rows",
    "Which columns matter": r"mean loss \S+, standard deviation \S+",
}
"""What a mark of some pictures says."""
MOST_TAGS = 6
"""Tags on MLflow's page of a training run: what programs look for."""
NO_USERS = "/ajax-api/2.0/mlflow/users/current"
"""MLflow's page asks who is there, also where the server has no users, and gets 404."""
NO_ICON = ("/favicon.ico", "/ico/undefined.svg")
"""Prefect's server has no icon where browsers look for one, nor for a run that its page is still loading."""


@dataclass(frozen=True)
class Standing:
    """A finished run, and the addresses of the services that stand beside it."""

    command: Command
    result: dict[str, Any]
    prefect: str
    links: dict[str, str]

    @property
    def report(self) -> str:
        folder = self.command.home / "runs" / self.result["run_id"]
        return (folder / "report.html").as_uri()

    @property
    def mlflow(self) -> str:
        return self.links["run"].partition("/#/")[0]


@pytest.fixture(scope="module")
def run(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    command = Command(tmp_path_factory.mktemp("home"), any_ports())
    pages = command.json("up")
    try:
        result = command.json("train", "sklearn:breast_cancer", *OPTIONS, PROBLEM, *FAMILIES)
        links = command.json("show", result["run_id"])["links"]
        yield Standing(command, result, pages["prefect"], links)
    finally:
        command.json("down")


# -- the report


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_on_desk_and_phone_light_and_dark(run, browser, screenshots, width, scheme):
    with visit(browser, run.report, screenshots, width=width, scheme=scheme) as visited:
        visited.shoot(f"report-{width}-{scheme}")
        page = visited.page
        assert page.title() == f"{PROBLEM}: report of a run"
        assert page.locator("h2").all_inner_texts() == SECTIONS
        titles = page.locator("figcaption b").all_inner_texts()
        assert [title for title in PICTURES if title not in titles] == []
        tree = page.locator("figure.wide .scroll").first
        hidden = tree.evaluate("box => box.scrollWidth - box.clientWidth")
        assert (hidden > 0) == (width == PHONE)  # a desk shows all of the selection
        visited.check_document()
        assert visited.barriers() == ""
        _unfold(page)
        visited.check_document()
        assert visited.barriers() == ""


@pytest.mark.parametrize(("scripts", "mark"), [(True, "[data-tip]"), (False, ":has(> title)")])
def test_every_picture_of_the_report_has_marks_that_say_what_they_are(
    run, browser, screenshots, scripts, mark
):
    """Without scripts they have titles, which browsers show."""
    with visit(browser, run.report, screenshots, scripts=scripts) as visited:
        for picture in visited.page.locator("figure").all():
            assert picture.locator(f"svg :is(circle, rect){mark}").count() > 0
        trials = visited.page.locator("figure", has_text="Trials over time")
        assert trials.locator(f"circle{mark}").count() == run.result["trials"]
        if scripts:
            words = [each.get_attribute("data-tip") for each in trials.locator("circle").all()]
            assert all(re.match(r"s\d+ \w+, ", text or "") for text in words)
        visited.check()


@pytest.mark.parametrize(("width", "scheme"), [(DESK, "light"), (PHONE, "dark")])
@pytest.mark.parametrize(("title", "words"), TIPS.items())
def test_a_mark_says_its_numbers_where_one_points_at_it_taps_it_or_walks_to_it(
    run, browser, screenshots, title, words, width, scheme
):
    with visit(browser, run.report, screenshots, width=width, scheme=scheme) as visited:
        page, tip = visited.page, visited.page.locator("#tip")
        picture = page.locator("figure", has=page.get_by_text(title, exact=True)).locator(
            "> svg, > .scroll > svg"
        )
        kind = "rect" if picture.locator("rect[data-tip]").count() else "circle"
        mark = picture.locator(f"{kind}[data-tip]").last
        mark.scroll_into_view_if_needed()
        page.evaluate(SCROLLED)
        box = mark.bounding_box()
        assert box is not None
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        if width == PHONE:
            page.touchscreen.tap(*middle)
        else:
            page.mouse.move(*middle)
        assert re.search(words, tip.inner_text()), tip.inner_text()
        shown = tip.bounding_box()
        assert shown is not None
        assert shown["x"] >= 0
        assert shown["x"] + shown["width"] <= width
        name = f"tip-{title.split(maxsplit=1)[0].lower()}-{width}-{scheme}"
        visited.shoot(name, whole=False)
        picture.focus()
        page.keyboard.press("Escape")
        assert tip.inner_text() == ""
        for told in picture.locator("[data-tip]").all()[:2]:
            page.keyboard.press("ArrowRight")
            assert tip.inner_text() == told.get_attribute("data-tip")
        visited.check_document()
        assert visited.barriers() == ""


def test_a_printed_report_shows_all_numbers_on_white(run, browser, screenshots):
    with visit(browser, run.report, screenshots, scheme="dark") as visited:
        visited.page.pdf(path=screenshots / "report-printed.pdf", format="A4")
        visited.page.emulate_media(media="print")
        paper = visited.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert paper == "rgb(255, 255, 255)"
        assert visited.page.locator("details:not([open])").count() == 0
        visited.check()


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_the_history_of_a_problem(run, browser, screenshots, width):
    made = run.command.json("report", PROBLEM, "--history")
    with visit(browser, Path(made["file"]).as_uri(), screenshots, width=width) as visited:
        _wait_for(visited.page, f"{PROBLEM}: history", "1 of 1 models took the alias champion.")
        _unfold(visited.page)
        visited.shoot(f"history-{width}")
        visited.check_document()
        assert visited.barriers() == ""


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


# -- MLflow


def test_mlflows_run_page_tells_what_was_found(run, browser, screenshots):
    with visit(browser, run.links["run"], screenshots) as visited:
        page = visited.page
        _wait_for(page, "About this run", "Honest score", f"{PROBLEM} · ", "Finished")
        assert page.get_by_text(re.compile(r"^automl\.\w+$")).count() <= MOST_TAGS
        visited.shoot("mlflow-run")
        visited.check(NO_USERS)


def test_mlflows_run_page_shows_the_report_inside(run, browser, screenshots):
    path, _, query = run.links["run"].partition("?")
    with visit(browser, f"{path}/artifacts/report.html?{query}", screenshots) as visited:
        frame = visited.page.frame_locator("iframe")
        frame.get_by_role("heading", name="The answer").wait_for()
        frame.locator("h2").nth(len(SECTIONS) - 1).wait_for()
        visited.shoot("mlflow-report")
        assert frame.locator("h2").all_inner_texts() == SECTIONS
        assert _pictures(frame) >= len(PICTURES)
        frame.locator("figure", has_text="ROC curve").locator("circle[data-tip]").last.hover()
        assert "from probability" in frame.locator("#tip").inner_text()
        visited.check(NO_USERS)


def test_mlflows_lists_show_the_best_first_by_name_and_score(run, browser, screenshots):
    with visit(browser, run.links["experiment"], screenshots) as visited:
        _wait_for(visited.page, "Training runs, best first", "honest_score", f"{PROBLEM} · ")
        visited.shoot("mlflow-training-runs")
        visited.check(NO_USERS)
    with visit(browser, run.links["trials"], screenshots) as visited:
        cells = visited.page.get_by_role("link", name=re.compile(r"^-?0\.\d+ \w+ · s\d+$"))
        cells.nth(run.result["complete_trials"] - 1).wait_for()
        visited.shoot("mlflow-trials")
        names = cells.all_inner_texts()
        scores = [float(name.split()[0]) for name in names]
        assert len(names) == run.result["complete_trials"]
        assert scores == sorted(scores, reverse=True)
        visited.check(NO_USERS)


def test_mlflows_page_of_the_version_says_what_it_is(run, browser, screenshots):
    address = f"{run.mlflow}/#/models/{PROBLEM}/versions/1?workflowType=machine_learning"
    with visit(browser, address, screenshots) as visited:
        _wait_for(visited.page, "Version 1", "Honest score", "Takes the alias champion", "accuracy")
        visited.shoot("mlflow-version")
        visited.check(NO_USERS)


def _wait_for(page: Page, *texts: str) -> None:
    for text in texts:
        page.get_by_text(text).first.wait_for()


def _pictures(frame: FrameLocator) -> int:
    """Pictures with a size."""
    boxes = [picture.bounding_box() for picture in frame.locator("figure svg").all()]
    return sum(box is not None and box["width"] > 1 and box["height"] > 1 for box in boxes)


# -- Prefect


def test_the_link_of_the_run_opens_its_own_page(run, browser, screenshots):
    assert run.links["prefect"] == f"{run.prefect}/runs/flow-run/{_flow_run(run)}"
    with visit(browser, run.links["prefect"], screenshots) as visited:
        _wait_for(visited.page, run.result["run_id"], "Completed")
        visited.check(*NO_ICON)
    with visit(browser, run.links["run"], screenshots) as visited:
        named = visited.page.get_by_role("link", name=_flow_run(run))
        assert named.first.get_attribute("href") == run.links["prefect"]


def test_prefects_run_page_has_the_artifacts(run, browser, screenshots):
    address = f"{run.prefect}/runs/flow-run/{_flow_run(run)}"
    with visit(browser, address, screenshots) as visited:
        page = visited.page
        _wait_for(page, run.result["run_id"], "Completed")
        visited.shoot("prefect-run")
        page.get_by_text("Artifacts", exact=True).last.click()
        made = ("leaderboard", "result", "report", "mlflow", "retrainings")
        _wait_for(page, *(f"{key}-{PROBLEM}" for key in made))
        visited.shoot("prefect-artifacts")
        visited.check(*NO_ICON)
    for key in ("leaderboard", "result", "retrainings", "progress"):
        _see_artifact(run, browser, screenshots, key)


def _see_artifact(run: Standing, browser: Browser, screenshots: Path, key: str) -> None:
    address = f"{run.prefect}/artifacts/key/{key}-{PROBLEM}"
    with visit(browser, address, screenshots) as visited:
        _wait_for(visited.page, f"{key}-{PROBLEM}", run.result["run_id"])
        visited.shoot(f"prefect-{key}")
        visited.check(*NO_ICON)


def test_prefects_form_of_a_training_run_explains_its_fields(run, browser, screenshots):
    environment = {**os.environ, "PREFECT_API_URL": f"{run.prefect}/api"}
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    for words in (
        ["work-pool", "create", "--type", "process", "automl"],
        ["deploy", "--prefect-file", str(DEPLOYMENTS), "--name", "train"],
    ):
        subprocess.run([*prefect, *words], env=environment, check=True, capture_output=True)
    path = f"{run.prefect}/api/deployments/name/automl-train/train"
    found = httpx.get(path, timeout=PATIENCE_SECONDS).json()
    address = f"{run.prefect}/deployments/deployment/{found['id']}"
    with visit(browser, address, screenshots) as visited:
        visited.page.get_by_text("Description", exact=True).click()
        _wait_for(visited.page, "Train, select and register a model")
        visited.shoot("prefect-deployment")
        visited.check(*NO_ICON)
    with visit(browser, f"{address}/run", screenshots) as visited:
        _wait_for(visited.page, "Table to learn from", "Column to predict", "preset", "budget")
        visited.shoot("prefect-form")
        visited.check(*NO_ICON)


def _flow_run(run: Standing) -> str:
    asked = {"flow_runs": {"tags": {"all_": [run.result["run_id"]]}}}
    path = f"{run.prefect}/api/flow_runs/filter"
    found = httpx.post(path, json=asked, timeout=PATIENCE_SECONDS).json()
    return str(found[0]["id"])
