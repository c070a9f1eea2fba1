"""Presets: values of settings that go together, as the fields name them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from automl.settings.all_settings import Settings, accounts
from automl.settings.fields import PresetName


def _values(preset: PresetName) -> dict[str, Any]:
    return {
        name: account.presets[preset]
        for name, account in accounts().items()
        if preset in account.presets
    }


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {name: MappingProxyType(_values(name)) for name in get_args(PresetName)}
)
"""Values by name of the preset and of the setting."""


def usual_value(preset: str, name: str) -> Any:
    """Value of a setting that is not given: that of its preset, or else the default."""
    return PRESETS[preset].get(name, Settings.model_fields[name].default)
