"""What a meta-feature is, and how its computation is kept within limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from automl.records import FloatArray

if TYPE_CHECKING:
    from automl.metalearning.meta_features.view import View

FEATURE_SECONDS = 60.0
"""A guard: sizes are bounded so that a feature takes a fraction of a second on a free core (`view`)."""


class Group(StrEnum):
    """Groups of meta-features, in the order in which they are computed (H18, section 2.3.1)."""

    SIMPLE = "simple"
    STATISTICAL = "statistical"
    INFORMATION = "information"
    MODEL = "model"
    LANDMARK = "landmark"


class Target(StrEnum):
    """Targets for which a meta-feature is defined."""

    ANY = "any"
    CLASSES = "classes"
    NUMBERS = "numbers"


class UndefinedError(Exception):
    """The data set has no such number; the message says why, for example that no column is numeric."""


class TooLateError(Exception):
    """The limit of time has passed; never leaves `describe`."""


class Deadline:
    """A moment after which `check` raises; what runs looks at it between its steps.

    Parameters
    ----------
    seconds : from now; None for never
    clock
        Seconds that only grow.
    """

    def __init__(
        self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def check(self) -> None:
        """Do nothing before the moment.

        Raises
        ------
        TooLateError
            After it.
        """
        if self._end is not None and self._clock() > self._end:
            raise TooLateError


@dataclass(frozen=True)
class MetaFeature:
    """A number of a data set.

    Parameters
    ----------
    name : as in every record, file and store
    definition : one sentence
    source : the document and section, or who used it
    compute
        Pure function of a view; raises `UndefinedError` where the number does not exist.
    target : for which it is defined
    openml : its name at OpenML, if that is the same number but for the unit; empty otherwise
    seconds : its limit of time
    """

    name: str
    group: Group
    definition: str
    source: str
    compute: Callable[[View], float]
    target: Target = Target.ANY
    openml: str = ""
    seconds: float = FEATURE_SECONDS


_SUMMARIES: dict[str, tuple[str, Callable[[FloatArray], float]]] = {
    "mean": ("Mean", lambda values: float(values.mean())),
    "std": ("Standard deviation", lambda values: float(values.std())),
    "min": ("Least", lambda values: float(values.min())),
    "max": ("Greatest", lambda values: float(values.max())),
}


def summaries(
    name: str,
    group: Group,
    what: str,
    source: str,
    values: Callable[[View], FloatArray],
    *,
    of: tuple[str, ...] = ("mean", "std", "min", "max"),
    target: Target = Target.ANY,
    openml: dict[str, str] | None = None,
) -> tuple[MetaFeature, ...]:
    """Features ``NAME_mean``, … of an array that a view gives.

    Parameters
    ----------
    what
        Ends the sentence "Mean of …".
    openml
        Names at OpenML by summary.
    """

    def feature(kind: str) -> MetaFeature:
        word, summarize = _SUMMARIES[kind]
        return MetaFeature(
            f"{name}_{kind}",
            group,
            f"{word} of {what}.",
            source,
            lambda view: summarize(values(view)),
            target,
            (openml or {}).get(kind, ""),
        )

    return tuple(feature(kind) for kind in of)
