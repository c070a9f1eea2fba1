"""A comparison whose local server ends before it does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from automl.comparison.folder import CellRecord, ComparisonFolder
from automl.comparison.plan import ComparisonPlan
from automl.home import Home


@pytest.fixture
def logs() -> Iterator[None]:
    yield
    logging.disable(logging.NOTSET)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.disabled = False


@pytest.mark.timeout(150)
@pytest.mark.usefixtures("logs")
def test_the_results_do_not_wait_for_a_server_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from automl_flows import comparing
    from automl_flows.services import local_server

    class Endless(comparing.FlowThread):
        def run(self) -> None:
            for cell in plan.cells():
                folder.write(CellRecord(cell, "failed", "too large"))
            threading.Event().wait()

    ended = SimpleNamespace(is_owned=True, is_alive=lambda: False)
    monkeypatch.setattr(local_server, "local_server", lambda _: ended)
    monkeypatch.setattr(local_server, "running", lambda *_: nullcontext())
    monkeypatch.setattr(comparing, "FlowThread", Endless)
    folder = ComparisonFolder(tmp_path / "out")
    plan = ComparisonPlan({"a": {}, "b": {}}, {"one": {"table": "t.csv", "target": "y"}})
    folder.write_plan(plan)
    told: list[str] = []
    result: dict[str, Any] = comparing.run_comparison(
        folder, home=Home(tmp_path / "home"), say=told.append
    )
    assert [text for text in told if "server" in text] == [
        "the local Prefect server has ended; the comparison goes on without it"
    ]
    assert [row["method"] for row in result["methods"]] == ["a", "b"]


@pytest.mark.usefixtures("logs")
def test_the_threads_of_prefect_that_heed_no_level_are_silenced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from prefect._internal.concurrency import logger

    from automl_flows.environment import silence_libraries

    logger.addHandler(caplog.handler)
    logging.disable(logging.CRITICAL)
    logger.error("Service %r failed to process item %r", "EventsWorker", "event")
    assert "EventsWorker" in caplog.text
    caplog.clear()
    silence_libraries()
    logger.error("Service %r failed to process item %r", "EventsWorker", "event")
    assert not caplog.text
    logger.removeHandler(caplog.handler)
