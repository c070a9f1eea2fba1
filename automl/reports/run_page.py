"""The report of a run: one page about what it found, from its folder alone."""

from __future__ import annotations

import time
from pathlib import Path

from automl.durable import write_whole
from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.model import TableModel
from automl.reports.figure import number
from automl.reports.judged import plan_of
from automl.reports.page import Page, render
from automl.reports.run_choices import RunChoices, choices_of
from automl.reports.sections.answer import answer
from automl.reports.sections.behavior import behavior
from automl.reports.sections.choice import choice
from automl.reports.sections.data import data
from automl.reports.sections.defaults import defaults
from automl.reports.sections.members import ensemble
from automl.reports.sections.repeating import repeating
from automl.reports.sections.tried import tried
from automl.reports.sections.usage import usage
from automl.run_records.report import PATIENT_SECONDS


def run_page(
    folder: RunFolder, *, seconds: float = PATIENT_SECONDS, model: TableModel | None = None
) -> Page:
    """What there is to say about a run, as far as it got.

    Parameters
    ----------
    seconds : that looking at the deployed model may take
    model : the deployed model; None reads it from its bundle
    """
    choices = choices_of(folder)
    plan, reason = plan_of(folder)
    return Page(
        title=f"{choices.status.problem or choices.run_id}: report of a run",
        subtitle=_subtitle(choices, plan),
        sections=(
            answer(choices, folder),
            choice(choices, folder),
            defaults(choices),
            data(choices, folder, plan, reason),
            tried(choices),
            behavior(choices, folder, plan, reason=reason, seconds=seconds, model=model),
            ensemble(choices, folder, plan),
            usage(choices, folder),
            repeating(choices, folder),
        ),
        footer=(
            f"Made on {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())} from the records of run "
            f"{choices.run_id}. This file loads nothing from anywhere."
        ),
    )


def write_report(
    folder: RunFolder,
    file: Path,
    *,
    seconds: float = PATIENT_SECONDS,
    model: TableModel | None = None,
) -> None:
    """Write the report of a run; a file that is there is replaced when the new one is whole.

    Parameters
    ----------
    seconds, model : see `run_page`

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    text = render(run_page(folder, seconds=seconds, model=model))
    write_whole(file, [text.encode()], "the report")


def _subtitle(choices: RunChoices, plan: EvaluationPlan | None) -> str:
    data = choices.facts.get("data") or {}
    if not data:
        return f"Run {choices.run_id}, {choices.status.status}"
    classes, rows = data.get("classes"), number(data.get("rows"))
    target = f"one of {len(classes)} classes" if classes else "a number"
    columns = "" if plan is None else f" from {len(plan.table.schema.columns)} columns"
    return f"Run {choices.run_id}: {data.get('target')}, {target},{columns} of {rows} training rows"
