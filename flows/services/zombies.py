"""The automation that closes flow runs whose process is gone: Prefect leaves them running for ever.

A flow run sends heartbeats while its process lives. The automation takes one for dead that sent some and
then neither another nor an end for `SILENT_SECONDS`, and sets it to Crashed. It can be wrong: a
machine that slept, or a server that was away, loses heartbeats too. Then nothing is lost: the process
sets the true state at its end, and what was begun again meanwhile finds its content known.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

HEARTBEAT_SECONDS = 30
"""Between heartbeats; Prefect's least."""
SILENT_SECONDS = 300
"""Ten heartbeats in a row: a busy machine or a restarted server loses some."""
NAME = "automl: close runs whose process is gone"
TAG = "automl"
"""Of the flow runs that are meant."""
_ENDS = ("Completed", "Failed", "Cancelled", "Crashed", "AwaitingRetry", "Paused", "Suspended")


def zombie_automation() -> Any:
    """The automation, as it is to be on a server."""
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
        within=timedelta(seconds=SILENT_SECONDS),
    )
    message = f"no heartbeat for {SILENT_SECONDS} s: its process is gone"
    action = ChangeFlowRunState(state=StateType.CRASHED, message=message)
    return AutomationCore(name=NAME, trigger=trigger, actions=[action], tags=[TAG])


def close_zombies() -> None:
    """Put the automation on the server of the settings, in place of an older one."""
    from prefect.client.orchestration import get_client

    wanted = zombie_automation()
    with get_client(sync_client=True) as client:
        for old in client.read_automations_by_name(NAME):
            client.delete_automation(old.id)
        client.create_automation(wanted)
