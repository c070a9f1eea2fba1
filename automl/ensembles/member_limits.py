"""Limits on an ensemble: how many members, how long a prediction may take.

A member of a second layer needs the members whose predictions it takes, so these count as well,
each once.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence

import numpy as np

from automl.errors import AutoMLWarning
from automl.inference.combining import HALF_TOLERANCE, Combine
from automl.records import FloatArray

LEAST_WEIGHT = 0.03
"""On 21 tables of 146 to 1,210 rows a third of the members weighed less, and nothing was lost
without them (mean score 0.5996 beside 0.5995)."""

Inputs = Sequence[Sequence[int]]


def limit_members(
    weights: FloatArray,
    max_members: int,
    *,
    least_weight: float = LEAST_WEIGHT,
    inputs: Inputs = (),
) -> FloatArray:
    """Weights of the heaviest members that are together at most `max_members`, sum 1.

    Parameters
    ----------
    weights : (n members,), non-negative
    max_members : positive
        A member of the second layer that is too much with what it takes is dropped, unless nothing
        else has weight.
    least_weight : in [0, 1)
        Share of the sum below which a member is dropped too; the heaviest one stays.
    inputs : (n members,)
        Positions of the members whose predictions each one takes; empty: no second layer.

    Raises
    ------
    ValueError
        If `max_members` is not positive.
    """
    if max_members < 1:
        raise ValueError(f"an ensemble must keep at least one member; got {max_members}")
    order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
    least = min(least_weight * weights.sum(), weights.max())
    taken: list[int] = []
    for member in order:
        if weights[member] >= least and len(needed([*taken, member], inputs)) <= max_members:
            taken.append(member)
    return _kept(weights, taken or order[:1])


def limit_prediction_time(
    weights: FloatArray,
    predict_milliseconds: FloatArray,
    max_milliseconds: float,
    *,
    inputs: Inputs = (),
) -> FloatArray:
    """Weights of an ensemble that predicts a row in time, sum 1.

    Members that are too slow alone go first, then the lightest ones, until the sum of
    `predict_milliseconds` of the members and of what they need is within the limit.

    Parameters
    ----------
    weights : (n members,), non-negative
    predict_milliseconds : (n members,), per row
    max_milliseconds : positive, per row
    inputs : (n members,)
        Positions of the members whose predictions each one takes; empty: no second layer.

    Warns
    -----
    AutoMLWarning
        If no member is fast enough; the fastest one is kept then.
    """

    def together(members: Collection[int]) -> float:
        return float(sum(predict_milliseconds[i] for i in needed(members, inputs)))

    active = [int(i) for i in np.flatnonzero(weights > 0)]
    taken = [member for member in active if together([member]) <= max_milliseconds]
    if not taken:
        fastest = min(active, key=lambda member: together([member]))
        warnings.warn(
            f"no member of the ensemble predicts a row within {max_milliseconds:g} ms; the "
            f"fastest one, {together([fastest]):g} ms, is kept",
            AutoMLWarning,
            stacklevel=2,
        )
        taken = [fastest]
    while len(taken) > 1 and together(taken) > max_milliseconds:
        taken.remove(min(taken, key=lambda i: (weights[i], -predict_milliseconds[i])))
    return _kept(weights, taken)


def only_effective(weights: FloatArray, combine: Combine) -> FloatArray:
    """All weight to the one member that the combination follows in every row, if there is one.

    That is so where a median is taken and a member has more than half of the weight.

    Parameters
    ----------
    weights : (n members,), non-negative, not all zero
    """
    heaviest = int(weights.argmax())
    if combine != "median" or weights[heaviest] <= (0.5 + HALF_TOLERANCE) * weights.sum():
        return weights
    return np.asarray(np.eye(len(weights))[heaviest])


def needed(members: Collection[int], inputs: Inputs = ()) -> set[int]:
    """Members and those whose predictions they take."""
    return {*members, *(source for i in members for source in (inputs[i] if inputs else ()))}


def _kept(weights: FloatArray, members: Sequence[int]) -> FloatArray:
    kept = np.zeros(len(weights))
    kept[list(members)] = weights[list(members)]
    return np.asarray(kept / kept.sum())


def is_fast_enough(
    member: int,
    predict_milliseconds: FloatArray,
    limit: float | None,
    inputs: Inputs,
) -> bool:
    """Whether a member with all inputs that it needs predicts a row within `limit` milliseconds."""
    together = predict_milliseconds[list(needed([member], inputs))].sum()
    return limit is None or bool(together <= limit)
