"""What a notebook shows while a run works and when it is over, in a real kernel."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

jupyter = pytest.importorskip("jupyter_client.manager")

pytestmark = pytest.mark.integration

FIT = """
import numpy as np, pandas as pd
from automl_flows import AutoML
rng = np.random.default_rng(0)
frame = pd.DataFrame({"size": rng.normal(size=120)})
frame["<b>kind"] = np.where(frame["size"] + rng.normal(0, .3, 120) > 0, "<i>yes", "no")
model = AutoML(trials=4, families="lda", workers=1, settings={"folds": 2, "ensemble": "none"})
model.fit(frame, target="<b>kind")
"""


@pytest.fixture
def kernel(tmp_path: Path, prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a kernel, with a home of its own and a Prefect server that stands."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    monkeypatch.setenv("AUTOML_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    manager, client = jupyter.start_new_kernel(cwd=str(tmp_path))
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def messages_of(client: Any, code: str, seconds: float = 150.0) -> list[tuple[str, Any]]:
    """Kind and content of what a cell sends until it is over."""
    sent, found, until = client.execute(code), [], time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        kind, content = message["msg_type"], message["content"]
        assert kind != "error", "\n".join(content["traceback"])
        is_ours = message["parent_header"].get("msg_id") == sent
        if kind == "status" and content["execution_state"] == "idle" and is_ours:
            return found
        found.append((kind, content))
    pytest.fail("the cell did not end")


class Tags(HTMLParser):
    """Elements of a fragment, each of which must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_cell_shows_the_progress_in_one_place_and_then_the_result(kernel: Any) -> None:
    found = messages_of(kernel, FIT)
    begun = [content for kind, content in found if kind == "display_data"]
    updates = [content for kind, content in found if kind == "update_display_data"]
    assert len(begun) == 1
    places = {content["transient"]["display_id"] for content in (*begun, *updates)}
    assert len(places) == 1
    shown = [content["data"]["text/html"] for content in updates]
    assert any("search" in text and "<progress" in text and "slots busy" in text for text in shown)
    assert "120 rows" in shown[-1]
    assert "finished in" in shown[-1]
    assert "best" in shown[-1]
    assert not [content for kind, content in found if kind == "stream"]
    (result,) = [content["data"] for kind, content in found if kind == "execute_result"]
    assert "<b>kind" not in result["text/html"] + shown[-1]
    for text in (shown[-1], result["text/html"]):
        tags = Tags(text)
        assert tags.open == []
        assert not {"script", "link", "img", "iframe"} & set(tags.seen)
    assert "cross-validated" in result["text/html"]
    assert result["text/plain"].startswith("AutoML(")

    pages = messages_of(kernel, "display(model.result_.report(), model.result_.why())")
    report, why = [content["data"] for kind, content in pages if kind == "display_data"]
    assert "srcdoc=" in report["text/html"]
    assert why["text/plain"].startswith("run ")
