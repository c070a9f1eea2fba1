"""Mixtures of Gaussians that grow by values and are simplified by merging (B14 section 4.1).

Notation
--------
pi, mu, sigma : weight, mean and standard deviation of a component (eq. 4.1)
G : the Gaussian that a pair of components is merged into (eqs. 4.5 to 4.8)
D : mean distance between the distribution functions of G and of the pair (eq. 4.3)
fidelity : exp(-D² / T_D²), 1 where nothing is lost (eq. 4.4)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REACH = 3.0
"""Standard deviations around the means of a pair over which D is the mean."""
CELL = 0.25
"""Share of a component's width: nearer components are one already, and fewer are merged."""
_STEPS = (np.arange(64) + 0.5) / 64


@dataclass(frozen=True)
class Components:
    """Weighted Gaussians in the order of their means.

    Parameters
    ----------
    weights : (k,), positive; their sum is the mass, not 1
    means : (k,), ascending
    sds : (k,), positive
    """

    weights: Floats
    means: Floats
    sds: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats, width: float) -> Components:
        """A component of the standard deviation `width` for each value (eq. 4.2).

        Values of one cell of `CELL` widths are merged at once, which loses nothing worth keeping.

        Parameters
        ----------
        values : (n,)
        weights : (n,), positive
        width : > 0
        """
        _, place = np.unique(np.floor(values / (CELL * width)), return_inverse=True)
        mass: Floats = np.bincount(place, weights).astype(np.float64)
        means = np.bincount(place, weights * values) / mass
        spread = np.bincount(place, weights * (values - means[place]) ** 2) / mass
        return cls(mass, means, np.sqrt(width**2 + spread))

    def joined(self, other: Components) -> Components:
        """The components of both."""
        order = np.argsort(np.append(self.means, other.means), kind="stable")
        return Components(
            np.append(self.weights, other.weights)[order],
            np.append(self.means, other.means)[order],
            np.append(self.sds, other.sds)[order],
        )

    def merged(self) -> Components:
        """What each component and the next one are merged into (eqs. 4.5 to 4.8), (k - 1,).

        Mass, mean and variance of the pair are kept: eq. 4.7 is read with variances in place of
        standard deviations.
        """
        weights = self.weights[:-1] + self.weights[1:]
        left, right = self.weights[:-1] / weights, self.weights[1:] / weights
        gaps = np.diff(self.means)
        means = self.means[:-1] + right * gaps
        variances = left * self.sds[:-1] ** 2 + right * self.sds[1:] ** 2 + left * right * gaps**2
        return Components(weights, means, np.sqrt(variances))

    def distances(self) -> Floats:
        """D between each component with the next one and the Gaussian they are merged into.

        Returns
        -------
        (k - 1,), in [0, 1)
            Means over the interval that reaches `REACH` standard deviations beyond both means.
        """
        lows = self.means - REACH * self.sds
        highs = self.means + REACH * self.sds
        low, high = np.minimum(lows[:-1], lows[1:]), np.maximum(highs[:-1], highs[1:])
        x = low[:, None] + (high - low)[:, None] * _STEPS
        merged = self.merged()
        below = _cumulative(x, self.means, self.sds, slice(None, -1))
        above = _cumulative(x, self.means, self.sds, slice(1, None))
        left = (self.weights[:-1] / merged.weights)[:, None]
        pair = left * below + (1.0 - left) * above
        gaps = np.abs(_cumulative(x, merged.means, merged.sds, slice(None)) - pair)
        return np.asarray(gaps.mean(axis=1))

    def simplified(self, tolerance: float, threshold: float) -> Components:
        """Mixture in which no two neighbors can be merged with a fidelity of `threshold`.

        Every pair that is more faithful than the pairs it overlaps with is merged, until none is
        faithful enough. Mass, mean and variance of the whole stay as they are.

        Parameters
        ----------
        tolerance : > 0
            T_D.
        threshold : in (0, 1]
            Least fidelity of a pair that is merged.
        """
        mixture = self
        while len(mixture.weights) > 1:
            fidelities = np.exp(-((mixture.distances() / tolerance) ** 2))
            before, after = np.append(-1.0, fidelities[:-1]), np.append(fidelities[1:], -1.0)
            chosen = (fidelities >= threshold) & (fidelities > before) & (fidelities >= after)
            if not chosen.any():
                return mixture
            mixture = mixture._with_merged(np.flatnonzero(chosen))
        return mixture

    def _with_merged(self, pairs: NDArray[np.int_]) -> Components:
        """The pairs (i, i + 1) merged; no two of them overlap."""
        merged = self.merged()
        columns = []
        for old, new in (
            (self.weights, merged.weights),
            (self.means, merged.means),
            (self.sds, merged.sds),
        ):
            column = old.copy()
            column[pairs] = new[pairs]
            columns.append(np.delete(column, pairs + 1))
        return Components(*columns)


def _cumulative(x: Floats, means: Floats, sds: Floats, which: slice) -> Floats:
    from scipy.special import ndtr  # slow, only where priors are learned

    return np.asarray(ndtr((x - means[which][:, None]) / sds[which][:, None]))
