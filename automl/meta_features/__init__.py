"""Numbers that describe a data set, by name: what makes data sets comparable (H18, table 6.3)."""

from automl.meta_features.description import MetaFeatures, describe
from automl.meta_features.feature import Group, MetaFeature, Target
from automl.meta_features.registry import META_FEATURES

__all__ = ["META_FEATURES", "Group", "MetaFeature", "MetaFeatures", "Target", "describe"]
