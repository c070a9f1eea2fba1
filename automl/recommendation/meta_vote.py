"""The meta-learner's vote, blended with the surrogate's, whose weight grows with the run's trials.

H18 uses its "Blended Optimization" in chapter 7 and describes it only in words (introduction of
chapter 6): at first the meta-model has the larger vote, later the surrogate. Here the meta-learner
counts as much as k trials of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from automl.errors import SettingsError
from automl.experience.data_set import DataSetFacts, Experience
from automl.recommendation.meta_learner import MetaLearner
from automl.records import FloatArray
from automl.spaces.configuration_encoder import ConfigurationEncoder

K = 10.0
"""Trials of the run after which both votes are equal."""


@dataclass(frozen=True)
class MetaVote:
    """The meta-learner's vote on the proposals of an optimizer.

    Parameters
    ----------
    expected
        Scores (m,) that it predicts for encoded configurations (m, d).
    k : at least 0, finite
        Trials that it counts as much as.
    is_heard
        Whether what was learned from other data sets is still trusted.
    """

    expected: Callable[[FloatArray], FloatArray]
    k: float = K
    is_heard: Callable[[], bool] = lambda: True

    def beside(self, utilities: FloatArray, X: FloatArray, n_trials: int) -> FloatArray:
        """(m,) blended votes for the rows of X (m, d); see `blended`."""
        return blended(self.expected(X), utilities, n_trials, self.k)


def vote_on(
    data: DataSetFacts,
    experiences: Sequence[Experience],
    encoder: ConfigurationEncoder,
    *,
    k: float,
    rng: np.random.Generator,
    is_heard: Callable[[], bool] = lambda: True,
) -> MetaVote | None:
    """Vote of a meta-learner of the encoder's families; None if nothing is known of them.

    It learns when it is asked for the first time.

    Parameters
    ----------
    data
        The data set that is searched.
    experiences
        Without what cannot be used (`automl.experience.cleaning`).
    encoder
        Fitted, as the optimizer encodes.
    k, is_heard
        As `MetaVote` has them.
    """
    families = frozenset(space.family for space in encoder.spaces)
    used = [one for one in experiences if one.scored(families)]
    if not used:
        return None

    @cache
    def learner() -> MetaLearner:
        return MetaLearner(encoder).fit(used, rng=rng)

    return MetaVote(lambda X: learner().predict_encoded(X, data), k, is_heard)


def meta_weight(n_trials: int, k: float = K) -> float:
    """Weight k / (k + n) of the meta-learner after n trials, in [0, 1]; 1 before the first.

    Parameters
    ----------
    n_trials : at least 0
        Complete trials of the run.
    k : at least 0, finite
        0: it has no vote.

    Raises
    ------
    SettingsError
        If a number is out of its range.
    """
    if n_trials < 0 or not 0.0 <= k < math.inf:
        raise SettingsError(
            f"n_trials must be at least 0 and k finite and not negative; got {n_trials} and {k:g}"
        )
    return k / (k + n_trials) if k > 0.0 else 0.0


def blended(expected: FloatArray, utilities: FloatArray, n_trials: int, k: float = K) -> FloatArray:
    """(m,) blended votes for m candidates, in [0, 1].

    Each vote is the rank of a candidate, from 0 for the worst to 1 for the best, since predicted
    scores and acquisition values have no common unit; equal ones share their mean rank.

    Parameters
    ----------
    expected : (m,)
        Predictions of the meta-learner.
    utilities : (m,)
        Acquisition of the surrogate; NaN is the worst.

    Raises
    ------
    SettingsError
        If a number is out of its range.
    """
    weight = meta_weight(n_trials, k)
    return np.asarray(weight * _vote(expected) + (1.0 - weight) * _vote(utilities))


def _vote(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    if len(values) < 2:
        return np.ones(len(values))
    comparable = np.where(np.isnan(values), -np.inf, values)
    return np.asarray((rankdata(comparable) - 1.0) / (len(comparable) - 1.0))
