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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from automl.errors import SettingsError
from automl.records import JsonScalar
from automl.spaces.distributions import Categorical, Numerical
from automl.spaces.grammar import Place, parse_node
from automl.spaces.nodes import Choice, Hyperparameter, value_text
from automl.spaces.text import nearest, to_mapping


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
    for key, override in overrides.items():
        *context, name = key.split("/")
        known: set[str] = set()
        result, hits = _apply(result, (), tuple(context), name, override, source, known)
        if hits == 0:
            raise SettingsError(
                f"{source} has no hyperparameter {key!r} ({nearest(key, known)})", key=key
            )
    return result


def _apply(
    nodes: Sequence[Hyperparameter],
    path: tuple[str, ...],
    context: tuple[str, ...],
    name: str,
    override: Any,
    source: str,
    known: set[str],
) -> tuple[tuple[Hyperparameter, ...], int]:
    changed, hits = [], 0
    for node in nodes:
        known.add(node.name)
        choices = []
        for choice in node.choices:
            inner = (*path, f"{node.name}={value_text(choice.value)}")
            below, count = _apply(choice.children, inner, context, name, override, source, known)
            hits += count
            choices.append(replace(choice, children=below))
        found = replace(node, choices=tuple(choices))
        if node.name == name and set(context) <= set(path):
            found = _override(found, override, Place(source, (name,)))
            hits += 1
        changed.append(found)
    return tuple(changed), hits


def _override(node: Hyperparameter, override: Any, place: Place) -> Hyperparameter:
    if isinstance(node.distribution, Categorical):
        return _keep_choices(node, override, place)
    if isinstance(override, list | tuple):
        return _list_of_numbers(node, override, place)
    if isinstance(override, int | float) and not isinstance(override, bool):
        return _list_of_numbers(node, (override,), place)
    if isinstance(override, Mapping):
        override = dict(override)
        if "type" not in override:
            override = {**to_mapping(node.distribution), **override}
    elif not isinstance(override, str):
        place.fail(f"must be a distribution, its bounds or a list of values; got {override!r}")
    found = parse_node(node.name, override, place, "classification")
    assert found is not None
    if not isinstance(found.distribution, Numerical):
        place.fail("must be a numerical distribution or a list of values")
    given = isinstance(override, dict) and "default" in override
    default = found.default
    if not given and isinstance(node.default, int | float):
        default = found.distribution.closest(node.default)
    return replace(node, distribution=found.distribution, default=default)


def _list_of_numbers(node: Hyperparameter, values: Sequence[Any], place: Place) -> Hyperparameter:
    kept: list[JsonScalar] = []
    for value in values:
        number = node.coerce(value)
        integer = isinstance(node.distribution, Numerical) and node.distribution.integer
        if isinstance(number, bool) or not isinstance(number, int if integer else int | float):
            place.fail(f"must hold {'integers' if integer else 'numbers'}; got {value!r}")
        kept.append(number)
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
            place.fail(f"{value!r} is not one of its choices ({nearest(text, texts)})")
        keep.add(text)
    choices = tuple(choice for choice in node.choices if value_text(choice.value) in keep)
    distribution = Categorical(
        tuple(choice.value for choice in choices), tuple(choice.weight for choice in choices)
    )
    default = node.default if distribution.contains(node.default) else choices[0].value
    return replace(node, choices=choices, distribution=distribution, default=default)
