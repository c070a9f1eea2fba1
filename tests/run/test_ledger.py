"""The budget of a run."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.run import ledger as module
from automl.run.ledger import Ledger
from automl.settings import Settings

TOTALS = st.floats(10, 1e5)
STAGES = [
    "search", "candidates", "ensemble", "honest", "final", "report", "registration", "closing",
]  # fmt: skip


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


@given(TOTALS, st.lists(st.floats(0, 1e4), min_size=6, max_size=6))
def test_the_stages_have_what_they_are_expected_to_take_and_the_search_the_rest(total, seconds):
    ledger = Ledger(total, 0.2, time.monotonic())
    expected = dict(zip(STAGES[1:-1], seconds, strict=True))
    ledger.expect(expected)
    assert list(ledger.planned) == STAGES
    assert sum(ledger.planned.values()) == pytest.approx(total)
    tail = sum(seconds) + module.CLOSING_SECONDS
    greatest = module.GREATEST_TAIL_SHARE * total
    factor = min(1.0, greatest / tail)
    assert ledger.planned["search"] == pytest.approx(total - min(tail, greatest))
    for stage, wanted in expected.items():
        assert ledger.planned[stage] == pytest.approx(factor * wanted)


@given(TOTALS)
def test_before_any_trial_more_than_half_of_the_time_is_planned_for_the_search(total):
    planned = Ledger(total, 0.2, time.monotonic()).planned
    assert list(planned) == STAGES
    assert 0.5 * total < planned["search"] < total


@pytest.mark.parametrize(
    ("late", "candidates", "honest"),
    [(0.0, 2.0, 4.0), (-3.0, 5.0, 4.0), (1.5, 1.5, 3.0), (3.0, 1.0, 2.0), (6.0, 0.0, 0.0), (8.0, 0.0, 0.0)],
)  # fmt: skip
def test_what_a_late_search_takes_the_stages_share_that_do_with_less(
    clock, late, candidates, honest
):
    ledger = Ledger(60, 0.2, clock.now)
    ledger.expect({"candidates": 2.0, "ensemble": 1.0, "honest": 4.0, "final": 2.0, "report": 1.0})
    others = {stage: ledger.planned[stage] for stage in ("ensemble", "final", "report")}
    clock.now += ledger.planned["search"] + late
    with ledger.stage("candidates"):
        left = ledger.left_for("candidates")
        assert max(left, 0.0) == pytest.approx(candidates)
        clock.now += max(left, 0.0)
    with ledger.stage("ensemble"):
        clock.now += 1.0
    with ledger.stage("honest"):
        assert max(ledger.left_for("honest"), 0.0) == pytest.approx(honest)
    assert {stage: ledger.planned[stage] for stage in others} == others


def test_without_a_limit_nothing_is_planned_and_everything_is_left():
    ledger = Ledger(None, 0.2, time.monotonic())
    ledger.expect({"candidates": 5.0})
    assert ledger.planned == {}
    assert ledger.left is None
    assert ledger.left_for("search") is None


def test_what_a_stage_saves_is_handed_on_and_what_it_overruns_is_taken_away(clock):
    ledger = Ledger(100.0, 0.2, clock.now)
    ledger.expect({"candidates": 10.0, "ensemble": 2.0, "final": 3.0, "registration": 4.0})
    planned = ledger.planned
    assert ledger.left_for("search") == pytest.approx(planned["search"])
    clock.now += planned["search"] - 30.0
    assert ledger.left_for("candidates") == pytest.approx(planned["candidates"] + 30.0)
    clock.now += 33.0
    assert ledger.left_for("candidates") == pytest.approx(planned["candidates"] - 3.0)
    assert ledger.left_for("registration") == pytest.approx(10.0 + 2.0 + 3.0 + 4.0 - 3.0)


def test_several_stages_share_what_is_left_of_them(clock):
    ledger = Ledger(100.0, 0.2, clock.now)
    clock.now += ledger.planned["search"]
    both = ledger.left_for("ensemble", "candidates")
    assert both == pytest.approx(ledger.planned["candidates"] + ledger.planned["ensemble"])


def test_late_runs_have_less_than_nothing_left(clock):
    ledger = Ledger(10.0, 0.2, clock.now)
    clock.now += 12.0
    assert ledger.left == pytest.approx(-2.0)
    assert ledger.left_for("closing") == pytest.approx(-2.0)
    assert ledger.left_for("registration") == pytest.approx(-2.0 - ledger.planned["closing"])


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


@given(st.floats(10, 1e4), st.floats(0, 1e4), st.floats(1, 32))
def test_what_is_spare_is_left_beside_the_end_of_a_run_at_the_pace_of_the_machine(
    total, elapsed, slowness
):
    ledger = Ledger(total, 0.2, time.monotonic() - elapsed, slowness=slowness)
    expected = total - elapsed - module.LEAST_TAIL_SECONDS * slowness
    assert ledger.spare == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize(
    ("slowness", "elapsed", "has_time", "is_late"),
    [
        (1.0, 0.5, True, False),
        (4.0, 2.0, True, False),
        (6.0, 3.0, False, False),  # the start of the workers takes what is left
        (16.0, 6.0, False, True),
        (1.0, 18.5, False, True),
    ],
)
def test_the_pace_so_far_says_whether_there_is_time_for_a_search(
    monkeypatch, slowness, elapsed, has_time, is_late
):
    monkeypatch.setattr(module, "crowding", lambda: slowness)
    settings = Settings(table="t", target="y", budget_seconds=20.0)
    started = time.monotonic() - elapsed
    assert module.has_time(settings, started) is has_time
    assert module.is_late(settings, module.ledger_of(settings, started)) is is_late
    counted = settings.model_copy(update={"trials": 5})
    assert module.has_time(counted, started)
    assert not module.is_late(counted, module.ledger_of(counted, started))


def test_without_a_limit_there_is_always_time():
    assert Ledger(None, 0.2, 0.0, slowness=32.0).spare == math.inf
