"""Configurations as arrays for surrogates and clustering (H18 section 3.1.1).

From a space (or several) the encoder derives *features* by the types of H18 table 3.1:

- numeric: a numerical hyperparameter, or a categorical one whose values are all numbers; scaled so
  that the space's range is [0, 1] (in ln where the distribution is logarithmic); outside values
  are not clipped;
- boolean: 0 and 1;
- nominal: one column per category, or one index column (0 unknown, 1..k the categories, k + 1
  inactive);
- mixed: a nominal feature for the words and a numeric one for the numbers (tables 3.2, 3.3). They
  meet when a number further in the tree sets the same constructor `argument` as the words. A
  choice's ``encode:`` gives the number that the word means (table 3.4: sqrt → √p/p, log2 →
  log2(p)/p, no maximal depth → 20; gamma auto → 1/p and scale → 1/(p·variance) of the encoded
  matrix), and a number's ``encode:`` brings absolute numbers to fractions
  (``value / n_rows``). Both read the facts of the data.

A feature that is not active in a configuration is imputed by a constant, and every pattern of
activity has a flag column. Columns without variance in the fitted configurations are dropped. A
category that is not in the space has the column ``name=<unknown>``, which stays only if it was
seen when fitting; afterwards such a category is all zeros with its activity flag set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.records import BoolArray, Configuration
from automl.spaces.features import Feature, Reader, design, features_of
from automl.spaces.tree import SpaceTree

Floats = NDArray[np.float64]
Facts = Mapping[str, float]

TYPICAL_FACTS: Facts = {
    "n_rows": 1000.0,
    "n_columns": 20.0,
    "n_classes": 2.0,
    "n_encoded": 20.0,
    "variance": 1.0,
}
"""What encodings assume where the facts of the data are not given, and for the scale."""


class ConfigurationEncoder:
    """Maps configurations of one or several spaces to rows of a float array.

    With several spaces hyperparameters are told apart by family, `prep.*` ones are shared, and
    ``family`` is one more nominal feature.

    Parameters
    ----------
    spaces
        The space or spaces, a union as its parts; configurations of other families can be encoded, but only their
        `prep.*` values are known.
    form
        How nominal features are written: `onehot` for distances and linear models, `index` for
        trees.
    facts
        Facts of the data for ``encode:`` expressions, in place of those that the spaces know.
    inactive
        The constant that numeric columns hold where they are not active.
    drop_constant
        Whether columns without variance are dropped when fitting.

    Attributes
    ----------
    feature_names : (n_features,)
        ``C``, ``kernel=rbf`` or ``kernel:index``, ``gamma:active``.
    is_nominal : (n_features,)
        Which columns are one-hot indicators or indices.
    """

    def __init__(
        self,
        spaces: SpaceTree | Sequence[SpaceTree],
        *,
        form: Literal["onehot", "index"] = "onehot",
        facts: Facts | None = None,
        inactive: float = 0.5,
        drop_constant: bool = True,
    ) -> None:
        given = (spaces,) if isinstance(spaces, SpaceTree) else tuple(spaces)
        self.spaces = tuple(part for space in given for part in space.parts)
        families = [space.family for space in self.spaces]
        if not families or len(set(families)) < len(families):
            raise SettingsError(f"spaces must be of different families; got {families}")
        if form not in {"onehot", "index"}:
            raise SettingsError(f"form must be onehot or index; got {form!r}")
        self.form = form
        space_facts = {name: fact for space in self.spaces for name, fact in space.facts.items()}
        self.facts: Facts = {**TYPICAL_FACTS, **space_facts, **(facts or {})}
        self.inactive = inactive
        self.drop_constant = drop_constant
        self.feature_names: tuple[str, ...] = ()
        self.is_nominal: BoolArray = np.zeros(0, dtype=bool)

    def fit(self, configurations: Sequence[Configuration] | None = None) -> Self:
        """Learn which columns vary; without configurations, over the whole space.

        The columns and scales themselves come from the spaces, so that encodings of encoders that
        were fitted on different configurations differ by dropped columns only.
        """
        features = features_of(self.spaces, self.facts)
        self._features: tuple[Feature, ...] = tuple(features.values())
        self._reader = Reader(self.spaces, features)
        examples = design(self.spaces)
        self._flagged = self._choose_flags(self._reader.read(examples, self.facts))
        names, nominal = self._columns()
        if configurations is not None:
            examples = list(configurations)
        self._kept: NDArray[np.intp] = np.arange(len(names))
        if self.drop_constant and examples:
            full = self._expand(self._reader.read(examples, self.facts))
            self._kept = np.flatnonzero(np.ptp(full, axis=0) > 0.0)
        self.feature_names = tuple(names[i] for i in self._kept)
        self.is_nominal = np.asarray(nominal, dtype=bool)[self._kept]
        return self

    def transform(
        self,
        configurations: Sequence[Configuration],
        facts: Facts | Sequence[Facts] | None = None,
    ) -> Floats:
        """(n, n_features) encoding, finite everywhere.

        Parameters
        ----------
        configurations
            n configurations, also such as were not fitted on or are not legal.
        facts
            Facts of the data, for all or for each configuration; the constructor's by default.

        Raises
        ------
        SettingsError
            If the encoder is not fitted, or facts and configurations differ in number.
        """
        if not hasattr(self, "_kept"):
            raise SettingsError("the encoder must be fitted before it transforms")
        if facts is None or isinstance(facts, Mapping):
            raw = self._reader.read(configurations, {**self.facts, **(facts or {})})
        else:
            raw = self._read_each(configurations, facts)
        return self._expand(raw)[:, self._kept]

    def fit_transform(self, configurations: Sequence[Configuration]) -> Floats:
        """`fit`, then `transform` of the same configurations."""
        return self.fit(configurations).transform(configurations)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_reader"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if hasattr(self, "_kept"):
            self._reader = Reader(self.spaces, features_of(self.spaces, self.facts))

    def _read_each(self, configurations: Sequence[Configuration], facts: Sequence[Facts]) -> Floats:
        if len(facts) != len(configurations):
            raise SettingsError(
                f"facts must be as many as configurations ({len(configurations)}); got {len(facts)}"
            )
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, one in enumerate(facts):
            groups.setdefault(tuple(sorted(one.items())), []).append(i)
        raw = np.empty((len(configurations), len(self._features)))
        for facts_of_group, rows in groups.items():
            chosen = [configurations[i] for i in rows]
            raw[rows] = self._reader.read(chosen, {**self.facts, **dict(facts_of_group)})
        return raw

    def _choose_flags(self, raw: Floats) -> list[int]:
        """Features whose activity is flagged: the first of each pattern over the space."""
        seen: dict[bytes, int] = {}
        active = ~np.isnan(raw)
        for i in range(len(self._features)):
            if not active[:, i].all():
                seen.setdefault(active[:, i].tobytes(), i)
        return list(seen.values())

    def _columns(self) -> tuple[list[str], list[bool]]:
        """Names of all columns before dropping, and whether they are nominal."""
        names: list[str] = []
        nominal: list[bool] = []
        for feature in self._features:
            columns = feature.columns(self.form)
            names += columns
            nominal += [feature.is_nominal] * len(columns)
        names += [f"{self._features[i].name}:active" for i in self._flagged]
        return names, nominal + [False] * len(self._flagged)

    def _expand(self, raw: Floats) -> Floats:
        """Columns of all features and flags from one raw value per feature."""
        parts = [
            feature.expand(raw[:, i], self.form, self.inactive)
            for i, feature in enumerate(self._features)
        ]
        parts.append((~np.isnan(raw[:, self._flagged])).astype(float))
        return np.concatenate(parts, axis=1)
