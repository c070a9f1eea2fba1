"""The model card: what a model is, what it was made of, how good it is, and how it is used, drawn from the records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from automl.addresses import public_address
from automl.home import RunFolder
from automl.inference.column_schema import ColumnSchema
from automl.inference.manifest import MANIFEST, Manifest, parse_manifest
from automl.inference.reference import REFERENCE, ColumnReference, TrainingReference
from automl.listing import first_few
from automl.run_records.final import FinalRecord
from automl.run_records.metric_texts import corrected_texts, tested_texts
from automl.run_records.result import RunResult
from automl.tracking.layout import problem_name

CARD = "model_card.md"
MOST_COLUMNS = 200
"""That are listed one by one: a page of more is not read (by judgement)."""
MOST_SHOWN = 5
"""Categories of a column (by judgement)."""


def model_card(folder: RunFolder, facts: Mapping[str, Any]) -> str:
    """Markdown about the final model of a run.

    Parameters
    ----------
    facts
        Content of `run.json`.
    """
    manifest = parse_manifest(folder.bundle / MANIFEST)[1]
    result, final = RunResult.read(folder), FinalRecord.read(folder)
    lines = [f"# {problem_name(facts)}", ""]
    if result is not None:
        lines += [line for notice in result.notices for line in (f"> {_sentence(notice)}", "")]
    lines += _what(manifest, final, facts)
    lines += _data(folder, manifest, facts)
    if result is not None:
        lines += [*quality_lines(result), *_choice(result), *_limits(result)]
    return "\n".join([*lines, *_use(problem_name(facts), facts["run_id"])])


def _what(manifest: Manifest, final: FinalRecord | None, facts: Mapping[str, Any]) -> list[str]:
    made = time.strftime("%Y-%m-%d", time.gmtime(float(facts.get("started_at") or 0)))
    labels = ", ".join(map(str, manifest.classes or ()))
    members = [m for m in manifest.members if m.weight > 0]
    shown = first_few((f"{m.family} ({m.weight:.2f})" for m in members), MOST_SHOWN)
    lines = [
        "## What it is",
        "",
        f"- It predicts `{manifest.target}`, {'one of ' + labels if labels else 'a number'}.",
        f"- Run {facts['run_id']} made it on {made} (UTC).",
        f"- It combines by {manifest.combine}, with their weights: {shown}.",
    ]
    if manifest.calibration is not None:
        lines.append(f"- It calibrates the blend: power {manifest.calibration.power:.3g}.")
    if manifest.threshold is not None:
        label = (manifest.classes or ("", ""))[1]
        lines.append(f"- It says {label} where the probability is above {manifest.threshold:.3g}.")
    if final is not None:
        size = f"{final.size_mib:.2g} MiB, {final.predict_ms:.2g} ms for a row among many"
        lines.append(f"- It consists of {final.made_of}: {size}.")
    return [*lines, ""]


def _data(folder: RunFolder, manifest: Manifest, facts: Mapping[str, Any]) -> list[str]:
    data = facts.get("data") or {}
    reference = _reference(folder, manifest)
    table = public_address(str(facts["settings"]["table"]))
    lines = [
        "## Data and roles",
        "",
        f"- Table: `{table}`, {data.get('rows')} training rows, {data.get('test_rows') or 0} test rows.",
        *(f"- {_sentence(note)}" for note in data.get("notes") or ()),
        "",
        "| column | role | in the training table | missing |",
        "|---|---|---|---:|",
    ]
    columns = manifest.schema.columns
    lines += [_row(column, reference) for column in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        lines.append(f"| and {len(columns) - MOST_COLUMNS} more | | | |")
    ignored = ", ".join(f"`{name}`" for name in _unused(manifest))
    return [*lines, "", *([f"Not used: {ignored}.", ""] if ignored else [])]


def _unused(manifest: Manifest) -> list[str]:
    return [name for name in manifest.schema.ignored if name != manifest.target][:MOST_COLUMNS]


def _row(column: ColumnSchema, reference: TrainingReference | None) -> str:
    known = None if reference is None else reference.columns[column.name]
    name = column.name.replace("|", "\\|")
    missing = "" if known is None else f"{100 * known.shares[-1]:.1f} %"
    return f"| `{name}` | {column.role} | {_content(column, known)} | {missing} |"


def _content(column: ColumnSchema, known: ColumnReference | None) -> str:
    if column.role == "nominal":
        words = map(column.category_words, column.categories)
        return first_few(words, MOST_SHOWN).replace("|", "\\|")
    if known is None or known.low is None or known.high is None:
        return ""
    if column.role == "date":
        days = (column.date_origin + known.low, column.date_origin + known.high)
        return " to ".join(time.strftime("%Y-%m-%d", time.gmtime(86_400 * day)) for day in days)
    return f"{known.low:.6g} to {known.high:.6g}"


def quality_lines(result: RunResult) -> list[str]:
    """Every metric, validated, corrected and tested, and the honest score."""
    columns = {"out of fold": {name: f"{value:.5g}" for name, value in result.metrics.items()}}
    if corrected := corrected_texts(result.honest):
        columns["corrected [95 %]"] = corrected
    if result.test is not None and result.test.metrics:
        intervals = result.test.intervals.metrics
        plain = {name: f"{value:.5g}" for name, value in result.test.metrics.items()}
        columns[f"{result.test.rows} test rows{' [95 %]' if intervals else ''}"] = {
            **plain,
            **tested_texts(result.test),
        }
    lines = ["## How good it is", "", f"| metric | {' | '.join(columns)} |"]
    lines.append("|---|" + "---:|" * len(columns))
    for name in result.metrics:
        cells = (values.get(name, "") for values in columns.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    baseline = 0.0 if result.baseline is None else result.baseline.score
    lines += [
        "",
        (
            f"Metrics are in their natural units. The score that was maximized ({result.metric}; 0 is chance, 1 is "
            f"ideal) is {result.score:.4f}; predicting the same for every row gives {baseline:.4f}."
        ),
        *_honest(result),
    ]
    return [*lines, ""]


def _honest(result: RunResult) -> Iterator[str]:
    honest = result.honest.of_model
    if honest is not None:
        yield (
            f"Corrected for having been chosen among {result.honest.n_trials} trials it is {honest.score:.4f}, with a "
            f"95 % interval from {honest.low:.4f} to {honest.high:.4f}."
        )
    elif result.honest.reason:
        yield f"There is no corrected score: {result.honest.reason}."


def _choice(result: RunResult) -> list[str]:
    lines = [
        "## How it was chosen",
        "",
        (
            f"{result.complete_trials} of {result.trials} trials of {result.families} families were complete. "
            f"The champion is trial {result.champion.trial_id} ({result.champion.family})."
        ),
        "",
        "| rank | trial | family | score | what became of it |",
        "|---:|---|---|---:|---|",
    ]
    for row in result.leaderboard[:MOST_SHOWN]:
        score = "" if row.score is None else f"{row.score:.4f}"
        lines.append(f"| {row.rank} | {row.trial_id} | {row.family} | {score} | {row.status} |")
    return [*lines, "", f"`automl why {result.run_id}` tells every test behind it.", ""]


def _limits(result: RunResult) -> list[str]:
    known = [*result.warnings, *result.given_up]
    if not result.reproducible:
        known.append(
            "the run depended on the clock, so that an equal one may come to another model"
        )
    known.append("rows unlike the training table are predicted too; automl predict counts them")
    return ["## Limits", "", *(f"- {_sentence(each)}" for each in known), ""]


def _use(name: str, run_id: str) -> list[str]:
    return [
        "## How to use it",
        "",
        "```",
        f"automl predict {name}@champion TABLE -o OUT.csv      # or {run_id} in place of the name",
        f"automl drift {name}@champion TABLE                   # how far rows have moved from the training table",
        f"mlflow models serve -m models:/{name}@champion --env-manager local",
        "```",
        "",
    ]


def _reference(folder: RunFolder, manifest: Manifest) -> TrainingReference | None:
    file = folder.bundle / REFERENCE
    if not file.is_file():
        return None
    return TrainingReference.from_json(file.read_text(encoding="utf-8"), manifest.schema)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
