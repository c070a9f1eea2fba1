"""The automation that closes flow runs whose process is gone: Prefect leaves them running for ever.

A flow run sends heartbeats while its process lives. The automation takes one for dead that sent some and
then neither another nor an end for `SILENT_SECONDS`, and sets it to Crashed. It can be wrong: a
machine that slept, or a server that was away, loses heartbeats too. Then nothing is lost: the process
sets the true state at its end, and what was begun again meanwhile finds its content known.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from automl_flows.services.end_states import OWN_ENDS

HEARTBEAT_SECONDS = 30
"""Between heartbeats; Prefect's least."""
SILENT_SECONDS = 300
"""Ten heartbeats in a row: a busy machine or a restarted server loses some."""
NAME = "automl: close runs whose process is gone"
TAG = "automl"
"""Tag of the flow runs that are meant."""
_ENDS = (
    "Completed",
    "Failed",
    "Cancelled",
    "Crashed",
    "AwaitingRetry",
    "Paused",
    "Suspended",
    *OWN_ENDS,
)
"""Prefect names the event of a state as the state; without it the automation tries to close a run that has ended."""


def zombie_automation(silent_seconds: int = SILENT_SECONDS) -> Any:
    """The automation, as it is to be on a server.

    Parameters
    ----------
    silent_seconds
        Without a heartbeat, until a flow run counts as dead; Prefect takes 10 at least.
    """
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
    from prefect.events.schemas.events import ResourceSpecification

    heartbeat = "prefect.flow-run.heartbeat"
    trigger = EventTrigger(
        after={heartbeat},
        expect={heartbeat, *(f"prefect.flow-run.{end}" for end in _ENDS)},
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        match_related=ResourceSpecification(
            {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
        ),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=silent_seconds),
    )
    message = f"no heartbeat for {silent_seconds} s: its process is gone"
    action = ChangeFlowRunState(state=StateType.CRASHED, message=message)
    return AutomationCore(name=NAME, trigger=trigger, actions=[action], tags=[TAG])


def close_zombies(silent_seconds: int = SILENT_SECONDS) -> None:
    """Put the automation on the server of the settings, in place of an older one; see `zombie_automation`."""
    from prefect.client.orchestration import get_client

    wanted = zombie_automation(silent_seconds)
    with get_client(sync_client=True) as client:
        for old in client.read_automations_by_name(NAME):
            client.delete_automation(old.id)
        client.create_automation(wanted)
