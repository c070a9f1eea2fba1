"""``automl leaderboard``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import Home, RunFolder
    from automl.inference.model import TableModel
    from automl.records import Trial
    from automl.reports.run_choices import RunChoices
    from automl.stages.tested_trials import Scored, ScoredRows

SHOWN = 20
"""Trials that fit on a screen."""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(leaderboard)


def leaderboard(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    *,
    test: Annotated[
        bool, typer.Option("--test", help="Also score the models on the run's test rows")
    ] = False,
    table: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Also score the models on this labelled table"),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model that needs pickle, which runs its code")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the models of a run, best first, in natural units; each with a model can predict."""
    from automl.errors import SettingsError
    from automl.reports.run_choices import choices_of
    from automl.tracking.own_models import bundle_of_run
    from automl_flows.words.rendering import emit_json

    if test and table is not None:
        raise SettingsError("--test and --table contradict each other; give one of them")
    state = open_home(home)
    folder = state.run(run)
    choices = choices_of(folder)
    wants_scores = test or table is not None
    model = None
    if wants_scores or folder.bundle.is_dir():
        model = bundle_of_run(folder.run_id, state.path).load(trust=trust)
    trials = choices.complete if as_json else choices.complete[:SHOWN]
    rows = None
    if model is not None and wants_scores:
        rows = _rows_to_score(folder, model, table, trust=trust)
    entries = _entries(choices, folder, model, trials, rows, trust=trust)
    if as_json:
        emit_json([asdict(entry) for entry in entries])
    else:
        _show(entries, choices, rows, n_more=len(choices.complete) - len(trials))
        _say_remarks(entries, choices, rows, state)


@dataclass(frozen=True)
class Entry:
    """A model of a run.

    Parameters
    ----------
    rank : by the score; None for the model that the run has made
    trial : short id; `model` for the model of the run
    score, metrics : validated, on the folds of the search
    test_score, test_metrics : on the rows that were asked for; None and nothing without them or a model
    model : what `automl predict` takes; empty if no fitted model is kept
    """

    rank: int | None
    trial: str
    family: str
    score: float | None
    metrics: Mapping[str, float]
    test_score: float | None
    test_metrics: Mapping[str, float]
    model: str


def _rows_to_score(
    folder: RunFolder, model: TableModel, table: str | None, *, trust: bool
) -> ScoredRows:
    """The run's test rows, or those of a table."""
    from automl.data.readers import read_table, source_name
    from automl.errors import SettingsError
    from automl.run.model_evaluation import labelled_rows, measure_of
    from automl.stages.tested_trials import ScoredRows

    measure = measure_of(folder, trust=trust)
    if measure.index is None:
        raise SettingsError(f"run {folder.run_id} has no plan, which says how it scores")
    if table is None:
        return ScoredRows.of_test(folder, measure.index)
    found = labelled_rows(model, read_table(table), measure, source=source_name(table))
    return ScoredRows.of_table(found, measure.index)


def _entries(
    choices: RunChoices,
    folder: RunFolder,
    model: TableModel | None,
    trials: Sequence[Trial],
    rows: ScoredRows | None,
    *,
    trust: bool,
) -> list[Entry]:
    """The model of the run, if there is one, then its trials, best first."""
    from automl.records import short_id
    from automl.stages.tested_trials import Scored, score_trials
    from automl.stages.trial_models import has_models

    entries, tested = [], {}
    if model is not None:
        whole = Scored() if rows is None else rows.score(model)
        entries.append(_model_entry(choices, whole))
    if model is not None and rows is not None:
        tested = score_trials(folder, model, trials, rows, trust=trust)
    for rank, trial in enumerate(trials, 1):
        name, found = short_id(trial.id), tested.get(trial.id, Scored())
        is_kept = model is not None and has_models(folder, model, trial)
        entries.append(
            Entry(
                rank,
                name,
                trial.configuration.family,
                trial.score,
                trial.metrics,
                found.score,
                found.metrics,
                f"{folder.run_id}#{name}" if is_kept else "",
            )
        )
    return entries


def _model_entry(choices: RunChoices, tested: Scored) -> Entry:
    final = choices.final
    members = [] if final is None else [each for each in final.members if each.weight > 0]
    return Entry(
        None,
        "model",
        members[0].family if len(members) == 1 else f"{len(members)} members",
        None if final is None else final.score,
        {} if final is None else final.metrics,
        tested.score,
        tested.metrics,
        choices.run_id,
    )


def _show(
    entries: Sequence[Entry], choices: RunChoices, rows: ScoredRows | None, *, n_more: int
) -> None:
    from automl.metrics.words import headline, words_of
    from automl_flows.words.rendering import emit, emit_table

    metric = "" if choices.result is None else choices.result.metric
    names = (headline(metric, entry.metrics) for entry in entries)
    name = next(filter(None, names), "")
    label = words_of(name).label
    columns = {
        "rank": [entry.rank for entry in entries],
        "trial": [entry.trial for entry in entries],
        "family": [entry.family for entry in entries],
        label: [entry.metrics.get(name) for entry in entries],
        "score": [entry.score for entry in entries],
    }
    if rows is not None:
        columns[f"test {label}"] = [entry.test_metrics.get(name) for entry in entries]
        columns["test score"] = [entry.test_score for entry in entries]
    columns["predicts"] = [bool(entry.model) for entry in entries]
    numbers = [column for column in columns if column not in {"trial", "family", "predicts"}]
    emit_table(list(columns), zip(*columns.values(), strict=True), right=numbers)
    if n_more:
        emit(f"... and {n_more} more (--json shows all)")


def _say_remarks(
    entries: Sequence[Entry], choices: RunChoices, rows: ScoredRows | None, home: Home
) -> None:
    from automl.reports.command_line import command

    n_gone = sum(not entry.model for entry in entries)
    kept = next((entry.model for entry in entries if "#" in entry.model), "")
    if rows is not None:
        say(f"note: {len(rows.y)} test rows; a model chosen by them is scored too well on them")
    if kept:
        shown = command(home, "predict", kept, "TABLE", "-o", "OUT.csv")
        say(f"predict with one of them: {shown}")
    if n_gone and choices.final is not None:
        say(
            f"note: {n_gone} of these have no fitted model; automl train --keep-models keeps those of the "
            "best trials"
        )
