"""Which known configuration is tried next, given what the others scored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automl.acquisition.improvement import expected_improvement
from automl.origins import KNOWLEDGE
from automl.recommendation.agreement import LEAST_SCORE, correlation
from automl.recommendation.configuration_portfolio import KnownScores, expected_seconds
from automl.recommendation.score_model import ScoreModel
from automl.records import Configuration, FloatArray, Trial, TrialStatus

LEAST_HOPE = 0.003
"""Expected improvement that is worth a trial, where 1 is from the median to the best known.

Of families that were left with less after 24 trials, in 50 replays, 1.3 % had anything better.
"""

WORST = -1.0
"""Least score that counts, as far below the baseline as a perfect model is above it."""
WITHOUT_VERDICT = {TrialStatus.RACED, TrialStatus.PARTIAL}


@dataclass(frozen=True)
class Guide:
    """Takes the known configuration of which the greatest improvement is expected.

    Parameters
    ----------
    model
        Of the known configurations.
    most : at least 0
        Configurations that it gives.
    seconds : (m,), positive
        Of a trial of each configuration, on any scale: what is expected to improve most per second
        is taken. None: what is expected to improve most.
    """

    model: ScoreModel
    most: int
    seconds: FloatArray | None = None

    @classmethod
    def of(
        cls, known: KnownScores, *, most: int, growth: Mapping[str, float] | None = None
    ) -> Guide:
        """Guide through known configurations.

        Parameters
        ----------
        most : at least 0
        growth
            By family, how much longer its fits take than on the known data sets; where it is given,
            what is expected to improve most per second is taken.
        """
        seconds = None if growth is None else expected_seconds(known, growth)
        return cls(ScoreModel.of(known), most, seconds)

    def next(
        self,
        seen: Sequence[Trial],
        given: Sequence[Configuration],
        passed_over: Sequence[Configuration] = (),
    ) -> Configuration | None:
        """Configuration that is none of these; None if none is left that gives hope.

        Parameters
        ----------
        seen
            Trials that the decision may know.
        given
            What has been chosen before, whether it has ended or not.
        passed_over
            What was chosen and not tried.
        """
        scores = self._scores(seen)
        pending = [j for j in self._positions(given) if j not in scores]
        tried = {trial.configuration.id for trial in seen if trial.origin == KNOWLEDGE}
        waiting = {self.model.configurations[j].id for j in pending}
        n_given = len(tried | waiting)
        others = self._positions([*passed_over, *(trial.configuration for trial in seen)])
        free = np.setdiff1d(np.arange(len(self.model.mean)), [*pending, *others])
        if n_given >= self.most or not len(free):
            return None
        gain = self._gain(seen, scores, pending)[free]
        if gain.max() < LEAST_HOPE:
            return None
        with np.errstate(divide="ignore"):
            rate = np.log(gain) - (0.0 if self.seconds is None else np.log(self.seconds[free]))
        return self.model.configurations[int(free[np.argmax(rate)])]

    def foresight(self, seen: Sequence[Trial]) -> float:
        """Correlation of the scores of known configurations with what other data sets let expect.

        NaN if they are fewer than `LEAST_SHARED`, or equal.
        """
        scores = {j: score for j, score in self._scores(seen).items() if math.isfinite(score)}
        return correlation(self.model.mean[list(scores)], np.array(list(scores.values())))

    def without_hope(self, seen: Sequence[Trial]) -> list[Configuration]:
        """Known configurations that are hardly expected to improve on the best trial seen."""
        gain = self._gain(seen, self._scores(seen), [])
        return [self.model.configurations[j] for j in np.flatnonzero(gain < LEAST_HOPE)]

    def _positions(self, configurations: Sequence[Configuration]) -> list[int]:
        """Positions of those that are known."""
        positions = self.model.positions
        return [
            positions[configuration.id]
            for configuration in configurations
            if configuration.id in positions
        ]

    def _scores(self, seen: Sequence[Trial]) -> dict[int, float]:
        """Scores of known configurations by position; NaN for a failure.

        A trial that ended at its time limit has not failed: its folds tell what it would have scored.
        """
        positions = self.model.positions
        return {
            positions[trial.configuration.id]: _verdict(trial)
            for trial in seen
            if trial.configuration.id in positions and trial.status not in WITHOUT_VERDICT
        }

    def _gain(
        self, seen: Sequence[Trial], scores: dict[int, float], pending: Sequence[int]
    ) -> FloatArray:
        """(m,) improvement on the best trial that is expected, on the common scale."""
        positions, values = list(scores), np.array(list(scores.values()))
        scale = self.model.scale(positions, values)
        common = np.where(np.isfinite(values), scale.to_common(values), LEAST_SCORE)
        mean, deviation = self.model.posterior(positions, common, pending=pending)
        best = 0.0
        if positions:
            every = np.array([_score(trial) for trial in seen])
            best = float(scale.to_common(every[np.isfinite(every)]).max(initial=0.0))
        return expected_improvement(mean, deviation, best)


def _verdict(trial: Trial) -> float:
    """Score, or the mean of the folds that ended within a time limit; NaN where there is neither."""
    if trial.status is TrialStatus.TIMED_OUT and trial.folds:
        return max(float(np.mean(trial.fold_scores)), WORST)
    return _score(trial)


def _score(trial: Trial) -> float:
    """Score, however bad it is no less than `WORST`; NaN if there is none."""
    return max(trial.score, WORST) if trial.is_complete and trial.score is not None else math.nan
