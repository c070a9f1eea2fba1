"""The state of a family's task: Running only while a trial of the family runs, or waits for a worker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from prefect.client.schemas.objects import State, StateType, TaskRun
from prefect.context import TaskRunContext
from prefect.states import Running
from prefect.utilities.engine import emit_task_run_state_change_event

from automl.search.spells import Spell

WAITING = "Waiting for a turn"
LEAST_STEP = timedelta(microseconds=1)
"""Between two states: Prefect keeps a state only if it is later than the one before."""
SAME_MOMENT_SECONDS = 1e-3
"""Between readings of two clocks: in more the process has waited for a core, and they differ by that."""


class FamilyState:
    """Tells Prefect when the family of the task that runs here had trials, with the true times.

    It tells as Prefect's engine tells of a task's begin and end: by events that a thread sends, so that a
    server that is slow or away delays nothing. Outside of a task run nothing is reported.
    """

    def __init__(self) -> None:
        self._n_over = 0

    def see(self, spells: Sequence[Spell]) -> None:
        """Tell of the spells that have begun or ended.

        Parameters
        ----------
        spells
            All of the family so far.
        """
        context = TaskRunContext.get()
        if context is None:
            return
        task_run, now = context.task_run, time.monotonic()
        for spell in spells[self._n_over :]:
            if not _is_running(task_run):
                _set_state(task_run, Running(), spell.began)
            if spell.ended is None or not spell.is_over(now):
                return
            _set_state(task_run, _waiting(), spell.ended)
            self._n_over += 1
        if _is_running(task_run):  # all its trials are of an earlier process
            _set_state(task_run, _waiting(), now)


def _waiting() -> State[None]:
    return State(type=StateType.PAUSED, name=WAITING)


def _is_running(task_run: TaskRun) -> bool:
    return task_run.state is not None and task_run.state.is_running()


def _set_state(task_run: TaskRun, state: State[None], moment: float) -> None:
    """Put a task run into a state that began at a moment of `time.monotonic`, and send it."""
    before = task_run.state
    assert before is not None  # the engine has set one
    state.timestamp = max(_wall_clock(moment), before.timestamp + LEAST_STEP)
    state.state_details.task_run_id = task_run.id
    state.state_details.flow_run_id = task_run.flow_run_id
    if before.is_running():
        task_run.total_run_time += state.timestamp - before.timestamp
    task_run.state, task_run.state_id = state, state.id
    task_run.state_type, task_run.state_name = state.type, state.name
    emit_task_run_state_change_event(task_run, before, state)


def _wall_clock(moment: float) -> datetime:
    """A moment of `time.monotonic` by the calendar; both clocks are read until they belong together."""
    while True:
        before = time.monotonic()
        now = datetime.now(UTC)
        if time.monotonic() - before < SAME_MOMENT_SECONDS:
            return now - timedelta(seconds=before - moment)
