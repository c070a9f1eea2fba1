"""The models of a run in natural units, best first: each with its validated scores, and those on other rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from automl.data.readers import read_table, source_name
from automl.errors import SettingsError
from automl.home import Home, RunFolder
from automl.inference.model import TableModel
from automl.metrics.words import headline, ordered
from automl.records import Trial, short_id
from automl.reports.run_choices import RunChoices, choices_of
from automl.run.model_evaluation import labelled_rows, measure_of, n_trained_on
from automl.stages.tested_trials import Scored, ScoredRows, score_trials
from automl.stages.trial_models import has_models
from automl.tracking.own_models import bundle_of_run

SOURCE = "the frame"
"""What messages call a table that has no name."""


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


@dataclass(frozen=True)
class Leaderboard:
    """Entries of a run.

    Parameters
    ----------
    entries : the model of the run where there is one, then its complete trials, best first
    metric : natural one that stands for all; empty where none is known
    n_test_rows : that the entries were scored on too; None where none were asked for
    n_more : complete trials that were left out
    is_finished : whether the run has made its model
    n_trained_on : of the test rows, that the model was fitted on; None if that is not known
    """

    entries: tuple[Entry, ...]
    metric: str
    n_test_rows: int | None = None
    n_more: int = 0
    is_finished: bool = True
    n_trained_on: int | None = None

    def frame(self) -> pd.DataFrame:
        """A row for each entry, with every metric in natural units; those on test rows begin with ``test_``."""
        known = {name for entry in self.entries for name in (*entry.metrics, *entry.test_metrics)}
        names = sorted(ordered(known), key=lambda name: name != self.metric)
        entries = self.entries
        columns: dict[str, object] = {
            "rank": pd.array([entry.rank for entry in entries], dtype="Int64"),
            "trial": [entry.trial for entry in entries],
            "family": [entry.family for entry in entries],
            "score": _numbers(entry.score for entry in entries),
        }
        for name in names:
            columns[name] = _numbers(entry.metrics.get(name) for entry in entries)
        if self.n_test_rows is not None:
            columns["test_score"] = _numbers(entry.test_score for entry in entries)
            for name in names:
                tested = _numbers(entry.test_metrics.get(name) for entry in entries)
                columns[f"test_{name}"] = tested
        return pd.DataFrame({**columns, "model": [entry.model for entry in entries]})


def leaderboard_of(
    folder: RunFolder,
    *,
    test: bool = False,
    table: str | pd.DataFrame | None = None,
    trust: bool = False,
    limit: int | None = None,
) -> Leaderboard:
    """The models of a run, best first.

    Parameters
    ----------
    test, table
        Whether they are also scored on the run's test rows, or labelled rows to score them on.
    trust
        Whether a model that needs pickle may be loaded, which runs its code.
    limit
        Most trials; None for all.

    Raises
    ------
    SettingsError
        If both `test` and `table` are given, or the run has no model to score.
    DataError
        If the table has no labels, or is none that the model takes.
    """
    if test and table is not None:
        raise SettingsError("test and table contradict each other; give one of them")
    choices = choices_of(folder)
    wants_scores = test or table is not None
    model = None
    if wants_scores or folder.bundle.is_dir():
        home = Home(folder.path.parents[1])
        model = bundle_of_run(folder.run_id, home.path).load(trust=trust)
    rows, trained_on = None, None
    if model is not None and wants_scores:
        rows, trained_on = _rows_to_score(folder, model, table, trust=trust)
    trials = choices.complete[:limit]
    entries = _entries(choices, folder, model, trials, rows, trust=trust)
    metric = "" if choices.result is None else choices.result.metric
    names = (headline(metric, entry.metrics) for entry in entries)
    return Leaderboard(
        tuple(entries),
        next(filter(None, names), ""),
        None if rows is None else len(rows.y),
        len(choices.complete) - len(trials),
        choices.final is not None,
        trained_on,
    )


def _rows_to_score(
    folder: RunFolder, model: TableModel, table: str | pd.DataFrame | None, *, trust: bool
) -> tuple[ScoredRows, int | None]:
    """The run's test rows, or those of a table; and how many of these the model was fitted on."""
    measure = measure_of(folder, trust=trust)
    if measure.index is None:
        raise SettingsError(f"run {folder.run_id} has no plan, which says how it scores")
    if table is None:
        return ScoredRows.of_test(folder, measure.index), 0
    if isinstance(table, str):
        found = labelled_rows(model, read_table(table), measure, source=source_name(table))
    else:
        found = labelled_rows(model, table, measure, source=SOURCE)
    deviations = model.deviations(found.raw, found.typed)
    trained_on = n_trained_on(model, found, measure, deviations)
    return ScoredRows.of_table(found, measure.index), trained_on


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


def _numbers(values: Iterable[float | None]) -> pd.Series:
    return pd.Series(list(values), dtype="float64")
