"""A search's predictions as a library of members, and models of a second layer over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import ElasticNetCV, LogisticRegression

from automl.ensembles.layers import choose_base
from automl.inference.second_layer import StackInputs
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.records import IntArray, Task

LEAST = 1e-6
"""Smallest probability whose logarithm a second layer takes."""


@dataclass(frozen=True)
class Library:
    """Members of one search, best first.

    Parameters
    ----------
    y, folds, features : of the training rows
    test_y, test_features : of the untouched rows
    out_of_fold, untouched : (m, n, K) or (m, n)
    groups, kinds : (m,)
        Family; family with preprocessing.
    index
        What weights are learned by.
    inputs : (m,) or empty
        Members whose predictions each one takes; empty without a second layer.
    """

    y: NDArray[Any]
    folds: IntArray
    features: NDArray[Any]
    test_y: NDArray[Any]
    test_features: NDArray[Any]
    out_of_fold: NDArray[Any]
    untouched: NDArray[Any]
    groups: Sequence[str]
    kinds: Sequence[str]
    index: PerformanceIndex
    inputs: Sequence[Sequence[int]] = ()

    @property
    def is_classification(self) -> bool:
        """Whether predictions are probabilities."""
        return self.out_of_fold.ndim == 3

    def loss(self, y: NDArray[Any], prediction: NDArray[Any]) -> float:
        """Log loss or root mean squared error."""
        if not self.is_classification:
            return float(np.sqrt(np.mean((prediction - y) ** 2)))
        chosen = np.clip(prediction[np.arange(len(y)), y], 1e-15, 1.0)
        return float(-np.log(chosen).mean())

    @property
    def base(self) -> list[int]:
        """Members whose predictions a second layer takes."""
        scores = -np.arange(len(self.groups), dtype=float)
        return list(choose_base(scores, self.groups, np.zeros(len(scores)), max_members=12))

    def taken(self, members: Sequence[int]) -> Library:
        """Some of the members."""
        return replace(
            self,
            out_of_fold=self.out_of_fold[list(members)],
            untouched=self.untouched[list(members)],
            groups=[self.groups[i] for i in members],
            kinds=[self.kinds[i] for i in members],
        )

    def joined(self, others: Sequence[tuple[str, NDArray[Any], NDArray[Any]]]) -> Library:
        """With members of a second layer behind."""
        return replace(
            self,
            inputs=[*([()] * len(self.groups)), *([self.base] * len(others))],
            out_of_fold=np.concatenate([self.out_of_fold, [o[1] for o in others]]),
            untouched=np.concatenate([self.untouched, [o[2] for o in others]]),
            groups=[*self.groups, *(o[0] for o in others)],
            kinds=[*self.kinds, *(o[0] for o in others)],
        )


def load_library(file: Path, n_trials: int, metric: str | None = None) -> Library:
    """The complete ones of the first trials of a search, best first."""
    found = dict(np.load(file))
    inside = found["folds"] >= 0  # rows of the rarest classes are in no fold
    for name in ("y", "folds", "features"):
        found[name] = found[name][inside]
    found["out_of_fold"] = found["out_of_fold"][:, inside]
    n_classes = int(found["n_classes"])
    task = Task.REGRESSION if not n_classes else Task.BINARY if n_classes == 2 else Task.MULTICLASS
    index = build_index(
        metric or ("log_loss" if n_classes else "mse"),
        task=task,
        y_all=found["y"],
        n_classes=n_classes or None,
    )
    early = np.flatnonzero(found["order"] < n_trials)
    scores = np.array([index.score(found["y"], found["out_of_fold"][i]) for i in early])
    members = early[np.argsort(-scores, kind="stable")]
    members = [i for i in members if found["families"][i] not in ("constant", "stump")]
    return Library(
        *(found[k] for k in ("y", "folds", "features", "test_y", "test_features")),
        found["out_of_fold"][members],
        found["untouched"][members],
        [str(found["families"][i]) for i in members],
        [f"{found['families'][i]} {found['preprocessing'][i]}" for i in members],
        index,
    )


@dataclass(frozen=True)
class Layer:
    """A model of the second layer."""

    estimator: Any
    takes_features: bool = False
    is_wide: bool = False
    takes_logs: bool = False


def layers_of(library: Library) -> dict[str, Layer]:
    """Models of the second layer by name."""
    forest: dict[str, Any] = {"n_estimators": 300, "n_jobs": 1, "random_state": 0}
    trees = {"n_estimators": 100, "num_leaves": 4, "learning_rate": 0.05, "n_jobs": 1}
    trees |= {"verbose": -1, "subsample_freq": 1, "subsample": 0.8, "colsample_bytree": 0.8}
    if library.is_classification:
        linear: Any = LogisticRegression(C=0.3, max_iter=500)
        weak: Any = LogisticRegression(C=0.02, max_iter=500)
        extra: Any = ExtraTreesClassifier(**forest, min_samples_leaf=3, max_features="sqrt")
        coarse: Any = ExtraTreesClassifier(**forest, min_samples_leaf=10, max_features=0.5)
        boosted: Any = LGBMClassifier(**trees)
    else:
        linear = ElasticNetCV(l1_ratio=0.5, positive=True)
        weak = ElasticNetCV(l1_ratio=0.1)
        extra = ExtraTreesRegressor(**forest, min_samples_leaf=5, max_features=0.5)
        coarse = ExtraTreesRegressor(**forest, min_samples_leaf=10, max_features=0.5)
        boosted = LGBMRegressor(**trees)
    return {
        "linear": Layer(linear),
        "linear logs": Layer(weak, takes_logs=True),
        "trees": Layer(extra),
        "trees features": Layer(extra, takes_features=True),
        "trees features wide": Layer(coarse, takes_features=True, is_wide=True),
        "boosted features": Layer(boosted, takes_features=True),
    }


def second_layer(library: Library, name: str) -> tuple[str, NDArray[Any], NDArray[Any]]:
    """Name, out-of-fold predictions and those of the untouched rows by the mean of the fold models."""
    layer = layers_of(library)[name]
    base = list(range(min(24, len(library.groups)))) if layer.is_wide else library.base
    inside = [np.asarray(library.out_of_fold[i], np.float64) for i in base]
    outside = [np.asarray(library.untouched[i], np.float64) for i in base]
    if layer.takes_logs and library.is_classification:
        inside = [np.log(np.maximum(p, LEAST)) for p in inside]
        outside = [np.log(np.maximum(p, LEAST)) for p in outside]
    out = np.empty(library.out_of_fold.shape[1:])
    parts = []
    for fold in np.unique(library.folds):
        own, others = library.folds == fold, library.folds != fold
        stack = StackInputs.fit([p[others] for p in inside])
        columns = (lambda f, r: f[r]) if layer.takes_features else (lambda *_: None)
        model = clone(layer.estimator)
        training = stack.transform([p[others] for p in inside], columns(library.features, others))
        model.fit(training, library.y[others])
        out[own] = _predicted(
            library,
            model,
            stack.transform([p[own] for p in inside], columns(library.features, own)),
        )
        everything = np.arange(len(library.test_y))
        parts.append(
            _predicted(
                library,
                model,
                stack.transform(outside, columns(library.test_features, everything)),
            )
        )
    return name, out, np.mean(parts, axis=0)


def _predicted(library: Library, model: Any, columns: NDArray[Any]) -> NDArray[Any]:
    if not library.is_classification:
        return np.asarray(model.predict(columns))
    out = np.zeros((len(columns), library.out_of_fold.shape[2]))
    out[:, model.classes_] = model.predict_proba(columns)
    return out
