"""Tasks of a training run: one for each stage of the table, and one for each family's search.

Each takes a reference to the run, which any process can open, makes one call into `automl`, and
returns a small record. The run's journal and stage records are the truth, so nothing is cached or
persisted here: a task whose stage is finished returns the existing record at once.
"""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any, TypeVar

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.runtime import task_run
from prefect.states import Completed

from automl.data_facts import learned_columns
from automl.run.stage_table import stage_named
from automl.stages.line import RunReference
from automl_tasks.family_state import FamilyState
from automl_tasks.run_slots import run_slots

Facts = dict[str, Any]
"""Plain JSON, as Prefect shows it."""
T = TypeVar("T")
REGISTRATION_STATES = {"done": "Registered", "pending": "Registration pending", "off": "Completed"}
NAME_LETTERS = 60
"""Of what a task came to, in its name: what Prefect's graph shows beside it (by judgement)."""


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="read and check")
def read_and_check(run: RunReference) -> State[Facts]:
    """Findings about the table, with a note for everything dropped or noticed."""
    with run.opened(run_slots) as line:
        facts: Facts = line.session.folder.read_facts()["data"]
    logger = get_run_logger()
    for note in facts["notes"]:
        logger.info(note)
    return _ended(f"{facts['rows']} rows, {learned_columns(facts)} columns, {facts['task']}", facts)


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="search {family}")
def search_family(run: RunReference, family: str) -> State[Facts]:
    """Take one family's turns until it gets no more; the name of the state says what came of it.

    The task is Running while a trial of the family runs or waits for a worker.
    """
    with run.opened(run_slots) as line:
        findings = line.search_family(family, see=FamilyState().see)
    name = "Completed"
    if not findings.complete:
        name = "No complete trial" if findings.trials else "No trial"
    return _ended(findings.sentence, asdict(findings), name=name)


def _title() -> str:
    return stage_named(task_run.parameters["name"]).title


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name=_title)
def make_stage(run: RunReference, name: str) -> State[str]:
    """Make one stage of the table; its record in a sentence."""
    with run.opened(run_slots) as line:
        sentence = line.record(stage_named(name).record).sentence
    return _ended(sentence, sentence)


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="register model")
def register_model(run: RunReference) -> State[Facts]:
    """Complete the run in the tracking store and register the model."""
    with run.opened(run_slots) as line:
        told = line.registration()
    name = REGISTRATION_STATES[told.status]
    return _ended(told.registered or told.reason or told.status, dict(told.__dict__), name=name)


def _ended(sentence: str, data: T, *, name: str = "Completed") -> State[T]:
    """The last state of the task that runs here; from now on its name also says what it came to.

    The state's event brings the name to the server, so that there is no request that could be waited for.
    """
    get_run_logger().info(sentence)
    context = TaskRunContext.get()
    if context is not None:
        told = textwrap.shorten(sentence, NAME_LETTERS, placeholder="…")
        context.task_run.name = f"{context.task_run.name}: {told}"
    return Completed(name=name, message=sentence, data=data)
