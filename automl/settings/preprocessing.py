"""Preprocessing choices that settings make for all families, beside what the families' files say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from automl.errors import SettingsError

JsonScalar = None | bool | int | float | str


def _share(value: Any) -> bool:
    return _number(value) and 0.0 < value <= 1.0


def _variance(value: Any) -> bool:
    return _number(value) and value >= 0.0


def _number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


TEXT_METHODS = ("none", "words", "words_letters")
REDUCERS = ("none", "pca", "select_k", "select_few")

CHOICES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "numeric_imputer": (lambda v: v in ("mean", "median"), "mean or median"),
    "nominal_imputer": (
        lambda v: v in ("category", "most_frequent", "null"),
        "category, most_frequent or null",
    ),
    "variance": (_variance, "a number of 0 or more"),
    "variance_raw": (lambda v: isinstance(v, bool), "true or false"),
    "many_categories": (lambda v: v in ("other", "target"), "other or target"),
    "text": (lambda v: v in TEXT_METHODS, "none, words or words_letters"),
    "reducer": (lambda v: v in REDUCERS, "none, pca, select_k or select_few"),
    "reducer_share": (_share, "a number above 0, at most 1"),
}
"""Requirements for values, by name: a test and its words."""


def parse_preprocessing(given: Any) -> dict[str, list[JsonScalar]]:
    """Values by name, each a list: the first is the default, several are searched.

    Parameters
    ----------
    given
        Values, or lists of values, by a name of `CHOICES`. A missing value where a word is wanted
        means ``null``, as YAML writes it.

    Raises
    ------
    SettingsError
        If a name is not known, a value is not allowed, a list is empty or says a value twice, or
        ``variance_raw`` has no threshold.
    """
    if not isinstance(given, Mapping):
        raise SettingsError(f"preprocessing must be values by name; got {given!r}")
    choices: dict[str, list[JsonScalar]] = {}
    for name, value in given.items():
        if name not in CHOICES:
            raise SettingsError(
                f"preprocessing has no choice {name!r}; known are {', '.join(CHOICES)}"
            )
        is_allowed, words = CHOICES[name]
        values = list(value) if isinstance(value, list | tuple) else [value]
        values = ["null" if v is None and name == "nominal_imputer" else v for v in values]
        if not values or not all(map(is_allowed, values)) or len(set(values)) < len(values):
            raise SettingsError(
                f"preprocessing.{name} must be {words}, or a list of such values; got {value!r}"
            )
        choices[str(name)] = values
    if "variance_raw" in choices and not any(choices.get("variance", ())):
        raise SettingsError("preprocessing.variance_raw has no effect without variance above 0")
    return choices
