"""What every optimizer answers: ask for a proposal, tell of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from automl.records import Configuration, Fidelity, Trial


@dataclass(frozen=True)
class Proposal:
    """A configuration to evaluate and how much of the data to spend on it.

    Parameters
    ----------
    is_designed
        Whether it belongs to the optimizer's initial design, whatever the scores so far.
    """

    configuration: Configuration
    fidelity: Fidelity = field(default_factory=Fidelity)
    is_designed: bool = field(default=False, compare=False)


class Optimizer(Protocol):
    """Proposes configurations of one space; holds no generator, no clock and no data.

    Equal tells and equal generators give equal proposals, so a pickled optimizer continues
    identically.
    """

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """Next proposal, or None when the space is exhausted.

        Parameters
        ----------
        pending
            Configurations of this space that are being evaluated.
        rng
            Stream of this decision alone.
        """
        ...

    def tell(self, trial: Trial) -> None:
        """Take a finished trial of this space, whoever proposed it.

        A trial that failed counts as the worst score seen; one that is not complete is
        evidence of lower fidelity and is never compared with complete ones.
        """
        ...


@runtime_checkable
class AsksAgain(Optimizer, Protocol):
    """An optimizer that proposes several configurations for little more than one."""

    def ask_again(
        self, *, pending: Sequence[Configuration], rng: np.random.Generator
    ) -> Proposal | None:
        """As `ask`, where nothing was told since the last one; `pending` holds what that proposed."""
        ...


@runtime_checkable
class BeginsByKnowledge(Optimizer, Protocol):
    """An optimizer that may know of earlier data sets where to begin."""

    @property
    def begins_by_knowledge(self) -> bool:
        """Whether it does."""
        ...
