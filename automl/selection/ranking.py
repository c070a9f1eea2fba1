"""Ranking of candidates that the tests cannot tell apart (B14, section 3.5.3)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.selection.clusters import Candidate

DEFAULT_CRITERIA: Mapping[str, float] = MappingProxyType(
    {
        "generalization": 0.85,
        "speed": 0.0,
        "stability": 0.05,
        "simplicity": 0.05,
        "interpretability": 0.05,
    }
)
"""Weights of the criteria: generalization outweighs one rank in all others together. Speed is off, since
scores that come without seconds would all be equally fast."""


def check_criteria(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of all criteria, sum 1; criteria not given weigh nothing.

    Raises
    ------
    SettingsError
        If a criterion is unknown, a weight is negative, or all are zero.
    """
    unknown = sorted(set(weights) - set(DEFAULT_CRITERIA))
    if unknown:
        raise SettingsError(
            f"ranking criterion {unknown[0]!r} is not known: use {', '.join(DEFAULT_CRITERIA)}"
        )
    values = {name: float(weights.get(name, 0.0)) for name in DEFAULT_CRITERIA}
    total = sum(values.values())
    if not all(math.isfinite(v) and v >= 0 for v in values.values()) or total <= 0:
        raise SettingsError(f"weights of the ranking criteria must be >= 0, not all 0: {values}")
    return {name: value / total for name, value in values.items()}


def criterion_ranks(
    candidates: Sequence[Candidate], criteria: Collection[str] = tuple(DEFAULT_CRITERIA)
) -> dict[str, FloatArray]:
    """Fractional ranks by each criterion, 1 is best, ties share the mean of their ranks.

    Returns
    -------
    name -> (n candidates,), in [1, n]
    """
    from scipy import stats  # slow, and records of rankings need none of it

    preferred_low = {
        "generalization": [-candidate.mean_score for candidate in candidates],
        "speed": [candidate.seconds for candidate in candidates],
        "stability": [candidate.deviation for candidate in candidates],
        "simplicity": [-candidate.simplicity for candidate in candidates],
        "interpretability": [-candidate.interpretability for candidate in candidates],
    }
    return {
        name: np.asarray(stats.rankdata(np.round(values, 12)))
        for name, values in preferred_low.items()
        if name in criteria
    }


def compound_ranks(
    candidates: Sequence[Candidate], weights: Mapping[str, float] = DEFAULT_CRITERIA
) -> FloatArray:
    """Weighted mean of the fractional ranks; lower is better.

    Parameters
    ----------
    candidates : n
    weights
        Of the criteria by name, see `DEFAULT_CRITERIA`; divided by their sum.

    Returns
    -------
    (n,), in [1, n]

    Raises
    ------
    SettingsError
        If the weights are not usable.
    """
    shares = {name: share for name, share in check_criteria(weights).items() if share > 0}
    total = np.zeros(len(candidates))
    for name, ranks in criterion_ranks(candidates, shares).items():
        total += shares[name] * ranks
    return total


def rank_order(
    candidates: Sequence[Candidate], weights: Mapping[str, float] = DEFAULT_CRITERIA
) -> list[int]:
    """Positions by compound rank; equal ones by mean score, then by trial id.

    Raises
    ------
    SettingsError
        If the weights are not usable.
    """
    ranks = compound_ranks(candidates, weights).round(9)
    return sorted(
        range(len(candidates)),
        key=lambda i: (ranks[i], -candidates[i].mean_score, candidates[i].trial_id),
    )
