"""Prefect flows, the command line, and the estimator `AutoML`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automl_flows.estimator import AutoML

__all__ = ["AutoML"]


def __getattr__(name: str) -> Any:
    """The estimator, imported when it is asked for: importing this package stays cheap."""
    if name == "AutoML":
        from automl_flows.estimator import AutoML

        return AutoML
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
