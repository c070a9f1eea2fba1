"""Encodings of points as arrays, without making configurations of them.

A `ConfigurationEncoder` says what the columns are; this module reads off, by encoding a few
configurations of each leaf, how its columns depend on the leaf's position, and repeats that for
whole batches. It relies on every column depending on one active leaf at most, and checks it: a
space of which this is not true is encoded through its configurations, exactly but slowly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from automl.records import BoolArray, FloatArray, IntArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.distributions import Categorical, Numerical
from automl.spaces.nodes import Hyperparameter
from automl.spaces.points import Points, PointSpace

KNOTS = 1025
"""Places at which a column is read that is neither linear nor logarithmic."""
PROBES = 9
"""Places at which a column is read to see whether it is a line of the position, the value or its
logarithm."""
TOLERANCE = 1e-4
"""Greatest error of a column; only those that are read at knots have one beyond rounding."""
Form = Literal["unit", "value", "log", "knots"]
Line = tuple[Form, FloatArray, FloatArray]
CHECKED = 8
"""Configurations of a signature that are compared with the encoder."""


@dataclass(frozen=True)
class _Nominal:
    """Columns of a nominal leaf: one row of values per category."""

    leaf: int
    signatures: BoolArray
    columns: IntArray
    table: FloatArray


@dataclass(frozen=True)
class _Number:
    """The column of a numerical leaf as a function of its position or its value.

    Parameters
    ----------
    form : `unit` and `value` and `log` are linear in position, value and ln value; `knots` is
        linear between `places`
    places, heights : where the column was read, in value order
    """

    leaf: int
    signatures: BoolArray
    column: int
    distribution: Numerical
    form: Form
    places: FloatArray
    heights: FloatArray

    def evaluate(self, unit: FloatArray, *, relaxed: bool) -> FloatArray:
        """(n,) column at positions (n,); with `relaxed` as if integers were continuous."""
        if self.form == "unit":
            return self._line(unit)
        distribution = _continuous(self.distribution) if relaxed else self.distribution
        values = distribution.ppf(unit)
        if self.form == "knots":
            return np.interp(values, self.places, self.heights)
        return self._line(np.log(values) if self.form == "log" else values)

    def slopes(self, unit: FloatArray, step: float) -> FloatArray:
        """(n,) derivatives of the relaxed column by the position."""
        if self.form == "unit":
            return np.full(len(unit), self._rise)
        low, high = np.maximum(unit - step, 0.0), np.minimum(unit + step, 1.0)
        rise = self.evaluate(high, relaxed=True) - self.evaluate(low, relaxed=True)
        return np.asarray(rise / (high - low))

    @property
    def _rise(self) -> float:
        return float((self.heights[1] - self.heights[0]) / (self.places[1] - self.places[0]))

    def _line(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.heights[0] + self._rise * (x - self.places[0]))


class PointEncoder:
    """Encodes points exactly as an encoder encodes their configurations.

    Parameters
    ----------
    points
        Points of one space.
    encoder
        Fitted encoder of the same space.

    Attributes
    ----------
    is_exact : bool
        Whether columns are computed from the arrays; else every point becomes a configuration.
    """

    def __init__(self, points: PointSpace, encoder: ConfigurationEncoder) -> None:
        self._points = points
        self._encoder = encoder
        middle = np.full((len(points.signatures), len(points.names)), 0.5)
        self._middles = Points(np.arange(len(points.signatures)), middle)
        self._base = self._through_configurations(self._middles)
        self._numbers: list[_Number] = []
        self._nominals: list[_Nominal] = []
        self._read_leaves()
        self.is_exact = self._agrees()

    def encode(self, points: Points, *, relaxed: bool = False) -> FloatArray:
        """(n, n_features) encoding.

        Parameters
        ----------
        relaxed
            Whether integers move continuously with their positions, for gradients.
        """
        if not self.is_exact:
            return self._through_configurations(points)
        encoded = self._base[points.signatures]
        for number in self._numbers:
            rows = _rows(number.signatures, points)
            if isinstance(rows, slice) or len(rows):
                unit = points.unit[rows, number.leaf]
                encoded[rows, number.column] = number.evaluate(unit, relaxed=relaxed)
        if self._nominals:
            categories = self._points.categories(points)
            for nominal in self._nominals:
                rows = np.flatnonzero(nominal.signatures[points.signatures])
                cells = np.ix_(rows, nominal.columns)
                encoded[cells] = nominal.table[categories[rows, nominal.leaf]]
        return encoded

    def slopes(self, points: Points, *, step: float = 1e-5) -> list[tuple[int, int, FloatArray]]:
        """Derivatives of the (relaxed) encoding by the positions of numerical leaves.

        Returns
        -------
        A list of (leaf, column, slopes (n,)): how fast the column moves with the leaf at each
        point, by central differences inside [0, 1]; zero where the leaf is not active. Leaves that
        are active nowhere are left out.
        """
        found = []
        for number in self._numbers if self.is_exact else []:
            is_active = number.signatures[points.signatures]
            if is_active.any():
                slopes = number.slopes(points.unit[:, number.leaf], step)
                found.append((number.leaf, number.column, is_active * slopes))
        return found

    # --- reading off the encoder --------------------------------------------------------------

    def _through_configurations(self, points: Points) -> FloatArray:
        configurations = [self._points.configuration(points, row) for row in range(len(points))]
        return self._encoder.transform(configurations)

    def _read_leaves(self) -> None:
        for leaf, node, signatures in self._groups():
            row = int(np.flatnonzero(signatures)[0])
            if isinstance(node.distribution, Categorical):
                self._read_nominal(leaf, node.distribution, signatures, row)
            else:
                self._read_number(leaf, node.distribution, signatures, row)

    def _groups(self) -> list[tuple[int, Hyperparameter, BoolArray]]:
        """Different nodes of each leaf name, and the signatures that have them.

        Equal nodes of two families are different ones: they have columns of their own, except for
        what prepares the data.
        """
        groups: list[tuple[str, int, Hyperparameter, BoolArray]] = []
        for i, leaf, node in self._points.leaves():
            owner = "" if node.is_prep else self._points.signatures[i].family
            for family, other, same, signatures in groups:
                if (family, other) == (owner, leaf) and same == node:
                    signatures[i] = True
                    break
            else:
                groups.append((owner, leaf, node, np.arange(len(self._points.signatures)) == i))
        return [(leaf, node, signatures) for _, leaf, node, signatures in groups]

    def _moved(self, row: int, leaf: int, unit: FloatArray) -> FloatArray:
        """Encoding of the middle of a signature with one leaf at the positions `unit`."""
        points = self._middles.take(np.full(len(unit), row))
        points.unit[:, leaf] = unit
        return self._through_configurations(points)

    def _read_nominal(
        self, leaf: int, distribution: Categorical, signatures: BoolArray, row: int
    ) -> None:
        above = np.cumsum(distribution.probabilities)
        table = self._moved(row, leaf, above - 0.5 * distribution.probabilities)
        columns = np.flatnonzero(np.ptp(table, axis=0) > 0.0)
        if len(columns):
            self._nominals.append(_Nominal(leaf, signatures, columns, table[:, columns]))

    def _read_number(
        self, leaf: int, distribution: Numerical, signatures: BoolArray, row: int
    ) -> None:
        unit = np.linspace(0.0, 1.0, PROBES)
        heights = self._moved(row, leaf, unit)
        for column in np.flatnonzero(np.ptp(heights, axis=0) > 0.0):
            form, places, at = _line(distribution, unit, heights[:, column]) or self._knots(
                row, leaf, distribution, int(column)
            )
            self._numbers.append(
                _Number(leaf, signatures, int(column), distribution, form, places, at)
            )

    def _knots(self, row: int, leaf: int, distribution: Numerical, column: int) -> Line:
        """Values in increasing order and the column there; all values of short integer ranges."""
        if distribution.size <= KNOTS:
            values = np.arange(distribution.low, distribution.high + 1.0)
            unit = distribution.cdf(values)
        else:
            unit = np.linspace(0.0, 1.0, KNOTS)
            values = distribution.ppf(unit)
        _, first = np.unique(values, return_index=True)
        return "knots", values[first], self._moved(row, leaf, unit[first])[:, column]

    def _agrees(self) -> bool:
        """Whether points drawn from every signature are encoded as the encoder does."""
        rng = np.random.default_rng(0)
        signatures = np.repeat(np.arange(len(self._points.signatures)), CHECKED)
        points = Points(signatures, rng.random((len(signatures), len(self._points.names))))
        self.is_exact = True
        difference = self.encode(points) - self._through_configurations(points)
        return bool(np.all(np.abs(difference) <= TOLERANCE))


def _line(distribution: Numerical, unit: FloatArray, heights: FloatArray) -> Line | None:
    """Form, places and heights of a line in position, value or ln value; None if it is none."""
    values = distribution.ppf(unit)
    forms: list[tuple[Form, FloatArray]] = [("value", values)]
    if not distribution.integer:
        forms.insert(0, ("unit", unit))
    if np.all(values > 0.0):
        forms.append(("log", np.log(values)))
    for form, places in forms:
        if places[-1] > places[0]:
            slope = (heights[-1] - heights[0]) / (places[-1] - places[0])
            fitted = heights[0] + slope * (places - places[0])
            if np.allclose(fitted, heights, rtol=0.0, atol=1e-9):
                return form, places[[0, -1]], heights[[0, -1]]
    return None


def _continuous(distribution: Numerical) -> Numerical:
    """The continuous distribution behind integers: bins of half a unit around each of them."""
    if not distribution.integer:
        return distribution
    low = distribution.low - 0.5
    if distribution.is_log:
        low = max(low, 0.5 * distribution.low, 1e-12)
    return replace(distribution, integer=False, low=low, high=distribution.high + 0.5)


def _rows(signatures: BoolArray, points: Points) -> slice | IntArray:
    """Rows of points whose signature is among `signatures`."""
    return slice(None) if signatures.all() else np.flatnonzero(signatures[points.signatures])
