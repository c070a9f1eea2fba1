"""Tasks of a training run: one for each stage of the table, and one for each family's search.

Each takes a reference to the run, which any process can open, makes one call into `automl`, and
returns a small record. The run's journal and stage records are the truth, so nothing is cached or
persisted here: a task whose stage is finished returns the existing record at once.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import task_run
from prefect.states import Completed

from automl.run.stage_table import stage_named
from automl.stages.line import RunReference
from automl_tasks.family_state import FamilyState
from automl_tasks.run_slots import run_slots

Facts = dict[str, Any]
"""Plain JSON, as Prefect shows it."""


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="read and check")
def read_and_check(run: RunReference) -> Facts:
    """Findings about the table, with a note for everything dropped or noticed."""
    with run.opened(run_slots) as line:
        facts: Facts = line.session.folder.read_facts()["data"]
    logger = get_run_logger()
    logger.info("%s rows, %s columns, %s", facts["rows"], facts["columns"], facts["task"])
    for note in facts["notes"]:
        logger.info(note)
    return facts


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="search {family}")
def search_family(run: RunReference, family: str) -> State[Facts]:
    """Take one family's turns until it gets no more; the name of the state says what came of it.

    The task is Running while a trial of the family runs or waits for a worker.
    """
    with run.opened(run_slots) as line:
        findings = line.search_family(family, see=FamilyState().see)
    get_run_logger().info("%s: %s", family, findings.sentence)
    name = "Completed" if findings.complete else "No complete trial"
    return Completed(name=name, message=findings.sentence, data=asdict(findings))


def _title() -> str:
    return stage_named(task_run.parameters["name"]).title


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name=_title)
def make_stage(run: RunReference, name: str) -> str:
    """Make one stage of the table; its record in a sentence."""
    with run.opened(run_slots) as line:
        sentence = line.record(stage_named(name).record).sentence
    get_run_logger().info(sentence)
    return sentence


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="register model")
def register_model(run: RunReference) -> Facts:
    """Complete the run in the tracking store and register the model."""
    with run.opened(run_slots) as line:
        told = line.registration()
    get_run_logger().info("registration: %s %s", told.status, told.reason)
    return dict(told.__dict__)
