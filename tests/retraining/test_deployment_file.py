"""`deployments.yaml`: what it may hold, and how what it may not hold is told."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from automl.errors import ServiceError, SettingsError
from automl.home import Home
from automl_flows.services import service_plan, serving
from automl_flows.services.deployment_file import read_deployments
from automl_flows.services.service_plan import Plan
from automl_flows.services.zombies import HEARTBEAT_SECONDS, SILENT_SECONDS, zombie_automation

WHOLE = """
pool: nightly
problems:
  - name: tumors
    table: data/tumors.csv
    schedule: 0 3 * * *
    keep: 10
    how: auto
    overrides: {budget: 10m, seed: 3}
  - name: sales
    drops: s3://bucket/inbox
    mode: window
    window: 90 days
    time: day
    pattern: "*.csv"
    done_marker: true
    patience: 2h
  - name: folder
    table: /data/sales
    mode: partition
    schedule: 12h
"""


def plans_of(text: str, folder: Path) -> tuple[str, list[Plan]]:
    file = folder / "deployments.yaml"
    file.write_text(text)
    return read_deployments(file)


def test_a_file_holds_many_problems(tmp_path: Path) -> None:
    pool, (tumors, sales, folder) = plans_of(WHOLE, tmp_path)
    assert pool == "nightly"
    assert (tumors.table, tumors.cron) == (str(tmp_path / "data" / "tumors.csv"), "0 3 * * *")
    assert (tumors.keep, tumors.overrides) == (10, {"budget_seconds": 600.0, "seed": 3})
    assert (tumors.run_parameters["budget"], tumors.run_parameters["how"]) == ("600s", "auto")
    assert (sales.drops, sales.mode, sales.window, sales.time) == ("s3://bucket/inbox", "window", "90 days", "day")  # fmt: skip
    assert sales.completeness.needs_marker
    assert sales.completeness.patience_seconds == 7200.0
    assert (folder.interval_seconds, folder.cron, folder.mode) == (43200.0, None, "partition")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("problems: []", "problems"),
        ("problem: []", "the key 'problems' is missing|no key 'problem'; did you mean 'problems'"),
        (
            "problems: [{name: a, drop: x}]",
            "problem 'a': there is no key 'drop'; did you mean 'drops'",
        ),
        ("problems: [{drops: x}]", "problem 1: the key 'name' is missing"),
        (
            "problems: [{name: a, overrides: {bugdet: 1m}}]",
            "problem 'a': there is no key 'bugdet'; did you mean 'budget'",
        ),
        (
            "problems: [{name: a, keep: 0}]",
            "problem 'a': keep: must be at least 1; got 0",
        ),
        (
            "problems: [{name: a, how: refitt}]",
            "problem 'a': how: must be 'auto', .*; got 'refitt'",
        ),
        ("problems: [{name: a, settle: soon}]", "problem 'a': a duration must look like"),
        ("problems: [{name: a}, {name: a}]", "the problem 'a' appears twice"),
        ("problems: [3]", "problem 1 must hold keys and values; got 3"),
        ("- a", "deployments.yaml is no deployments file: it must hold the key problems"),
    ],
)
def test_what_is_wrong_is_told_with_the_problem_and_the_nearest_key(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        plans_of(text, tmp_path)
    assert "deployments.yaml" in caught.value.message


def test_zombies_are_runs_of_ours_without_many_heartbeats_in_a_row() -> None:
    automation = zombie_automation()
    trigger = automation.trigger
    assert trigger.within.total_seconds() == SILENT_SECONDS >= 5 * HEARTBEAT_SECONDS
    assert trigger.after == {"prefect.flow-run.heartbeat"}
    assert trigger.after < trigger.expect
    assert trigger.match_related.root["prefect.resource.id"] == "prefect.tag.automl"
    assert [action.state.value for action in automation.actions] == ["CRASHED"]


SCHEDULE = {"table": "t.csv", "interval_seconds": 60.0}


@pytest.mark.parametrize(
    ("given", "is_served"),
    [
        (SCHEDULE, True),
        ({"drops": "inbox"}, True),
        ({**SCHEDULE, "drops": "inbox"}, True),
        ({"drops": "inbox", "mode": "append"}, True),
        ({"drops": "inbox", "mode": "append", "table": "t.csv"}, True),
        ({"drops": "inbox", "mode": "window", "window": "90 rows"}, True),
        ({**SCHEDULE, "mode": "partition"}, True),
        ({**SCHEDULE, "drops": "inbox", "mode": "append"}, False),
        ({**SCHEDULE, "drops": "inbox", "mode": "window", "window": "90 rows"}, False),
        ({**SCHEDULE, "drops": "inbox", "mode": "partition"}, False),
    ],
)
def test_a_schedule_and_new_files_are_combined_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], *, is_served: bool
) -> None:
    monkeypatch.setattr(service_plan, "finished_runs", lambda *_: ["a run"])
    (tmp_path / "inbox").mkdir()
    places = {"drops": str(tmp_path / "inbox")} if "drops" in given else {}
    plan = service_plan.Plan("beans", **{**given, **places})
    if is_served:
        plan.check(Home(tmp_path / "home"))
    else:
        with pytest.raises(SettingsError, match="mode"):
            plan.check(Home(tmp_path / "home"))


@pytest.mark.parametrize(("days", "is_asked"), [(80, True), (200, False)])
def test_a_run_must_be_planned_only_if_prefect_plans_so_far_ahead(
    monkeypatch: pytest.MonkeyPatch, days: int, *, is_asked: bool
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(serving, "_planned_after", lambda *given: asked.append(given))
    monkeypatch.setattr(serving, "SCHEDULER_SECONDS", 0.0)
    plan = Plan("beans", table="t.csv", interval_seconds=86400.0 * days)
    proof = serving._ScheduleProof(plan)
    with pytest.raises(ServiceError, match="no run") if is_asked else nullcontext():
        proof.demand()
    assert bool(asked) is is_asked


def test_the_next_date_of_a_cron_expression_may_be_years_ahead() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    leap_day = Plan("beans", table="t.csv", cron="0 0 29 2 *")
    assert leap_day.next_date(now) == datetime(2028, 2, 29, tzinfo=UTC)
    assert replace(leap_day, cron="0 3 * * *").next_date(now) == now.replace(hour=3)
    assert replace(leap_day, cron=None).next_date(now) is None


def test_a_notebook_whose_event_loop_runs_may_ask_for_the_next_date() -> None:
    async def asked() -> datetime | None:
        return Plan("beans", table="t.csv", cron="0 3 * * *").next_date(now)

    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert asyncio.run(asked()) == now.replace(hour=3)
