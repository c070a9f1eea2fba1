"""Routes that our own Prefect server adds to Prefect's API: its owner, and the real times of runs.

Prefect stamps every state with the moment in which it hears of it, and its API takes no other time.
A run begins before its server is up, may outlive it, and is then told of later: the true times can
only be written by the server itself. Other servers do not have these paths and answer 404.
"""

from __future__ import annotations

from datetime import UTC, timedelta
from uuid import UUID

import sqlalchemy as sa
from fastapi import APIRouter, FastAPI
from prefect.server.database import provide_database_interface
from prefect.settings import PREFECT_HOME
from pydantic import AwareDatetime, BaseModel

router = APIRouter(prefix="/automl")


class Times(BaseModel):
    """When a flow run was, and how long it was running."""

    start: AwareDatetime
    end: AwareDatetime
    seconds: float


@router.get("/folder")
async def folder() -> dict[str, str]:
    """The folder of this server's database."""
    return {"folder": str(PREFECT_HOME.value())}


@router.post("/flow_runs/{flow_run}/times")
async def set_times(flow_run: UUID, times: Times) -> dict[str, int]:
    """Replace the times of a flow run; how many there were with this id."""
    database = provide_database_interface()
    table = database.FlowRun
    change = sa.update(table).where(table.id == flow_run)
    async with database.session_context(begin_transaction=True) as session:
        changed = await session.execute(
            change.values(
                start_time=times.start.astimezone(UTC),
                end_time=times.end.astimezone(UTC),
                total_run_time=timedelta(seconds=times.seconds),
            )
        )
    return {"changed": changed.rowcount}


def add_history(app: FastAPI) -> None:
    """Let Prefect's application answer these paths below its API."""
    app.api_app.include_router(router)  # type: ignore[attr-defined] # set by Prefect
