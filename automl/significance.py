"""Significance levels as a user gives them: one value, or values by level of the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from automl.errors import SettingsError

AlphaSplit = Literal["level", "tree"]
LEVELS = ("leaf", "category", "family", "root")


def parse_alpha(value: Any) -> float | dict[str, float]:
    """One significance level, or levels by name, from numbers or a text.

    Parameters
    ----------
    value
        A number, a mapping, or a text such as ``0.05`` or ``leaf=0.01,root=0.1``.

    Returns
    -------
    in (0, 1), each

    Raises
    ------
    SettingsError
        If a level is not known, given twice, or a value is not a number between 0 and 1.
    """
    if isinstance(value, str) and "=" in value:
        value = _pairs(value)
    if not isinstance(value, Mapping):
        return _number(value, "alpha")
    if not value:
        raise SettingsError("alpha by level must name at least one level; got none")
    for level in value:
        if level not in LEVELS:
            raise SettingsError(f"alpha names no level {level!r}; use {', '.join(LEVELS)}")
    return {str(level): _number(number, f"alpha of {level}") for level, number in value.items()}


def choose_split(wanted: str, test: str, alpha: float | Mapping[str, float]) -> AlphaSplit:
    """What keeps alpha: as wanted, and for `auto` the tree where one alpha of a paired test allows it.

    Parameters
    ----------
    wanted
        `auto`, `level` or `tree`.
    test
        `paired` and `mcb` can keep alpha over the whole tree; the others test each decision.
    alpha
        One value, or values by level.

    Raises
    ------
    SettingsError
        If the word is not known, or values by level are to be split over the tree.
    """
    if wanted not in ("auto", "level", "tree"):
        raise SettingsError(f"alpha_split must be one of auto, level, tree; got {wanted!r}")
    is_one = not isinstance(alpha, Mapping)
    if wanted == "tree" and not is_one:
        raise SettingsError("alpha_split tree needs one alpha; with values by level give level")
    if wanted == "auto":
        return "tree" if is_one and test in ("paired", "mcb") else "level"
    return "tree" if wanted == "tree" else "level"


def _pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        level, equals, number = (piece.strip() for piece in part.partition("="))
        if not equals or level in found:
            raise SettingsError(
                f"alpha must look like 0.05 or leaf=0.01,root=0.05, each level once; got {text!r}"
            )
        found[level] = number
    return found


def _number(value: Any, name: str) -> float:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < 1:
        raise SettingsError(f"{name} must be a number between 0 and 1; got {value!r}")
    return number
