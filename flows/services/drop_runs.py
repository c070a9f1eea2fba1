"""The flow runs for what arrived, as Prefect knows them: one for each content, by its idempotency key.

The key is stored with the flow run, so each content has one, after a restart of the service too, with
two services of one problem, and whichever work pool does the work. A run that was killed or could
not reach a service is begun again as the same flow run. A content that was set aside and arrives again
has another key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from automl.addresses import public_text
from automl.errors import ServiceError
from automl_flows.services.end_states import BROKEN, REFUSED

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

SHUTDOWN = "Runner is shutting down."
"""What Prefect's runner says of runs that it stops with itself."""
MOST_CRASHES = 4
"""A file that takes the process down each time must not do so for ever."""
MOST_BROKEN = 2
"""Runs of a file that may end by an unknown error: a passing cause may be gone."""
FIRST_WAIT_SECONDS = 30.0
"""Before a run is begun again; twice as long each time."""
LONGEST_WAIT_SECONDS = 3600.0
"""A service that was away for a day is found again within this time."""
PENDING_SECONDS = 900.0
"""A run whose runner died as it was to begin stays pending; the slowest machines need less to begin one."""


@dataclass(frozen=True)
class RunNow:
    """State of a flow run.

    Parameters
    ----------
    kind : type of its state, in small letters
    name : of its state
    message : one sentence
    n_begun : how often it was begun
    n_alike
        How often it has ended in such a state; an attempt that was stopped with the service does not count. 0 before an end.
    at : when it came into this state
    """

    kind: str
    name: str
    message: str
    n_begun: int
    n_alike: int
    at: datetime

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it by itself."""
        return self.kind in ("completed", "failed", "crashed", "cancelled")

    @property
    def refusal(self) -> str:
        """Why its file is to be set aside, in a sentence; empty if it is not."""
        if self.kind == "failed" and self.name == REFUSED:
            return self.message
        if self.kind == "failed" and self.name == BROKEN and self.n_alike >= MOST_BROKEN:
            return f"its run failed {self.n_alike} times: {self.message}"
        if self.kind == "crashed" and self.n_alike >= MOST_CRASHES:
            return f"its run was killed {self.n_alike} times: {self.message}"
        return ""

    @property
    def is_due_again(self) -> bool:
        """Whether it is to be begun once more, now."""
        waited = datetime.now(UTC) - self.at
        if self.kind == "pending":
            return waited > timedelta(seconds=PENDING_SECONDS)
        if self.kind == "cancelled":
            return SHUTDOWN in self.message  # one that somebody stopped stays stopped
        if self.kind not in ("failed", "crashed") or self.refusal:
            return False
        wait = min(FIRST_WAIT_SECONDS * 2.0 ** max(0, self.n_begun - 1), LONGEST_WAIT_SECONDS)
        return waited > timedelta(seconds=wait)


class DropRuns:
    """Flow runs of one deployment.

    Parameters
    ----------
    deployment : ``FLOW/DEPLOYMENT``
    """

    def __init__(self, deployment: str) -> None:
        self._deployment = deployment

    def begin(self, digest: str, parameters: dict[str, Any], *, n_set_aside: int) -> str:
        """Id of the flow run for a content, which is begun if there is none.

        Parameters
        ----------
        n_set_aside
            How often the content was set aside before: if it arrives again, that is a new try.

        Raises
        ------
        ServiceError
            If the Prefect server is away or does not know the deployment.
        """
        from prefect.deployments import run_deployment

        once_more = f" {n_set_aside}" if n_set_aside else ""
        with reaching_server(missing=f"it has no deployment {self._deployment}"):
            run: Any = run_deployment(
                self._deployment,
                parameters={**parameters, "digest": digest},
                timeout=0,
                as_subflow=False,
                idempotency_key=f"{self._deployment} {digest}{once_more}",
            )
        return str(run.id)

    def state(self, run: str) -> RunNow | None:
        """State of a run; None if it is gone.

        Raises
        ------
        ServiceError
            If the Prefect server is away.
        """
        from prefect.exceptions import ObjectNotFound

        with reaching_server(), _client() as client:
            try:
                found = client.read_flow_run(UUID(run))
            except ObjectNotFound:
                return None
            has_ended = found.state is not None and found.state.is_final()
            history = client.read_flow_run_states(UUID(run)) if has_ended else []
        state = found.state
        if state is None:
            return RunNow("scheduled", "", "", 0, 0, datetime.now(UTC))
        text = " ".join((state.message or "").split())
        kind = str(state.type.value).lower()
        n_alike = _n_alike(state, history)
        return RunNow(kind, str(state.name), text, found.run_count, n_alike, state.timestamp)

    def again(self, run: str) -> None:
        """Let a run that is over be done once more.

        Raises
        ------
        ServiceError
            If the Prefect server is away or does not know the run.
        """
        from prefect.states import AwaitingRetry

        with reaching_server(missing=f"it has no flow run {run}"), _client() as client:
            client.set_flow_run_state(UUID(run), AwaitingRetry(scheduled_time=datetime.now(UTC)))


def _n_alike(state: State[Any], history: Iterable[State[Any]]) -> int:
    """How many attempts of a run ended as in this state; Prefect's own count holds those that a service ended too."""
    in_time = sorted(history, key=lambda each: each.timestamp)
    ends = [
        list(streak)
        for is_end, streak in groupby(in_time, key=lambda each: each.is_final())
        if is_end
    ]
    return sum(
        (streak[-1].type, streak[-1].name) == (state.type, state.name)
        and not any(SHUTDOWN in (each.message or "") for each in streak)
        for streak in ends
    )


def _client() -> Any:
    from prefect.client.orchestration import get_client

    return get_client(sync_client=True)


@contextmanager
def reaching_server(missing: str = "it does not know what was asked for") -> Iterator[None]:
    """Errors of Prefect's client become ours.

    Parameters
    ----------
    missing : what to say if the server answers but does not know what the request names

    Raises
    ------
    ServiceError
        If the Prefect server is away, refuses, or does not know what the request names.
    """
    import httpx
    from prefect.exceptions import ObjectNotFound, PrefectException

    try:
        yield
    except ObjectNotFound:
        raise ServiceError(f"the Prefect server cannot be used: {missing}") from None
    except (PrefectException, httpx.HTTPError, OSError) as error:
        reason = public_text(str(error))
        raise ServiceError(f"the Prefect server cannot be used: {reason}") from None


Emit = Callable[[str, Mapping[str, Any]], None]


def emitter(problem: str) -> Emit:
    """Tells Prefect of what happens to a problem or its files: an event's name and what it says."""

    def emit(event: str, payload: Mapping[str, Any]) -> None:
        from prefect.events import emit_event

        resource = {
            "prefect.resource.id": f"automl.problem.{problem}",
            "prefect.resource.name": problem,
        }
        emit_event(event=event, resource=resource, payload=dict(payload))

    return emit
