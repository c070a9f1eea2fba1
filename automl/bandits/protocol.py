"""Protocol of allocators, which choose the family of the next turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from automl.records import Trial


class Allocator(Protocol):
    """Gives numbered turns to families (the arms)."""

    def choose(
        self, arms: Sequence[str], *, pending: Sequence[str], rng: np.random.Generator
    ) -> str:
        """Family of the next turn.

        Parameters
        ----------
        arms
            Families that can still take a turn, in prior order; never empty.
        pending
            Family of every trial that is being evaluated.
        rng
            Stream of this decision alone.
        """
        ...

    def update(self, trial: Trial) -> None:
        """Take a finished trial."""
        ...


@runtime_checkable
class LetsGo(Allocator, Protocol):
    """An allocator that lets families go one after the other."""

    @property
    def gone(self) -> Collection[str]:
        """Families that get no turn as long as another one can take it."""
        ...
