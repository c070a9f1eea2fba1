"""What each member of a model is worth: alone, and to the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.metrics.decisions import OutOfFold
from automl.records import short_id
from automl.reports.judged import SEED, calibration_of, out_of_fold
from automl.reports.run_choices import RunChoices

MOST_CELLS = 3_000_000
"""Rows times classes times members that are scored: a second of work."""


@dataclass(frozen=True)
class MemberWorth:
    """A member of the model.

    Parameters
    ----------
    weight : share in the blend; 0 where others take its predictions
    alone : score of its trial; None where it has none
    adds : score of the blend less that of the blend without it; None where this is not known
    inputs : members whose predictions it takes
    """

    trial_id: str
    family: str
    weight: float
    alone: float | None
    adds: float | None = None
    inputs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Short id and family."""
        return f"{short_id(self.trial_id)} {self.family}"


def members_of(
    choices: RunChoices, plan: EvaluationPlan | None, folder: RunFolder
) -> tuple[MemberWorth, ...]:
    """Members of the final model, heaviest first; none before there is one.

    Parameters
    ----------
    plan : None where the out-of-fold predictions cannot be judged
    """
    if choices.final is None or choices.ensemble is None:
        return ()
    shares = {m.trial_id: m.weight for m in choices.final.members if m.weight > 0}
    calibration = calibration_of(choices, shares)
    combine = choices.ensemble.combine
    adds = {} if plan is None else _added(plan, folder, shares, combine, calibration)
    members = [
        MemberWorth(
            member.trial_id,
            member.family,
            member.weight,
            None
            if member.trial_id not in choices.trials
            else choices.trials[member.trial_id].score,
            adds.get(member.trial_id),
            member.inputs,
        )
        for member in choices.final.members
    ]
    return tuple(sorted(members, key=lambda member: -member.weight))


def _added(
    plan: EvaluationPlan,
    folder: RunFolder,
    shares: Mapping[str, float],
    combine: Combine,
    calibration: Calibration | None,
) -> dict[str, float]:
    """What the score of a blend loses without each of its members, the other weights in proportion."""
    if len(shares) == 1:
        return {}
    whole = out_of_fold(plan, folder, shares, combine, calibration)
    if whole is None:
        return {}
    n_classes = max(plan.table.n_classes, 1)
    most = MOST_CELLS // (n_classes * len(shares))
    score = _sampled(whole[0], most).pooled()[0]
    adds = {}
    for left_out in shares:
        rest = {name: weight for name, weight in shares.items() if name != left_out}
        total = sum(rest.values())
        rest = {name: weight / total for name, weight in rest.items()}
        others = out_of_fold(plan, folder, rest, combine, calibration)
        if others is not None:
            adds[left_out] = score - _sampled(others[0], most).pooled()[0]
    return adds


def _sampled(judged: OutOfFold, most: int) -> OutOfFold:
    """At most so many of the rows, the same ones each time."""
    if len(judged.y) <= most:
        return judged
    rows = np.sort(np.random.default_rng(SEED).choice(len(judged.y), most, replace=False))
    weights = None if judged.sample_weight is None else judged.sample_weight[rows]
    return replace(
        judged,
        y=judged.y[rows],
        prediction=judged.prediction[rows],
        folds=judged.folds[rows],
        sample_weight=weights,
    )
