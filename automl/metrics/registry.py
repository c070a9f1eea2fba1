"""Metrics by name; `register_metric` adds one of your own.

A name with a colon is that of a metric that a file or a module registers, or of a function there, which needs
no registration (`automl.metrics.custom`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from automl.errors import SettingsError
from automl.extensions import Registry
from automl.lookup import did_you_mean
from automl.metrics.built_in import BUILT_IN
from automl.metrics.custom import is_scorer_name, load_place, scorer_metric
from automl.metrics.metric import Metric
from automl.records import Task

INDEX = "index"
_FORBIDDEN = frozenset(":=,*+ ")
"""Characters that names of scorers and texts of weights are made of."""

METRICS = Registry(
    "automl.metrics",
    Metric,
    {metric.name: metric for metric in BUILT_IN},
    reserved=(INDEX,),
    others=lambda metric: metric.aliases,
)
"""All registered metrics by name, those of installed packages among them."""
_PLACES: dict[str, str] = {}

DEFAULT_WEIGHTS: Mapping[bool, Mapping[str, float]] = MappingProxyType(
    {
        True: MappingProxyType({"accuracy": 0.25, "f_beta": 0.25, "brier": 0.25, "mcc": 0.25}),
        False: MappingProxyType({"r2": 0.5, "mae": 0.5}),
    }
)
"""Weights of the performance index by whether the target has classes (B14, section 3.2)."""


def register_metric(metric: Metric) -> Metric:
    """Add a metric, which then is as good as ours wherever metrics have names.

    Call it in a module of its own: processes that score trials, and those that resume a run, import
    the module of the call.

    Parameters
    ----------
    metric
        Its name and aliases must be new, unless the same module registers it again.

    Returns
    -------
        The metric.

    Raises
    ------
    SettingsError
        If a name is taken or not usable, or if no other process can import the caller.
    """
    place = _place_of(inspect.stack(0)[1].frame.f_globals)
    if not place:
        raise SettingsError(
            f"metric {metric.name}: register_metric must be called in a module that other processes can "
            "import; write it to a file and import that"
        )
    for name in (metric.name, *metric.aliases):
        if not name or name == INDEX or _FORBIDDEN & set(name):
            raise SettingsError(
                f"a metric cannot be named {name!r}: expected letters, digits and underscores, and not {INDEX}"
            )
        holder = _find(name)
        if holder is not None and (holder.name != metric.name or _PLACES.get(holder.name) != place):
            raise SettingsError(
                f"metric {metric.name}: the name {name} is already that of metric {holder.name}"
            )
    METRICS.entries[metric.name], _PLACES[metric.name] = metric, place
    return metric


def places_of(metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Modules, or files, that register those of the metrics that are not ours."""
    return {name: _PLACES[name] for name in metrics if name in _PLACES}


def metric_names() -> list[str]:
    """Names of all registered metrics, and their other usual names."""
    return [*METRICS, *(alias for metric in METRICS.values() for alias in metric.aliases)]


def qualified(name: str) -> str:
    """``PLACE:NAME`` of a metric that is not ours, by which any other process finds it; other names as they are."""
    metric = _find(name)
    place = None if metric is None else _PLACES.get(metric.name)
    return name if metric is None or place is None else f"{place}:{metric.name}"


def get_metric(name: str, task: Task, place: str | None = None) -> Metric:
    """Metric by its registry key, another usual name, or a user's scorer.

    Parameters
    ----------
    place
        What to import where the name is not registered, see `places_of`.

    Raises
    ------
    SettingsError
        If there is no such metric, or it does not serve this kind of target.
    """
    if is_scorer_name(name):
        place, _, own = name.rpartition(":")
        module = load_place(place)  # which may register it
        if _PLACES.get(own) != _place_of(vars(module)):
            return scorer_metric(name, task)
        name = own
    if place is not None and name not in METRICS:
        load_place(place)
    usable = [metric.name for metric in METRICS.values() if task in metric.tasks]
    if name == INDEX:
        raise SettingsError(
            f"index is a mixture of metrics and cannot be part of another; use {', '.join(usable)}"
        )
    metric = _find(name)
    if metric is None:
        raise SettingsError(
            f"metric {name!r} is not known: use index, one of {', '.join(usable)}, "
            f"or file.py:function{did_you_mean(name, metric_names())}"
        )
    if task not in metric.tasks:
        raise SettingsError(
            f"metric {name} does not serve a {task} target; use one of {', '.join(usable)}"
        )
    return metric


def _find(name: str) -> Metric | None:
    aliased = (metric for metric in METRICS.values() if name in metric.aliases)
    return METRICS.get(name) or next(aliased, None)


def _place_of(module: Mapping[str, object]) -> str:
    """Name of a module in a package, file of any other; empty if other processes cannot import it."""
    name, file = str(module.get("__name__")), module.get("__file__")
    if name == "__main__" or "." in name:
        return name if "." in name else ""
    return str(Path(str(file)).resolve()) if file else ""
