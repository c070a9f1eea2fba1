"""Prefect flows, the command line, the estimator `AutoML`, and the `Result` of a run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automl_flows.estimator import AutoML
    from automl_flows.results import Result

__all__ = ["AutoML", "Result"]

_PLACES = {"AutoML": "automl_flows.estimator", "Result": "automl_flows.results"}


def __getattr__(name: str) -> Any:
    """What Python users call, imported when it is asked for: importing this package stays cheap."""
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
