"""XGBoost with early stopping on rows of its own training set (optional dependency)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.allowance import current
from automl.estimators.histograms import useful_bins
from automl.estimators.holdout import IntArray
from automl.estimators.rounds import EarlyStopped
from automl.estimators.tables import CategoryCodes
from automl.estimators.weights import ClassWeight, FloatArray, row_weights

MOST_BINS = 256
"""XGBoost's own default; categories are split apart from it."""
LEAST_DEVIATION, GREATEST_DEVIATION, FARTHEST_MEAN = 0.1, 1e9, 1e3
"""Of numbers to predict, as they are: within these limits .732 to .735 of the variance was explained, .722 at 0.01."""


class _XGBoost(EarlyStopped, BaseEstimator):  # type: ignore[misc]
    """Common part of the classifier and the regressor.

    Parameters
    ----------
    n_estimators : >= 0
        Most rounds; 0 takes 50 / learning_rate within [100, 2000].
    learning_rate, max_depth, min_child_weight, subsample, colsample, reg_alpha, reg_lambda
        As in XGBoost; `colsample` is per tree.
    holdout_share : in (0, 0.5]
        Share of the rows kept aside to find the number of rounds, from 300 rows upward;
        below, it is 7 / learning_rate. All rows are used again, if the time allows: for that number, and for half
        as many more rounds where numbers are predicted.
    patience : rounds
        0 for 2 / learning_rate within [20, 100].
    """

    FEW_ROUNDS = 7.0
    booster_: xgboost.Booster | None
    best_iteration_: int
    codes_: CategoryCodes
    n_features_in_: int

    def __init__(
        self,
        *,
        n_estimators: int = 0,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 1.0,
        holdout_share: float = 0.2,
        patience: int = 0,
        class_weight: ClassWeight = None,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample = colsample
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.holdout_share = holdout_share
        self.patience = patience
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(
        self, X: Any, target: NDArray[Any], weight: FloatArray | None, objective: dict[str, Any]
    ) -> None:
        self.codes_ = CategoryCodes().fit(X)
        array = self.codes_.transform(X)
        self.n_features_in_ = array.shape[1]
        parameters = self._parameters(len(target)) | objective
        rounds = self._rounds.settled(len(target))
        if rounds is None:
            evaluated, rounds = self._with_holdout(parameters, array, target, weight)
            if evaluated is not None:
                self.booster_, self.best_iteration_ = evaluated, rounds
                return
        data = self._matrix(array, target, weight)
        self.booster_ = xgboost.train(parameters, data, rounds, callbacks=[_Clock(rounds)])
        self.best_iteration_ = self.booster_.num_boosted_rounds()

    def _with_holdout(
        self,
        parameters: dict[str, Any],
        array: FloatArray,
        target: NDArray[Any],
        weight: FloatArray | None,
    ) -> tuple[xgboost.Booster | None, int]:
        def grow(training: IntArray, held_out: IntArray) -> tuple[xgboost.Booster, int, int]:
            parts = [
                self._matrix(array[rows], target[rows], None if weight is None else weight[rows])
                for rows in (training, held_out)
            ]
            booster = xgboost.train(
                parameters,
                parts[0],
                self.planned_iterations,
                evals=[(parts[1], "held_out")],
                early_stopping_rounds=self.patience or self._rounds.patience,
                verbose_eval=False,
                callbacks=[_Clock(self.planned_iterations)],
            )
            best = int(booster.attr("best_iteration") or 0) + 1  # not there after a single round
            return booster, best, booster.num_boosted_rounds()

        return self._look(target, grow)

    def _matrix(
        self,
        array: FloatArray,
        target: NDArray[Any] | None = None,
        weight: FloatArray | None = None,
    ) -> xgboost.DMatrix:
        nominal = set(self.codes_.positions)
        return xgboost.DMatrix(
            array,
            label=target,
            weight=weight,
            feature_types=["c" if i in nominal else "q" for i in range(array.shape[1])],
            enable_categorical=bool(nominal),
            nthread=self.n_jobs,
        )

    def _parameters(self, n_rows: int) -> dict[str, Any]:
        return {
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample,
            "reg_alpha": self.reg_alpha,
            "reg_lambda": self.reg_lambda,
            "tree_method": "hist",
            "max_bin": useful_bins(MOST_BINS, n_rows),
            "seed": self.random_state,
            "nthread": self.n_jobs,
            "verbosity": 0,
        }

    def _raw(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "best_iteration_")
        assert self.booster_ is not None
        matrix = self._matrix(self.codes_.transform(X))
        result = self.booster_.predict(matrix, iteration_range=(0, self.best_iteration_))
        return np.asarray(result, dtype=np.float64)


class _Clock(xgboost.callback.TrainingCallback):
    """Ends a fit after the round in which its time was over."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most, self._allowance = most, current()

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002 XGBoost's
        """Whether to stop after this round, the first of which is 0."""
        if not self._allowance.is_over() or epoch + 1 >= self._most:
            return False
        self._allowance.cut(epoch + 1)
        return True


class XGBoostClassifier(ClassifierMixin, _XGBoost):  # type: ignore[misc]
    """Gradient boosted trees for classes; parameters as in `_XGBoost`."""

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on an array or typed frame (n_rows, n_columns) and class codes (n_rows,)."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes == 1:
            self.booster_, self.best_iteration_ = None, 0
            return self
        objective: dict[str, Any] = {"objective": "binary:logistic", "eval_metric": "logloss"}
        if n_classes > 2:
            objective = {
                "objective": "multi:softprob",
                "num_class": n_classes,
                "eval_metric": "mlogloss",
            }
        weight = row_weights(np.asarray(y), self.class_weight, sample_weight)
        self._train(X, codes, weight, objective)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        check_is_fitted(self, "classes_")
        if len(self.classes_) == 1:
            return np.ones((X.shape[0], 1))
        raw = self._raw(X)
        return np.column_stack((1.0 - raw, raw)) if raw.ndim == 1 else raw

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class code (n_rows,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class XGBoostRegressor(RegressorMixin, _XGBoost):  # type: ignore[misc]
    """Gradient boosted trees for a number; parameters as in `_XGBoost`.

    Attributes
    ----------
    shift_, scale_
        The trees predict (y - shift) / scale: 0 and 1 unless y is `is_awkward`.
    """

    shift_: float = 0.0
    scale_: float = 1.0

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on an array or typed frame (n_rows, n_columns) and numbers (n_rows,)."""
        objective = {"objective": "reg:squarederror", "eval_metric": "rmse"}
        y = np.asarray(y, dtype=np.float64)
        self.shift_, self.scale_ = 0.0, 1.0
        if is_awkward(y):
            self.shift_, self.scale_ = float(y.mean()), float(y.std())
        self._train(X, (y - self.shift_) / self.scale_, sample_weight, objective)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted number (n_rows,)."""
        return self._raw(X) * self.scale_ + self.shift_


def is_awkward(y: NDArray[np.float64]) -> bool:
    """Whether numbers are so small, large or far from 0 that XGBoost is inexact.

    It makes no split that gains less than 1e-6, and holds numbers in 32 bits. With a standard deviation of 0.001 it
    explained .49 of the variance where it explains .73 with one of 1.
    """
    deviation = float(y.std())
    return deviation > 0 and (
        not LEAST_DEVIATION <= deviation <= GREATEST_DEVIATION
        or abs(float(y.mean())) > FARTHEST_MEAN * deviation
    )
