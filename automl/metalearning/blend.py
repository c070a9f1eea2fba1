"""The vote of the meta-learner beside that of the surrogate, which grows with the run's own trials.

H18 uses its "Blended Optimization" in chapter 7 and describes it in words alone (introduction of
chapter 6): the meta-model has a large vote in the beginning and the surrogate a larger one later.
Here the meta-learner counts as much as k trials of the run do.
"""

from __future__ import annotations

import math

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray

K = 10.0
"""Trials of the run after which both votes are equal."""


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
        Acquisition of the surrogate.

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
    return np.asarray((rankdata(values) - 1.0) / (len(values) - 1.0))
