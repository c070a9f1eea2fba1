"""Model-based meta-features: the shape of a decision tree of the data (H18, section 2.3.1).

The tree is fitted to all of the sample that the landmarkers use, with five rows a leaf at least.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from automl.meta_features.feature import Group, MetaFeature, Target, summaries
from automl.meta_features.landmarks import plain_inputs
from automl.meta_features.time_limit import UndefinedError
from automl.meta_features.view import View
from automl.records import FloatArray

LEAF_ROWS = 5
"""With leaves of one row, noise makes a tree as deep as structure does (by judgement)."""
_SOURCE = "Peng et al. (2002); H18, section 2.3.1"


class Shape(NamedTuple):
    """What is looked at of a tree.

    Parameters
    ----------
    branch_lengths : (n_leaves,), splits on the way to each leaf
    level_widths : (depth + 1,), nodes of each level, the root's first
    uses : (n_columns,), splits by each column of the sample
    """

    branch_lengths: FloatArray
    level_widths: FloatArray
    uses: FloatArray


def shape(view: View) -> Shape:
    """Shape of the tree that is fitted to the sample.

    Raises
    ------
    UndefinedError
        If there is no column.
    """

    def fitted() -> Shape:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        X = plain_inputs(view)
        if not X.shape[1]:
            raise UndefinedError("there is no column")
        view.deadline.check()
        kind = DecisionTreeClassifier if view.has_classes else DecisionTreeRegressor
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many classes
            tree = kind(min_samples_leaf=LEAF_ROWS, random_state=0).fit(X, view.model_y).tree_
        left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
        depth = np.zeros(tree.node_count)
        for node in np.flatnonzero(left >= 0):  # parents come before their children
            depth[[left[node], right[node]]] = depth[node] + 1
        is_split = left >= 0
        return Shape(
            depth[~is_split],
            np.bincount(depth.astype(int)).astype(float),
            np.bincount(np.asarray(tree.feature)[is_split], minlength=X.shape[1]).astype(float),
        )

    return view.memo("tree", fitted)


FEATURES: tuple[MetaFeature, ...] = (
    MetaFeature(
        "tree_leaves",
        Group.MODEL,
        "Number of leaves of the tree.",
        _SOURCE,
        lambda view: float(len(shape(view).branch_lengths)),
    ),
    MetaFeature(
        "tree_depth",
        Group.MODEL,
        "Number of splits on the longest path from root to leaf.",
        _SOURCE,
        lambda view: float(shape(view).branch_lengths.max()),
    ),
    MetaFeature(
        "tree_leaves_per_class",
        Group.MODEL,
        "Number of leaves divided by number of classes.",
        _SOURCE,
        lambda view: len(shape(view).branch_lengths) / len(view.class_shares),
        Target.CLASSES,
    ),
    *summaries(
        "tree_branch",
        Group.MODEL,
        "the number of splits on the paths to the leaves",
        _SOURCE,
        lambda view: shape(view).branch_lengths,
        of=("mean", "std", "min"),
    ),
    *summaries(
        "tree_width",
        Group.MODEL,
        "the number of nodes on each level of the tree",
        _SOURCE,
        lambda view: shape(view).level_widths,
        of=("mean", "std", "max"),
    ),
    *summaries(
        "tree_uses",
        Group.MODEL,
        "the number of splits on each column",
        _SOURCE,
        lambda view: shape(view).uses,
    ),
)
