"""Tasks of a training run: one per stage and one per family.

Each takes the run folder as its reference, makes one call into `automl`, and returns a small
record. The run's journal and stage records are the truth, so nothing is cached or persisted here:
a task whose stage is finished returns the existing record at once.
"""

from __future__ import annotations

from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from automl.stages.line import line_of

Record = dict[str, Any]


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="read and check")
def read_and_check(folder: str) -> Record:
    """What was found in the table, with a note for everything dropped or noticed."""
    facts: Record = line_of(folder).session.folder.read_facts()["data"]
    logger = get_run_logger()
    logger.info("%s rows, %s columns, %s", facts["rows"], facts["columns"], facts["task"])
    for note in facts["notes"]:
        logger.info(note)
    return facts


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="search {family}")
def search_family(folder: str, family: str) -> Record:
    """Take one family's turns until the search is over."""
    found = line_of(folder).search_family(family)
    get_run_logger().info("%s: %s", family, found)
    return found


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="end of search")
def end_search(folder: str) -> Record:
    """Summary of all families' trials."""
    found = line_of(folder).end_search()
    get_run_logger().info("%s of %s trials are complete", found["complete"], found["trials"])
    return {"trials": found["trials"], "complete": found["complete"]}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="score candidates")
def score_candidates(folder: str) -> Record:
    """Candidates of every signature on folds that the search never saw."""
    found = line_of(folder).candidates()
    get_run_logger().info("%s candidates were scored", len(found["candidates"]))
    return {"candidates": len(found["candidates"])}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="select champion")
def select_champion(folder: str) -> Record:
    """Statistical selection, leaf to root."""
    found = line_of(folder).selection()
    get_run_logger().info("champion is %s", found["champion"])
    return {"champion": found["champion"], "decisions": len(found["decisions"])}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="build ensemble")
def build_ensemble(folder: str) -> Record:
    """Greedy ensemble, and whether it replaces the champion."""
    found = line_of(folder).ensemble()
    evidence = found["evidence"]
    get_run_logger().info(evidence["reason"] if evidence else "no ensemble was built")
    return {"members": found["members"], "replaced_champion": found["replaced_champion"]}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="honest score")
def estimate_honestly(folder: str) -> Record:
    """The score corrected for the choice, of the champion alone and of the ensemble."""
    found = line_of(folder).honest()
    logger = get_run_logger()
    if found["reason"]:
        logger.info(found["reason"])
    for kind in ("single", "ensemble"):
        if found[kind]:
            logger.info("%s: %s", kind, found[kind])
    return {"chosen": found["chosen"], "n_bootstraps": found["n_bootstraps"]}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="build final model")
def build_final_model(folder: str) -> Record:
    """Bag or refit, written as a bundle and scored on untouched rows."""
    found = line_of(folder).final()
    get_run_logger().info("%s of %s members", found["kind"], len(found["members"]))
    return {"bundle": found["bundle"], "kind": found["kind"], "test": found["test"]}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="register model")
def register_model(folder: str) -> Record:
    """Complete the run in the tracking store and register the model."""
    found = line_of(folder).registration()
    get_run_logger().info("registration: %s %s", found["status"], found["reason"])
    return found
