"""The budget of a run."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.stages import ledger as module
from automl.stages.ledger import Ledger

TOTALS = st.floats(10, 1e5)
RESERVES = st.floats(0, 0.9)
STAGES = ["search", "candidates", "ensemble", "final", "registration"]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@given(TOTALS, RESERVES)
def test_the_planned_seconds_are_positive_and_sum_to_the_total(total, reserve):
    planned = Ledger(total, reserve, time.monotonic()).planned
    assert list(planned) == STAGES
    assert all(seconds > 0 for seconds in planned.values())
    assert sum(planned.values()) == pytest.approx(total)


@given(TOTALS, RESERVES)
def test_the_tail_has_what_it_needs_and_leaves_more_than_half_to_the_search(total, reserve):
    planned = Ledger(total, reserve, time.monotonic()).planned
    tail = total - planned["search"]
    assert tail <= 0.45 * total * (1 + 1e-9)
    assert tail >= min(9.0, 0.45 * total) * (1 - 1e-9)
    assert planned["registration"] <= 20.0 * (1 + 1e-9)


def test_without_a_limit_nothing_is_planned_and_everything_is_left():
    ledger = Ledger(None, 0.2, time.monotonic())
    assert ledger.planned == {}
    assert ledger.left is None
    assert ledger.left_for("search") is None


def test_what_a_stage_saves_is_handed_on_and_what_it_overruns_is_taken_away(clock):
    ledger = Ledger(100.0, 0.2, clock.now)
    planned = ledger.planned
    assert ledger.left_for("search") == pytest.approx(planned["search"])
    clock.now += planned["search"] - 30.0
    assert ledger.left_for("candidates") == pytest.approx(planned["candidates"] + 30.0)
    clock.now += 33.0
    assert ledger.left_for("candidates") == pytest.approx(planned["candidates"] - 3.0)
    assert ledger.left_for("registration") == pytest.approx(
        sum(planned.values()) - planned["search"] - 3.0
    )


def test_several_stages_share_what_is_left_of_them(clock):
    ledger = Ledger(100.0, 0.2, clock.now)
    clock.now += ledger.planned["search"]
    both = ledger.left_for("ensemble", "candidates")
    assert both == pytest.approx(ledger.planned["candidates"] + ledger.planned["ensemble"])


def test_late_runs_have_less_than_nothing_left(clock):
    ledger = Ledger(10.0, 0.2, clock.now)
    clock.now += 12.0
    assert ledger.left == pytest.approx(-2.0)
    assert ledger.left_for("registration") == pytest.approx(-2.0)


def test_the_seconds_of_a_stage_add_up_even_if_it_fails(clock):
    ledger = Ledger(100.0, 0.2, clock.now)
    with ledger.stage("search"):
        clock.now += 3.0

    def fail():
        with ledger.stage("search"):
            clock.now += 4.0
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert ledger.used == {"search": 7.0}


def test_the_json_form_has_planned_and_used_seconds_of_every_stage(clock):
    ledger = Ledger(100.0, 0.2, clock.now)
    with ledger.stage("data"):
        clock.now += 1.0
    found = ledger.to_json()
    assert list(found) == [*STAGES, "data"]
    assert found["data"] == {"planned": None, "used": 1.0}
    assert found["search"]["used"] is None


def test_copying_many_trials_is_paid_by_the_search():
    ledger = Ledger(100.0, 0.2, time.monotonic())
    before = dict(ledger.planned)
    ledger.expect_trials(500)
    assert ledger.planned["registration"] > before["registration"]
    assert sum(ledger.planned.values()) == pytest.approx(100.0)
    assert ledger.planned["candidates"] == before["candidates"]
    ledger.expect_trials(10)
    assert ledger.planned["registration"] > before["registration"]
