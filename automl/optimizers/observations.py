"""What a model-based optimizer remembers of the trials that it was told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from automl.records import BoolArray, Configuration, FloatArray, FoldResult, Trial, TrialStatus

MOST = 1000
"""Trials that a model is made of at most: a Gaussian process of a thousand takes a tenth of a second,
and of three thousand a whole one."""


@dataclass(frozen=True)
class Table:
    """The evidence as arrays.

    Parameters
    ----------
    X : (n, d)
        Encodings.
    scores : (n,)
        Finite; for trials without a complete score its substitute.
    noise_scale : (n,)
        Variance of a score's noise over that of a complete one: a mean of fewer folds has more.
    is_complete : (n,)
    is_legal : (n,)
        Whether the space has the configuration.
    configurations : n
    """

    X: FloatArray
    scores: FloatArray
    noise_scale: FloatArray
    is_complete: BoolArray
    is_legal: BoolArray
    configurations: tuple[Configuration, ...]


@dataclass(frozen=True)
class Seen:
    """A trial as a model takes it.

    Parameters
    ----------
    row : (d,)
        Encoding of the configuration.
    score : NaN unless the trial is complete
    folds : those that were scored
    is_raced : whether it was ended as hopeless
    """

    configuration: Configuration
    row: FloatArray
    score: float
    folds: tuple[FoldResult, ...]
    is_raced: bool
    is_legal: bool


class Observations:
    """Trials of one space in the order in which they were told.

    A failed trial counts as the worst complete score. Of a raced one the first folds are known:
    their mean counts, less by how much these folds are easier than all folds for the complete
    trials, and at most the best complete score. Partial trials are evidence of lower fidelity:
    they are not kept, and their configurations may still be proposed.

    Of more than `MOST` trials a quarter is left out at once, so that a model can grow by what is new until
    the next time: every other one of the worse half. Their configurations stay known.
    """

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._seen: list[Seen] = []

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Those of all trials, in their order."""
        return tuple(one.configuration for one in self._seen)

    @property
    def n_complete(self) -> int:
        """Number of trials with a complete score."""
        return sum(not math.isnan(one.score) for one in self._seen)

    @property
    def hopeless_rows(self) -> FloatArray:
        """(k, d) encodings of the trials that were raced."""
        return np.array([one.row for one in self._seen if one.is_raced])

    def add(self, trial: Trial, row: FloatArray, *, is_legal: bool = True) -> None:
        """Keep a trial that is not partial, with the encoding (d,) of its configuration."""
        has_score = trial.is_complete and trial.score is not None and math.isfinite(trial.score)
        score = trial.achieved if has_score else math.nan
        is_raced = trial.status is TrialStatus.RACED
        self.known.add(trial.configuration.id)
        self._seen.append(Seen(trial.configuration, row, score, trial.folds, is_raced, is_legal))
        if len(self._seen) > MOST:
            self._thin_out()

    def _thin_out(self) -> None:
        scores = np.array([one.score for one in self._seen])
        ranked = np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")
        half = len(ranked) // 2
        kept = np.sort(np.concatenate([ranked[:half], ranked[half::2]]))
        self._seen = [self._seen[i] for i in kept]

    def table(self) -> Table:
        """All evidence; at least one trial must be complete."""
        scores = np.array([one.score for one in self._seen])
        is_complete = ~np.isnan(scores)
        complete = scores[is_complete]
        raced = [i for i, one in enumerate(self._seen) if one.is_raced and one.folds]
        expected = self._expected([self._seen[i].folds for i in raced])
        scores[~is_complete] = complete.min()
        scores[raced] = np.minimum(expected, complete.max())
        n_folds = np.array([len(one.folds) for one in self._seen])
        noise_scale = np.ones(len(scores))
        usual = float(np.median(n_folds[is_complete]))
        noise_scale[raced] = np.maximum(usual / n_folds[raced], 1.0)
        return Table(
            np.array([one.row for one in self._seen]),
            scores,
            noise_scale,
            is_complete,
            np.array([one.is_legal for one in self._seen]),
            self.configurations,
        )

    def _expected(self, folds: Sequence[Sequence[FoldResult]]) -> FloatArray:
        """Scores over all folds that some folds make expected, of each trial."""
        if not folds:
            return np.zeros(0)
        easier: dict[tuple[int, int], list[float]] = {}
        for one in self._seen:
            for fold in () if math.isnan(one.score) else one.folds:
                easier.setdefault((fold.repeat, fold.fold), []).append(fold.score - one.score)
        ease = {fold: float(np.mean(differences)) for fold, differences in easier.items()}
        return np.array(
            [
                np.average(
                    [fold.score - ease.get((fold.repeat, fold.fold), 0.0) for fold in scored],
                    weights=[fold.rows for fold in scored],
                )
                for scored in folds
            ]
        )
