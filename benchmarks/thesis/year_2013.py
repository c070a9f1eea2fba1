"""The thesis' 17 families with the defaults of scikit-learn 0.14 (August 2013), as far as today's can do them.

What was different then: 10 trees in a forest; gamma 1 / columns; five passes in the order of the rows for
stochastic gradients; one-against-rest by liblinear for logistic regression; no smoothing of variances beyond 1e-9;
discriminants that went on with singular covariances; an error for a row without a neighbor in the
radius, and for a `nu` that the class frequencies forbid. Rows are neither scaled nor filtered: the thesis
names preprocessing as future work (B14, section 6.1).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

Build = Callable[[int, int], Any]
PASSES: dict[str, Any] = {"max_iter": 5, "tol": None, "shuffle": False}


class UnguardedQuadraticDiscriminant(ClassifierMixin, BaseEstimator):
    """Quadratic discriminant that divides by whatever scale a singular covariance has."""

    def fit(self, X: Any, y: Any) -> UnguardedQuadraticDiscriminant:
        self.classes_ = np.unique(y)
        self._parts = []
        for label in self.classes_:
            rows = X[y == label]
            center = rows.mean(axis=0)
            _, singular, rotation = np.linalg.svd(rows - center, full_matrices=False)
            scales = singular**2 / (len(rows) - 1)
            self._parts.append((len(rows) / len(y), center, rotation.T, scales))
        return self

    def predict_proba(self, X: Any) -> Any:
        columns = []
        with np.errstate(all="ignore"):
            for prior, center, rotation, scales in self._parts:
                distance = (((X - center) @ rotation) ** 2 / scales).sum(axis=1)
                columns.append(-0.5 * (distance + np.log(scales).sum()) + np.log(prior))
            values = np.column_stack(columns)
            likelihood = np.exp(values - values.max(axis=1, keepdims=True))
            return likelihood / likelihood.sum(axis=1, keepdims=True)


class FixedSmoothing(GaussianNB):
    """Naive Bayes that adds 1e-9 to each variance, whatever the greatest one is."""

    def fit(self, X: Any, y: Any) -> FixedSmoothing:
        self.var_smoothing = 1e-9 / max(float(np.var(X, axis=0).max()), 1e-300)
        super().fit(X, y)
        return self


def _liblinear(_: int, seed: int) -> Any:
    return OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=seed))


BUILD: dict[str, Build] = {
    "knn": lambda _, __: KNeighborsClassifier(5),
    "radius_neighbors": lambda _, __: RadiusNeighborsClassifier(1.0),
    "nearest_centroid": lambda _, __: NearestCentroid(),
    "sgd": lambda _, seed: SGDClassifier(**PASSES, random_state=seed),
    "logistic_regression": _liblinear,
    "svm": lambda columns, seed: SVC(gamma=1.0 / columns, random_state=seed),
    "linear_svm": lambda _, seed: LinearSVC(random_state=seed),
    "nu_svm": lambda columns, seed: NuSVC(gamma=1.0 / columns, random_state=seed),
    "decision_tree": lambda _, seed: DecisionTreeClassifier(random_state=seed),
    "random_forest": lambda _, seed: RandomForestClassifier(10, random_state=seed),
    "extra_trees": lambda _, seed: ExtraTreesClassifier(10, random_state=seed),
    "ridge": lambda _, __: RidgeClassifier(),
    "lda": lambda _, __: LinearDiscriminantAnalysis(),
    "qda": lambda _, __: UnguardedQuadraticDiscriminant(),
    "gradient_boosting": lambda _, seed: GradientBoostingClassifier(random_state=seed),
    "passive_aggressive": lambda _, seed: SGDClassifier(
        loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, **PASSES, random_state=seed
    ),
    "gaussian_nb": lambda _, __: FixedSmoothing(),
}


def fitted(family: str, training: Any, y: Any, *, seed: int) -> Any:
    """Estimator of one family, fitted on rows as they are.

    Parameters
    ----------
    training : (n, n_columns), finite
    y : (n,) codes
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BUILD[family](training.shape[1], seed).fit(training, y)
