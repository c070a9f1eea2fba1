"""Optimizers by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from automl.lookup import entry_of
from automl.optimizers.grid import GridSearch
from automl.optimizers.hypercube import ShrinkingHypercube
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


OPTIMIZERS: dict[str, OptimizerEntry] = {
    "grid": OptimizerEntry(GridSearch, "every combination of the axes' values", "X20 III"),
    "random": OptimizerEntry(RandomSearch, "independent draws from the prior", "B14 3.4.1, X20 IV"),
    "hypercube": OptimizerEntry(
        ShrinkingHypercube, "shrinking hypercubes around the best points", "B14 Algorithm 1"
    ),
    "tpe": OptimizerEntry(TPE, "tree-structured Parzen estimator", "X20 VII"),
}


def get_optimizer(name: str) -> OptimizerEntry:
    """Entry of an optimizer.

    Raises
    ------
    SettingsError
        If there is none of this name; the nearest one is proposed.
    """
    return entry_of(OPTIMIZERS, name, "optimizer")
