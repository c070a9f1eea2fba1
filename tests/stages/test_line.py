"""The line of stages, with stages that do nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from automl.stages import line as module
from automl.stages.line import Line
from automl.tracking.process import Registration


def test_a_result_says_how_long_the_run_took_before_it_is_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("candidates", "selection", "ensemble", "honest", "final", "end_search"):
        monkeypatch.setattr(Line, name, lambda _: {})
    monkeypatch.setattr(Line, "promotion", lambda _: None)
    monkeypatch.setattr(Line, "trials", ())
    monkeypatch.setattr(module, "make_result", lambda *_: {"score": 0.5})
    line: Any = object.__new__(Line)
    ledger = SimpleNamespace(elapsed=12.5)
    line.session = SimpleNamespace(stage=lambda _, make: make(), ledger=ledger)
    assert line.result() == {"score": 0.5, "seconds": 12.5}


@pytest.mark.parametrize("status", ["pending", "done", "off"])
def test_a_model_that_is_not_registered_yet_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: Any
) -> None:
    monkeypatch.setattr(Line, "result", lambda _: {"model": {}, "warnings": []})
    monkeypatch.setattr(Line, "trials", ())
    monkeypatch.setattr(module, "links", lambda _: {})
    found = Registration(status, None, "no answer", 0, "")
    monkeypatch.setattr(module, "registration", lambda _: found)
    line: Any = object.__new__(Line)
    line.session = SimpleNamespace(
        folder=SimpleNamespace(path=tmp_path),
        warnings=[],
        ledger=SimpleNamespace(elapsed=1.0, to_json=dict),
        records=SimpleNamespace(write=lambda *_: None),
        set_status=lambda _: None,
    )
    waiting = [w for w in line.close()["warnings"] if "not registered yet (no answer)" in w]
    assert len(waiting) == (status == "pending")
