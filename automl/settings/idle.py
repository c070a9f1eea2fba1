"""Settings that have no effect beside others, and are therefore refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.settings.all_settings import Settings, accounts


def idle_settings(settings: Settings) -> dict[str, str]:
    """Names of the settings that have no effect beside the others, and why.

    Raises
    ------
    SettingsError
        If the optimizer is a composition that is not usable.
    """
    without_effect = {}
    for name, account in accounts().items():
        reasons = (idle.reason for idle in account.idle if idle.when(settings))
        if reason := next(reasons, ""):
            without_effect[name] = reason
    return without_effect


def idle_among(settings: Settings, asked: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first setting asked for that has no effect, and why; those that are switched off count not.

    Parameters
    ----------
    asked
        Settings by name, as they were given.

    Raises
    ------
    SettingsError
        As of `idle_settings`.
    """
    idle = idle_settings(settings)
    names = (name for name in asked if name in idle and getattr(settings, name) is not False)
    name = next(names, None)
    return None if name is None else (name, idle[name])
