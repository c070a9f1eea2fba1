"""Settings of the selection as a user gives them: one value, or values by level of the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args

from automl.errors import SettingsError

AlphaSplit = Literal["level", "tree"]
WantedSplit = Literal["auto", "level", "tree"]
Procedure = Literal["closed", "paired", "mcb", "bayesian", "friedman", "thesis"]
"""How worse candidates are detected; `automl.selection.comparison_with_best` has the tests."""
Normality = Literal["kolmogorov_smirnov", "lilliefors"]
Number = TypeVar("Number", int, float)
LEVELS = ("leaf", "category", "family", "root")
KEEPS_THE_TREE = ("closed", "paired", "mcb")
"""Tests that can keep one alpha over the whole tree; the others test each decision."""


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
    return _by_level(value, "alpha", "0.05 or leaf=0.01,root=0.05", _number)


def parse_top_n(value: Any) -> int | dict[str, int]:
    """How many models each level promotes: one number, or numbers by level.

    Parameters
    ----------
    value
        A number, a mapping, or a text such as ``3`` or ``leaf=1,root=5``.

    Returns
    -------
    positive, each

    Raises
    ------
    SettingsError
        If a level is not known, given twice, or a value is not a positive whole number.
    """
    return _by_level(value, "top_n", "3 or leaf=1,root=5", _count)


def _by_level(
    value: Any, name: str, example: str, parse: Callable[[Any, str], Number]
) -> Number | dict[str, Number]:
    if isinstance(value, str) and "=" in value:
        value = _pairs(value, name, example)
    if not isinstance(value, Mapping):
        return parse(value, name)
    if not value:
        raise SettingsError(f"{name} by level must name at least one level; got none")
    for level in value:
        if level not in LEVELS:
            raise SettingsError(f"{name} names no level {level!r}; use {', '.join(LEVELS)}")
    return {str(level): parse(number, f"{name} of {level}") for level, number in value.items()}


def choose_split(wanted: str, test: str, alpha: float | Mapping[str, float]) -> AlphaSplit:
    """What keeps alpha: as wanted, and for `auto` the tree where the test and one alpha allow it.

    Parameters
    ----------
    wanted
        `auto`, `level` or `tree`.
    test
        Those of `KEEPS_THE_TREE` get the tree from `auto`.
    alpha
        One value, or values by level.

    Raises
    ------
    SettingsError
        If the word is not known, or values by level are to be split over the tree.
    """
    if wanted not in get_args(WantedSplit):
        splits = ", ".join(get_args(WantedSplit))
        raise SettingsError(f"alpha_split must be one of {splits}; got {wanted!r}")
    is_one = not isinstance(alpha, Mapping)
    if wanted == "tree" and not is_one:
        raise SettingsError("alpha_split tree needs one alpha; with values by level give level")
    if wanted == "auto":
        return "tree" if is_one and test in KEEPS_THE_TREE else "level"
    return "tree" if wanted == "tree" else "level"


def _pairs(text: str, name: str, example: str) -> dict[str, str]:
    verdicts: dict[str, str] = {}
    for part in text.split(","):
        level, equals, number = (piece.strip() for piece in part.partition("="))
        if not equals or level in verdicts:
            raise SettingsError(f"{name} must look like {example}, each level once; got {text!r}")
        verdicts[level] = number
    return verdicts


def _number(value: Any, name: str) -> float:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < 1:
        raise SettingsError(f"{name} must be a number between 0 and 1; got {value!r}")
    return number


def _count(value: Any, name: str) -> int:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (number >= 1 and number.is_integer()):
        raise SettingsError(f"{name} must be a positive whole number; got {value!r}")
    return int(number)
