"""The search space of one family: a tree of hyperparameters (B14 section 3.1).

`automl.spaces.grammar` and, with examples, docs/families.md explain how a tree is written.

Branching categorical choices form the *path*; together with the family it is the *signature*, the
context in which numerical leaves have their distributions. The space is sampled from root to leaf:
signatures are enumerated once with the probabilities of their paths, so a draw is one signature
and independent values for its leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from automl.errors import SettingsError
from automl.records import Configuration, FloatArray, JsonScalar
from automl.spaces.branches import expand
from automl.spaces.distributions import Distribution, Numerical, category_key
from automl.spaces.expressions import FACTS, Expression
from automl.spaces.grammar import Place, parse_prep, parse_tree, written_names
from automl.spaces.narrowing import check_prior, narrow_nodes
from automl.spaces.nodes import Hyperparameter, Signature, value_text
from automl.spaces.text import nearest

MAX_DRAWS = 1000
"""Draws of one signature before a rule is called unsatisfiable."""


@dataclass(frozen=True, eq=False)
class SpaceTree:
    """Search space of one family for one kind of target.

    Parameters
    ----------
    family : registry key
    nodes : roots of the tree in the order of the text, then the `prep.*` leaves
    rules : expressions that legal configurations satisfy
    facts : known numbers about the data that rules may read
    priors : distributions that replace a leaf's in one signature (B14, chapter 4), by (path, name)
    """

    family: str
    nodes: tuple[Hyperparameter, ...]
    rules: tuple[Expression, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[tuple[tuple[str, ...], str], Distribution] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        family: str,
        tree: Mapping[str, Any] | None,
        *,
        prep: Mapping[str, Any] | None = None,
        rules: Sequence[str] = (),
        kind: str = "classification",
        source: str = "",
    ) -> SpaceTree:
        """Space from the ``tree:``, ``prep:`` and ``rules:`` of a family's text.

        Raises
        ------
        SettingsError
            With the fields `file` (`source`), `key` and `reason`; also when the default breaks
            a rule.
        """
        place = Place(source or family)
        nodes = parse_tree(tree, place.at("tree"), kind)
        nodes += parse_prep(prep, place.at("prep"), kind)
        names = {*written_names(tree), *(prep or {}), *FACTS}
        parsed = []
        for i, text in enumerate(rules):
            rule = place.at("rules", i).expression(text)
            for name in sorted(rule.names - names):
                place.at("rules", i).fail(f"reads the unknown name {name!r}{nearest(name, names)}")
            parsed.append(rule)
        space = cls(family, nodes, tuple(parsed))
        try:
            space.default()
        except SettingsError as error:
            place.at("rules").fail(f"the default configuration must satisfy the rules: {error}")
        return space

    def __reduce__(self) -> tuple[Any, ...]:
        return SpaceTree, (self.family, self.nodes, self.rules, self.facts, self.priors)

    # --- signatures -------------------------------------------------------------------------

    @cached_property
    def _by_path(self) -> dict[tuple[str, ...], Signature]:
        by_path = {}
        for branch in expand(self.nodes):
            facts = {**self.facts, **branch.values}
            if all(rule.holds(facts) for rule in self.rules if rule.names <= facts.keys()):
                leaves = (self._with_prior(branch.path, node) for node in branch.nodes)
                by_path[branch.path] = Signature(
                    self.family, branch.path, branch.values, tuple(leaves), branch.probability
                )
        total = sum(signature.probability for signature in by_path.values())
        if not by_path:
            raise SettingsError(f"the rules of {self.family} leave no signature")
        return {
            path: replace(signature, probability=signature.probability / total)
            for path, signature in by_path.items()
        }

    def _with_prior(self, path: tuple[str, ...], node: Hyperparameter) -> Hyperparameter:
        prior = self.priors.get((path, node.name))
        if prior is None:
            return node
        if isinstance(prior, Numerical):
            assert isinstance(node.default, int | float)
            return replace(node, distribution=prior, default=prior.closest(node.default))
        choices = tuple(node.choice(value) for value in prior.values)
        return replace(node, distribution=prior, choices=choices)

    @cached_property
    def _cumulative(self) -> FloatArray:
        shares = list(accumulate(s.probability for s in self._by_path.values()))
        return np.asarray(shares[:-1])

    @cached_property
    def _listed(self) -> list[Signature]:
        return list(self._by_path.values())

    def signatures(self) -> list[Signature]:
        """Every legal path through the branches, in tree order; probabilities sum to 1.

        Paths that a rule over branching choices (and facts) forbids are not listed.
        """
        return list(self._listed)

    def signature(self, key: Signature | Configuration | Sequence[str] | str) -> Signature:
        """The signature of a path, of a configuration, or of a name like ``svm/kernel=rbf``.

        Raises
        ------
        SettingsError
            If this space has no such signature.
        """
        path: tuple[str, ...]
        if isinstance(key, Signature | Configuration):
            path = key.path
        elif isinstance(key, str):
            path = next((s.path for s in self._listed if s.name == key), (key,))
        else:
            path = tuple(key)
        if path not in self._by_path:
            names = [s.name for s in self._listed]
            wanted = key if isinstance(key, str) else "/".join((self.family, *path))
            raise SettingsError(
                f"{self.family} has no signature {wanted!r}{nearest(wanted, names)}"
            )
        return self._by_path[path]

    @property
    def parts(self) -> tuple[SpaceTree, ...]:
        """The spaces of single families that make up this one: itself."""
        return (self,)

    def hyperparameters(self) -> list[Hyperparameter]:
        """Every node of the tree, ancestors first; a name comes once for each of its contexts."""
        return list(_walk(self.nodes))

    @cached_property
    def _known_names(self) -> dict[str, None]:
        return dict.fromkeys(node.name for node in _walk(self.nodes))

    def size(self) -> int | float:
        """Number of distinct configurations, ignoring rules over leaves; may be infinite."""
        return sum(
            math.prod(leaf.distribution.size for leaf in signature.leaves)
            for signature in self._listed
        )

    # --- drawing ----------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator) -> Configuration:
        """One legal configuration: a signature by its probability, then its leaves (B14 3.1.3).

        Raises
        ------
        SettingsError
            If no draw of the signature satisfied the rules.
        """
        chosen = self._listed[int(np.searchsorted(self._cumulative, rng.random(), "right"))]
        return self.sample_signature(chosen, rng)

    def sample_signature(
        self, signature: Signature | Sequence[str] | str, rng: np.random.Generator
    ) -> Configuration:
        """One legal configuration of a signature, leaves independent.

        Raises
        ------
        SettingsError
            If none of `MAX_DRAWS` draws satisfied the rules, or the signature is not known.
        """
        chosen = self.signature(signature)
        leaves = chosen.leaves
        for _ in range(MAX_DRAWS):
            values = dict(chosen.branches)
            for leaf in leaves:
                values[leaf.name] = leaf.distribution.draw(rng)
            broken = self.broken_rule(values) if self.rules else None
            if broken is None:
                return Configuration(self.family, values, chosen.path)
        raise SettingsError(f"{chosen.name}: {MAX_DRAWS} draws broke the rule `{broken}`")

    def default(self, signature: Signature | Sequence[str] | str | None = None) -> Configuration:
        """Configuration of defaults, of the whole space or of one signature.

        Raises
        ------
        SettingsError
            If the defaults break a rule (possible only with `facts` or within a signature).
        """
        return self.complete({} if signature is None else dict(self.signature(signature).branches))

    # --- checking ---------------------------------------------------------------------------

    def complete(self, partial: Mapping[str, Any]) -> Configuration:
        """Configuration from some values: defaults filled in, inactive values dropped.

        Raises
        ------
        SettingsError
            If a name is unknown, a value is not allowed, or a rule is broken.
        """
        for name in partial:
            if name not in self._known_names:
                hint = nearest(name, self._known_names)
                raise SettingsError(f"{self.family} has no hyperparameter {name!r}{hint}", key=name)
        path: list[str] = []
        self._follow(self.nodes, partial, path)
        if tuple(path) not in self._by_path:
            raise SettingsError(f"{'/'.join((self.family, *path))} is forbidden by a rule")
        signature = self._by_path[tuple(path)]
        values = dict(signature.branches)
        for leaf in signature.leaves:
            values[leaf.name] = self._value(leaf, partial)
        broken = self.broken_rule(values)
        if broken is not None:
            raise SettingsError(f"{signature.name} must satisfy the rule `{broken}`", rule=broken)
        return Configuration(self.family, values, signature.path)

    def _follow(
        self, nodes: Sequence[Hyperparameter], partial: Mapping[str, Any], path: list[str]
    ) -> None:
        """Append the branching choices that `partial` and the defaults make."""
        for node in nodes:
            if node.branch:
                value = self._value(node, partial)
                path.append(f"{node.name}={value_text(value)}")
                self._follow(node.choice(value).children, partial, path)

    def _value(self, node: Hyperparameter, partial: Mapping[str, Any]) -> JsonScalar:
        value = node.coerce(partial[node.name]) if node.name in partial else node.default
        if not node.distribution.contains(value):
            raise SettingsError(
                f"{self.family}: {node.name} must be {node.allowed()}; got {partial[node.name]!r}",
                key=node.name,
            )
        return value

    def broken_rule(self, values: Mapping[str, Any]) -> str | None:
        """Text of the first rule that does not hold, or None."""
        facts = {**self.facts, **values} if self.facts else values
        return next((rule.text for rule in self.rules if not rule.holds(facts)), None)

    def is_legal(self, configuration: Configuration) -> str | None:
        """Reason why the configuration is not one of this space, or None."""
        if configuration.family != self.family:
            return f"its family is {configuration.family}, not {self.family}"
        signature = self._by_path.get(configuration.path)
        if signature is None:
            return f"{self.family} has no signature {configuration.signature!r}"
        return self._illegal_value(signature, configuration.values)

    def _illegal_value(self, signature: Signature, values: Mapping[str, JsonScalar]) -> str | None:
        if values.keys() != signature.name_set:
            return self._wrong_names(signature, values)
        for name, value in signature.branches.items():
            if category_key(values[name]) != category_key(value):
                return f"{name} is {values[name]!r}, which is not on its path"
        for leaf in signature.leaves:
            if not leaf.distribution.contains(values[leaf.name]):
                return f"{leaf.name} must be {leaf.allowed()}; got {values[leaf.name]!r}"
        broken = self.broken_rule(values)
        return None if broken is None else f"it breaks the rule `{broken}`"

    def _wrong_names(self, signature: Signature, values: Mapping[str, JsonScalar]) -> str:
        missing = next((name for name in signature.names if name not in values), None)
        if missing is not None:
            return f"{missing} is missing"
        return f"{sorted(set(values) - set(signature.names))} are not active in {signature.name}"

    # --- the unit cube ----------------------------------------------------------------------

    def to_unit(self, configuration: Configuration) -> tuple[Signature, FloatArray]:
        """Signature, and positions of its numericals in [0, 1] in the signature's order.

        Nominal values are not part of the cube; read them from the configuration.

        Raises
        ------
        SettingsError
            If the configuration's signature is not one of this space.
        """
        signature = self.signature(configuration)
        positions = np.empty(len(signature.numericals))
        for i, leaf in enumerate(signature.numericals):
            assert isinstance(leaf.distribution, Numerical)
            positions[i] = leaf.distribution.cdf(configuration.values[leaf.name])  # type: ignore[arg-type]
        return signature, positions

    def from_unit(
        self,
        signature: Signature | Sequence[str] | str,
        unit: Sequence[float] | FloatArray,
        nominals: Mapping[str, JsonScalar] | None = None,
    ) -> Configuration:
        """Inverse of `to_unit`; nominals that are not given take their defaults.

        The rules are not checked (`is_legal` does); positions outside [0, 1] are clipped.
        """
        chosen = self.signature(signature)
        values = dict(chosen.branches)
        for leaf, position in zip(chosen.numericals, unit, strict=True):
            assert isinstance(leaf.distribution, Numerical)
            values[leaf.name] = leaf.distribution.value(float(position))
        for leaf in chosen.nominals:
            values[leaf.name] = self._value(leaf, nominals or {})
        return Configuration(self.family, values, chosen.path)

    def axes(
        self, signature: Signature | Sequence[str] | str, points: int | Mapping[str, int]
    ) -> dict[str, tuple[JsonScalar, ...]]:
        """Values of a grid for each leaf of a signature (X20, section III).

        Parameters
        ----------
        points : at least 1
            Values of each numerical (or by name, 1 where left out): the middles of as many
            equally probable parts. Integers with fewer values give all; nominals always do.
        """
        chosen = self.signature(signature)
        counts = points if isinstance(points, Mapping) else dict.fromkeys(chosen.names, points)
        return {leaf.name: leaf.grid(counts.get(leaf.name, 1)) for leaf in chosen.leaves}

    # --- other spaces -----------------------------------------------------------------------

    def narrow(self, overrides: Mapping[str, Any]) -> SpaceTree:
        """Space with other ranges: hyperparameter name -> distribution, or allowed values.

        See `automl.spaces.narrowing` for the forms. Learned priors of the names are dropped.

        Raises
        ------
        SettingsError
            If a name is unknown, an override does not fit, or the new default breaks a rule.
        """
        nodes = narrow_nodes(self.nodes, overrides, self.family)
        touched = {key.rsplit("/", 1)[-1] for key in overrides}
        priors = {key: prior for key, prior in self.priors.items() if key[1] not in touched}
        space = replace(self, nodes=nodes, priors=priors)
        space.default()
        return space

    def with_prep(self, choices: Mapping[str, Sequence[JsonScalar]]) -> SpaceTree:
        """Space with other, or further, choices of the preprocessing: values by ``prep.*`` name.

        The first value of each is the default. Learned priors of the names are dropped.

        Raises
        ------
        SettingsError
            If a name does not begin with ``prep.``, or the new default breaks a rule.
        """
        place = Place(self.family)
        added = parse_prep({name: list(values) for name, values in choices.items()}, place, "")
        kept = (node for node in self.nodes if node.name not in choices)
        priors = {key: prior for key, prior in self.priors.items() if key[1] not in choices}
        space = replace(self, nodes=(*kept, *added), priors=priors)
        space.default()
        return space

    def with_facts(self, **facts: float) -> SpaceTree:
        """Space whose rules and encodings know the facts (`FACTS`) of the data.

        Raises
        ------
        SettingsError
            If a fact has another name.
        """
        for name in facts:
            if name not in FACTS:
                raise SettingsError(f"{name!r} is no fact{nearest(name, FACTS)}")
        return replace(self, facts={**self.facts, **facts})

    def with_distribution(
        self, signature: Signature | Sequence[str] | str, name: str, distribution: Distribution
    ) -> SpaceTree:
        """Space with another distribution of one leaf in one signature: a learned prior (O1).

        Raises
        ------
        SettingsError
            If the signature has no such leaf or the distribution is of another kind.
        """
        chosen = self.signature(signature)
        check_prior(chosen, name, distribution)
        return replace(self, priors={**self.priors, (chosen.path, name): distribution})

    def estimator_values(self, configuration: Configuration) -> dict[str, JsonScalar]:
        """Constructor arguments: without virtual and `prep.*` ones, `argument` names applied.

        Of several hyperparameters on the way that set one argument the deepest wins.

        Raises
        ------
        SettingsError
            If the configuration's signature is not one of this space.
        """
        values = configuration.values
        arguments: dict[str, JsonScalar] = {}
        for node in self.signature(configuration).nodes:
            if node.virtual or node.is_prep:
                continue
            value = values[node.name]
            if not node.choices or node.choice(value).sets:
                arguments[node.argument] = value
        return arguments


def _walk(nodes: Sequence[Hyperparameter]) -> list[Hyperparameter]:
    return [
        visited
        for node in nodes
        for visited in (node, *(x for choice in node.choices for x in _walk(choice.children)))
    ]
