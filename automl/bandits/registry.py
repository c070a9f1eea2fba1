"""Allocators by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from automl.bandits.leaders import Leaders
from automl.bandits.protocol import Allocator
from automl.bandits.uniform import Uniform, UniformSeconds
from automl.lookup import entry_of


@dataclass(frozen=True)
class AllocatorEntry:
    """A named allocator.

    Parameters
    ----------
    reads_clock
        Whether its decisions depend on measured seconds.
    joins_families
        Whether there is one arm of all families, so that the optimizer chooses the family.
    """

    make: Callable[[], Allocator]
    summary: str
    source: str
    reads_clock: bool = False
    joins_families: bool = False


ALLOCATORS: dict[str, AllocatorEntry] = {
    "uniform": AllocatorEntry(Uniform, "equal turns for every family", "H18 7.2"),
    "leaders": AllocatorEntry(
        Leaders, "equal turns for the five best families, a fifth for all", "ours, after H18 7"
    ),
    "uniform_seconds": AllocatorEntry(
        UniformSeconds, "equal seconds for every family", "H18 7.2", reads_clock=True
    ),
    "cash": AllocatorEntry(
        Uniform,
        "none: one space of all families, the optimizer chooses the family",
        "X20 II-D",
        joins_families=True,
    ),
}


def get_allocator(name: str) -> AllocatorEntry:
    """Entry of an allocator.

    Raises
    ------
    SettingsError
        If there is none of this name; the nearest one is proposed.
    """
    return entry_of(ALLOCATORS, name, "allocator")
