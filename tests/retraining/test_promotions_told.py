"""What a standing Prefect server knows of a promotion: the state, the event, the history."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect import flow
from run_records import model_of, result_of, write
from waiting import until

from automl.home import Home
from automl.run_records.promotion import PromotionRecord
from automl.tracking.new_champions import (
    NewChampion,
    has_new_champions,
    note_champion,
    take_new_champions,
)
from automl.tracking.synchronization import SyncSummary
from automl_flows import retrain_flows
from automl_flows.commands import cli
from automl_flows.promotions import history, tell_promotion
from automl_flows.retrain_flows import retrain_flow, retraining_state
from automl_flows.retraining import Retraining
from automl_flows.services import promotion_events
from automl_flows.services.promotion_events import PROMOTED_EVENT, tell_new_champions
from automl_flows.services.server import LocalServer
from automl_flows.services.standing import start_services, stop_services

ANSWER_SECONDS = 60.0
"""For one answer of a server on a busy machine."""


def outcome(status: Any, *, promoted: bool) -> Retraining:
    return Retraining(status, "beans", "t.csv", "d", "r", promoted, "because")


@pytest.mark.parametrize(
    ("status", "promoted", "name"),
    [("trained", True, "Promoted"), ("trained", False, "Kept"), ("unchanged", False, "Unchanged")],
)
def test_the_state_of_a_retraining_says_what_became_of_the_model(
    status: Any, name: str, *, promoted: bool
) -> None:
    state = retraining_state(outcome(status, promoted=promoted))
    assert (state.name, state.is_completed()) == (name, True)
    assert state.message == f"{status}: because"
    assert state.data["promoted"] == promoted


@pytest.mark.parametrize(
    ("registered", "champion", "promoted", "decision"),
    [
        ("beans/2@champion", "beans/1", True, "beans/2 is the champion now"),
        ("beans/2@challenger", "beans/1", False, "beans/2 is registered; beans/1 stays champion"),
        ("beans/2", "", False, "beans/2 is registered"),
        (None, "beans/1", False, ""),
    ],
)
def test_a_retraining_says_which_version_is_the_champion(
    registered: str | None, champion: str, decision: str, *, promoted: bool
) -> None:
    told = replace(
        outcome("trained", promoted=promoted),
        registered=registered,
        result={"promotion": {"champion": champion}},
    )
    assert told.decision == decision
    words = f"{decision}: because" if decision else "because"
    assert told.words == words
    assert retraining_state(told).message == f"trained: {words}"


def test_a_retraining_on_a_schedule_tells_its_beginning_and_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def retrain(*_: object) -> Retraining:
        assert capsys.readouterr().err == "retraining of beans: a run has begun\n"
        return outcome("trained", promoted=True)

    monkeypatch.setattr(retrain_flows._Request, "retrain", retrain)
    retrain_flow.fn("beans", "t.csv")
    assert capsys.readouterr().err == "retraining of beans: because\n"


def finished(home: Home, registered: str, **promotion: Any) -> dict[str, Any]:
    """Result of a finished run of the problem beans."""
    folder = home.create_run()
    facts = {"settings": {"name": "beans"}, "data": {"rows": 90}, "status": "finished"}
    folder.write_facts({**facts, "run_id": folder.run_id, "started_at": time.time()})
    record = PromotionRecord(champion="beans/1", rows=30, **promotion)
    model = replace(model_of("done"), registered=registered)
    result = result_of(run_id=folder.run_id, problem="beans", promotion=record, model=model)
    write(folder, result)
    return result.to_json()


@pytest.mark.integration
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("own_ports")
def test_a_promotion_is_an_event_and_every_model_is_in_the_history(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    service = start_services(home.path, ("prefect",))["prefect"]
    try:
        server = LocalServer(home.path / "prefect", url=service.url)
        with server.connected():
            kept = finished(home, "beans/2@challenger", promote=False, reason="not proven better")
            flow(tell_promotion, validate_parameters=False)(kept, home, key="beans")
            taken = finished(
                home, "beans/3@champion", promote=True, reason="better",
                score=0.75, champion_score=0.5, pvalue=0.01, level=0.02, look=2, rule="superior",
            )  # fmt: skip
            note_champion(home.path, champion_of("3", **taken["promotion"]))
            flow(tell_promotion, validate_parameters=False)(taken, home, key="beans")
        note_champion(home.path, champion_of("2", champion="beans/3"))
        tell_new_champions(home)  # as a command does, which is no flow
        with server.connected():
            events = until(lambda: _events(server.api_url, 2), pause=0.5)
            address = f"{server.api_url}/artifacts/retrainings-beans/latest"
            artifact = httpx.get(address, timeout=ANSWER_SECONDS).json()
    finally:
        stop_services(home.path)
    of_run, of_command = sorted(events, key=lambda event: str(event["occurred"]))
    assert of_run["resource"] == of_command["resource"]
    assert of_run["resource"]["prefect.resource.id"] == "automl.problem.beans"
    assert of_run["payload"]["model"] == "beans/3"
    assert of_run["payload"]["difference"] == 0.25
    assert of_command["payload"].keys() == of_run["payload"].keys()
    assert of_command["payload"]["champion"] == "beans/3"
    assert "not proven better" in artifact["data"]
    rows = history(home, "beans")
    assert [row["model"] for row in rows] == ["beans/3@champion", "beans/2@challenger"]
    assert (rows[0]["look"], rows[0]["pvalue"], rows[0]["reason"]) == (2, 0.01, "better")


def _events(api: str, n_least: int) -> list[dict[str, Any]]:
    """Events of promotions that the server has kept; none before there are so many."""
    chosen = {"filter": {"event": {"name": [PROMOTED_EVENT]}}}
    answer = httpx.post(f"{api}/events/filter", json=chosen, timeout=ANSWER_SECONDS)
    events = list(answer.json()["events"])
    return events if len(events) >= n_least else []


@pytest.mark.parametrize(
    ("url", "is_left"), [("", False), ("http://127.0.0.1:9/api", True)], ids=["none", "away"]
)
def test_a_server_that_is_away_is_told_later_and_without_one_nobody_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, *, is_left: bool
) -> None:
    home = Home(tmp_path / "home")
    monkeypatch.setattr(promotion_events, "emitter", lambda *_: pytest.fail("nobody is there"))
    monkeypatch.setenv("PREFECT_API_URL", url)
    note_champion(home.path, champion_of("3"))
    tell_new_champions(home)
    assert has_new_champions(home.path) is is_left


def test_each_new_champion_is_taken_once_and_a_damaged_note_by_nobody(tmp_path: Path) -> None:
    for version in "12":
        note_champion(tmp_path, champion_of(version, reason="better"))
    (tmp_path / "new-champions" / "0.json").write_text("{")
    assert [new.model for new in take_new_champions(tmp_path)] == ["beans/1", "beans/2"]
    assert take_new_champions(tmp_path) == []
    assert not has_new_champions(tmp_path)


def champion_of(version: str, **promotion: Any) -> NewChampion:
    return NewChampion("beans", f"beans/{version}", f"run-{version}", promotion)


@pytest.mark.parametrize("command", ["rollback", "sync"])
def test_a_command_that_moves_the_alias_tells_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    def move(*_: Any, **__: Any) -> Any:
        note_champion(home.path, champion_of("1"))
        return SyncSummary() if command == "sync" else ("2", "1")

    home, told = Home(tmp_path), []
    monkeypatch.setattr(f"automl.tracking.{MOVERS[command]}", move)
    monkeypatch.setattr("automl.tracking.model_registry.list_versions", lambda *_: [])
    monkeypatch.setattr(promotion_events, "running_api", lambda _: "http://prefect/api")
    monkeypatch.setattr(promotion_events, "answers", lambda *_: True)
    monkeypatch.setattr(
        promotion_events, "emitter", lambda name: lambda *said: told.append((name, *said))
    )
    arguments = ["beans"] if command == "rollback" else []
    assert cli.run([command, *arguments, "--home", str(tmp_path)]) == 0
    ((problem, event, payload),) = told
    assert (problem, event, payload["model"]) == ("beans", PROMOTED_EVENT, "beans/1")


MOVERS = {"rollback": "model_registry.rollback", "sync": "synchronization.sync"}
