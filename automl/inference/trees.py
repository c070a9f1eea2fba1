"""Ensembles of scikit-learn trees as a few flat arrays.

A fitted forest is some hundred estimators that differ in nothing but their tree, and half of a tree's bytes
serve training only. Packed, all trees lie one after another in one array per property, and the threshold is a
float32 rounded down, which decides alike for float32 inputs. What prediction does not use is not kept: impurities and
sample counts, hence importances, and the trees' own random states.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.errors import DataError

Arrays = dict[str, NDArray[Any]]
COMPRESSION = 1
"""The fastest of zlib's levels: a model is written within the run's time."""
SAMPLE_BYTES = 2**16
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

    Whole numbers are in the smallest type that holds them.

    Returns
    -------
    node_counts, max_depths : (n_trees,)
    is_leaf : (ceil(n_nodes / 8),), bits
    left, right : (n_splits,), distance to the child
    feature : (n_splits,)
    threshold : (n_splits,), float32
    missing_left : (ceil(n_splits / 8),), bits
    values : (n_leaves, n_values)
    n_features, n_classes : (1,)
    """
    inner = [tree.tree_ for tree in trees]
    packed = [_pack_tree(tree) for tree in inner]
    joined = {name: np.concatenate([each[name] for each in packed]) for name in packed[0]}
    return {
        "node_counts": np.array([tree.node_count for tree in inner], dtype=np.int64),
        "max_depths": np.array([tree.max_depth for tree in inner], dtype=np.int32),
        "is_leaf": np.packbits(joined["is_leaf"]),
        "left": _smallest(joined["left"]),
        "right": _smallest(joined["right"]),
        "feature": _smallest(joined["feature"]),
        "threshold": _rounded_down(joined["threshold"]),
        "missing_left": np.packbits(joined["missing_left"]),
        "values": joined["values"],
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
        If arrays do not fit each other, or a child or a feature lies outside its tree.
    """
    from sklearn.tree._tree import Tree

    if int(arrays["n_features"][0]) != shared.n_features_in_:
        raise DataError(
            "the trees in the bundle are for another number of columns than their model"
        )
    counts = arrays["node_counts"]
    is_leaf = np.unpackbits(arrays["is_leaf"], count=int(counts.sum())).astype(bool)
    ends = np.cumsum(counts)
    n_leaves = np.diff(np.cumsum(is_leaf)[ends - 1], prepend=0)
    if n_leaves.sum() != len(arrays["values"]):
        raise DataError("the trees in the bundle lack leaves")
    splits = {
        "left_child": arrays["left"].astype(np.intp),
        "right_child": arrays["right"].astype(np.intp),
        "feature": arrays["feature"],
        "threshold": arrays["threshold"],
        "missing_go_to_left": np.unpackbits(arrays["missing_left"], count=len(arrays["left"])),
    }
    place = np.flatnonzero(~is_leaf) - np.repeat(ends - counts, counts - n_leaves)
    _check(splits, place, np.repeat(counts, counts - n_leaves), int(arrays["n_features"][0]))
    for name in ("left_child", "right_child"):
        splits[name] += place
    out, node, split, leaf = [], 0, 0, 0
    for count, own_leaves, depth in zip(counts, n_leaves, arrays["max_depths"], strict=True):
        own = slice(split, split + count - own_leaves)
        nodes, values = _unpack_tree(
            is_leaf[node : node + count],
            {name: array[own] for name, array in splits.items()},
            arrays["values"][leaf : leaf + own_leaves],
        )
        tree = Tree(int(arrays["n_features"][0]), arrays["n_classes"].astype(np.intp), 1)
        state = {"max_depth": int(depth), "node_count": int(count)}
        tree.__setstate__({**state, "nodes": nodes, "values": values})
        out.append(_bare_copy(shared, tree_=tree))
        node, split, leaf = node + count, own.stop, leaf + own_leaves
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
    place = np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_split = nodes["is_leaf"] == 0
    for child in (nodes["left"], nodes["right"]):
        if ((child <= place) | (child >= inside))[is_split].any():
            raise DataError("a tree in the bundle has a child outside of it")
    parts = [
        np.split(arrays[name], np.cumsum(arrays[f"{name}_counts"])[:-1])
        for name in ("nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets")
    ]
    trees = [TreePredictor(*(part.copy() for part in each)) for each in zip(*parts, strict=True)]
    width = int(arrays["trees_per_round"][0])
    return [trees[start : start + width] for start in range(0, len(trees), width)]


def check_histogram_columns(rounds: Sequence[Sequence[Any]], n_features: int) -> None:
    """Refuse trees of `unpack_histogram_trees` that split on a column that their model does not take.

    Raises
    ------
    DataError
        If there is one; scikit-learn would read outside of the row.
    """
    for tree in (tree for each in rounds for tree in each):
        columns = tree.nodes["feature_idx"]
        if ((columns < 0) | (columns >= n_features)).any():
            raise DataError("a tree in the bundle splits on a column that does not exist")


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an ``.npz``; arrays that the fastest compression halves are compressed."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in arrays.items():
            data = np.ascontiguousarray(values)
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, data, allow_pickle=False)
            method = zipfile.ZIP_DEFLATED if _shrinks(data) else zipfile.ZIP_STORED
            archive.writestr(f"{name}.npy", buffer.getbuffer(), method, COMPRESSION)


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


def _pack_tree(tree: Any) -> Arrays:
    """What `pack_trees` joins, of one tree."""
    state = tree.__getstate__()
    nodes, values = state["nodes"], state["values"]
    is_leaf = nodes["left_child"] < 0
    place = np.flatnonzero(~is_leaf)
    splits = nodes[place]
    return {
        "is_leaf": is_leaf,
        "left": splits["left_child"] - place,
        "right": splits["right_child"] - place,
        "feature": splits["feature"],
        "threshold": splits["threshold"],
        "missing_left": splits["missing_go_to_left"].astype(bool),
        "values": values[is_leaf, 0, :],
    }


def _unpack_tree(
    is_leaf: NDArray[np.bool_], splits: Mapping[str, NDArray[Any]], leaf_values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Nodes and values of one tree as scikit-learn holds them."""
    from sklearn.tree._tree import NODE_DTYPE

    inner = np.zeros(len(splits["feature"]), dtype=NODE_DTYPE)
    for name, array in splits.items():
        inner[name] = array
    nodes = np.zeros(len(is_leaf), dtype=NODE_DTYPE)
    nodes["left_child"] = nodes["right_child"] = -1
    nodes[~is_leaf] = inner
    values = np.zeros((len(is_leaf), 1, leaf_values.shape[1]))
    values[is_leaf, 0, :] = leaf_values
    return nodes, values


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers from 0 on in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _shrinks(data: NDArray[Any]) -> bool:
    """Whether compression halves a sample of the array."""
    sample = data.reshape(-1)[: max(1, SAMPLE_BYTES // max(data.itemsize, 1))].tobytes()
    return len(zlib.compress(sample, COMPRESSION)) < 0.5 * len(sample)


def _check(
    splits: Mapping[str, NDArray[Any]],
    place: NDArray[np.intp],
    inside: NDArray[np.int64],
    n_features: int,
) -> None:
    """Refuse splits that lead out of their tree.

    Parameters
    ----------
    splits : each (n_splits,)
        The children as distances.
    place : (n_splits,)
        In the own tree.
    inside : (n_splits,)
        Number of nodes of the own tree.
    """
    if any(len(array) != len(place) for array in splits.values()):
        raise DataError("the trees in the bundle lack splits")
    for name in ("left_child", "right_child"):
        if (splits[name] <= 0).any() or (splits[name] >= inside - place).any():
            raise DataError("a tree in the bundle has a child outside of it")
    feature = splits["feature"]
    if (feature < 0).any() or (feature >= n_features).any():
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
