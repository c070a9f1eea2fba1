"""Turns for the family that is expected to raise the best score most.

Notation
--------
n : turns of a family, pending ones included
m : best reward of the family
b : best reward of all families, the one to beat
y : scaled improvement n (new best - old best) of a turn that set a new best
beta : mean of y
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, log, log1p

import numpy as np

from automl.bandits.rewards import Rewards
from automl.factory_options import Positive
from automl.records import Trial

SHAPE = 3.0
"""Shape of the Lomax distribution of improvements before any was seen: the least whole number with a variance."""
PRIOR_IMPROVEMENT = 0.2
"""Mean of y before any was seen; chosen on half of the data sets of ``benchmarks/search/allocators.py``."""
PRIOR_WEIGHT = 3.0
"""New bests that the prior mean counts for; chosen as `PRIOR_IMPROVEMENT`."""
LEAST_SECONDS = 0.001
"""A turn counts for at least so much: what ends at once must not make a family look free."""
REACHABLE_SHARE = 0.2
"""Share of the way from the best reward to 1 that a turn can gain at most; chosen as `PRIOR_IMPROVEMENT`."""
LEAST_ROOM = 1e-6
"""Next to nothing: families still compare when the best reward is 1."""


@dataclass
class Curve:
    """Facts of the best-so-far curve of one family.

    Parameters
    ----------
    n : finished turns
    best : best reward, in [0, 1]
    records : turns that improved on an earlier best
    amount : sum of the scaled improvements y
    seconds : sum of the turns' wall seconds
    """

    n: int = 0
    best: float = 0.0
    records: int = 0
    amount: float = 0.0
    seconds: float = 0.0

    def add(self, reward: float, seconds: float) -> None:
        """Take a finished turn."""
        if self.n and reward > self.best:
            self.records += 1
            self.amount += self.n * (reward - self.best)
        self.best = max(self.best, reward)
        self.n += 1
        self.seconds += seconds


def lomax_gain(*, threshold: float, limit: float, shape: float, scale: float) -> float:
    """Expected excess over a threshold of a Lomax variable that is cut off at a limit.

    The integral of the survival function (1 + y / scale)^-shape from `threshold` to `limit`,
    in a form that keeps its relative accuracy where both are close.

    Parameters
    ----------
    threshold, limit : 0 <= threshold <= limit
    shape : above 1
    scale : positive
    """
    excess = log1p((limit - threshold) / (scale + threshold))
    at_threshold = exp((1 - shape) * log1p(threshold / scale))
    return scale / (shape - 1) * at_threshold * -expm1((1 - shape) * excess)


class ExpectedGain:
    """The family whose next turn is expected to raise the best score most, per turn or second.

    The bandits of the documents go for the family with the best mean; wanted is the family with
    the best maximum. The model is one of each family's best-so-far curve:

    1. A family's rewards are exchangeable, so its next turn sets a new best of the family with
       probability 1 / (n + 1), whatever their distribution.
    2. A new best exceeds the old one by y / n, with y exponential of mean beta. The curve then
       rises by beta / (n (n + 1)) in the mean and ends beta / n above its present value: the
       upper tail is short, as that of bounded scores is.
    3. 1 / beta has a Gamma distribution per family with shape 3 and a mean of beta that is that
       of all families: (0.6 + sum of y) / (3 + new bests) over every family. A family's own new
       bests update it, so what is left of y is a Lomax variable with shape 3 + new bests and
       scale 2 x mean + own sum of y: heavy-tailed for a family hardly known.

    The expected gain E[max(next - b, 0)] is then ::

        1 / (n (n + 1)) x integral of (1 + y / scale)^-shape from n (b - m) to n (b - m + r)

    where r is what can be reached above b: a fifth of the way to 1 (a millionth at least), for
    data sets have ceilings. Pending turns count in n and change nothing else. The first reward of
    an untried family is the best of all T tried families' with probability 1 / (T + 1), and
    exceeds it as a second turn of theirs would (n = 1, m = b); that gain counts `untried` times,
    for it opens a curve of its own, and is divided by the square of 1 + its pending turns. Equal
    gains go to the least-pulled family, then to the first in prior order.

    Per second, the gain is divided by the expected seconds of a turn: the family's mean with one
    turn added at the geometric mean of all families' means, which is also what an untried family
    is expected to take.

    A decision takes time linear in the number of families; nothing depends on the number of
    trials. The constants, and `untried` = 2 per turn and 0.5 per second, were chosen on half of the
    data sets of ``benchmarks/search/allocators.py``.

    Parameters
    ----------
    untried : weight of the gain of a family without a turn, positive

    References
    ----------
    .. [1] van Hoof, section 7.5, which names the mean as the flaw of all bandits tried there.
    """

    is_per_second = False

    def __init__(self, *, untried: Positive = 2.0) -> None:
        self._untried = untried
        self._rewards = Rewards()
        self._curves: dict[str, Curve] = {}
        self._arms: dict[str, None] = {}

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Family of the greatest expected gain."""
        waiting = Counter(pending)
        self._arms |= dict.fromkeys(arms)
        tried = [self._curves[arm] for arm in self._arms if arm in self._curves]
        best = self._rewards.best
        scale = (SHAPE - 1) * self.mean_improvement
        first_gain = self._untried * untried_gain(len(tried), best=best, scale=scale)
        usual_seconds = _geometric_mean_seconds(tried)

        def rank(arm: str) -> tuple[float, int]:
            curve, n_pending = self._curves.get(arm), waiting[arm]
            if curve is None:
                gain, seconds = first_gain / (1 + n_pending) ** 2, usual_seconds
            else:
                gain = curve_gain(curve, n_pending, best=best, scale=scale)
                seconds = (curve.seconds + usual_seconds) / (curve.n + 1)
            n = n_pending if curve is None else curve.n + n_pending
            return (gain / seconds if self.is_per_second else gain), -n

        return max(arms, key=rank)

    def update(self, trial: Trial) -> None:
        """Take the reward and the seconds."""
        curve = self._curves.setdefault(trial.configuration.family, Curve())
        curve.add(self._rewards.add(trial), trial.spent_seconds)

    @property
    def mean_improvement(self) -> float:
        """Mean of y over all families, drawn towards 0.2 as by three new bests."""
        curves = self._curves.values()
        amount = sum(curve.amount for curve in curves)
        records = sum(curve.records for curve in curves)
        return (PRIOR_WEIGHT * PRIOR_IMPROVEMENT + amount) / (PRIOR_WEIGHT + records)


def curve_gain(curve: Curve, n_pending: int, *, best: float, scale: float) -> float:
    """Expected gain of a family's next turn over the best reward of all families.

    Parameters
    ----------
    best : b, in [curve.best, 1]
    scale : of a family without a new best, that is 2 x mean of y
    """
    n = curve.n + n_pending
    threshold = n * (best - curve.best)
    integral = lomax_gain(
        threshold=threshold,
        limit=threshold + n * reachable_gain(best),
        shape=SHAPE + curve.records,
        scale=scale + curve.amount,
    )
    return integral / (n * (n + 1))


def untried_gain(n_tried: int, *, best: float, scale: float) -> float:
    """Expected gain of the first turn of a family, when `n_tried` others have had one."""
    limit = reachable_gain(best)
    return lomax_gain(threshold=0.0, limit=limit, shape=SHAPE, scale=scale) / (n_tried + 1)


def reachable_gain(best: float) -> float:
    """What can be reached above the best reward; never nothing, so that families compare."""
    return max(REACHABLE_SHARE * (1 - best), LEAST_ROOM)


def _geometric_mean_seconds(curves: Sequence[Curve]) -> float:
    """Geometric mean of the curves' mean seconds; 1 without curves."""
    if not curves:
        return 1.0
    logs = [log(max(curve.seconds / curve.n, LEAST_SECONDS)) for curve in curves]
    return exp(sum(logs) / len(logs))


class ExpectedGainPerSecond(ExpectedGain):
    """`ExpectedGain` divided by the expected seconds; decisions then depend on measured time."""

    is_per_second = True

    def __init__(self, *, untried: Positive = 0.5) -> None:
        super().__init__(untried=untried)
