"""Rows of a run with predictions of models that had not seen them, and with what is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import AutoMLError
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.home import RunFolder
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.metrics.decisions import OutOfFold
from automl.records import FloatArray, IntArray, short_id
from automl.reports.run_choices import RunChoices
from automl.run.foreign_runs import refuse_foreign_code

SEED = 0
"""Seed of samples of rows: a page that is made anew shows the same ones."""


@dataclass(frozen=True)
class JudgedRows:
    """Predictions beside the truth.

    Parameters
    ----------
    source : what the predictions are, a sentence
    y : (n,), codes or values
    prediction : (n, K) probabilities, or (n,) values
    labels : (n,), codes by the decision rule; None for regression
    classes : K texts; empty for regression
    positive : code of the class that is looked for, of two
    frame : n rows of typed columns
    weights : (n,) or None
    """

    source: str
    y: NDArray[Any]
    prediction: NDArray[Any]
    labels: IntArray | None
    classes: tuple[str, ...]
    positive: int
    frame: pd.DataFrame
    weights: FloatArray | None

    def __len__(self) -> int:
        return len(self.y)

    def sample(self, most: int) -> JudgedRows:
        """At most so many rows, drawn without replacement, in their order."""
        if len(self) <= most:
            return self
        rows = np.sort(np.random.default_rng(SEED).choice(len(self), most, replace=False))
        return replace(
            self,
            y=self.y[rows],
            prediction=self.prediction[rows],
            labels=None if self.labels is None else self.labels[rows],
            frame=self.frame.iloc[rows].reset_index(drop=True),
            weights=None if self.weights is None else self.weights[rows],
        )


def plan_of(folder: RunFolder) -> tuple[EvaluationPlan | None, str]:
    """Table, folds and score of a run; None, and why, where they cannot be read."""
    try:
        refuse_foreign_code(folder)
        return EvaluationPlan(folder.path), ""
    except AutoMLError as error:
        return None, error.message
    except (OSError, ValueError, KeyError) as error:
        return None, f"the run's table or plan cannot be read: {error}"


def shares_of(choices: RunChoices) -> tuple[dict[str, float], Combine, str]:
    """Trials of the model with their weights, how they are combined, and what they are called."""
    ensemble, combine = (
        choices.ensemble,
        "mean" if choices.ensemble is None else choices.ensemble.combine,
    )
    if choices.final is not None:
        shares = {m.trial_id: m.weight for m in choices.final.members if m.weight > 0}
    elif ensemble is not None:
        shares = ensemble.shares
    elif choices.champion:
        return {choices.champion: 1.0}, "mean", f"the champion {short_id(choices.champion)}"
    else:
        best = [trial.id for trial in choices.complete[:1]]
        named = f"the best trial so far, {short_id(best[0])}" if best else ""
        return dict.fromkeys(best, 1.0), "mean", named
    return shares, combine, "the model"


def calibration_of(choices: RunChoices, shares: Mapping[str, float]) -> Calibration | None:
    """Calibration of a model of these trials: that of the ensemble where it is the whole of it."""
    ensemble = choices.ensemble
    return ensemble.calibration if ensemble is not None and ensemble.is_made_of(shares) else None


def out_of_fold(
    plan: EvaluationPlan,
    folder: RunFolder,
    shares: Mapping[str, float],
    combine: Combine,
    calibration: Calibration | None = None,
) -> tuple[OutOfFold, IntArray] | None:
    """Out-of-fold predictions of a blend and the table rows that they are of; None where not kept."""
    store = PredictionStore(folder.predictions)
    raw = store.blend(shares, combine, calibration) if shares else None
    if raw is None:
        return None
    stage = plan.stage("search")
    inside = np.flatnonzero(
        (stage.folds[0] >= 0) & np.isfinite(raw.reshape(len(raw), -1)).all(axis=1)
    )
    rows = stage.rows[inside]
    y, weights = plan.table.y[rows], plan.row_weights(rows)
    return OutOfFold(plan.index, y, raw[inside], stage.folds[0][inside], weights), rows


def judged_rows(choices: RunChoices, plan: EvaluationPlan, folder: RunFolder) -> JudgedRows | None:
    """Rows that the model's fitted parts had not seen; None where no such predictions were kept."""
    shares, combine, named = shares_of(choices)
    found = out_of_fold(plan, folder, shares, combine, calibration_of(choices, shares))
    if found is None or not len(found[1]):
        return None
    judged, rows = found
    n_folds = len(np.unique(judged.folds))
    kind = f"out of fold, {n_folds} folds" if n_folds > 1 else "rows that were held out of the fits"
    table = plan.table
    return JudgedRows(
        source=f"Predictions of {named} for {len(rows)} training rows ({kind}).",
        y=judged.y,
        prediction=judged.prediction,
        labels=judged.labels(),
        classes=table.classes or (),
        positive=1 if table.positive is None else table.positive,
        frame=table.frame.iloc[rows].reset_index(drop=True),
        weights=judged.sample_weight,
    )
