"""The line of stages, with stages that do nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from automl.stages import line as module
from automl.stages.line import Line


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
