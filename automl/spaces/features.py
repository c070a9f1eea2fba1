"""The features behind an encoding: what they are, and how their raw values are read.

A *raw* array has one column per feature: the number (after ``encode:``), or the index of the
category from 1 (0 unknown); NaN where the feature is not active.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from automl.records import Configuration, JsonScalar
from automl.spaces.distributions import Categorical, Numerical, category_key
from automl.spaces.expressions import Expression
from automl.spaces.nodes import Hyperparameter, value_text
from automl.spaces.tree import SpaceTree

Floats = NDArray[np.float64]
Facts = Mapping[str, float]


class Key(NamedTuple):
    """What tells features apart: family (empty if shared), name, and which part."""

    family: str
    name: str
    is_nominal: bool

    @property
    def text(self) -> str:
        """How columns are called."""
        return f"{self.family}.{self.name}" if self.family else self.name


_TAIL = 0.001
"""Quantile that replaces an infinite bound: nearly no draw lies beyond (by judgement)."""
_SMALL = 1e-12
"""Lower bound of a logarithmic number whose distribution reaches down to 0."""
FAMILY = Key("", "family", True)
_EXAMPLES = 4
"""Values of every number in a design: two in either half of its range."""


@dataclass
class Feature:
    """One raw column.

    Parameters
    ----------
    name : as columns are called
    categories : index (from 1) by category key; of nominal features
    low, high : range of a numeric feature that becomes [0, 1]
    is_log : whether the scale is logarithmic
    """

    name: str
    is_nominal: bool
    categories: dict[tuple[bool, JsonScalar], int] = field(default_factory=dict)
    low: float = math.inf
    high: float = -math.inf
    is_log: bool = False

    def columns(self, form: str) -> list[str]:
        """Names of its columns."""
        if not self.is_nominal:
            return [self.name]
        if form == "index":
            return [f"{self.name}:index"]
        texts = ["<unknown>", *(value_text(value) for _, value in self.categories)]
        return [f"{self.name}={text}" for text in texts]

    def expand(self, raw: Floats, form: str, inactive: float) -> Floats:
        """(n, n_columns) from the raw values (n,)."""
        if not self.is_nominal:
            return np.where(np.isnan(raw), inactive, self._scale(raw))[:, None]
        n_categories = len(self.categories)
        if form == "index":
            return np.where(np.isnan(raw), n_categories + 1.0, raw)[:, None]
        return np.asarray(raw[:, None] == np.arange(n_categories + 1)[None, :], dtype=float)

    def include(self, value: float) -> None:
        """Widen the range of a numeric feature."""
        if math.isfinite(value):
            self.low, self.high = min(self.low, value), max(self.high, value)

    def _scale(self, raw: Floats) -> Floats:
        low, high = self.low, self.high
        if not low < high:
            return raw - low if math.isfinite(low) else np.zeros_like(raw)
        if self.is_log and low > 0.0:
            tiny = low * 1e-6
            return np.log(np.maximum(raw, tiny) / low) / math.log(high / low)
        return (raw - low) / (high - low)


def features_of(spaces: Sequence[SpaceTree], facts: Facts) -> dict[Key, Feature]:
    """Features of the spaces, in tree order; ``family`` first if there are several spaces."""
    features: dict[Key, Feature] = {}
    shared = len(spaces) == 1
    if not shared:
        codes = {category_key(space.family): i + 1 for i, space in enumerate(spaces)}
        features[FAMILY] = Feature("family", True, codes)
    for space in spaces:
        for signature in space.signatures():
            for node in signature.nodes:
                for key in keys_of(node, "" if shared else space.family):
                    feature = features.setdefault(key, Feature(key.text, key.is_nominal))
                    _learn(feature, node, facts)
    return features


def keys_of(node: Hyperparameter, family: str) -> list[Key]:
    """Keys of the features that a node writes: its nominal part, its numeric part, or both."""
    owner = "" if node.is_prep else family
    nominal, numeric = Key(owner, node.name, True), Key(owner, node.argument, False)
    if isinstance(node.distribution, Numerical):
        return [numeric]
    kind = _domain(node.distribution.values)
    if kind == "mixed" or (kind == "nominal" and any(choice.encode for choice in node.choices)):
        return [nominal, numeric]
    return [nominal if kind == "nominal" else numeric]


def _domain(values: Sequence[JsonScalar]) -> str:
    """Type of a list of values by H18 table 3.1: numeric (booleans too), nominal or mixed."""
    if all(value in {0, 1} for value in values):
        return "numeric"
    numbers = [isinstance(v, int | float) and not isinstance(v, bool) for v in values]
    if all(numbers):
        return "numeric"
    return "mixed" if any(numbers) else "nominal"


def _learn(feature: Feature, node: Hyperparameter, facts: Facts) -> None:
    distribution = node.distribution
    if isinstance(distribution, Numerical):
        feature.is_log |= distribution.is_log
        low, high = distribution.low, distribution.high
        if not math.isfinite(low) or (distribution.is_log and low <= 0.0):
            low = max(distribution.value(_TAIL), _SMALL if distribution.is_log else -math.inf)
        if not math.isfinite(high):
            high = distribution.value(1.0 - _TAIL)
        for bound in (low, high):
            feature.include(_evaluate(node.encode, float(bound), facts))
    elif feature.is_nominal:
        for value in distribution.values:
            feature.categories.setdefault(category_key(value), len(feature.categories) + 1)
    else:
        for choice in node.choices:
            feature.include(_number_of(node, choice.value, choice.encode, facts))


def _evaluate(encode: Expression | None, value: float, facts: Facts) -> float:
    if encode is None:
        return value
    try:
        number = float(encode({**facts, "value": value}))
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _number_of(
    node: Hyperparameter, value: JsonScalar, encode: Expression | None, facts: Facts
) -> float:
    """What the numeric part holds for one choice; NaN if the word means no number."""
    if encode is None and not isinstance(value, int | float):
        return math.nan
    start = float(value) if isinstance(value, int | float) else math.nan
    return _evaluate(encode or node.encode, start, facts)


Step = tuple[int, str, Callable[[Sequence[Any], Facts], Any]]


class Reader:
    """Reads raw values; the steps are worked out once per signature."""

    def __init__(self, spaces: Sequence[SpaceTree], features: Mapping[Key, Feature]) -> None:
        self._shared = len(spaces) == 1
        self._features = features
        self._columns = {key: i for i, key in enumerate(features)}
        self._plans: dict[tuple[str, tuple[str, ...]], list[Step]] = {}
        self._by_name: dict[tuple[str, str], Hyperparameter] = {}
        for space in spaces:
            for node in space.hyperparameters():
                self._by_name.setdefault((space.family, node.name), node)
                if node.is_prep:
                    self._by_name.setdefault(("", node.name), node)
            for signature in space.signatures():
                self._plans[space.family, signature.path] = [
                    step for node in signature.nodes for step in self._steps(node, space.family)
                ]

    def read(self, configurations: Sequence[Configuration], facts: Facts) -> Floats:
        """(n, n_features) raw array."""
        raw = np.full((len(configurations), len(self._features)), np.nan)
        groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for i, configuration in enumerate(configurations):
            groups.setdefault((configuration.family, configuration.path), []).append(i)
        for (family, path), rows in groups.items():
            if FAMILY in self._columns:
                code = self._features[FAMILY].categories.get(category_key(family), 0)
                raw[rows, self._columns[FAMILY]] = code
            plan = self._plans.get((family, path))
            if plan is None:
                for i in rows:
                    self._read_stranger(raw[i], configurations[i], facts)
                continue
            values = [configurations[i].values for i in rows]
            for column, name, convert in plan:
                numbers = np.asarray(convert([one.get(name, _MISSING) for one in values], facts))
                raw[rows, column] = np.where(np.isnan(numbers), raw[rows, column], numbers)
        return raw

    def _steps(self, node: Hyperparameter, family: str) -> Iterator[Step]:
        keys = keys_of(node, "" if self._shared else family)
        for key in keys:
            if key not in self._columns:
                continue
            if key.is_nominal:
                read = _nominal_reader(self._features[key], skip_numbers=len(keys) > 1)
            else:
                read = _numeric_reader(node)
            yield self._columns[key], node.name, read

    def _read_stranger(self, row: Floats, configuration: Configuration, facts: Facts) -> None:
        """Read a configuration whose signature is not known, name by name."""
        for name, value in configuration.values.items():
            node = self._by_name.get((configuration.family, name)) or self._by_name.get(("", name))
            if node is None:
                continue
            for column, _, convert in self._steps(node, configuration.family):
                number = convert([value], facts)[0]
                if not math.isnan(number):
                    row[column] = number


_MISSING = object()


def _nominal_reader(
    feature: Feature, *, skip_numbers: bool
) -> Callable[[Sequence[Any], Facts], list[float]]:
    codes = {key: float(code) for key, code in feature.categories.items()}
    plain = {value: code for (_, value), code in codes.items() if isinstance(value, str)}

    def code_of(value: Any) -> float:
        if value is _MISSING:
            return math.nan
        if skip_numbers and isinstance(value, int | float) and not isinstance(value, bool):
            return math.nan
        return codes.get(category_key(value), 0.0)

    def read(values: Sequence[Any], _: Facts) -> list[float]:
        return [plain[v] if v.__class__ is str and v in plain else code_of(v) for v in values]

    return read


def _numeric_reader(node: Hyperparameter) -> Callable[[Sequence[Any], Facts], list[float]]:
    if not node.choices and node.encode is None:
        return _read_numbers
    encodes: dict[tuple[bool, JsonScalar], Expression | None] = {
        category_key(choice.value): choice.encode for choice in node.choices
    }

    def read(values: Sequence[Any], facts: Facts) -> list[float]:
        memo: dict[Any, float] = {}
        numbers = []
        for value in values:
            key = value if value is _MISSING else category_key(value)
            if key not in memo:
                memo[key] = (
                    math.nan
                    if value is _MISSING
                    else _number_of(node, value, encodes.get(category_key(value)), facts)
                )
            numbers.append(memo[key])
        return numbers

    return read


def _read_numbers(values: Sequence[Any], _: Facts) -> list[float]:
    return [float(v) if isinstance(v, int | float) else math.nan for v in values]


def design(spaces: Sequence[SpaceTree]) -> list[Configuration]:
    """Configurations that show every choice and the spread of every number of the spaces."""
    configurations = []
    for space in spaces:
        for signature in space.signatures():
            sizes = [len(leaf.choices) for leaf in signature.nominals]
            for row in range(max([_EXAMPLES, *sizes])):
                nominals = {}
                for leaf in signature.nominals:
                    assert isinstance(leaf.distribution, Categorical)
                    nominals[leaf.name] = leaf.distribution.values[row % leaf.distribution.size]
                unit = [(row % _EXAMPLES + 0.5) / _EXAMPLES] * len(signature.numericals)
                configurations.append(space.from_unit(signature, unit, nominals))
    return configurations
