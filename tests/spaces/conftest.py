"""A family text that uses every feature of the grammar."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import settings

from automl.spaces.tree import SpaceTree

settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")

TREE = """
C: {type: loguniform, low: 0.001, high: 1000, default: 1.0}
epsilon: {type: loguniform, low: 0.001, high: 1, only: regression}
kernel:
  default: rbf
  choices:
    linear:
    rbf:
      weight: 3
      tree:
        gamma: {type: loguniform, low: 0.00001, high: 10, default: 0.1}
    poly:
      weight: 2
      tree:
        gamma: {type: uniform, low: 0, high: 1}
        degree: {type: uniform, low: 2, high: 5, integer: true, default: 3}
        coef0_used:
          virtual: true
          choices:
            true:
              tree:
                coef0: {type: normal, mean: 0, sd: 1, low: -2, high: 3}
            false:
max_features:
  choices:
    sqrt: {encode: sqrt(n_columns) / n_columns}
    log2: {encode: log2(n_columns) / n_columns}
    all: {value: null, encode: 1}
    share:
      tree:
        max_features_share: {type: uniform, low: 0.1, high: 0.9, argument: max_features}
    own: {sets: false}
leaf: {type: loguniform, low: 1, high: 200, integer: true, argument: min_samples_leaf, encode: value / n_rows}
momentum: {type: gmm, weights: [1, 2], means: [0.1, 0.8], sds: [0.05, 0.1], low: 0, high: 1}
shrinking: {branch: false, choices: [true, false]}
loss:
  branch: false
  default: {classification: hinge, regression: squared}
  choices: {hinge: {only: classification}, log: {only: classification}, squared: {only: regression}}
"""
PREP = {"prep.encoder": ["onehot"], "prep.scaler": ["standard", "minmax", "none"]}
RULES = ("C * gamma < 5000", "not (kernel == 'linear' and max_features == 'log2')")


@pytest.fixture(scope="session")
def space() -> SpaceTree:
    return SpaceTree.build("svm", yaml.safe_load(TREE), prep=PREP, rules=RULES)


@pytest.fixture(scope="session")
def regression_space() -> SpaceTree:
    return SpaceTree.build("svm", yaml.safe_load(TREE), prep=PREP, rules=RULES, kind="regression")
