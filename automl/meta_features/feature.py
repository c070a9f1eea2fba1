"""Definition of a meta-feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from automl.meta_features.view import View
from automl.records import FloatArray

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
    "min": ("Minimum", lambda values: float(values.min())),
    "max": ("Maximum", lambda values: float(values.max())),
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
