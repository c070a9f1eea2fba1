"""Enumeration of the ways through the branching choices of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from automl.errors import SettingsError
from automl.records import JsonScalar
from automl.spaces.nodes import Hyperparameter, value_text

MAX_SIGNATURES = 4096
"""More signatures than this are an error: most of their choices should be nominal leaves."""


@dataclass(frozen=True)
class Branch:
    """A way through some nodes: path, branching values, active nodes, probability."""

    path: tuple[str, ...] = ()
    values: dict[str, JsonScalar] = field(default_factory=dict)
    nodes: tuple[Hyperparameter, ...] = ()
    probability: float = 1.0


def expand(nodes: Sequence[Hyperparameter]) -> list[Branch]:
    """Every combination of branching choices, in tree order.

    Raises
    ------
    SettingsError
        If there are more than `MAX_SIGNATURES`.
    """
    branches = [Branch()]
    for node in nodes:
        parts = _node_branches(node)
        if len(branches) * len(parts) > MAX_SIGNATURES:
            raise SettingsError(
                f"the choices at {node.name!r} make more than {MAX_SIGNATURES} signatures;"
                " write `branch: false` where nothing depends on a choice"
            )
        branches = [_join(left, right) for left in branches for right in parts]
    return branches


def _node_branches(node: Hyperparameter) -> list[Branch]:
    if not node.branch:
        return [Branch(nodes=(node,))]
    total = sum(choice.weight for choice in node.choices)
    return [
        _join(
            Branch(
                (f"{node.name}={value_text(choice.value)}",),
                {node.name: choice.value},
                (node,),
                choice.weight / total,
            ),
            below,
        )
        for choice in node.choices
        for below in expand(choice.children)
    ]


def _join(left: Branch, right: Branch) -> Branch:
    return Branch(
        left.path + right.path,
        {**left.values, **right.values},
        left.nodes + right.nodes,
        left.probability * right.probability,
    )
