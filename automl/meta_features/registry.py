"""All meta-features by name, in the order in which they are computed."""

from __future__ import annotations

from automl.meta_features import information, landmarks, simple, statistical, tree_shape
from automl.meta_features.feature import MetaFeature

META_FEATURES: dict[str, MetaFeature] = {
    feature.name: feature
    for module in (simple, statistical, information, tree_shape, landmarks)
    for feature in module.FEATURES
}
"""Names never change their meaning: a feature that is computed otherwise gets another name."""
