"""Distributions of single hyperparameters (B14 section 3.1.1, eqs. 3.1-3.6).

==================  =====================================================================
text name           class and parameters
==================  =====================================================================
``categorical``     `Categorical`: values, weights (eq. 3.1)
``uniform``         `Uniform`: low, high (eq. 3.2)
``loguniform``      `LogUniform`: low > 0, high (eq. 3.4)
``normal``          `Normal`: mean, sd, low, high (eq. 3.3)
``lognormal``       `LogNormal`: mean and sd of ln x, low, high (eq. 3.5)
``gmm``             `GaussianMixture`: weights, means, sds, log, low, high (eq. 3.6)
==================  =====================================================================

Bounds truncate: the density is renormalized on [low, high], nothing piles up on a bound. Bounds
are inclusive and kept with 12 significant digits, as all values are (`canonical`).

``integer=True`` makes the value k as probable as the bin [k - ½, k + ½] of the continuous
distribution on [low - ½, high + ½]. The position of k in the unit interval is the middle of its
mass, so ``ppf(cdf(k)) == k`` for every k whose mass is not lost in rounding.

Unbounded distributions map [0, 1] to the finite range between their 2**-53 quantiles.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from automl.spaces.categorical import Categorical, category_key
from automl.spaces.mixtures import GaussianMixture, LogNormal, Normal
from automl.spaces.numerical import LogUniform, Number, Numerical, Uniform, canonical

__all__ = [
    "NUMERICAL_TYPES",
    "Categorical",
    "Distribution",
    "GaussianMixture",
    "LogNormal",
    "LogUniform",
    "Normal",
    "Number",
    "Numerical",
    "Uniform",
    "canonical",
    "category_key",
    "parameter_names",
]

Distribution = Categorical | Numerical
"""Distributions of hyperparameters."""

NUMERICAL_TYPES: dict[str, type[Numerical]] = {
    kind.text_name: kind for kind in (Uniform, LogUniform, Normal, LogNormal, GaussianMixture)
}


def parameter_names(kind: type[Any]) -> tuple[str, ...]:
    """Names of a distribution's parameters in the text form."""
    return tuple(entry.name for entry in fields(kind))
