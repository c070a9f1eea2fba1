"""Why a search with a budget of seconds never came to a family."""

from __future__ import annotations

from collections.abc import Sequence

from automl.families.registry import CONSTANT
from automl.listing import first_few
from automl.records import Trial

MOST_NAMED = 3
"""Families that got most of the time and are named (by judgement)."""
TOO_SLOW = "one trial was expected to take longer than the whole search"
NO_TRIALS = "the search had no time"


def why_untried(trials: Sequence[Trial], expected: float | None) -> str:
    """Why a family has no trial, in a clause that fits one family and several.

    Parameters
    ----------
    trials : of the search
    expected : seconds of its first trial; None if that is not known
    """
    if all(trial.configuration.family == CONSTANT for trial in trials):
        return NO_TRIALS
    ends = max(trial.started_at + trial.seconds for trial in trials)
    if expected is not None and expected > ends - min(trial.started_at for trial in trials):
        return TOO_SLOW
    spent: dict[str, float] = {}
    for trial in trials:
        family = trial.configuration.family
        spent[family] = spent.get(family, 0.0) + trial.spent_seconds
    names = sorted(spent, key=lambda family: -spent[family])
    named = first_few(names[:MOST_NAMED])
    if len(names) <= MOST_NAMED:
        return f"the search spent its time on {named}"
    return f"the search spent its time on others, most of it on {named}"
