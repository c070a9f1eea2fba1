"""Scores of single trials of a run, on rows that did not choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.table import Table
from automl.errors import SettingsError
from automl.home import RunFolder
from automl.inference.model import TableModel
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, Trial
from automl.run.model_evaluation import LabelledRows
from automl.stages.trial_models import has_models, model_of_trial


@dataclass(frozen=True)
class ScoredRows:
    """Rows that models of a run are scored on, and by what.

    Parameters
    ----------
    typed : (n, n_features)
    y : (n,), codes or values
    weights : (n,), >= 0, or None
    """

    index: PerformanceIndex
    typed: pd.DataFrame
    y: NDArray[Any]
    weights: FloatArray | None

    @classmethod
    def of_table(cls, rows: LabelledRows, index: PerformanceIndex) -> ScoredRows:
        """Rows of a labelled table."""
        return cls(index, rows.typed, rows.target.y, rows.weights)

    @classmethod
    def of_test(cls, folder: RunFolder, index: PerformanceIndex) -> ScoredRows:
        """The run's own test rows.

        Raises
        ------
        SettingsError
            If it has none.
        """
        if not folder.test.is_dir():
            raise SettingsError(
                f"run {folder.run_id} has no test rows; give --table with a labelled table, or "
                "--test-share to automl train",
                run=folder.run_id,
            )
        table = Table.load(folder.test)
        weights = None if table.weights is None else np.asarray(table.weights)
        return cls(index, table.frame, table.y, weights)

    def score(self, model: TableModel) -> Scored:
        """Score and metrics of a model."""
        prediction = model.raw_typed(self.typed)
        labels = model.codes(prediction)
        return Scored(
            self.index.score(self.y, prediction, self.weights, labels=labels),
            self.index.metrics(self.y, prediction, self.weights, labels=labels),
        )


@dataclass(frozen=True)
class Scored:
    """Score of a model on rows; None and nothing without a model."""

    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


def score_trials(
    folder: RunFolder,
    model: TableModel,
    trials: Sequence[Trial],
    rows: ScoredRows,
    *,
    trust: bool = False,
) -> dict[str, Scored]:
    """Scores of trials on the same rows, by trial id.

    Parameters
    ----------
    model : that the run has made
    trust
        As of `model_of_trial`.

    Raises
    ------
    SettingsError, DataError
        As `model_of_trial`.
    """
    return {
        trial.id: rows.score(model_of_trial(folder, model, trial, trust=trust))
        if has_models(folder, model, trial)
        else Scored()
        for trial in trials
    }
