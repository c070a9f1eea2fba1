"""The training flow: stages as tasks, one search task per family, artifacts for the pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import flow, get_client
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import State
from prefect.context import TagsContext
from prefect.futures import wait
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.utilities.urls import url_for

from automl.errors import AutoMLError
from automl.home import Home, RunFolder, default_home
from automl.problem_names import problem_name
from automl.records import short_id
from automl.reports.run_progress import progress_of
from automl.run.beginning import begin
from automl.run.session import Session
from automl.run.stage_table import stages_of
from automl.run_state import FINISHED, INTERRUPTED, state_of
from automl.settings import Settings
from automl.stages.line import Line, RunReference, close_line, open_line
from automl_flows.forms import TrainingForm, answers, form_settings
from automl_flows.progress_artifact import ProgressArtifact
from automl_flows.promotions import tell_promotion
from automl_flows.services.reconciliation import (
    note_attempt,
    note_flow_run,
    run_tags,
    server_name,
)
from automl_flows.words.metric_table import metric_lines
from automl_flows.words.result_display import current_links, honest_text, quality_of
from automl_tasks.run_slots import run_slots
from automl_tasks.stages import make_stage, read_and_check, register_model, search_family

MOST_THREADS = 64
"""Most threads of the flow's tasks: every family is one, all waiting at the same time."""
SHOWN_ROWS = 50
"""Rows of the leaderboard on Prefect's page."""


def _run_name() -> str:
    parameters = flow_run.parameters
    problem = problem_name({"table": "table", "target": "target", **_answers(parameters)})
    return f"{problem} {Path(parameters.get('run') or '').name}".strip()


def _answers(parameters: Mapping[str, Any]) -> dict[str, Any]:
    settings = parameters["settings"]
    return settings.model_dump() if isinstance(settings, Settings) else answers(settings)


@flow(
    name="automl-train",
    flow_run_name=_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=MOST_THREADS),  # type: ignore[arg-type]
    persist_result=False,
)
def train_flow(settings: TrainingForm) -> dict[str, Any]:
    """Train, select and register a model for a table.

    Everything is kept in the state folder of this machine: `AUTOML_HOME`, or ./automl-home.

    Parameters
    ----------
    settings
        Everything that decides the outcome.
    """
    session = begin(form_settings(settings), Home(default_home()), make_slots=run_slots)
    try:
        line = open_line(session)
        _tag_flow_run(session)
        try:
            with session.driven():
                line.mirror.start()
                return run_stages(line)
        finally:
            close_line(line)
    finally:
        session.close()
        session.release()


@flow(
    name="automl-train",
    flow_run_name=_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=MOST_THREADS),  # type: ignore[arg-type]
    persist_result=False,
)
def driven_flow(
    settings: Settings,  # noqa: ARG001 - what the page shows of the run
    run: str,
) -> dict[str, Any] | State[dict[str, Any]]:
    """The stages of a run that this process drives already.

    Parameters
    ----------
    settings
        Of the run.
    run
        Its folder.
    """
    try:
        return run_stages(_driven_line(run))
    except AutoMLError as error:
        return _ending_without_the_flow(RunFolder(Path(run)), error)


def _driven_line(run: str) -> Line:
    line = RunReference(run).line
    if line is None:
        raise AutoMLError(f"run {run} is not driven by this process; use `automl resume`")
    return line


def _ending_without_the_flow(folder: RunFolder, error: AutoMLError) -> State[dict[str, Any]]:
    """Result of a run that its driver stopped, or that ended before its slow flow.

    Raises
    ------
    AutoMLError
        `error`, if it is the run's own.
    """
    status = state_of(folder).status
    if status == FINISHED:
        return Completed(message="the run ended without this flow, which was slow")
    if status == INTERRUPTED:
        return Cancelled(message="the run was stopped; `automl resume` continues it")
    raise error


def _tag_flow_run(session: Session) -> None:
    """Name the run to the page: a flow that a deployment began learns of it only now."""
    note_attempt(session.folder, server_name(session.home))
    with get_client(sync_client=True) as client:
        tags = [*flow_run.tags, *run_tags(session.folder)]
        client.update_flow_run(UUID(flow_run.id), tags=tags)


def run_stages(line: Line) -> dict[str, Any]:
    """Every stage as a task; the families side by side.

    The tasks do not have the tags of the flow run: Prefect looks for a limit of concurrency on each tag as a
    task begins, which takes a busy server seconds where they are dear.
    """
    others = TagsContext.get().current_tags - set(run_tags(line.session.folder))
    with TagsContext(current_tags=others):
        return _run_stages(line)


def _run_stages(line: Line) -> dict[str, Any]:
    page = url_for("flow-run", obj_id=flow_run.id)
    note_flow_run(line.session.folder, flow_run.id, page)
    run = RunReference(str(line.session.folder.path))
    key = f"progress-{artifact_key(line.session.settings.problem)}"
    with ProgressArtifact(key, lambda: progress_of(line)):
        read_and_check(run)
        wait([search_family.submit(run, family) for family in line.families_in_turn()])
        for stage in stages_of(line.session.settings):
            make_stage(run, stage.name)
        register_model(run)
        result = line.close().to_json()
    _publish(result, line.session.home)
    return {key: result[key] for key in ("run_id", "problem", "score", "test", "model", "notices")}


def _publish(result: dict[str, Any], home: Home) -> None:
    key = artifact_key(result["problem"])
    folder = home.run(result["run_id"])
    links = current_links(folder, result)  # of MLflow's page too, if `automl up` keeps one
    create_table_artifact(
        table=_leaderboard(result, folder),
        key=f"leaderboard-{key}",
        description=f"Leaderboard of run {folder.run_id}",
    )
    create_markdown_artifact(
        markdown=summary_text({**result, "links": links}),
        key=f"result-{key}",
        description="Model, scores and links",
    )
    page = links.get("run", "")
    if page.startswith("http"):
        create_link_artifact(link=page, link_text="Run in MLflow", key=f"mlflow-{key}")
    if folder.report.is_file():
        create_link_artifact(
            link=folder.report.resolve().as_uri(),
            link_text="Report of the run",
            description=f"A file of the machine that made it; elsewhere: automl report {folder.run_id}",
            key=f"report-{key}",
        )
    tell_promotion(result, home, key=key)


def _leaderboard(result: dict[str, Any], folder: RunFolder) -> list[dict[str, Any]]:
    """The best trials, with one metric in natural units."""
    quality = quality_of(folder, result)
    columns = ("score", "std", "fit_seconds", "predict_ms", "origin", "status")
    rows = []
    for row in result["leaderboard"][:SHOWN_ROWS]:
        told = {"rank": row["rank"], "trial": short_id(row["trial_id"]), "family": row["family"]}
        if quality is not None:
            told[quality.label] = _shown(quality.values.get(row["trial_id"]))
        rows.append({**told, **{column: _shown(row[column]) for column in columns}})
    return rows


def artifact_key(problem: str) -> str:
    """Name of a problem in Prefect's alphabet: lower-case ASCII letters, digits and dashes.

    A name that loses a character ends in a digest, so that two problems never share an artifact.
    """
    key = re.sub("[^a-z0-9]+", "-", problem.lower()).strip("-")
    if key == problem:
        return key
    digest = hashlib.blake2b(problem.encode(), digest_size=3).hexdigest()
    return f"{key}-{digest}".lstrip("-")


def _shown(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def summary_text(result: dict[str, Any]) -> str:
    """The result in a few lines of Markdown."""
    model, champion = result["model"], result["champion"]
    lines = [
        f"# {result['problem']}",
        (
            f"- run `{result['run_id']}`: {result['complete_trials']} complete trials of "
            f"{result['families']} families in {result['seconds']:.0f} s"
        ),
        f"- champion: {champion['family']}, `{champion['trial_id']}`",
        f"- cross-validated score {result['score']:.4f} ({result['metric']})",
    ]
    lines[1:1] = [f"- **attention: {notice}**" for notice in result["notices"]]
    if honest := honest_text(result):
        lines.append(f"- honest score {honest}")
    if result["test"]:
        lines.append(f"- test score {result['test']['score']:.4f} on {result['test']['rows']} rows")
    lines += [f"- {line}" for line in metric_lines(result)]
    lines.append(
        f"- model: {model['kind']} of {len(model['members'])} members, `{model['bundle']}`"
    )
    lines.append(f"- registered: {model['registered'] or model['registration']}")
    if result.get("promotion"):
        lines.append(f"- promotion: {result['promotion']['reason']}")
    lines += [f"- {name}: {link}" for name, link in result["links"].items()]
    lines += [f"- given up: {text}" for text in result["given_up"]]
    lines += [f"- note: {text}" for text in result["warnings"]]
    return "\n".join(lines)
