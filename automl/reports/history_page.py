"""The page of a problem: every model that was trained, how good it was, and which took the alias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from automl.errors import SettingsError
from automl.home import Home, RunFolder
from automl.reports.figure import DataTable, Figure, number
from automl.reports.figures.curves import Interval, intervals
from automl.reports.page import Figures, Page, Paragraph, Part, Section, Tabular
from automl.reports.run_choices import RunChoices, choices_of
from automl.run.finished_runs import finished_runs
from automl.run_records.promotion import PromotionRecord
from automl.run_records.result import RunResult

MOST_RUNS = 50
"""Newest runs that are shown; a picture of more would be longer than two screens."""


@dataclass(frozen=True)
class TrainedModel:
    """A run and what became of its model."""

    choices: RunChoices
    result: RunResult
    promotion: PromotionRecord | None
    rows: int

    @property
    def version(self) -> str:
        """Version of the registered model, such as ``quick/2``; empty if it is not registered."""
        return self.choices.status.registered.partition("@")[0]

    @property
    def took_alias(self) -> bool:
        """Whether the promotion gave it the alias."""
        return self.promotion is not None and self.promotion.promote


def trained_models(home: Home, name: str) -> list[TrainedModel]:
    """Finished runs of a problem, the newest first.

    Raises
    ------
    SettingsError
        If there is none.
    """
    read = (_trained(folder) for folder in reversed(finished_runs(home, name)[-MOST_RUNS:]))
    models = [model for model in read if model is not None]
    if not models:
        raise SettingsError(
            f"{name!r} must be a problem with a finished run; {home.path} has none of it"
        )
    return models


def history_page(models: Sequence[TrainedModel], name: str) -> Page:
    """The history of a problem.

    Parameters
    ----------
    models : at least one, the newest first
    """
    section = Section("models", "Models, the newest first", tuple(_parts(models)))
    subtitle = f"{number(len(models))} finished {'run' if len(models) == 1 else 'runs'}, the last one {models[0].choices.run_id}"
    return Page(f"{name}: history", subtitle, (section,))


def scores_of_models(models: Sequence[TrainedModel]) -> Figure:
    """Honest scores with their intervals, the newest on top."""
    words = (
        "Honest score of each run with its 95 % interval; where there is none, the cross-validated score. "
        "Blue: the model took the alias champion. Runs on different rows are not strictly comparable."
    )
    return intervals(
        [_interval(model) for model in models],
        title="Scores of the models", description=words, label="score", first="run",
    )  # fmt: skip


def _interval(model: TrainedModel) -> Interval:
    honest, name = model.result.honest.of_model, model.choices.run_id
    if honest is None:
        return Interval(name, model.result.score, is_marked=model.took_alias)
    return Interval(name, honest.score, honest.low, honest.high, is_marked=model.took_alias)


def _parts(models: Sequence[TrainedModel]) -> Iterator[Part]:
    n_promoted = sum(model.took_alias for model in models)
    yield Paragraph(f"{n_promoted} of {len(models)} models took the alias champion.")
    yield Figures((scores_of_models(models),))
    columns = (
        "run",
        "version",
        "rows",
        "champion",
        "score",
        "compared with",
        "difference",
        "p",
        "took it",
        "reason",
    )
    rows = tuple(_row(model) for model in models)
    yield Tabular(
        DataTable("Decisions; differences are new less old, on the same rows", columns, rows)
    )


def _row(model: TrainedModel) -> tuple[str | float | None, ...]:
    decided = model.promotion
    told = (
        (None, None, None)
        if decided is None
        else (decided.champion, decided.difference, decided.pvalue)
    )
    reason = "" if decided is None else decided.reason
    family = model.result.champion.family
    took = "yes" if model.took_alias else "no"
    return (
        model.choices.run_id,
        model.version,
        model.rows,
        family,
        model.result.score,
        *told,
        took,
        reason,
    )


def _trained(folder: RunFolder) -> TrainedModel | None:
    choices = choices_of(folder)
    if choices.result is None:
        return None
    rows = int((choices.facts.get("data") or {}).get("rows") or 0)
    return TrainedModel(choices, choices.result, PromotionRecord.read(folder), rows)
