"""The runtime model F1: seconds of a fit from its configuration and from the size of the data.

Notation
--------
X : (m, d) encoded configurations of a family, or of a union of families
w : workload, as the logarithms of rows, columns, classes and share of iterations
s : seconds of a fit, positive; y = ln s
a : what the family's text file says of the growth of y with rows and columns; see `growth`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from automl.families.registry import families
from automl.forecasts.timings import KnownTimings, Timing, Workload
from automl.records import BoolArray, Configuration, FloatArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.boosting import LogSecondsBoosting
from automl.surrogates.protocol import Surrogate

LEAST_SPREAD = 0.2
"""Fewest standard deviation of log seconds by which fits that were killed are taken to go on."""

OVERHEAD = 0.1
"""Relative seconds of the smallest fits: a tenth of LightGBM's on 1,000 rows x 10 columns."""

REFIT_GROWTH = 1.05
"""A model is fitted anew when its timings have grown by this factor: at each one up to 20."""


def growth(family: str, workload: Workload) -> float:
    """Term a: ln (0.1 + relative seconds), which are 1 for a family that is not registered."""
    registered = families().get(family)
    relative = registered.relative_seconds(workload.rows, workload.columns) if registered else 1.0
    return math.log(OVERHEAD + relative)


class RuntimeModel:
    """Seconds of a fit, learned from earlier runs on other data and from the run's own trials.

    With f a surrogate of log seconds (H18's LightGBM unless another is given) ::

        y = a(family, w) + f_earlier(X, w) + f_own(X, w)

    f_earlier is fitted once, to y - a of the earlier runs. f_own is fitted to what that leaves of
    the run's own trials, so that the first of them already corrects the level. The term a lets
    the trees, which are constant outside of what they have seen, follow tables larger than all
    earlier ones. A surrogate that has seen nothing adds nothing, so predictions are always finite
    and seconds positive.

    Fits that were killed are censored: their y is at least what is known. They enter a first fit
    with this bound. Then the mean of the normal distribution around its prediction, cut off below
    the bound, replaces each, and the surrogate is fitted again (the first step of Schmee and Hahn's
    iteration). That mean is above the bound, so a killed fit never counts as less than one that
    finished at its limit.

    Parameters
    ----------
    encoder
        Fitted; configurations of its families can be learned and predicted.
    known
        This run's workload, and timings of other runs; those of other families are left out.
    make
        Makes a surrogate of log seconds.

    References
    ----------
    .. [1] van Hoof (2018), section 5.2.
    .. [2] Schmee and Hahn (1979), A simple method for regression analysis with censored data;
       Hutter, Hoos and Leyton-Brown (2011), Bayesian optimization with censored response data.
    """

    def __init__(
        self,
        encoder: ConfigurationEncoder,
        earlier: KnownTimings | None = None,
        *,
        make: Callable[[], Surrogate] = LogSecondsBoosting,
    ) -> None:
        earlier = earlier or KnownTimings()
        self._encoder = encoder
        self._families = [space.family for space in encoder.spaces]
        self._workload = earlier.workload
        self._earlier = [t for t in earlier.earlier if t.configuration.family in self._families]
        self._own: list[_Row] = []
        self._make = make
        self._of_earlier: Surrogate | None = None
        self._of_own: Surrogate | None = None
        self._n_fitted = 0

    @property
    def n_earlier(self) -> int:
        """Number of timings of other runs."""
        return len(self._earlier)

    @property
    def n_own(self) -> int:
        """Number of timings of this run."""
        return len(self._own)

    def add(self, timing: Timing) -> None:
        """Take a timing of this run; `fit` learns from it."""
        self._own += self._rows([timing])

    def fit(self, rng: np.random.Generator) -> None:
        """Learn from what is new; does nothing while that is less than a twentieth."""
        if self._earlier and self._of_earlier is None:
            self._of_earlier = self._make()
            fit_censored(self._of_earlier, *_table(self._rows(self._earlier)), rng)
        if self._own and len(self._own) >= REFIT_GROWTH * self._n_fitted:
            self._of_own, self._n_fitted = self._make(), len(self._own)
            Z, y, is_censored = _table(self._own)
            fit_censored(self._of_own, Z, y - _mean(self._of_earlier, Z), is_censored, rng)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log seconds of a full fit in this run, and their standard deviation, (m,).

        Parameters
        ----------
        X : (m, d), encoded by `encoder`
        """
        return self._predict(X, self._workload)

    def seconds(
        self, configurations: Sequence[Configuration], workload: Workload | None = None
    ) -> FloatArray:
        """Seconds (m,) of a fit, positive.

        Parameters
        ----------
        workload
            What it learns from, in place of that of a full fit.
        """
        X = self._encoder.transform(configurations)
        return np.exp(self._predict(X, workload or self._workload)[0])

    def surprises(self) -> FloatArray:
        """(n_own,) log seconds of this run's timings minus those expected without this run."""
        if not self._own:
            return np.zeros(0)
        Z, y, _ = _table(self._own)
        return y - _mean(self._of_earlier, Z)

    def _predict(self, X: FloatArray, workload: Workload) -> tuple[FloatArray, FloatArray]:
        Z = np.column_stack([X, np.tile(workload.logarithms, (len(X), 1))])
        by_family = np.array([growth(name, workload) for name in self._families])
        mean = by_family[self._family_codes(X)] + _mean(self._of_earlier, Z)
        last = self._of_own or self._of_earlier
        std = np.zeros(len(X)) if last is None else last.predict(Z)[1]
        return mean + _mean(self._of_own, Z), std

    def _rows(self, timings: Sequence[Timing]) -> list[_Row]:
        X = self._encoder.transform([t.configuration for t in timings])
        return [
            _Row(
                np.append(x, t.workload.logarithms),
                math.log(t.seconds) - growth(t.configuration.family, t.workload),
                t.is_censored,
            )
            for x, t in zip(X, timings, strict=True)
        ]

    def _family_codes(self, X: FloatArray) -> NDArray[np.intp]:
        """(m,) positions of the families in `_families`, read from the encoding."""
        if len(self._families) == 1:
            return np.zeros(len(X), dtype=np.intp)
        columns = {name: i for i, name in enumerate(self._encoder.feature_names)}
        if "family:index" in columns:
            return np.asarray(X[:, columns["family:index"]], dtype=np.intp) - 1
        indicators = X[:, [columns[f"family={name}"] for name in self._families]]
        return np.asarray(indicators.argmax(axis=1), dtype=np.intp)


class _Row(NamedTuple):
    """Columns Z (d + 4,), y - a, and whether that is a lower bound."""

    columns: FloatArray
    target: float
    is_censored: bool


def fit_censored(
    surrogate: Surrogate,
    X: FloatArray,
    y: FloatArray,
    is_censored: BoolArray,
    rng: np.random.Generator,
) -> None:
    """Fit to targets of which some are lower bounds; see `RuntimeModel`.

    Parameters
    ----------
    X : (n, d)
    y : (n,)
    is_censored : (n,)
    """
    surrogate.fit(X, y, rng=rng)
    if not is_censored.any():
        return
    mean, std = surrogate.predict(X[is_censored])
    imputed = y.copy()
    imputed[is_censored] = mean_above(mean, np.maximum(std, LEAST_SPREAD), y[is_censored])
    surrogate.fit(X, imputed, rng=rng)


def mean_above(mean: FloatArray, std: FloatArray, bounds: FloatArray) -> FloatArray:
    """Means (n,) of normal distributions cut off below `bounds`; at least the bounds.

    mean + std phi(z) / Phi(-z) with z = (bound - mean) / std, by logarithms since both vanish for
    large z.
    """
    from scipy.special import log_ndtr

    z = (bounds - mean) / std
    ratio = np.exp(-0.5 * z**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(-z))
    return np.asarray(np.maximum(mean + std * ratio, bounds))


def _table(rows: Sequence[_Row]) -> tuple[FloatArray, FloatArray, BoolArray]:
    columns, targets, is_censored = zip(*rows, strict=True)
    return np.array(columns), np.array(targets), np.array(is_censored)


def _mean(surrogate: Surrogate | None, Z: FloatArray) -> FloatArray:
    return np.zeros(len(Z)) if surrogate is None else surrogate.predict(Z)[0]
