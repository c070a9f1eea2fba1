"""Surrogates by name."""

from __future__ import annotations

from automl.parts import Kind
from automl.surrogates.boosting import LogSecondsBoosting, QuantileBoosting
from automl.surrogates.forest import RandomForest
from automl.surrogates.gaussian_process import GaussianProcess
from automl.surrogates.informed_process import InformedProcess
from automl.surrogates.mixed_kernel import MixedKernelProcess
from automl.surrogates.protocol import Surrogate
from automl.surrogates.scot import RankingProcess
from automl.surrogates.transfer import TransferNetworks
from automl.surrogates.transfer_forest import TransferForest

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
    "factorized_perceptron": Kind(
        TransferNetworks,
        "perceptrons with factorized interactions, over all data sets",
        "S15 3.3",
    ),
    "transfer_perceptron": Kind(
        TransferNetworks, "perceptrons over all data sets", "S15 3.3", {"factors": 0, "layers": 2}
    ),
    "factorization_machine": Kind(
        TransferNetworks,
        "factorization machines over all data sets",
        "S15 3.3",
        {"layers": 0, "factors": 8},
    ),
    "transfer_forest": Kind(
        TransferForest, "random forest over all data sets, with meta-features", "S15 4.4"
    ),
    "ranking_process": Kind(
        RankingProcess, "one ranking for all data sets, a Gaussian process on it", "S15 4.4"
    ),
    "gp_sources": Kind(
        InformedProcess,
        "Gaussian process whose prior is learned from earlier data sets, beside a plain one",
        "Wang et al. 2021, Tighineanu et al. 2022",
    ),
    "mixed_kernel_process": Kind(
        MixedKernelProcess, "Gaussian process over all data sets and their distances", "S15 4.4"
    ),
}
