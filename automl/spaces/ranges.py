"""The plain range behind a number's distribution: what is left where nothing is known of it."""

from __future__ import annotations

import math

from automl.spaces.distributions import LogUniform, Numerical, Uniform

TAIL = 0.001
"""Mass beyond the end of the plain range where a distribution has no bound."""


def plain_range(distribution: Numerical) -> Uniform | LogUniform | None:
    """Uniform alternative on the same scale, over the bounds; None if there is only one value.

    Where a distribution has no bound, or a logarithmic one begins at 0, the range ends where
    `TAIL` of the mass is beyond it.
    """
    if isinstance(distribution, Uniform | LogUniform):
        return distribution if distribution.low < distribution.high else None
    low, high = (
        bound if math.isfinite(bound) else float(distribution.value(tail))
        for bound, tail in ((distribution.low, TAIL), (distribution.high, 1.0 - TAIL))
    )
    if distribution.is_log and low <= 0.0:
        low = float(distribution.value(TAIL))
    if not low < high or (distribution.is_log and low <= 0.0):
        return None
    kind = LogUniform if distribution.is_log else Uniform
    return kind(low, high, distribution.integer)
