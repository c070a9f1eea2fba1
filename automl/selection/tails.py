"""Whether a few rows decide a score, so that no interval from these rows is credible.

A mean over rows has an interval because such means are nearly normal. That needs row losses with a
finite variance. Without one, the bootstrap of the mean does not show its error [1]_. Two things are
examined:

- The tail. The largest 5 % of the losses are compared with the k-th largest by Hill's estimator,
  H = mean of ln(loss / k-th largest), 1 / tail index [2]_. The borderline is H of the same share of
  the squared errors of Student's t with four degrees of freedom, whose variance is just infinite. On
  seven of eight small real tables the chosen models' errors had 0.3 to 0.8 of it, on one 0.8 to 1.1.
- The rows that count. With v the deviations of the losses from their mean, (Σv²)² / Σv⁴ rows carry
  the variance: all n where they are alike, 1 where one row is all of it.

Losses that are bounded, as those of labels, have no tail and need no such look.

References
----------
.. [1] Athreya (1987), Bootstrap of the mean in the infinite variance case, Annals of Statistics 15.
.. [2] Hill (1975), A simple general approach to inference about the tail of a distribution, Annals
   of Statistics 3.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from automl.records import FloatArray, IntArray

LARGEST_SHARE = 0.05
"""Share of the losses that is called the tail."""
LEAST_LARGEST = 10
"""Rows of the tail, below which (200 rows in all) there is nothing to be seen of it. Of 300 samples, squares
of normal errors were never beyond the borderline, of t with three degrees of freedom in 76 % (200
rows) to 100 % (4,500), with five in 38 to 5 %."""

BORDERLINE_FREEDOM = 4
"""Degrees of freedom of Student's t whose squares have a variance that is just infinite."""
LEAST_EFFECTIVE = 2.0
"""Rows that carry the variance; with fewer, the interval is that of a single event."""

QUANTILES = 200
"""Quantiles of the tail, by which H of the borderline is integrated: exact to 0.001."""


def decided_by_few(losses: FloatArray) -> str:
    """Why an interval of the mean loss cannot be believed; empty if it can.

    Parameters
    ----------
    losses : (n,), non-negative
        Of rows, or sums over the rows that are drawn together.
    """
    n_rows = len(losses)
    n_effective = effective_rows(losses)
    if n_effective < min(LEAST_EFFECTIVE, n_rows / 2):
        return (
            f"one of the {n_rows} rows decides the score "
            f"({n_effective:.1f} rows carry its variance)"
        )
    n_largest = round(LARGEST_SHARE * n_rows)
    if n_largest < LEAST_LARGEST:
        return ""
    weight, limit = tail_weight(losses, n_largest), borderline(n_largest / n_rows)
    if weight > limit:
        return (
            f"the {n_largest} largest of {n_rows} errors are too uneven for an interval "
            f"(tail index {1 / weight:.2f}, {1 / limit:.2f} is where their variance ends)"
        )
    return ""


def unit_losses(
    losses: FloatArray, sample_weight: FloatArray | None = None, groups: IntArray | None = None
) -> FloatArray:
    """Weighted losses of rows, (n,), summed over those that are drawn together.

    Parameters
    ----------
    groups : (n,), codes from 0, or None
    """
    weighted = losses if sample_weight is None else losses * sample_weight
    return weighted if groups is None else np.bincount(groups, weighted).astype(np.float64)


def effective_rows(losses: FloatArray) -> float:
    """How many equal rows would carry the same variance; n where all losses are the same."""
    squares = (losses - losses.mean()) ** 2
    largest = float(squares.max())
    if largest <= 0:
        return float(len(losses))
    shares = squares / largest
    return float(shares.sum() ** 2 / (shares**2).sum())


def tail_weight(losses: FloatArray, n_largest: int) -> float:
    """Hill's H of the largest losses, 0 where the next one is 0 or there is none."""
    if not 0 < n_largest < len(losses):
        return 0.0
    ordered = np.sort(losses)[::-1]
    threshold = ordered[n_largest]
    if threshold <= 0:
        return 0.0
    return float(np.log(ordered[:n_largest] / threshold).mean())


def borderline(share: float) -> float:
    """H of the largest share of the squares of Student's t with four degrees of freedom.

    Parameters
    ----------
    share : in (0, 1)
    """
    middles = share * (np.arange(QUANTILES) + 0.5) / QUANTILES
    largest = stats.t.isf(middles / 2, BORDERLINE_FREEDOM)
    threshold = stats.t.isf(share / 2, BORDERLINE_FREEDOM)
    return float(2 * np.log(largest / threshold).mean())
