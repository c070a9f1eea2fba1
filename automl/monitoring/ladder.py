"""How much of a training is done again: nothing, a refit, a warm search or the whole search.

A ladder of four rungs. A changed schema needs the whole search. A champion that has lost score needs a search
from its own configurations, or a whole one if it has lost most of its worth. Rows that have only moved, or
are only more, need the same configurations fitted once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from automl.data.findings import listed
from automl.monitoring.drift_report import DriftReport, ScoreShift

Rung = Literal["keep", "refit", "warm", "search"]
RUNGS: tuple[Rung, ...] = ("keep", "refit", "warm", "search")
"""From the cheapest to the dearest."""
FAR = 0.5
"""Share of the way from the baseline to the expected score: a champion that has lost half of its worth says little
of which configurations are good now (by judgement)."""
NEW_SHARE = 0.2
"""Share of the training rows. What a model loses by having few rows falls like 1 / n, so that a fifth more takes off a
sixth of it; less is hardly worth a refit, which costs as much whether rows are few or many (by judgement)."""


@dataclass(frozen=True)
class Choice:
    """A rung, and why, in one sentence."""

    rung: Rung
    reason: str


def choose_rung(report: DriftReport) -> Choice:
    """Rung that a report asks for; more drift never asks for a lower one.

    Where no loss is proven and a model of nearly the same rows did not take the alias, another refit would not
    either: the champion is kept until there are enough new rows.
    """
    choice, tried = _asked_by_drift(report), report.tried
    if choice.rung != "refit" or tried is None or tried.share >= NEW_SHARE:
        return choice
    return Choice(
        "keep",
        f"keep: run {tried.run_id} did not take the alias, and {tried.fresh_rows} rows are new since, {tried.share:.0%} of the "
        f"{tried.training_rows} that it was trained on; {NEW_SHARE:.0%} are worth another refit",
    )


def _asked_by_drift(report: DriftReport) -> Choice:
    if report.obstacle:
        return Choice("search", f"search in full: {report.obstacle}")
    if changes := report.schema.sentence:
        return Choice("search", f"search in full: the schema has changed ({changes})")
    if report.score is not None and report.score.is_proven:
        return _after_loss(report.score, report.fresh_rows)
    if report.moved:
        names = listed(shift.name for shift in report.moved)
        return Choice("refit", f"refit: {names} moved, without a proven loss of score")
    share = report.fresh_rows / max(report.training_rows, 1)
    rows = f"{report.fresh_rows} fresh rows, {share:.0%} of the {report.training_rows} trained on"
    if share >= NEW_SHARE:
        return Choice("refit", f"refit: nothing moved, but there are {rows}")
    return Choice("keep", f"keep: nothing moved in {rows}; {NEW_SHARE:.0%} are worth a refit")


def _after_loss(score: ScoreShift, n_fresh: int) -> Choice:
    told = (
        f"the champion scores {score.score:.4f} (standard error {score.standard_error:.4f}) on {n_fresh} fresh rows where {score.expected:.4f} "
        f"was expected (p {score.pvalue:.2g})"
    )
    if score.score < (1.0 - FAR) * max(score.expected, 0.0) or score.expected <= 0.0:
        return Choice("search", f"search in full: {told}, less than half of its worth")
    return Choice("warm", f"warm search: {told}")
