"""What a system is given; imports nothing but pandas, since it runs in the environment of each rival."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pandas as pd

METRICS = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "rmse"}
"""Those of the AutoML benchmark (AMLB)."""
N_CORES = 2
"""Of every system."""


class Job:
    """One table, split and budget.

    Parameters
    ----------
    folder
        With ``train.csv``, ``test.csv`` and ``split.json``.
    started
        `time.monotonic` at which the process was started.
    """

    def __init__(self, folder: Path, seconds: float, seed: int, started: float) -> None:
        split = json.loads((folder / "split.json").read_text())
        self.folder, self.seconds, self.seed, self.started = folder, seconds, seed, started
        self.name = split["name"]
        self.task, self.target, self.nominal = split["task"], split["target"], split["nominal"]

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.task == "regression"

    @property
    def metric(self) -> str:
        """`roc_auc`, `log_loss` or `rmse`."""
        return METRICS[self.task]

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self.seconds - (time.monotonic() - self.started)

    def training(self) -> tuple[pd.DataFrame, pd.Series]:
        """Raw columns and the target; labels are texts."""
        frame = self._read("train.csv")
        return frame.drop(columns=self.target), frame[self.target]

    def test(self) -> pd.DataFrame:
        """Raw columns."""
        return self._read("test.csv").drop(columns=self.target)

    def _read(self, name: str) -> pd.DataFrame:
        types = dict.fromkeys(self.nominal, "object")
        if not self.is_regression:
            types[self.target] = "object"
        return pd.read_csv(self.folder / name, dtype=types)


def as_categories(*frames: pd.DataFrame) -> list[pd.DataFrame]:
    """Text columns as pandas' categories, those of the first frame."""
    copies = [frame.copy() for frame in frames]
    for column in frames[0].columns:
        if not pd.api.types.is_numeric_dtype(frames[0][column]):
            kind = pd.CategoricalDtype(sorted(frames[0][column].dropna().unique()))
            for copy in copies:
                copy[column] = copy[column].astype(kind)
    return copies


def as_codes(*frames: pd.DataFrame) -> list[pd.DataFrame]:
    """Numbers alone: ordinal codes for categories, medians for what is missing."""
    copies = as_categories(*frames)
    for copy in copies:
        for column in copy.columns:
            if not pd.api.types.is_numeric_dtype(copy[column]):
                copy[column] = copy[column].cat.codes.astype(float)
    median = copies[0].median()
    return [copy.fillna(median).fillna(0.0).astype(float) for copy in copies]


def plainly_named(*frames: pd.DataFrame) -> list[pd.DataFrame]:
    """Columns as c0, c1, …, for systems that refuse some characters."""
    return [frame.set_axis([f"c{i}" for i in range(frame.shape[1])], axis=1) for frame in frames]


def probabilities(model: object, X: pd.DataFrame) -> pd.DataFrame:
    """Probabilities of a scikit-learn classifier, by label."""
    return pd.DataFrame(model.predict_proba(X), columns=[str(c) for c in model.classes_])


def answer(model: object, X: pd.DataFrame, job: Job) -> pd.DataFrame:
    """What a scikit-learn estimator predicts: the column `prediction`, or one by label."""
    if job.is_regression:
        return pd.DataFrame({"prediction": model.predict(X)})
    return probabilities(model, X)
