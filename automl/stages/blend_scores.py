"""What a blend of trials is worth on their out-of-fold predictions, and the rule that makes its labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from automl.evaluation.predictions import PredictionStore
from automl.inference.combining import Combine, combined
from automl.metrics.decisions import OutOfFold
from automl.run.session import Session


def describe_blend(
    session: Session, shares: Mapping[str, float], combine: Combine = "mean"
) -> dict[str, Any] | None:
    """Decision rule of a blend, learned on all rows, and its scores by the rules of the other folds.

    Parameters
    ----------
    shares
        Weight of each trial by its id.

    Returns
    -------
        `rule`, `score` and `metrics`; None where predictions of a trial were not kept.
    """
    store = PredictionStore(session.folder.predictions, session.settings.predictions_quota_mib)
    if not all(map(store.has, shares)):
        return None
    stage, table = session.plan.stage("search"), session.plan.table
    predictions = [np.asarray(store.load(trial_id)) for trial_id in shares]
    blend = OutOfFold(
        session.plan.index,
        table.y[stage.rows],
        combined(predictions, np.array(list(shares.values())), combine),
        stage.folds[0],
        session.plan.row_weights(stage.rows),
    )
    score, metrics = blend.pooled()
    rule = blend.rule()
    return {
        "rule": None if rule is None else rule.to_json(),
        "score": score,
        "metrics": metrics,
    }
