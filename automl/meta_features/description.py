"""All meta-features of a table at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from automl.data.table import Table
from automl.meta_features.feature import MetaFeature, Target
from automl.meta_features.registry import META_FEATURES
from automl.meta_features.time_limit import Deadline, TooLateError, UndefinedError
from automl.meta_features.view import View
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class MetaFeatures(StageRecord):
    """Meta-features and facts of a data set.

    Parameters
    ----------
    values : by name, finite
    seconds
        Wall seconds by group. What several features share counts for the first that needs it.
    missing : reason by name, for those that are absent
    late : names of those that a time limit left out; only then do `values` depend on a clock
    """

    stage: ClassVar[str] = "meta_features"

    values: Mapping[str, float]
    seconds: Mapping[str, float]
    missing: Mapping[str, str]
    late: tuple[str, ...] = field(default=())


def describe(
    table: Table,
    *,
    rng: np.random.Generator,
    seconds: float | None = None,
    features: Sequence[MetaFeature] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> MetaFeatures:
    """Meta-features of a table, computed on bounded samples where it is large.

    Equal tables and streams give equal values, however busy the machine is, unless a time limit is
    hit; `late` then names what was left out.

    Parameters
    ----------
    table
        The rows that may be looked at: never those of a test.
    seconds
        Limit of all features together; None leaves each with its own limit.
    features
        Those that are wanted; by default all of the registry.
    """
    view = View(table, rng)
    end = math.inf if seconds is None else clock() + seconds
    values: dict[str, float] = {}
    missing: dict[str, str] = {}
    late: list[str] = []
    spent: dict[str, float] = {}
    for feature in META_FEATURES.values() if features is None else features:
        started = clock()
        limit = min(feature.seconds, end - started)
        view.deadline = Deadline(limit, clock)
        try:
            with np.errstate(all="ignore"):
                values[feature.name] = _value(feature, view)
        except UndefinedError as error:
            missing[feature.name] = str(error)
        except TooLateError:
            missing[feature.name] = "it ran out of time"
            late.append(feature.name)
        spent[feature.group] = spent.get(feature.group, 0.0) + clock() - started
    return MetaFeatures(values, spent, missing, tuple(late))


def _value(feature: MetaFeature, view: View) -> float:
    wanted = Target.CLASSES if view.has_classes else Target.NUMBERS
    if feature.target not in (Target.ANY, wanted):
        raise UndefinedError(f"it needs {feature.target} as the target")
    view.deadline.check()
    value = float(feature.compute(view))
    if not math.isfinite(value):
        raise UndefinedError("it is not a finite number")
    return value
