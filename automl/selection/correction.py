"""A score, or a metric in natural units, corrected for the choice behind it: the formula, from its ingredients.

`automl.selection.honest` makes the ingredients and explains the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from automl.records import FloatArray

LEVEL = 0.95
"""Level of the interval."""
NORMAL_QUANTILE = 1.959964
"""Standard normal quantile of `LEVEL`, both sides."""

SHARE = 0.75
"""Share of the shortfall that is subtracted. In 132 short runs on 46 small tables the naive score was too
high by 0.029 (champion) and 0.043 (ensemble); the share that would have left nothing of this was
0.62 and 0.82."""

WIDENING = 1.15
"""Factor of the bootstrap interval; without it 90 to 93 % of 93 of these runs' test scores were covered."""

UNCERTAINTY = 0.5
"""Standard error of the correction and of the gain, as a share of each."""


@dataclass(frozen=True)
class HonestMetric:
    """A metric of what was chosen, corrected as the score is; natural units.

    Parameters
    ----------
    value
        Corrected for the choice, and with the gain.
    low, high
        Its 95 % interval, for new rows of this one model.
    naive
        On all rows, which the choice has seen.
    """

    value: float
    low: float
    high: float
    naive: float

    @classmethod
    def of(
        cls, score: HonestScore, units: Callable[[float], float], bounds: tuple[float, float]
    ) -> HonestMetric:
        """A corrected score in other units, within the bounds of these.

        Parameters
        ----------
        units
            Value for a score, rising or falling throughout.
        bounds : (one, other)
            End points of the values.
        """
        least, greatest = sorted(bounds)
        low, high = sorted((units(score.low), units(score.high)))
        value, low, high = (
            min(max(each, least), greatest) for each in (units(score.score), low, high)
        )
        return cls(value, low, high, units(score.naive))


@dataclass(frozen=True)
class HonestScore:
    """Naive and corrected score with 95 % intervals.

    Parameters
    ----------
    score
        Corrected for the choice, and with the gain: naive - bias + gain.
    low, high
        Its interval.
    naive
        On all rows, which the choice has seen.
    naive_low, naive_high
        Bootstrap interval that takes the choice for given.
    bias
        Estimated part of the naive score that is due to the choice.
    gain
        Estimated gain of the final model over the models scored.
    n_bootstraps
        That repeated the choice.
    metrics
        The same in natural units, for each metric that has an estimate; none in records of earlier versions.
    """

    score: float
    low: float
    high: float
    naive: float
    naive_low: float
    naive_high: float
    bias: float
    gain: float = 0.0
    n_bootstraps: int = 0
    metrics: Mapping[str, HonestMetric] = field(default_factory=dict)


def corrected(
    naive: float,
    resampled: FloatArray,
    shortfalls: FloatArray,
    gain: float = 0.0,
    *,
    most: float = 1.0,
) -> HonestScore:
    """Honest score from its ingredients.

    Parameters
    ----------
    naive
        Score of the final choice on all rows.
    resampled : (N,)
        Its scores on drawn rows; those that are not defined are NaN.
    shortfalls : (B,)
        Final choice less the choice from drawn rows, both scored on the rows left out, as far as
        it is luck of the final choice.
    gain
        Of the final model over the models scored; the score stays at most `most` where the naive one is.
    most
        Score of a perfect prediction.
    """
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.nanpercentile(resampled, [tail, 100 - tail])
    low, high = min(low, naive), max(high, naive)
    bias = SHARE * float(np.mean(shortfalls))
    spread = NORMAL_QUANTILE * UNCERTAINTY * np.hypot(bias, gain)
    score = min(naive - bias + gain, max(naive - bias, most))
    return HonestScore(
        score=score,
        low=float(score - np.hypot(WIDENING * (naive - low), spread)),
        high=float(min(score + np.hypot(WIDENING * (high - naive), spread), max(high, most))),
        naive=naive,
        naive_low=float(low),
        naive_high=float(high),
        bias=bias,
        gain=gain,
        n_bootstraps=len(shortfalls),
    )


def corrected_metric(
    naive: float,
    resampled: FloatArray,
    shortfalls: FloatArray,
    gain: float,
    *,
    bounds: tuple[float, float],
) -> HonestMetric:
    """A metric by the formula of `corrected`; within its bounds.

    Parameters
    ----------
    naive, resampled, shortfalls, gain
        As of `corrected`, in the metric's units, and maximized: the sign of an error is turned.
    bounds : (worst, ideal)
        In natural sign.
    """
    worst, ideal = bounds
    sign = 1.0 if ideal > worst else -1.0
    found = corrected(naive, resampled, shortfalls, gain, most=sign * ideal)
    # 0 - score, since -score of a perfect 0 is shown as -0
    units = (lambda score: score) if sign > 0 else (lambda score: 0.0 - score)
    return HonestMetric.of(found, units, bounds)
