"""Which values of a hyperparameter a data set accepts (B14 Alg. 4, the loop over one data set)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.spaces.distributions import Numerical

Floats = NDArray[np.float64]

_BATCH = 512
"""Draws made at once, by one call."""
_FIRST_CHECK = 32
"""Accepted values at the first look whether they have settled; it is doubled with every look."""
_GRID = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class PriorSettings:
    """How priors are learned.

    Parameters
    ----------
    acceptance
        `rivals`: by rank within the data set; `index`: by the homogenized score (B14).
    rivals : at least 1
        The more, the closer are accepted values to the best ones.
    width : in (0, 1]
        Standard deviation of a new component, as a part of the range.
    tolerance : > 0
        T_D, the distance that merging may cost.
    threshold : in (0, 1]
        Least fidelity of two components that are merged.
    settled : > 0
        Mean distance at which the values of a data set have converged.
    most_values, most_draws : at least 1
        Of a data set that does not converge.
    floor : in (0, 1)
        Mass that stays on the whole range, however many data sets there are.
    doubt : >= 0
        Data sets that the plain range counts as: the fewer are known, the more mass stays on it.
    least_trials : at least 1
        Complete trials that a data set needs in a signature to count there.
    least_data_sets : at least 1
        Data sets that a prior needs.

    Raises
    ------
    SettingsError
        If one is out of its range.
    """

    acceptance: Literal["rivals", "index"] = "rivals"
    rivals: int = 19
    width: float = 0.05
    tolerance: float = 0.02
    threshold: float = 0.5
    settled: float = 0.03
    most_values: int = 128
    most_draws: int = 20_000
    floor: float = 0.1
    doubt: float = 2.0
    least_trials: int = 3
    least_data_sets: int = 3

    def __post_init__(self) -> None:
        if self.acceptance not in ("rivals", "index"):
            raise SettingsError(f"acceptance must be rivals or index; got {self.acceptance!r}")
        for name in ("width", "threshold", "floor", "tolerance", "settled"):
            value = getattr(self, name)
            if not 0.0 < value <= 1.0 or (name == "floor" and value == 1.0):
                raise SettingsError(f"{name} of priors must be in (0, 1]; got {value:g}", key=name)
        if not self.doubt >= 0.0:
            raise SettingsError(f"doubt of priors must not be negative; got {self.doubt:g}")
        for name in ("rivals", "most_values", "most_draws", "least_trials", "least_data_sets"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} of priors must be positive; got {getattr(self, name)}")

    def floor_among(self, n_data_sets: int) -> float:
        """Mass on the whole range of a prior from so many data sets, in (0, 1)."""
        return self.floor + (1.0 - self.floor) * self.doubt / (n_data_sets + self.doubt)


def acceptances(scores: Floats, settings: PriorSettings) -> Floats:
    """Probability of each trial of a data set to be accepted.

    Parameters
    ----------
    scores : (n,), maximized
        NaN for trials that failed; of `index` homogenized.

    Returns
    -------
    (n,), in [0, 1]
    """
    complete = np.where(np.isnan(scores), -np.inf, scores)
    if settings.acceptance == "index":
        return np.clip(complete, 0.0, 1.0)
    not_better = np.searchsorted(np.sort(complete), complete, side="right") / len(complete)
    return np.asarray(np.where(np.isnan(scores), 0.0, not_better**settings.rivals))


def accepted_values(
    positions: Floats,
    chances: Floats,
    *,
    settings: PriorSettings,
    rng: np.random.Generator,
    number: Numerical,
) -> Floats:
    """Uniform draws that were accepted, until their distribution has settled (Alg. 4's loop).

    Parameters
    ----------
    positions : (n,), in [0, 1]
        Of the known trials in the hyperparameter's range.
    chances : (n,), in [0, 1]
        Probabilities that they are accepted.
    number
        The uniform distribution of the range; it says which draws are one whole number.

    Returns
    -------
    (m,), in [0, 1]
        Empty if nothing can be accepted.
    """
    order = np.argsort(positions, kind="stable")
    ordered, chances = positions[order], chances[order]
    accepted = np.empty(0)
    size = _FIRST_CHECK
    for _ in range(-(-settings.most_draws // _BATCH)):
        if not chances.any():
            break
        drawn = rng.random(_BATCH)
        nearest = _nearest(ordered, number.cdf(number.ppf(drawn)), rng)
        accepted = np.append(accepted, drawn[rng.random(_BATCH) < chances[nearest]])
        while size <= min(len(accepted), settings.most_values):
            if _is_settled(accepted[:size], settings.settled):
                return accepted[:size]
            size *= 2
        if len(accepted) >= settings.most_values:
            break
    return accepted[: settings.most_values]


def _is_settled(values: Floats, tolerance: float) -> bool:
    half = len(values) // 2
    first, second = np.sort(values[:half]), np.sort(values[half:])
    share = half / len(values)
    gap = np.searchsorted(first, _GRID) / half - np.searchsorted(second, _GRID) / len(second)
    return bool(np.abs((1.0 - share) * gap).mean() < tolerance)


def _nearest(ordered: Floats, points: Floats, rng: np.random.Generator) -> NDArray[np.int_]:
    """Index of the position nearest to each point, any of those that are equal."""
    above = np.searchsorted(ordered, points).clip(1, max(len(ordered) - 1, 1))
    above = np.minimum(above, len(ordered) - 1)
    below = np.maximum(above - 1, 0)
    is_below = points - ordered[below] <= ordered[above] - points
    nearest = ordered[np.where(is_below, below, above)]
    first = np.searchsorted(ordered, nearest, side="left")
    beyond = np.searchsorted(ordered, nearest, side="right")
    return np.asarray(first + np.floor(rng.random(len(points)) * (beyond - first)).astype(int))
