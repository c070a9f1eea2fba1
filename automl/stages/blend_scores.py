"""What a blend of trials is worth on their out-of-fold predictions, and the rule that makes its labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from automl.inference.combining import Combine
from automl.metrics.decisions import OutOfFold
from automl.run.session import Session
from automl.run_records.ensemble import BlendScores


def describe_blend(
    session: Session, shares: Mapping[str, float], combine: Combine = "mean"
) -> BlendScores | None:
    """Decision rule of a blend, learned on all rows, and its scores by the rules of the other folds.

    Parameters
    ----------
    shares
        Weight of each trial by its id.

    Returns
    -------
        None where predictions of a trial were not kept.
    """
    predictions = blended(session, shares, combine)
    if predictions is None:
        return None
    stage, table = session.plan.stage("search"), session.plan.table
    blend = OutOfFold(
        session.plan.index,
        table.y[stage.rows],
        predictions,
        stage.folds[0],
        session.plan.row_weights(stage.rows),
    )
    score, metrics = blend.pooled()
    return BlendScores(blend.rule(), score, metrics)


def blended(
    session: Session, shares: Mapping[str, float], combine: Combine = "mean"
) -> NDArray[np.float32] | None:
    """Out-of-fold predictions of a blend; None where those of a trial were not kept."""
    return session.plan.predictions.blend(shares, combine)
