"""Overrides of a search space by name: narrower (or wider) ranges and fewer choices.

The forms of an override::

    C: {low: 0.1, high: 10}                 # given keys replace the text's; default moves inside
    C: {type: lognormal, mean: 0, sd: 1}    # another distribution
    C: "loguniform(low=0.1, high=10)"       # the same in one line
    n_estimators: [100, 200, 500]           # a number restricted to a list becomes a nominal
    kernel: [rbf, linear]                   # the choices that stay
    kernel: rbf                             # one value
    kernel=rbf/gamma: {high: 1}             # only in the context of a choice

"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from automl.errors import SettingsError
from automl.records import JsonScalar
from automl.spaces.distributions import (
    Categorical,
    Distribution,
    LogUniform,
    Numerical,
    category_key,
)
from automl.spaces.grammar import Place, parse_node
from automl.spaces.nodes import Choice, Hyperparameter, Signature, value_text
from automl.spaces.text import nearest, number, to_mapping, to_text


@dataclass(frozen=True)
class _Override:
    """What to put where: a hyperparameter in the context of some choices."""

    name: str
    context: frozenset[str]
    body: Any
    source: str

    def apply(
        self, nodes: Sequence[Hyperparameter], path: frozenset[str] = frozenset()
    ) -> tuple[Hyperparameter, ...]:
        """Nodes with the override; the same objects where nothing matched."""
        return tuple(self._apply_to(node, path) for node in nodes)

    def _apply_to(self, node: Hyperparameter, path: frozenset[str]) -> Hyperparameter:
        if node.name == self.name and self.context <= path:
            return _override(node, self.body, Place(self.source, (self.name,)))
        choices = []
        for choice in node.choices:
            inner = path | {f"{node.name}={value_text(choice.value)}"}
            below = self.apply(choice.children, inner)
            same = all(new is old for new, old in zip(below, choice.children, strict=True))
            choices.append(choice if same else replace(choice, children=below))
        if all(new is old for new, old in zip(choices, node.choices, strict=True)):
            return node
        return replace(node, choices=tuple(choices))


def narrow_nodes(
    nodes: Sequence[Hyperparameter], overrides: Mapping[str, Any], source: str
) -> tuple[Hyperparameter, ...]:
    """Nodes with the overrides applied wherever their names and contexts match.

    Raises
    ------
    SettingsError
        If a name or context is not in the tree, or a value does not fit the node.
    """
    result = tuple(nodes)
    places = set(_places(result))
    for key, body in overrides.items():
        *context, name = key.split("/")
        if not any(name == present and set(context) <= path for present, path in places):
            names = {present for present, _ in places} | {
                part for _, path in places for part in path
            }
            missing = next((part for part in (name, *context) if part not in names), key)
            hint = nearest(missing, names)
            raise SettingsError(f"{source} has no hyperparameter {key!r}{hint}", key=key)
        result = _Override(name, frozenset(context), body, source).apply(result)
    return result


def _places(
    nodes: Sequence[Hyperparameter], path: frozenset[str] = frozenset()
) -> Iterator[tuple[str, frozenset[str]]]:
    """Name and context of every node."""
    for node in nodes:
        yield node.name, path
        for choice in node.choices:
            inner = path | {f"{node.name}={value_text(choice.value)}"}
            yield from _places(choice.children, inner)


def check_prior(signature: Signature, name: str, prior: Distribution) -> None:
    """Refuse a prior that is not of the kind of the leaf it replaces.

    Raises
    ------
    SettingsError
        If the signature has no leaf `name`, or the kinds or values differ.
    """
    leaves = {leaf.name: leaf.distribution for leaf in signature.leaves}
    if name not in leaves:
        raise SettingsError(f"{signature.name} has no leaf {name!r}{nearest(name, leaves)}")
    old = leaves[name]
    if isinstance(old, Numerical) and isinstance(prior, Numerical):
        fits = old.integer == prior.integer
    elif isinstance(old, Categorical) and isinstance(prior, Categorical):
        fits = {*map(category_key, old.values)} == {*map(category_key, prior.values)}
    else:
        fits = False
    if not fits:
        raise SettingsError(
            f"the prior of {name!r} in {signature.name} must be of the kind it replaces,"
            f" {to_text(old)}; got {to_text(prior)}"
        )


def _override(node: Hyperparameter, body: Any, place: Place) -> Hyperparameter:
    if isinstance(node.distribution, Categorical):
        return _keep_choices(node, body, place)
    if isinstance(body, list | tuple):
        return _list_of_numbers(node, body, place)
    if isinstance(body, float) or number(body) is not None:
        return _list_of_numbers(node, (body,), place)
    if isinstance(body, Mapping):
        body = _merged(node, body, place)
    elif not isinstance(body, str):
        place.fail(f"must be a distribution, its bounds or a list of values; got {body!r}")
    parsed = parse_node(node.name, body, place, "classification")
    assert parsed is not None
    if not isinstance(parsed.distribution, Numerical):
        place.fail("must be a numerical distribution or a list of values")
    is_whole = isinstance(node.distribution, Numerical) and node.distribution.integer
    if is_whole and not parsed.distribution.integer:
        place.fail(f"must be of whole numbers, with integer: true; got {body!r}")
    default = parsed.default
    if not (isinstance(body, dict) and "default" in body) and isinstance(node.default, int | float):
        default = parsed.distribution.closest(node.default)
    return replace(node, distribution=parsed.distribution, default=default)


def _merged(node: Hyperparameter, body: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """The override, completed by the node's own distribution unless it names a type."""
    for key in ("only", "virtual", "argument", "encode"):
        if key in body:
            place.at(key).fail("cannot be overridden")
    if isinstance(body.get("default"), Mapping):
        place.at("default").fail(f"must be one value; got {body['default']!r}")
    return dict(body) if "type" in body else {**to_mapping(node.distribution), **body}


def _list_of_numbers(node: Hyperparameter, values: Sequence[Any], place: Place) -> Hyperparameter:
    kept: list[JsonScalar] = []
    for value in values:
        read = number(value) if isinstance(value, str) else None
        found = node.coerce(value if read is None else read)
        integer = isinstance(node.distribution, Numerical) and node.distribution.integer
        if isinstance(found, bool) or not isinstance(found, int if integer else int | float):
            place.fail(f"must hold {'integers' if integer else 'numbers'}; got {value!r}")
        if not isfinite(found):
            place.fail(f"must hold finite numbers; got {value!r}")
        if isinstance(node.distribution, LogUniform) and found <= 0:
            place.fail(f"must hold positive numbers; got {value!r}")
        kept.append(found)
    try:
        distribution = Categorical(tuple(kept))
    except SettingsError as error:
        place.adopt(error)
    return replace(
        node,
        distribution=distribution,
        default=node.default if distribution.contains(node.default) else kept[0],
        choices=tuple(Choice(value) for value in kept),
    )


def _keep_choices(node: Hyperparameter, override: Any, place: Place) -> Hyperparameter:
    wanted = list(override) if isinstance(override, list | tuple) else [override]
    if not wanted or isinstance(override, Mapping):
        place.fail(f"must be a list of choices to keep; got {override!r}")
    texts = {value_text(choice.value) for choice in node.choices}
    keep = set()
    for value in wanted:
        text = value_text(value)
        if text not in texts:
            place.fail(f"{value!r} is not one of its choices{nearest(text, texts)}")
        keep.add(text)
    choices = tuple(choice for choice in node.choices if value_text(choice.value) in keep)
    distribution = Categorical(
        tuple(choice.value for choice in choices), tuple(choice.weight for choice in choices)
    )
    default = node.default if distribution.contains(node.default) else choices[0].value
    return replace(node, choices=choices, distribution=distribution, default=default)
