"""The times of a family's states."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from automl_tasks import family_state


def test_a_process_that_waits_between_its_clocks_reads_them_again(monkeypatch):
    """Else a state would be dated too early by as long as it waited."""
    readings = iter([100.0, 103.0, 103.5, 103.5])  # three seconds between the first two
    clock = SimpleNamespace(monotonic=lambda: next(readings))
    monkeypatch.setattr(family_state, "time", clock)
    before = datetime.now(UTC)
    found = family_state._wall_clock(moment=101.5)
    assert (before - found).total_seconds() == pytest.approx(2.0, abs=0.5)
    assert next(readings, None) is None
