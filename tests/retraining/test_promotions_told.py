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
from automl_flows import retrain_flows
from automl_flows.promotions import PROMOTED_EVENT, history, tell_promotion
from automl_flows.retrain_flows import retrain_flow, retraining_state
from automl_flows.retraining import Retraining
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
            taken = finished(
                home, "beans/3@champion", promote=True, reason="better",
                score=0.75, champion_score=0.5, pvalue=0.01, level=0.02, look=2, rule="superior",
            )  # fmt: skip
            flow(tell_promotion, validate_parameters=False)(kept, home, key="beans")
            flow(tell_promotion, validate_parameters=False)(taken, home, key="beans")
            events = until(lambda: _events(server.api_url), pause=0.5)
            address = f"{server.api_url}/artifacts/retrainings-beans/latest"
            artifact = httpx.get(address, timeout=ANSWER_SECONDS).json()
    finally:
        stop_services(home.path)
    (event,) = events
    assert event["resource"]["prefect.resource.id"] == "automl.problem.beans"
    assert event["payload"]["model"] == "beans/3"
    assert event["payload"]["difference"] == 0.25
    assert "not proven better" in artifact["data"]
    rows = history(home, "beans")
    assert [row["model"] for row in rows] == ["beans/3@champion", "beans/2@challenger"]
    assert (rows[0]["look"], rows[0]["pvalue"], rows[0]["reason"]) == (2, 0.01, "better")


def _events(api: str) -> list[dict[str, Any]]:
    """Events of promotions that the server has kept."""
    chosen = {"filter": {"event": {"name": [PROMOTED_EVENT]}}}
    answer = httpx.post(f"{api}/events/filter", json=chosen, timeout=ANSWER_SECONDS)
    return list(answer.json()["events"])
