"""The compose file of the full stack, read as compose reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deployments" / "stack"
FILE = FOLDER / "compose.yaml"
_VARIABLE = re.compile(r"\$\{(\w+)(:[?-])([^}]*)\}")


def required_variables() -> set[str]:
    """Names of the variables without which compose refuses to start."""
    found = _VARIABLE.findall(FILE.read_text(encoding="utf-8"))
    return {name for name, operator, _ in found if operator == ":?"}


def services(variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Services with their variables filled in.

    Raises
    ------
    KeyError
        If a required variable is missing.
    """

    def value(match: re.Match[str]) -> str:
        name, operator, text = match.groups()
        return variables[name] if operator == ":?" else variables.get(name, text)

    content = yaml.safe_load(_VARIABLE.sub(value, FILE.read_text(encoding="utf-8")))
    found: dict[str, dict[str, Any]] = content["services"]
    return found
