"""How much of the difference of two choices can be luck of the first one's score.

A choice was made because it scored better. Its lead is partly its own good luck and partly the bad
luck of the other one; only the former makes its score too high. Over drawn rows its score S moves
with the difference D = S - S(other) by the coefficient of their regression,

    E[S - E S | D] = Cov(S, D) / Var(D) * (D - E D).

For two models of equal variance the coefficient is 1/2, whatever their correlation, and BBC-CV
subtracts the whole difference between the best of many and the next. So the coefficient counts
relative to 1/2, with a slack:

    luck = 4 Cov(S, D) / Var(D), clipped to [0, 1].

This is all of the difference down to a coefficient of 1/4, next to nothing if the other model varies
far more, and nothing if S falls when D grows. A model that would be the best but for one row on which
it diverges is chosen whenever that row is not drawn. It then falls short by an arbitrary amount, but
the first model's score knows nothing of that row.
"""

from __future__ import annotations

import numpy as np

from automl.records import FloatArray

SLACK = 4.0
"""2 would be exact for models of equal variance. But the variance of the winner is seen too small, as its
errors are: of a bias of 0.091 (best of 20 equal models, accuracy on 60 rows) 2 left 0.034, 4 left
0.022, which is what is left with no such factor."""


def luck_of(final: FloatArray, other: FloatArray) -> float:
    """Share of the difference of two choices that may be luck of the first one's score.

    Parameters
    ----------
    final, other : (N,)
        Scores on the same drawn rows; those that are not defined are NaN.

    Returns
    -------
    in [0, 1]
        1 where they do not differ.
    """
    is_known = np.isfinite(final) & np.isfinite(other)
    if is_known.sum() < 2:
        return 1.0
    difference = final[is_known] - other[is_known]
    covariance = np.cov(final[is_known], difference)
    if covariance[1, 1] <= 0:
        return 1.0
    return float(np.clip(SLACK * covariance[0, 1] / covariance[1, 1], 0.0, 1.0))
