"""Ensembles of scikit-learn trees as a few flat arrays.

A fitted forest is some hundred estimators that differ in nothing but their tree, and half of a tree's bytes
serve training only. Packed, all trees lie one after another in one array per property, and the threshold is a
float32 rounded down, which decides alike for float32 inputs. What prediction does not use is not kept: impurities and
sample counts, hence importances, and the trees' own random states.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.errors import DataError

Arrays = dict[str, NDArray[Any]]
_USED_FIELDS = {
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "missing_go_to_left",
}
_UNUSED_FIELDS = {"impurity", "n_node_samples", "weighted_n_node_samples"}


def is_uniform(trees: Sequence[Any]) -> bool:
    """Whether fitted tree estimators differ in their trees and random states only."""
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import NODE_DTYPE

    if not trees or not all(isinstance(tree, BaseDecisionTree) for tree in trees):
        return False
    if set(NODE_DTYPE.names) != _USED_FIELDS | _UNUSED_FIELDS:
        return False
    first = _shared_state(trees[0])
    return all(
        type(tree) is type(trees[0])
        and tree.tree_.n_outputs == 1
        and _is_equal(_shared_state(tree), first)
        for tree in trees
    )


def template(tree: Any) -> Any:
    """Copy of a fitted tree estimator without its tree."""
    return _bare_copy(tree, tree_=None, random_state=None)


def pack_trees(trees: Sequence[Any]) -> Arrays:
    """Arrays of fitted tree estimators for which `is_uniform` holds.

    Returns
    -------
    node_counts, max_depths : (n_trees,)
    left, right : (n_nodes,), -1 in leaves; distance to the child
    feature : (n_nodes,), -2 in leaves
    threshold : (n_nodes,), float32
    missing_left : (n_nodes,), bool
    values : (n_leaves, n_values)
    n_features, n_classes : (1,)
    """
    inner = [tree.tree_ for tree in trees]
    nodes = np.concatenate([tree.__getstate__()["nodes"] for tree in inner])
    values = np.concatenate([tree.value[:, 0, :] for tree in inner])
    counts = np.array([tree.node_count for tree in inner], dtype=np.int64)
    place = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_leaf = nodes["left_child"] < 0
    return {
        "node_counts": counts,
        "max_depths": np.array([tree.max_depth for tree in inner], dtype=np.int32),
        "left": np.where(is_leaf, -1, nodes["left_child"] - place).astype(np.int32),
        "right": np.where(is_leaf, -1, nodes["right_child"] - place).astype(np.int32),
        "feature": nodes["feature"].astype(np.int32),
        "threshold": _rounded_down(nodes["threshold"]),
        "missing_left": nodes["missing_go_to_left"].astype(bool),
        "values": values[is_leaf],
        "n_features": np.array([inner[0].n_features]),
        "n_classes": inner[0].n_classes.astype(np.int64),
    }


def unpack_trees(arrays: Mapping[str, NDArray[Any]], shared: Any) -> list[Any]:
    """Inverse of `pack_trees`.

    Parameters
    ----------
    shared
        The `template` of the trees.

    Raises
    ------
    DataError
        If a child or a feature lies outside its tree.
    """
    from sklearn.tree._tree import NODE_DTYPE, Tree

    counts = arrays["node_counts"]
    nodes = np.zeros(int(counts.sum()), dtype=NODE_DTYPE)
    place = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_leaf = arrays["left"] < 0
    for field, name in (("left_child", "left"), ("right_child", "right")):
        nodes[field] = np.where(is_leaf, -1, arrays[name] + place)
    nodes["feature"] = arrays["feature"]
    nodes["threshold"] = arrays["threshold"]
    nodes["missing_go_to_left"] = arrays["missing_left"]
    n_features = int(arrays["n_features"][0])
    _check(nodes, np.repeat(counts, counts), place, is_leaf, n_features)
    values = np.zeros((len(nodes), 1, arrays["values"].shape[1]))
    values[is_leaf, 0, :] = arrays["values"]
    out, start = [], 0
    for count, depth in zip(counts.tolist(), arrays["max_depths"].tolist(), strict=True):
        part = slice(start, start + count)
        tree = Tree(n_features, arrays["n_classes"].astype(np.intp), 1)
        state = {"max_depth": depth, "node_count": count}
        tree.__setstate__({**state, "nodes": nodes[part].copy(), "values": values[part].copy()})
        out.append(_bare_copy(shared, tree_=tree))
        start += count
    return out


def pack_histogram_trees(rounds: Sequence[Sequence[Any]]) -> Arrays:
    """Arrays of the predictors of scikit-learn's histogram gradient boosting.

    Parameters
    ----------
    rounds : (n_rounds, n_trees_per_round)
    """
    trees = [tree for each in rounds for tree in each]
    bitsets = ("binned_left_cat_bitsets", "raw_left_cat_bitsets")
    arrays = {
        "trees_per_round": np.array([len(rounds[0])]),
        "nodes": np.concatenate([tree.nodes for tree in trees]),
        "nodes_counts": np.array([len(tree.nodes) for tree in trees]),
    }
    for name in bitsets:
        arrays[name] = np.concatenate([getattr(tree, name) for tree in trees])
        arrays[f"{name}_counts"] = np.array([len(getattr(tree, name)) for tree in trees])
    return arrays


def unpack_histogram_trees(arrays: Mapping[str, NDArray[Any]]) -> list[list[Any]]:
    """Inverse of `pack_histogram_trees`.

    Raises
    ------
    DataError
        If a child lies outside its tree.
    """
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    nodes, counts = arrays["nodes"], arrays["nodes_counts"]
    inside = np.repeat(counts, counts)
    if (nodes["left"] >= inside).any() or (nodes["right"] >= inside).any():
        raise DataError("a tree in the bundle has a child outside of it")
    parts = [
        np.split(arrays[name], np.cumsum(arrays[f"{name}_counts"])[:-1])
        for name in ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")
    ]
    trees = [TreePredictor(*(part.copy() for part in each)) for each in zip(*parts, strict=True)]
    width = int(arrays["trees_per_round"][0])
    return [trees[start : start + width] for start in range(0, len(trees), width)]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an ``.npz`` with the fastest compression."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(values), allow_pickle=False)


def read_arrays(path: Path) -> Arrays:
    """Read an ``.npz``; arrays of Python objects are refused."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Greatest float32 at most each threshold: x <= t decides alike for every float32 x."""
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
    too_large = rounded > thresholds
    rounded[too_large] = np.nextafter(rounded[too_large], np.float32(-np.inf))
    return rounded


def _check(
    nodes: NDArray[Any],
    inside: NDArray[Any],
    place: NDArray[Any],
    is_leaf: NDArray[np.bool_],
    n_features: int,
) -> None:
    split = nodes[~is_leaf]
    for name in ("left_child", "right_child"):
        child = split[name]
        if (child <= place[~is_leaf]).any() or (child >= inside[~is_leaf]).any():
            raise DataError("a tree in the bundle has a child outside of it")
    if (split["feature"] < 0).any() or (split["feature"] >= n_features).any():
        raise DataError("a tree in the bundle splits on a column that does not exist")


def _shared_state(tree: Any) -> dict[str, Any]:
    return {name: v for name, v in vars(tree).items() if name not in ("tree_", "random_state")}


def _is_equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        one[name] is other[name] or np.array_equal(one[name], other[name]) for name in one
    )


def _bare_copy(tree: Any, **changes: Any) -> Any:
    copy = object.__new__(type(tree))
    copy.__dict__.update(vars(tree), **changes)
    return copy
