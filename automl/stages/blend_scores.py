"""Score of a blend of trials on their out-of-fold predictions, and the rule that makes its labels."""

from __future__ import annotations

from collections.abc import Mapping

from automl.evaluation.plan import EvaluationPlan
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.metrics.decisions import OutOfFold
from automl.run_records.ensemble import BlendScores


def describe_blend(
    plan: EvaluationPlan,
    shares: Mapping[str, float],
    combine: Combine = "mean",
    calibration: Calibration | None = None,
) -> BlendScores | None:
    """Decision rule of a blend, learned on all rows, and its scores by the rules of the other folds.

    Parameters
    ----------
    shares
        Weight of each trial by its id.

    Returns
    -------
        None if predictions of a trial were not kept.
    """
    predictions = plan.predictions.blend(shares, combine, calibration)
    if predictions is None:
        return None
    stage = plan.stage("search")
    y, weights = plan.table.y[stage.rows], plan.row_weights(stage.rows)
    blend = OutOfFold(plan.index, y, predictions, stage.folds[0], weights)
    score, metrics = blend.pooled()
    return BlendScores(blend.rule(), score, metrics)


def normalized(shares: Mapping[str, float]) -> dict[str, float]:
    """Weights by trial whose sum is 1, as a model takes them."""
    whole = sum(shares.values())
    return {name: weight / whole for name, weight in shares.items()}
