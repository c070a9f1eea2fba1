"""Scores as targets of surrogates: increasing maps to about mean 0 and standard deviation 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from automl.records import FloatArray

_WHISKER = 3.0
"""Distances of the upper scores from the median, as far as a score below it counts: failures must not set
the scale (by judgement)."""
_GAP = 0.1
"""Share of the median gap, added to every gap, so that the best has a finite logarithm (by judgement)."""
_EQUAL = 1e-12
"""Differences below this share of the scores are those of rounding."""


def standard(scores: FloatArray) -> FloatArray:
    """(n,) scores less their mean, over their standard deviation; zeros if all are equal."""
    centered = scores - scores.mean()
    spread = float(np.sqrt(np.mean(centered**2)))
    if not spread > _EQUAL * max(1.0, float(np.abs(scores).max())):
        return np.zeros(len(scores))
    return np.asarray(centered / spread)


def winsorized(scores: FloatArray) -> FloatArray:
    """Standardized after raising scores that are far below the rest.

    Scores have no lower end (a failed regression is at -1000), and one of them would leave no
    spread to the others. The limit is the median less 3 distances from the median to the
    upper quartile, or to the best score where these are equal.
    """
    median, upper, best = np.quantile(scores, [0.5, 0.75, 1.0])
    least = _EQUAL * max(1.0, float(np.abs(scores).max()))
    distance = next((d for d in (upper - median, best - median) if d > least), 0.0)
    return standard(np.maximum(scores, median - _WHISKER * distance) if distance else scores)


def normal_scores(scores: FloatArray) -> FloatArray:
    """Normal quantiles of the mid-ranks: only the order counts."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return standard(ndtri((rankdata(scores) - 0.5) / len(scores)))


def log_gap(scores: FloatArray) -> FloatArray:
    """Standardized -ln(gap to the best + a tenth of the median gap): differences near the best."""
    gap = scores.max() - scores
    typical = float(np.median(gap[gap > 0.0])) if np.any(gap > 0.0) else 1.0
    return standard(-np.log(gap + _GAP * typical))


TARGETS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "standard": standard,
    "winsorized": winsorized,
    "normal_scores": normal_scores,
    "log_gap": log_gap,
}
"""Maps of scores by name; every one is increasing."""
