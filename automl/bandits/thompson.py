"""Thompson sampling for continuous rewards: a Beta distribution with each arm's moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.bandits.rewards import LearnsRewards, Pulls, Tally
from automl.factory_options import Share
from automl.records import FloatArray

FIRST_TURNS = 3
"""Turns of an arm before its moments count."""
LEAST_DEVIATION = 0.01
"""Standard deviation that an arm has at least: one of equal rewards would be pulled for ever."""
LEAST_MEAN = 0.001
"""Distance that a mean keeps from 0 and from 1, where no Beta distribution exists."""
GREATEST_SHARE = 0.99
"""Greatest variance, as a share of mean (1 - mean): at the whole of it both parameters are 0."""
RESAMPLES = 100
"""Draws for another arm than the first; where one arm wins a hundred times over, the second would be no
choice."""


def beta_parameters(mean: float, variance: float) -> tuple[float, float]:
    """Parameters of the Beta distribution with a mean and a variance.

    Parameters
    ----------
    mean : in (0, 1)
    variance : in (0, mean (1 - mean))

    Returns
    -------
    alpha and beta, both positive

    References
    ----------
    .. [1] van Hoof, equations 2.24 and 2.15.
    """
    alpha = ((1 - mean) / variance - 1 / mean) * mean**2
    return alpha, alpha * (1 / mean - 1)


def guarded_moments(mean: float, variance: float, *, n: int = 1) -> tuple[float, float]:
    """Mean, and variance over `n`, moved to where the Beta distribution exists.

    The mean is kept 0.001 away from 0 and 1. The standard deviation is at least 0.01 before the
    variance is divided; the result is at most 0.99 mean (1 - mean), the cap winning over the floor.
    """
    mean = min(max(mean, LEAST_MEAN), 1 - LEAST_MEAN)
    variance = max(variance, LEAST_DEVIATION**2) / n
    return mean, min(variance, GREATEST_SHARE * mean * (1 - mean))


class Thompson(LearnsRewards):
    """The arm with the greatest draw from a Beta distribution with its rewards' moments.

    An arm with fewer than three turns is pulled, the least-pulled first; van Hoof pulls an arm
    without spread for ever, here its standard deviation gets a floor instead. An arm that has
    fewer than two rewards because its turns are pending draws from the uniform distribution.

    Parameters
    ----------
    is_of_mean
        Draw from the distribution of the mean, with variance over n: it concentrates, where the
        distribution of the rewards keeps its width for ever.

    References
    ----------
    .. [1] van Hoof, Algorithm 2.
    """

    def __init__(self, *, is_of_mean: bool = False) -> None:
        super().__init__()
        self._is_of_mean = is_of_mean

    def choose(
        self, arms: Sequence[str], *, pending: Sequence[str], rng: np.random.Generator
    ) -> str:
        """Arm with too few turns, else that of the greatest draw."""
        new = Pulls(self._rewards, arms, pending).wanting(FIRST_TURNS)
        return new or arms[int(np.argmax(self._draw(arms, rng)))]

    def _draw(self, arms: Sequence[str], rng: np.random.Generator) -> FloatArray:
        parameters = [self._parameters(self._rewards.of(arm)) for arm in arms]
        alphas, betas = zip(*parameters, strict=True)
        return rng.beta(alphas, betas)

    def _parameters(self, tally: Tally) -> tuple[float, float]:
        if tally.n < 2:
            return 1.0, 1.0
        n = tally.n if self._is_of_mean else 1
        return beta_parameters(*guarded_moments(tally.mean, tally.sample_variance, n=n))


class TopTwoThompson(Thompson):
    """Thompson sampling that gives a share of the turns to its second choice.

    With probability gamma the arm of the greatest draw; else draws are repeated until another
    arm wins, at most a hundred times, after which the runner-up of the first draw is taken.

    Parameters
    ----------
    gamma : probability of the first choice, in (0, 1]

    References
    ----------
    .. [1] van Hoof, Algorithm 3 (which applies the first choice k in both branches; meant is i).
    """

    def __init__(self, gamma: Share = 0.5) -> None:
        super().__init__()
        self._gamma = gamma

    def choose(
        self, arms: Sequence[str], *, pending: Sequence[str], rng: np.random.Generator
    ) -> str:
        """Arm with too few turns, else the first or the second choice."""
        new = Pulls(self._rewards, arms, pending).wanting(FIRST_TURNS)
        if new is not None:
            return new
        draw = self._draw(arms, rng)
        order = np.argsort(-draw, kind="stable")
        if len(arms) == 1 or rng.random() < self._gamma:
            return arms[int(order[0])]
        for _ in range(RESAMPLES):
            other = int(np.argmax(self._draw(arms, rng)))
            if other != order[0]:
                return arms[other]
        return arms[int(order[1])]
