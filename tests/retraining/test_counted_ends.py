"""A file is blamed for runs that it broke or that were killed, not for those that a service ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import State, flow, get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import (
    AwaitingRetry,
    Cancelled,
    Crashed,
    Failed,
    Pending,
    Running,
)

from automl.errors import ServiceError
from automl_flows.services.drop_runs import MOST_CRASHES, SHUTDOWN, DropRuns, RunNow
from automl_flows.services.end_states import BROKEN

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@flow(name="counted")
def counted() -> None:
    pass


class OneRun:
    """A flow run on a real server, which the test leads through its states."""

    def __init__(self) -> None:
        with get_client(sync_client=True) as client:
            self.id = str(client.create_flow_run(counted).id)

    def attempt(self, end: State[Any], *, after: State[Any] | None = None) -> RunNow:
        """State after one more attempt that ended so; `after` is one that it came into just before."""
        begun = [Pending(), Running()]
        with get_client(sync_client=True) as client:
            for state in [*begun, *([after] if after else []), end]:
                client.set_flow_run_state(UUID(self.id), state, force=True)
        return self.now

    @property
    def now(self) -> RunNow:
        now = DropRuns("counted/x").state(self.id)
        assert now is not None
        return now


def test_a_server_that_answers_but_knows_nothing_of_ours_is_waited_for(prefect_url: str) -> None:
    stranger = str(uuid4())
    with temporary_settings({PREFECT_API_URL: prefect_url}):
        runs = DropRuns("nobody/registered-this")
        with pytest.raises(ServiceError, match="has no deployment nobody/registered-this"):
            runs.begin("digest", {"table": "a.csv"}, n_set_aside=0)
        with pytest.raises(ServiceError, match=f"has no flow run {stranger}"):
            runs.again(stranger)
        assert runs.state(stranger) is None


@pytest.fixture
def run(prefect_url: str) -> Any:
    with temporary_settings({PREFECT_API_URL: prefect_url}):
        yield OneRun()


def test_attempts_that_a_service_ended_do_not_count_against_the_file(run: OneRun) -> None:
    for _ in range(4):
        run.attempt(AwaitingRetry(scheduled_time=datetime.now(UTC)))
    run.attempt(Failed(message="ServiceError: away"))
    broken = run.attempt(Failed(name=BROKEN, message="no luck"))
    assert (broken.n_begun, broken.n_alike) == (6, 1)
    assert not broken.refusal
    again = run.attempt(Failed(name=BROKEN, message="no luck"))
    assert again.refusal == "its run failed 2 times: no luck"


def test_runs_that_were_stopped_with_the_service_are_not_killed_by_the_file(run: OneRun) -> None:
    for _ in range(MOST_CRASHES):
        run.attempt(Cancelled(message=SHUTDOWN))
        run.attempt(Cancelled(message=SHUTDOWN), after=Crashed(message="signal 15"))
        run.attempt(Crashed(message="signal 15"), after=Cancelled(message=SHUTDOWN))
    assert not run.now.refusal
    for _ in range(MOST_CRASHES - 1):
        assert not run.attempt(Crashed(message="signal 9")).refusal
    now = run.attempt(Crashed(message="signal 9"))
    assert now.refusal == f"its run was killed {MOST_CRASHES} times: signal 9"
