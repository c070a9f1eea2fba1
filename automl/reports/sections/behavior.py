"""How the model behaves: where it is right, how its probabilities hold, what it makes of its columns."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from automl.data.table import Table
from automl.errors import AutoMLError
from automl.evaluation.plan import EvaluationPlan
from automl.home import Home, RunFolder
from automl.inference.bundle import load_bundle
from automl.inference.manifest import MANIFEST
from automl.inference.model import TableModel
from automl.installation import read_key
from automl.reports.columns import ENOUGH_ROWS, LEAST_ROWS, LookedAt, dependences, importances
from automl.reports.command_line import command
from automl.reports.curves import ConfusionTable, calibration, class_curves, residual_bins
from automl.reports.figure import Figure, number
from automl.reports.figures.columns import dependence, dependence_bounds, importance
from automl.reports.figures.columns import weak_slices as draw_weak_slices
from automl.reports.figures.judging import (
    confusion,
    precision_recall,
    reliability,
    residual_histogram,
    residuals_by_prediction,
    roc,
    true_and_predicted,
)
from automl.reports.judged import JudgedRows, judged_rows
from automl.reports.page import Figures, Heading, Paragraph, Part, Section
from automl.reports.run_choices import RunChoices
from automl.reports.slices import weak_slices
from automl.run_records.report import LOOK_SECONDS, PATIENT_SECONDS

KEY, TITLE = "behavior", "How the model behaves"
NOT_LOOKED_AT = "The deployed model could not be looked at in {} seconds"
"""Beginning of the sentence about a model that is too slow for its seconds."""


def behavior(
    choices: RunChoices,
    folder: RunFolder,
    plan: EvaluationPlan | None,
    *,
    reason: str,
    seconds: float,
    model: TableModel | None = None,
) -> Section:
    """Figures of out-of-fold predictions, and of the deployed model.

    Parameters
    ----------
    plan : table, folds and score; None where they cannot be read
    reason : why not
    seconds : that looking at the deployed model may take
    model : the deployed model; None reads it from its bundle
    """
    if plan is None:
        return Section(KEY, TITLE, (Paragraph(f"Nothing can be shown: {reason}."),))
    parts = (*_judged(choices, folder, plan), *_deployed(choices, folder, plan, seconds, model))
    return Section(KEY, TITLE, parts)


def could_look_longer(page: str, seconds: float) -> bool:
    """Whether a page says that fewer seconds were too few for the deployed model.

    Parameters
    ----------
    page : text of the file
    """
    found = re.search(NOT_LOOKED_AT.format(r"([\d.]+)"), page)
    return found is not None and float(found[1]) < seconds


def _judged(choices: RunChoices, folder: RunFolder, plan: EvaluationPlan) -> Iterator[Part]:
    rows = judged_rows(choices, plan, folder)
    if rows is None:
        yield Paragraph(
            "Predictions of rows that the model had not seen are not kept, so that neither its errors nor its "
            "probabilities can be shown."
        )
        return
    yield Paragraph(rows.source)
    yield Figures(tuple(_figures(rows)))
    found = weak_slices(rows, plan.table.schema)
    if found.found:
        is_classification = rows.labels is not None
        yield Figures((draw_weak_slices(found, is_classification=is_classification),))
    elif found.looked_at:
        yield Paragraph(
            f"No slice of one column is worse than the rest beyond chance: {found.looked_at} slices of "
            f"{number(found.rows)} rows were looked at (categories, and quarters of numbers; one-sided, "
            "Bonferroni, 5 % for all together)."
        )
    else:
        yield Paragraph("There are too few rows to look for slices where the model is weak.")


def _figures(rows: JudgedRows) -> Iterator[Figure]:
    if rows.labels is None:
        yield true_and_predicted(rows)
        yield residuals_by_prediction(residual_bins(rows))
        yield residual_histogram(rows)
        return
    yield confusion(ConfusionTable.of(rows))
    curves = class_curves(rows)
    yield roc(curves)
    yield precision_recall(curves)
    yield reliability(calibration(rows))


def _deployed(
    choices: RunChoices,
    folder: RunFolder,
    plan: EvaluationPlan,
    seconds: float,
    model: TableModel | None,
) -> Iterator[Part]:
    """What the deployed model makes of its columns."""
    if choices.final is None or not (folder.bundle / MANIFEST).is_file():
        return
    yield Heading("What it makes of the columns")
    try:
        if model is None:
            model = load_bundle(folder.bundle, key=read_key(), run=folder.run_id)
    except AutoMLError as error:
        yield Paragraph(f"The deployed model is not looked at: {error.message}.")
        return
    # as many threads as a trial has: more would wait for each other beside the tracking mirror
    with threadpool_limits(plan.settings.threads):
        yield from _columns(choices, folder, plan, (model, seconds))


def _columns(
    choices: RunChoices, folder: RunFolder, plan: EvaluationPlan, given: tuple[TableModel, float]
) -> Iterator[Part]:
    """Importance of the columns, and the dependence on the first of them.

    Parameters
    ----------
    given : the deployed model, and the seconds that looking at it may take
    """
    (model, seconds), is_tested = given, folder.test.exists()
    table = Table.load(folder.test) if is_tested else plan.table
    looked_at, began = LookedAt.of(model, plan.index, table), time.monotonic()
    seconds = min(seconds, max(LOOK_SECONDS, looked_at.seconds_for(ENOUGH_ROWS)))
    found = importances(looked_at, seconds)
    if found is None:
        yield Paragraph(_too_slow(choices, folder, looked_at, seconds))
        return
    where = (
        "test rows, which nothing has touched before"
        if is_tested
        else "training rows: they show what the model uses, not how well it does so on new rows"
    )
    yield Paragraph(f"The deployed model, looked at on {number(found.rows)} {where}.")
    left = max(seconds - (time.monotonic() - began), 0.0)
    yield Figures((importance(found),))
    depends = dependences(looked_at, found, plan.table.classes or (), left)
    if depends:
        bounds = dependence_bounds(depends)
        yield Paragraph(
            "How the mean prediction changes with the columns that matter most; all have the same axis. Where "
            "columns go together, some of these rows are unlike any real one."
        )
        yield Figures(tuple(dependence(each, bounds) for each in depends))


def _too_slow(choices: RunChoices, folder: RunFolder, looked_at: LookedAt, seconds: float) -> str:
    """Why there is nothing about the columns, and the command that has the time for it."""
    needed, report = looked_at.seconds_for(2 * LEAST_ROWS), ["report", choices.run_id]
    if needed > PATIENT_SECONDS or seconds >= PATIENT_SECONDS:
        report += ["--seconds", str(math.ceil(max(needed, 2 * seconds)))]
    return (
        f"{NOT_LOOKED_AT.format(f'{seconds:.1f}')}: it predicts many rows in {number(1000 * looked_at.row_seconds, 2)} ms each and "
        f"has {len(looked_at.model.schema.columns)} columns. This command looks longer: "
        f"{command(Home(folder.path.parents[1]), *report)}."
    )
