"""The models whose predictions a second layer learns from (H18, section 2.5.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.records import FloatArray, IntArray

MOST_INPUTS = 8
"""Beyond a handful of different models the next ones add columns that say the same."""

INPUTS_TIME_SHARE = 0.7
"""Share of the time to predict that the inputs may take; the second layer itself needs the rest."""


def choose_base(
    scores: FloatArray,
    groups: Sequence[str],
    predict_milliseconds: FloatArray,
    *,
    max_members: int,
    max_milliseconds: float | None = None,
) -> IntArray:
    """Positions of the models that feed the second layer, best first.

    The best of each group in the order of their scores, then the second of each, and so on: models
    of different kinds err on different rows. It depends on whole-table scores alone, not on how
    any blend scores.

    Parameters
    ----------
    scores : (n,), maximized
    groups : (n,)
        Families.
    predict_milliseconds : (n,), per row
    max_members : positive
        Members of the whole ensemble; one place is kept for the second layer.
    max_milliseconds : per row, or None without a limit
        Of the whole ensemble. Models with which the inputs would take more than
        `INPUTS_TIME_SHARE` of it are passed over.

    Returns
    -------
    at most `MOST_INPUTS`; empty if fewer than two can be had
    """
    order = np.argsort(-scores, kind="stable")
    rank_in_group = np.empty(len(scores), dtype=int)
    seen: dict[str, int] = {}
    for i in order:
        rank_in_group[i] = seen.get(groups[i], 0)
        seen[groups[i]] = rank_in_group[i] + 1
    affordable = np.inf if max_milliseconds is None else INPUTS_TIME_SHARE * max_milliseconds
    chosen: list[int] = []
    spent = 0.0
    for i in sorted(map(int, order), key=lambda i: rank_in_group[i]):
        is_fast = spent + predict_milliseconds[i] <= affordable
        if len(chosen) < min(MOST_INPUTS, max_members - 1) and is_fast:
            chosen.append(i)
            spent += float(predict_milliseconds[i])
    if len(chosen) < 2:
        return np.empty(0, dtype=int)
    return np.array(sorted(chosen, key=lambda i: (-scores[i], i)))
