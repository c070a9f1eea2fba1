"""Allocators by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from automl.bandits.baselines import InitiallyBest, Only
from automl.bandits.expected_gain import ExpectedGain, ExpectedGainPerSecond
from automl.bandits.greedy import EpsilonDecreasing, EpsilonGreedy
from automl.bandits.halving import FamilyHalving
from automl.bandits.increasing_effort import IncreasingEffort
from automl.bandits.leaders import Leaders
from automl.bandits.protocol import Allocator
from automl.bandits.special_names import AUTO, ONLY
from automl.bandits.thompson import Thompson, TopTwoThompson
from automl.bandits.uniform import Uniform, UniformSeconds
from automl.bandits.upper_bounds import Ucb1, Ucb1Tuned
from automl.errors import SettingsError
from automl.extensions import Registry
from automl.factory_options import BASE, with_options
from automl.lookup import entry_of


@dataclass(frozen=True)
class AllocatorEntry:
    """A named allocator.

    Parameters
    ----------
    reads_clock
        Whether its decisions depend on measured seconds.
    joins_families
        Whether there is one arm of all families, so that the optimizer chooses the family. If it also reads the
        clock, the optimizer divides the expected improvement by the cost of a trial.
    """

    make: Callable[..., Allocator]
    summary: str
    source: str
    reads_clock: bool = False
    joins_families: bool = False


_OURS: dict[str, AllocatorEntry] = {
    "uniform": AllocatorEntry(Uniform, "equal turns for every family", "H18 7.3"),
    "halving": AllocatorEntry(
        FamilyHalving,
        "drops the worse half of the families, doubles the turns of the others",
        "H18 8.2.3",
    ),
    "leaders": AllocatorEntry(
        Leaders, "equal turns for the five best families, a fifth for all", "ours, after H18 7"
    ),
    "uniform_seconds": AllocatorEntry(
        UniformSeconds, "equal seconds for every family", "ours, after H18 7.3", reads_clock=True
    ),
    "cash": AllocatorEntry(
        Uniform,
        "none: one space of all families, the optimizer chooses the family",
        "X20 II-D",
        joins_families=True,
    ),
    "cash_seconds": AllocatorEntry(
        Uniform,
        "as cash, by the expected improvement per slowly growing cost of a trial",
        "X20 II-D, H18 5.4",
        reads_clock=True,
        joins_families=True,
    ),
    "epsilon_greedy": AllocatorEntry(
        EpsilonGreedy, "the best mean reward, a tenth of the turns at random", "H18 2.4.1"
    ),
    "epsilon_decreasing": AllocatorEntry(
        EpsilonDecreasing,
        "at random at first, the best mean reward after 100 turns",
        "H18 2.4.1, 7.5",
    ),
    "thompson": AllocatorEntry(
        Thompson, "a draw from the Beta distribution of each family's rewards", "H18 Algorithm 2"
    ),
    "thompson_mean": AllocatorEntry(
        partial(Thompson, is_of_mean=True),
        "a draw from the distribution of each mean reward, which concentrates",
        "after H18 Algorithm 2",
    ),
    "top_two_thompson": AllocatorEntry(
        TopTwoThompson, "Thompson sampling, half of the turns for its second", "H18 Algorithm 3"
    ),
    "ucb1": AllocatorEntry(Ucb1, "the greatest upper bound of the mean reward", "H18 2.4.3"),
    "ucb1_tuned": AllocatorEntry(
        Ucb1Tuned, "UCB1 that knows the variance of the rewards", "H18 2.4.3"
    ),
    "increasing_effort": AllocatorEntry(
        IncreasingEffort, "the least-pulled family that may exceed the best score", "H18 7.4"
    ),
    "initially_best": AllocatorEntry(
        InitiallyBest, "always the family whose first score was best", "H18 7.5"
    ),
    ONLY: AllocatorEntry(
        Only, "always the first family in prior order, or the F of only:F", "H18 7.3"
    ),
    "expected_gain": AllocatorEntry(
        ExpectedGain, "the greatest expected gain of the best score per turn", "ours, after H18 7.5"
    ),
    "expected_gain_seconds": AllocatorEntry(
        ExpectedGainPerSecond,
        "the greatest expected gain of the best score per second",
        "ours, after H18 7.5",
        reads_clock=True,
    ),
}
ALLOCATORS = Registry("automl.allocators", AllocatorEntry, _OURS, reserved=(AUTO,))
"""All allocators by name, those of installed packages among them."""


def get_allocator(given: str | Mapping[str, Any]) -> AllocatorEntry:
    """Entry of an allocator; ``only:F`` is that of the family F.

    Parameters
    ----------
    given
        A name, or a mapping with the name as `base` and options (`automl.factory_options`).

    Raises
    ------
    SettingsError
        If there is none of this name, or no family F, or an option is unknown or not usable; the nearest name is
        proposed.
    """
    if isinstance(given, str):
        return _named(given)
    base = given.get(BASE)
    if not isinstance(base, str):
        raise SettingsError(
            f"allocator must be a name, or a mapping with `base` and options; got {given!r}",
            setting="allocator",
        )
    entry = _named(base)
    options = {key: value for key, value in given.items() if key != BASE}
    return replace(entry, make=with_options(entry.make, options, f"allocator {base}"))


def _named(name: str) -> AllocatorEntry:
    kind, _, family = name.partition(":")
    if kind != ONLY or not family:
        return entry_of(ALLOCATORS, name, "allocator", also=[AUTO])
    from automl.families.registry import get_family

    get_family(family)
    return AllocatorEntry(partial(Only, family), f"always {family}", ALLOCATORS[ONLY].source)


def allocator_name(given: str | Mapping[str, Any]) -> str:
    """Name of an allocator in records: its own, or that of its base."""
    return given if isinstance(given, str) else str(given.get(BASE))
