"""What was tried: trials over time, and where the budget went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from automl.reports.figure import Figure, number
from automl.reports.figures.progress import planned_and_used, seconds_by_family, trials_over_time
from automl.reports.page import Figures, Items, Paragraph, Part, Section
from automl.reports.run_choices import RunChoices
from automl.reports.seconds import seconds_report

KEY, TITLE = "tried", "What was tried"
MOST_REASONS = 5
"""Reasons of failures that are listed; the others are counted (by judgement)."""


def tried(choices: RunChoices) -> Section:
    """Families, trials over time, and planned beside used seconds: of the families and of the stages."""
    return Section(KEY, TITLE, tuple(_parts(choices)))


def _parts(choices: RunChoices) -> Iterator[Part]:
    if not choices.searched:
        yield Paragraph("No trial has ended yet.")
        return
    families = Counter(trial.configuration.family for trial in choices.searched)
    yield Paragraph(
        f"The search ended {number(len(choices.searched))} trials of {len(families)} families, and "
        f"{number(len(choices.complete))} of them are complete.{_endings(choices)}"
    )
    yield Figures(tuple(_figures(choices)))
    reasons = _reasons(choices)
    if reasons:
        yield Paragraph("Why trials failed:")
        yield Items(reasons)
    absent = {} if choices.search is None else {**choices.search.dropped, **choices.search.untried}
    if absent:
        yield Paragraph("Families without a trial, or that took no part any more:")
        yield Items(tuple(f"{family}: {reason}." for family, reason in sorted(absent.items())))


def _figures(choices: RunChoices) -> Iterator[Figure]:
    yield trials_over_time(choices.searched, began=choices.status.started_at or 0.0)
    families = seconds_report(list(choices.trials.values())).families
    yield seconds_by_family(families, unplanned=_unplanned(choices))
    if choices.result is not None and choices.result.ledger:
        yield planned_and_used(choices.result.ledger)


def _unplanned(choices: RunChoices) -> str:
    """Why the trials of a run have no forecast."""
    settings = choices.facts.get("settings") or {}
    if settings.get("trials") is not None:
        return "The run counts trials, so it planned no seconds: only those used are shown."
    return "The run kept no forecast of its trials: only the seconds used are shown."


def _endings(choices: RunChoices) -> str:
    kinds = Counter(
        str(trial.status).replace("_", " ") for trial in choices.searched if not trial.is_complete
    )
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f" The others: {told}." if told else ""


def _reasons(choices: RunChoices) -> tuple[str, ...]:
    reasons = Counter(
        f"{trial.configuration.family}: {trial.reason}"
        for trial in choices.searched
        if trial.reason and not trial.is_complete and str(trial.status) != "raced"
    ).most_common()
    told = [f"{reason} ({count})" for reason, count in reasons[:MOST_REASONS]]
    more = len(reasons) - MOST_REASONS
    return (*told, *([f"and {more} more reasons"] if more > 0 else []))
