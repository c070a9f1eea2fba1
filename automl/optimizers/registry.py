"""Optimizers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from automl.lookup import entry_of
from automl.optimizers.composition import GBQR, GP_EI, SMAC, Composition, parse_composition
from automl.optimizers.grid import GridSearch
from automl.optimizers.hypercube import ShrinkingHypercube
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.protocol import Optimizer
from automl.optimizers.random_search import RandomSearch
from automl.optimizers.tpe import TPE
from automl.spaces.tree import SpaceTree


@dataclass(frozen=True)
class OptimizerEntry:
    """A named optimizer: how to make one for a space, a line about it and its source."""

    make: Callable[[SpaceTree], Optimizer]
    summary: str
    source: str


def _composed(composition: Composition, summary: str, source: str) -> OptimizerEntry:
    return OptimizerEntry(partial(ModelBasedOptimizer, composition=composition), summary, source)


OPTIMIZERS: dict[str, OptimizerEntry] = {
    "grid": OptimizerEntry(GridSearch, "every combination of the axes' values", "X20 III"),
    "random": OptimizerEntry(RandomSearch, "independent draws from the prior", "B14 3.4.1, X20 IV"),
    "hypercube": OptimizerEntry(
        ShrinkingHypercube, "shrinking hypercubes around the best points", "B14 Algorithm 1"
    ),
    "tpe": OptimizerEntry(TPE, "tree-structured Parzen estimator", "X20 VII"),
    "smac": _composed(
        SMAC, "random forest, expected improvement, local search", "H18 2.5.2, X20 VI"
    ),
    "gp_ei": _composed(GP_EI, "Gaussian process, expected improvement, Sobol points", "L14 2"),
    "gbqr": _composed(GBQR, "boosted trees for an upper quantile, random draws", "H18 5.3"),
}


def get_optimizer(given: str | Mapping[str, Any]) -> OptimizerEntry:
    """Entry of a named optimizer, or of one that is composed in settings.

    Raises
    ------
    SettingsError
        If there is none of this name (the nearest one is proposed), or the composition is not
        usable.
    """
    return entry_of(OPTIMIZERS, given, "optimizer") if isinstance(given, str) else compose(given)


def compose(given: Mapping[str, Any]) -> OptimizerEntry:
    """Entry of a composition; the keys stand in `automl.optimizers.composition`.

    Raises
    ------
    SettingsError
        If a key, name or option is unknown, a value is not usable, or a part is missing.
    """
    composition = parse_composition(given)
    return _composed(composition, composition.summary, "settings")


def optimizer_name(given: str | Mapping[str, Any]) -> str:
    """What an optimizer is called in records: its name, `composed` for one without."""
    return given if isinstance(given, str) else str(given.get("name", "composed"))
