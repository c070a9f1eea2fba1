"""Acquisition functions and maximizers by name."""

from __future__ import annotations

from automl.acquisition.functions import (
    Acquisition,
    ExpectedImprovement,
    ExpectedImprovementPerCost,
    NormalizedBoundPerCost,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from automl.acquisition.maximizers import LocalSearch, Maximizer, RandomCandidates, SobolRefined
from automl.parts import Kind

ACQUISITIONS: dict[str, Kind[Acquisition]] = {
    "pi": Kind(ProbabilityOfImprovement, "probability of improvement", "X20 V-B"),
    "ei": Kind(ExpectedImprovement, "expected improvement", "L14 eq. 3, X20 V-B"),
    "ei_margin": Kind(
        ExpectedImprovement,
        "expected improvement beyond the best plus a margin",
        "X20 V-B",
        {"margin": 0.01},
    ),
    "ucb": Kind(
        UpperConfidenceBound, "upper confidence bound; a quantile surrogate's bound", "H18 2.2"
    ),
    "ei_per_cost": Kind(
        ExpectedImprovementPerCost, "expected improvement per slowly growing cost", "H18 5.4"
    ),
    "q": Kind(NormalizedBoundPerCost, "upper bound above the usual one, per cost", "H18 eq. 5.2"),
}

MAXIMIZERS: dict[str, Kind[Maximizer]] = {
    "random": Kind(RandomCandidates, "random draws in one batch", "H18 2.5.2"),
    "local_search": Kind(
        LocalSearch, "local searches from the best points, and random draws", "H18 2.5.2, X20 VI-B"
    ),
    "sobol": Kind(SobolRefined, "Sobol points refined by L-BFGS", "L14 2"),
}
