"""Landmarkers: how well very simple models predict the target (H18, section 2.3.1 and table B.1).

Each model is cross-validated on one sample of at most 1,000 rows and 100 columns, and takes at most
O(n log n) time by its rows. Predictions for all rows are put together before they are judged.

Notation
--------
n : rows of the sample; K : classes among them; S : (n, K) scores of the classes, or (n, 1) numbers
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from automl.data.allotment import allot
from automl.meta_features.feature import Group, MetaFeature, Target
from automl.meta_features.time_limit import UndefinedError
from automl.meta_features.view import View, binned
from automl.records import FloatArray, IntArray

N_FOLDS = 5
"""Five, not Weka's ten: each is a fit of every model."""
MOST_INDICATORS = 10
"""Categories of a column that have an indicator of their own; the rarer ones share one."""
RIDGE = 1.0
"""scikit-learn's default: a solution exists where columns depend on each other."""
LEAST_SKILL = -1.0
"""An R² below is counted as this: of a model that is worse than the mean only that matters."""
_PFAHRINGER = "Pfahringer et al. (2000); H18, section 2.3.1"
_APPENDIX = "H18, table B.1"

Learner = Callable[[View, IntArray, IntArray], FloatArray]
"""Scores S for the test rows of a model that learned from the training rows."""


def folds(view: View) -> IntArray:
    """(n,) folds of the sample's rows: classes in proportion, rows that belong together in one."""

    def dealt() -> IntArray:
        y = view.model_y
        strata = y if view.has_classes else binned(y[:, None], N_FOLDS)[:, 0]
        codes = allot(strata, view.model_groups, np.full(N_FOLDS, 1.0 / N_FOLDS), rng=view.fold_rng)
        if len(np.unique(codes)) < 2:
            raise UndefinedError("the rows cannot be split into folds")
        return codes

    return view.memo("folds", dealt)


def scores(view: View, name: str, learner: Learner) -> FloatArray:
    """(n, K) or (n, 1) out-of-fold scores of a learner."""

    def made() -> FloatArray:
        y, fold = view.model_y, folds(view)
        if view.has_classes and int(y.max()) == 0:
            raise UndefinedError("there is one class in the sample")
        predicted = np.zeros((len(y), int(y.max()) + 1 if view.has_classes else 1))
        for one in np.unique(fold):
            view.deadline.check()
            train, test = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
            predicted[test] = _fitted(view, learner, train, test)
        return predicted

    return view.memo(f"scores of {name}", made)


def _fitted(view: View, learner: Learner, train: IntArray, test: IntArray) -> FloatArray:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many classes, or none of some category
            return learner(view, train, test)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise UndefinedError(f"the model cannot be fitted: {error}") from None


# --- inputs ---------------------------------------------------------------------------------------


def plain_inputs(view: View) -> FloatArray:
    """(n, …) numbers beside codes, for trees."""
    return view.memo(
        "plain inputs", lambda: np.concatenate([view.model_numbers, view.model_codes], axis=1)
    )


def indicator_inputs(view: View) -> FloatArray:
    """(n, …) standardized numbers beside indicators of the categories, for distances and sums."""

    def made() -> FloatArray:
        parts = [view.model_numbers]
        for codes in view.model_codes.T:
            frequent = np.argsort(-np.bincount(codes), kind="stable")[:MOST_INDICATORS]
            parts.append((codes[:, None] == frequent).astype(float))
        return np.concatenate(parts, axis=1)

    return view.memo("indicator inputs", made)


def _spread(view: View, found: FloatArray, classes: IntArray) -> FloatArray:
    """Columns of all K classes from those that the training rows have."""
    wide = np.zeros((len(found), int(view.model_y.max()) + 1))
    wide[:, np.asarray(classes, dtype=np.intp)] = found
    return wide


# --- learners -------------------------------------------------------------------------------------


def tree(depth: int) -> Learner:
    """Decision tree of a depth at most; a stump with 1."""

    def predicted(view: View, train: IntArray, test: IntArray) -> FloatArray:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        X, y = plain_inputs(view), view.model_y
        kind = DecisionTreeClassifier if view.has_classes else DecisionTreeRegressor
        return _outcome(
            view, kind(max_depth=depth, random_state=0).fit(X[train], y[train]), X[test]
        )

    return predicted


def nearest_neighbor(view: View, train: IntArray, test: IntArray) -> FloatArray:
    """The target of the nearest row."""
    from scipy.spatial.distance import cdist

    X, y = indicator_inputs(view), view.model_y
    nearest = train[cdist(X[test], X[train], "sqeuclidean").argmin(axis=1)]
    if not view.has_classes:
        return np.asarray(y[nearest], dtype=float)[:, None]
    return np.asarray(np.eye(int(y.max()) + 1)[y[nearest]])


def naive_bayes(view: View, train: IntArray, test: IntArray) -> FloatArray:
    """Normal densities of the numbers and frequencies of the categories, as if independent."""
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    numbers, codes, y = view.model_numbers, view.model_codes, view.model_y
    classes, counts = np.unique(y[train], return_counts=True)
    log_prior = np.log(counts / counts.sum())
    densities = np.tile(log_prior, (len(test), 1))
    if numbers.shape[1]:
        model = GaussianNB().fit(numbers[train], y[train])
        densities += model.predict_log_proba(numbers[test]) - log_prior
    if codes.shape[1]:
        sizes = codes.max(axis=0) + 1
        nominal = CategoricalNB(min_categories=sizes).fit(codes[train], y[train])
        densities += nominal.predict_log_proba(codes[test]) - log_prior
    densities = np.exp(densities - densities.max(axis=1, keepdims=True))
    return _spread(view, densities / densities.sum(axis=1, keepdims=True), classes)


def linear(view: View, train: IntArray, test: IntArray) -> FloatArray:
    """Least squares with a small ridge, of indicators of the classes or of the numbers."""
    from sklearn.linear_model import Ridge

    X, y = indicator_inputs(view), view.model_y
    Y = np.eye(int(y.max()) + 1)[y] if view.has_classes else np.asarray(y, dtype=float)[:, None]
    fitted = Ridge(alpha=RIDGE).fit(X[train], Y[train])
    return np.asarray(fitted.predict(X[test])).reshape(len(test), -1)


def _outcome(view: View, model: Any, X: FloatArray) -> FloatArray:
    if not view.has_classes:
        return np.asarray(model.predict(X), dtype=float)[:, None]
    return _spread(view, model.predict_proba(X), model.classes_)


# --- measures -------------------------------------------------------------------------------------


def error_rate(S: FloatArray, y: IntArray) -> float:
    """Share of the rows whose class has not the greatest score; ties go to the first class."""
    return float(np.mean(S.argmax(axis=1) != y))


def kappa(S: FloatArray, y: IntArray) -> float:
    """Cohen's kappa: agreement beyond that of independent draws, 1 at best; 0 where that is certain."""
    K = S.shape[1]
    expected = float(
        np.bincount(S.argmax(axis=1), minlength=K) @ np.bincount(y, minlength=K) / len(y) ** 2
    )
    return (1.0 - error_rate(S, y) - expected) / (1.0 - expected) if expected < 1.0 else 0.0


def area(S: FloatArray, y: IntArray) -> float:
    """Area under the ROC curve of each class against the others, weighted by its rows."""
    from scipy.stats import rankdata

    counts = np.bincount(y, minlength=S.shape[1]).astype(float)
    usable = np.flatnonzero((counts > 0) & (counts < len(y)))
    ranks = rankdata(S[:, usable], axis=0)
    own = np.array([ranks[y == code, i].sum() for i, code in enumerate(usable)])
    n = counts[usable]
    areas = (own - n * (n + 1) / 2) / (n * (len(y) - n))
    return float(areas @ n / n.sum())


def r_squared(S: FloatArray, y: FloatArray) -> float:
    """1 - Σ(y - f)² / Σ(y - ȳ)², at least -1.

    Raises
    ------
    UndefinedError
        If the target does not vary.
    """
    total = float(((y - y.mean()) ** 2).sum())
    if not total > 0.0:
        raise UndefinedError("the target does not vary in the sample")
    return max(1.0 - float(((y - S[:, 0]) ** 2).sum()) / total, LEAST_SKILL)


# --- features -------------------------------------------------------------------------------------

_LEARNERS: dict[str, tuple[str, Learner, str, str, Target]] = {
    "stump": ("a tree of one split", tree(1), _APPENDIX, "DecisionStump", Target.ANY),
    "tree_2": ("a tree of depth 2", tree(2), _APPENDIX, "REPTreeDepth2", Target.ANY),
    "tree_3": ("a tree of depth 3", tree(3), _APPENDIX, "REPTreeDepth3", Target.ANY),
    "nearest_neighbor": ("the nearest row", nearest_neighbor, _APPENDIX, "kNN1N", Target.ANY),
    "naive_bayes": ("naive Bayes", naive_bayes, _APPENDIX, "NaiveBayes", Target.CLASSES),
    "linear": ("ridge regression", linear, _PFAHRINGER, "", Target.ANY),
}


def _skill(view: View, name: str, learner: Learner) -> float:
    S = scores(view, name, learner)
    return kappa(S, view.model_y) if view.has_classes else r_squared(S, view.model_y)


def _features(name: str) -> tuple[MetaFeature, ...]:
    words, learner, source, openml, target = _LEARNERS[name]
    measure = "Cohen's kappa" + ("" if target is Target.CLASSES else " (R² for a numeric target)")
    return (
        MetaFeature(
            f"{name}_error",
            Group.LANDMARK,
            f"Share of rows that {words} classifies wrongly.",
            source,
            lambda view: error_rate(scores(view, name, learner), view.model_y),
            Target.CLASSES,
            openml and f"{openml}ErrRate",
        ),
        MetaFeature(
            f"{name}_skill",
            Group.LANDMARK,
            f"{measure} of {words}.",
            source,
            lambda view: _skill(view, name, learner),
            target,
            openml and f"{openml}Kappa",
        ),
        MetaFeature(
            f"{name}_auc",
            Group.LANDMARK,
            f"Area under the ROC curve of {words}.",
            source,
            lambda view: area(scores(view, name, learner), view.model_y),
            Target.CLASSES,
            openml and f"{openml}AUC",
        ),
    )


FEATURES: tuple[MetaFeature, ...] = tuple(
    feature for name in _LEARNERS for feature in _features(name)
)
