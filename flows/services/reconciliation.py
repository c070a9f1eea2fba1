"""Lets Prefect's page say of every run what its folder says.

Each attempt at a run (`automl.run_state`) is one flow run with two tags: the run's id and
``attempt N``. The flow's own end normally says the same as the folder. It does not where the server
came too late, ended before the run, or where the driver was killed; `reconcile` then makes the flow
run, sets its final state, and on our own server the true times. With a driver that was killed, the flows
that had called it in the same process are over as well. What was settled is noted in
``orchestrator.json`` of the run folder and not looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from typing import Any

from automl.addresses import public_address
from automl.errors import AutoMLError
from automl.flow_run_notes import LOCAL, FlowRunNote, latest_note, read_notes, write_notes
from automl.home import Home, RunFolder
from automl.run_state import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    KILLED,
    RUNNING,
    Attempt,
    attempts_of,
    state_of,
)
from automl.tracking.layout import problem_name
from automl_flows.services.prefect_api import PrefectAPI, given_url
from automl_flows.services.server import OPEN_STATES
from automl_flows.services.standing import read_services

FLOW = "automl-train"
SECONDS = 5.0
"""Time for all runs together: one takes some 50 ms, and a command's end must not wait for long."""

MOST_FLOW_RUNS = 20
"""Most flow runs of one attempt; there is one, unless two servers of one database made it at once."""

MOST_PARENTS = 5
"""Flows around flows in one process; ours have one."""

SAME_SECONDS = 1.0
"""Tolerated difference of two times."""

FINAL_STATES: dict[str, tuple[str, ...]] = {
    FINISHED: ("COMPLETED",),
    FAILED: ("FAILED", "CRASHED"),
    INTERRUPTED: ("CANCELLED", "CRASHED"),
    KILLED: ("CRASHED", "CANCELLED"),
}
"""Prefect's types that mean what became of an attempt; the first is set where it has none of them."""

FINAL_TYPES = frozenset(chain.from_iterable(FINAL_STATES.values()))
"""Prefect's types of what is over."""


def run_tags(folder: RunFolder) -> tuple[str, str]:
    """Tags of the flow run of a run's present attempt."""
    return _tags(folder, len(attempts_of(folder.read_facts())))


def note_attempt(folder: RunFolder, server: str) -> None:
    """Note that the present attempt at a run belongs on the page of `server`."""
    notes = read_notes(folder)
    write_notes(folder, {**notes, len(attempts_of(folder.read_facts())): FlowRunNote(server)})


def note_flow_run(folder: RunFolder, flow_run: str, page: str | None) -> None:
    """Note which flow run the present attempt is.

    Parameters
    ----------
    page : its address, which is kept where its server outlives the command
    """
    notes = read_notes(folder)
    number = len(attempts_of(folder.read_facts()))
    note = notes.get(number)
    if note is not None:
        lasts = note.server != LOCAL or _standing_url(folder) is not None
        noted = replace(note, flow_run=flow_run, page=public_address(page or "") if lasts else "")
        write_notes(folder, {**notes, number: noted})


def prefect_link(folder: RunFolder) -> str:
    """Address of a run's own page, of its last attempt; the flow run's id where no page stands.

    Empty while no flow run is known.
    """
    note = latest_note(folder)
    if note is None:
        return ""
    if note.server != LOCAL:
        return public_address(note.page) or note.flow_run
    url = _standing_url(folder)
    return note.flow_run if url is None else f"{url}/runs/flow-run/{note.flow_run}"


def _standing_url(folder: RunFolder) -> str | None:
    """Page of the server that `automl up` keeps for the home of a run; None if it does not stand."""
    service = read_services(folder.path.parent.parent).get("prefect")
    return None if service is None else service.url


def server_name(home: Home, api: PrefectAPI | None = None) -> str:
    """`LOCAL` if this API, by default the one that is given, stores into the home's database."""
    api = api or PrefectAPI(given_url())
    with suppress(OSError, TypeError, ValueError, KeyError):
        if api.get("automl/folder")["folder"] == str(home.path / "prefect"):
            return LOCAL
    return public_address(api.url)


def reconcile(home: Home, api: PrefectAPI, *, seconds: float = SECONDS) -> int:
    """Settle all flow runs that are not settled yet and belong on this server.

    What cannot be done now, because the server is too slow or a run is going on, is left to the
    next call.

    Parameters
    ----------
    seconds : after which no further run is begun

    Returns
    -------
        How many attempts were settled.
    """
    deadline = time.monotonic() + seconds
    page = _Page(home, api)
    n_settled = 0
    for folder in reversed(home.run_folders()):
        notes = read_notes(folder)
        if all(note.is_settled for note in notes.values()):
            continue
        if time.monotonic() > deadline:
            break
        try:
            n_settled += page.settle(folder, notes)
        except OSError:
            break  # the server is away or too slow
        except AutoMLError:
            continue  # run.json is damaged
    return n_settled


class _Page:
    """The flow runs of one server."""

    def __init__(self, home: Home, api: PrefectAPI) -> None:
        self._home, self._api = home, api

    @cached_property
    def name(self) -> str:
        """As `server_name` gives it."""
        return server_name(self._home, self._api)

    def settle(self, folder: RunFolder, notes: Mapping[int, FlowRunNote]) -> int:
        """Settle what this run has on this page; how many attempts."""
        facts = folder.read_facts()
        open_here = {
            n for n, note in notes.items() if note.server == self.name and not note.is_settled
        }
        settled: dict[int, FlowRunNote] = {}
        for number, attempt in enumerate(state_of(folder, facts).attempts, 1):
            if number in open_here and attempt.status != RUNNING:
                flow_run = self._settle_attempt(folder, facts, number, attempt)
                known = notes[number].flow_run or flow_run
                settled[number] = replace(notes[number], is_settled=True, flow_run=known)
        if settled:
            write_notes(folder, {**notes, **settled})
        return len(settled)

    def _settle_attempt(
        self, folder: RunFolder, facts: Mapping[str, Any], number: int, attempt: Attempt
    ) -> str:
        """Let the flow runs of an attempt say what the folder says; id of the first one."""
        tags = _tags(folder, number)
        wanted = FINAL_STATES[attempt.status]
        here = {"flow_runs": {"tags": {"all_": tags}}, "limit": MOST_FLOW_RUNS}
        found = self._api.post("flow_runs/filter", here)
        flow_runs = found or [self._new(folder, facts, tags)]
        for flow_run in flow_runs:
            message = f"{attempt.status}, as {folder.path} says; the flow could not tell"
            self._end_tasks(flow_run["id"], wanted[0], message)
            if flow_run["state_type"] not in wanted:
                self._set_state(flow_run["id"], wanted[0], message)
            if self.name == LOCAL and not _has_times(flow_run, attempt):
                self._set_times(flow_run["id"], attempt)
            if attempt.status == KILLED:
                self._end_parents(flow_run, folder, attempt)
        return str(flow_runs[0]["id"])

    def _end_parents(
        self, flow_run: Mapping[str, Any], folder: RunFolder, attempt: Attempt
    ) -> None:
        """Let the flow runs end that called this one in its process, which was killed.

        A flow run of a deployment has a process of its own, and its caller may live on.
        """
        message = f"{KILLED} with run {folder.path}; the flow could not tell"
        for _ in range(MOST_PARENTS):
            if not flow_run.get("parent_task_run_id") or flow_run.get("deployment_id"):
                return
            called_by = {"task_runs": {"id": {"any_": [flow_run["parent_task_run_id"]]}}}
            parents = self._api.post("flow_runs/filter", {**called_by, "limit": 1})
            if not parents:
                return
            flow_run = parents[0]
            if flow_run["state_type"] not in FINAL_TYPES:
                self._set_state(flow_run["id"], FINAL_STATES[KILLED][0], message)
                if self.name == LOCAL and flow_run.get("start_time"):
                    began = datetime.fromisoformat(flow_run["start_time"]).timestamp()
                    self._set_times(flow_run["id"], replace(attempt, began=began))

    def _new(
        self, folder: RunFolder, facts: Mapping[str, Any], tags: Iterable[str]
    ) -> dict[str, Any]:
        """The flow run of an attempt that no server heard of."""
        body = {
            "flow_id": self._api.post("flows/", {"name": FLOW})["id"],
            "name": f"{problem_name(facts)} {folder.run_id}",
            "parameters": {"settings": facts["settings"], "run": str(folder.path)},
            "tags": list(tags),
            "idempotency_key": " ".join(tags),  # two commands may come to it at once
            "state": {"type": "PENDING"},
        }
        made: dict[str, Any] = self._api.post("flow_runs/", body)
        self._set_state(made["id"], "RUNNING", "")  # so that it has a start
        return {**made, "state_type": "RUNNING"}

    def _end_tasks(self, flow_run: str, kind: str, message: str) -> None:
        """Set the tasks that the flow has left open to the state of the flow run."""
        of_flow = {"flow_runs": {"id": {"any_": [flow_run]}}}
        open_only = {"task_runs": {"state": {"type": {"any_": OPEN_STATES}}}}
        for task_run in self._api.post("task_runs/filter", {**of_flow, **open_only}):
            self._set_state(task_run["id"], kind, message, what="task_runs")

    def _set_state(self, run: str, kind: str, message: str, *, what: str = "flow_runs") -> None:
        state = {"type": kind, "message": message or None}
        self._api.post(f"{what}/{run}/set_state", {"state": state, "force": True})

    def _set_times(self, flow_run: str, attempt: Attempt) -> None:
        assert attempt.ended is not None  # a running attempt is not settled
        times = {"start": _moment(attempt.began), "end": _moment(attempt.ended)}
        path = f"automl/flow_runs/{flow_run}/times"
        self._api.post(path, {**times, "seconds": attempt.seconds})


def _has_times(flow_run: Mapping[str, Any], attempt: Attempt) -> bool:
    """Whether Prefect's own times are near enough."""
    pairs = (("start_time", attempt.began), ("end_time", attempt.ended or 0.0))
    return all(
        flow_run.get(name)
        and abs(datetime.fromisoformat(flow_run[name]).timestamp() - moment) <= SAME_SECONDS
        for name, moment in pairs
    )


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _tags(folder: RunFolder, number: int) -> tuple[str, str]:
    return folder.run_id, f"attempt {number}"
