"""Several families as one search space: the family is the root choice (X20 II-D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from automl.errors import SettingsError
from automl.records import Configuration, FloatArray, JsonScalar
from automl.spaces.distributions import Categorical, Distribution
from automl.spaces.nodes import Choice, Hyperparameter, Signature
from automl.spaces.text import nearest
from automl.spaces.tree import SpaceTree

ROOT = "family"
NAME = "cash"


@dataclass(frozen=True, eq=False)
class UnionTree(SpaceTree):
    """A space whose configurations are those of its member spaces.

    The root of `nodes` is the choice of the family. A configuration and its signature name their
    own family and hold no value of the root; paths are told apart by the family in front.

    Parameters
    ----------
    spaces : one space per family, equally probable
    """

    spaces: tuple[SpaceTree, ...] = ()

    @classmethod
    def of(cls, spaces: Sequence[SpaceTree], name: str = NAME) -> UnionTree:
        """Union of spaces of different families.

        Raises
        ------
        SettingsError
            If there is no space, or a family comes twice.
        """
        families = tuple(space.family for space in spaces)
        if not families or len(set(families)) < len(families):
            raise SettingsError(f"spaces must be of different families; got {list(families)}")
        root = Hyperparameter(
            ROOT,
            Categorical(families),
            families[0],
            tuple(Choice(space.family, children=space.nodes) for space in spaces),
            branch=True,
            virtual=True,
            argument=ROOT,
        )
        rules = tuple(rule for space in spaces for rule in space.rules)
        return cls(name, (root,), rules, spaces=tuple(spaces))

    def __reduce__(self) -> tuple[Any, ...]:
        return UnionTree.of, (self.spaces, self.family)

    @property
    def parts(self) -> tuple[SpaceTree, ...]:
        """The member spaces."""
        return self.spaces

    def part(self, family: str) -> SpaceTree:
        """The member space of a family.

        Raises
        ------
        SettingsError
            If there is none.
        """
        if family not in self._members:
            hint = nearest(family, self._members)
            raise SettingsError(f"{self.family} has no family {family!r}{hint}")
        return self._members[family]

    @cached_property
    def _members(self) -> dict[str, SpaceTree]:
        return {space.family: space for space in self.spaces}

    @cached_property
    def _by_path(self) -> dict[tuple[str, ...], Signature]:
        share = 1.0 / len(self.spaces)
        return {
            (space.family, *signature.path): replace(
                signature, probability=share * signature.probability
            )
            for space in self.spaces
            for signature in space.signatures()
        }

    def signature(self, key: Signature | Configuration | Sequence[str] | str) -> Signature:
        """As in `SpaceTree`; the first entry of a plain path is the family."""
        if isinstance(key, str):
            key = self._names.get(key, (key,))
        elif isinstance(key, Signature | Configuration):
            key = (key.family, *key.path)
        return super().signature(key)

    @cached_property
    def _names(self) -> dict[str, tuple[str, ...]]:
        return {signature.name: path for path, signature in self._by_path.items()}

    def sample_signature(
        self, signature: Signature | Sequence[str] | str, rng: np.random.Generator
    ) -> Configuration:
        """One legal configuration of a signature of any family."""
        chosen = self.signature(signature)
        return self.part(chosen.family).sample_signature(chosen, rng)

    def default(self, signature: Signature | Sequence[str] | str | None = None) -> Configuration:
        """Defaults of a signature, or of the first family."""
        if signature is None:
            return self.spaces[0].default()
        chosen = self.signature(signature)
        return self.part(chosen.family).default(chosen.path)

    def complete(self, partial: Mapping[str, Any]) -> Configuration:
        """Configuration of the family under the key `family`, the first family without one."""
        family = partial.get(ROOT, self.spaces[0].family)
        values = {name: value for name, value in partial.items() if name != ROOT}
        return self.part(str(family)).complete(values)

    def broken_rule(self, values: Mapping[str, Any]) -> str | None:
        """Text of the first rule of the family under the key `family` that does not hold."""
        return self.part(str(values[ROOT])).broken_rule(values)

    def is_legal(self, configuration: Configuration) -> str | None:
        """Reason why the configuration is not one of a member space, or None."""
        if configuration.family not in self._members:
            return f"{self.family} has no family {configuration.family!r}"
        return self._members[configuration.family].is_legal(configuration)

    def to_unit(self, configuration: Configuration) -> tuple[Signature, FloatArray]:
        """Signature, and positions of its numericals in [0, 1]."""
        _, positions = self.part(configuration.family).to_unit(configuration)
        return self.signature(configuration), positions

    def from_unit(
        self,
        signature: Signature | Sequence[str] | str,
        unit: Sequence[float] | FloatArray,
        nominals: Mapping[str, JsonScalar] | None = None,
    ) -> Configuration:
        """Inverse of `to_unit`."""
        chosen = self.signature(signature)
        return self.part(chosen.family).from_unit(chosen, unit, nominals)

    def narrow(self, overrides: Mapping[str, Any]) -> SpaceTree:
        """Not possible: narrow the member spaces.

        Raises
        ------
        SettingsError
            Always.
        """
        raise SettingsError(f"narrow the families of {self.family}; got {sorted(overrides)}")

    def with_facts(self, **facts: float) -> SpaceTree:
        """Union of the members with these facts."""
        return UnionTree.of([space.with_facts(**facts) for space in self.spaces], self.family)

    def with_distribution(
        self, signature: Signature | Sequence[str] | str, name: str, distribution: Distribution
    ) -> SpaceTree:
        """Union with a learned prior of one leaf in one signature of one family."""
        chosen = self.signature(signature)
        spaces = [
            space.with_distribution(chosen.path, name, distribution)
            if space.family == chosen.family
            else space
            for space in self.spaces
        ]
        return UnionTree.of(spaces, self.family)

    def estimator_values(self, configuration: Configuration) -> dict[str, JsonScalar]:
        """Constructor arguments of the configuration's family."""
        return self.part(configuration.family).estimator_values(configuration)
