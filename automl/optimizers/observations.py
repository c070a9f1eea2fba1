"""What a model-based optimizer remembers of the trials that it was told."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from automl.records import BoolArray, Configuration, FloatArray, Trial, TrialStatus

MOST = 1000
"""Trials that a model is made of at most: a Gaussian process of a thousand takes a tenth of a second,
and of three thousand a whole one."""
RACED_QUANTILE = 0.25
"""Quantile of the complete scores that stands for a trial that was ended as hopeless."""


@dataclass(frozen=True)
class Table:
    """The evidence as arrays.

    Parameters
    ----------
    X : (n, d)
        Encodings.
    scores : (n,)
        Finite; of trials without a complete score what stands for it.
    is_complete : (n,)
    is_legal : (n,)
        Whether the space has the configuration.
    configurations : n
    """

    X: FloatArray
    scores: FloatArray
    is_complete: BoolArray
    is_legal: BoolArray
    configurations: tuple[Configuration, ...]


class Observations:
    """Trials of one space in the order in which they were told.

    A failed trial counts as the worst complete score; a raced one, of which no more is known than
    that it would not have become the best, as the lower quartile of the complete scores. Partial
    trials are evidence of lower fidelity: they are not kept, and their configurations may still be
    proposed.

    Of more than `MOST` trials a quarter is left out at once, so that a model can grow by what is new until
    the next time: every other one of the worse half. Their configurations stay known.
    """

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._configurations: list[Configuration] = []
        self._rows: list[FloatArray] = []
        self._scores: list[float] = []
        self._is_raced: list[bool] = []
        self._is_legal: list[bool] = []

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Those of all trials, in their order."""
        return tuple(self._configurations)

    @property
    def n_complete(self) -> int:
        """Number of trials with a complete score."""
        return sum(not math.isnan(score) for score in self._scores)

    def add(self, trial: Trial, row: FloatArray, *, is_legal: bool = True) -> None:
        """Keep a trial that is not partial, with the encoding (d,) of its configuration."""
        has_score = trial.is_complete and trial.score is not None and math.isfinite(trial.score)
        self.known.add(trial.configuration.id)
        self._configurations.append(trial.configuration)
        self._rows.append(row)
        self._scores.append(trial.achieved if has_score else math.nan)
        self._is_raced.append(trial.status is TrialStatus.RACED)
        self._is_legal.append(is_legal)
        if len(self._scores) > MOST:
            self._thin_out()

    def _thin_out(self) -> None:
        scores = np.array(self._scores)
        ranked = np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")
        half = len(ranked) // 2
        kept = np.sort(np.concatenate([ranked[:half], ranked[half::2]]))
        for column in (
            self._configurations,
            self._rows,
            self._scores,
            self._is_raced,
            self._is_legal,
        ):
            column[:] = [column[i] for i in kept]

    def table(self) -> Table:
        """All evidence; at least one trial must be complete."""
        scores = np.array(self._scores)
        is_complete = ~np.isnan(scores)
        complete = scores[is_complete]
        stand_in = np.where(self._is_raced, np.quantile(complete, RACED_QUANTILE), complete.min())
        return Table(
            np.array(self._rows),
            np.where(is_complete, scores, stand_in),
            is_complete,
            np.array(self._is_legal),
            self.configurations,
        )
