"""Surrogates by name."""

from __future__ import annotations

from automl.parts import Kind
from automl.surrogates.boosting import LogSecondsBoosting, QuantileBoosting
from automl.surrogates.forest import RandomForest
from automl.surrogates.gaussian_process import GaussianProcess
from automl.surrogates.protocol import Surrogate

SURROGATES: dict[str, Kind[Surrogate]] = {
    "forest": Kind(
        RandomForest,
        "random forest with uncertainty between trees and in leaves",
        "H18 3.2, X20 VI",
    ),
    "gaussian_process": Kind(
        GaussianProcess, "Gaussian process, Matérn 5/2 with a length scale per column", "L14 2"
    ),
    "quantile_boosting": Kind(
        QuantileBoosting, "boosted trees for an upper quantile (GBQR)", "H18 5.3"
    ),
    "log_seconds_boosting": Kind(
        LogSecondsBoosting, "boosted trees for the logarithm of seconds", "H18 5.2"
    ),
}
