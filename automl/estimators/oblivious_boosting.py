"""CatBoost with early stopping on rows of its own training set (optional dependency)."""

from __future__ import annotations

from typing import Any, Self

import catboost
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.allowance import current
from automl.estimators.holdout import IntArray
from automl.estimators.rounds import EarlyStopped
from automl.estimators.tables import CategoryCodes
from automl.estimators.weights import ClassWeight, FloatArray, row_weights

LEAST_SAMPLED_ROWS = 50
"""CatBoost ends with an error if a round draws almost none of the rows, as happened with 6 to 15 rows."""


class _CatBoost(EarlyStopped, BaseEstimator):  # type: ignore[misc]
    """Common part of the classifier and the regressor.

    Parameters
    ----------
    n_estimators : >= 0
        Most rounds; 0 takes 50 / learning_rate within [100, 2000].
    learning_rate, depth, l2_leaf_reg, random_strength
        As in CatBoost.
    subsample : in (0, 1]
        Share of the rows that a round draws, from `LEAST_SAMPLED_ROWS` rows upward.
    colsample : in (0, 1]
        Share of the columns per level.
    holdout_share : in (0, 0.5]
        Share of the rows kept aside to find the number of rounds, from 300 rows upward;
        below, it is 10 / learning_rate. All rows are used again, if the time allows: for that number, and for half
        as many more rounds where numbers are predicted.
    """

    FEW_ROUNDS = 10.0
    model_: catboost.CatBoost | None
    codes_: CategoryCodes
    n_features_in_: int

    def __init__(
        self,
        *,
        n_estimators: int = 0,
        learning_rate: float = 0.06,
        depth: int = 6,
        l2_leaf_reg: float = 3.0,
        random_strength: float = 1.0,
        subsample: float = 0.8,
        colsample: float = 1.0,
        holdout_share: float = 0.12,
        class_weight: ClassWeight = None,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.depth = depth
        self.l2_leaf_reg = l2_leaf_reg
        self.random_strength = random_strength
        self.subsample = subsample
        self.colsample = colsample
        self.holdout_share = holdout_share
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(
        self, X: Any, target: NDArray[Any], weight: FloatArray | None, objective: str
    ) -> None:
        self.codes_ = CategoryCodes().fit(X)
        pool = self._pool(X, target, weight)
        self.n_features_in_ = X.shape[1]
        rounds = self._rounds.settled(len(target))
        if rounds is None:
            evaluated, rounds = self._with_holdout(pool, target, objective)
            if evaluated is not None:
                self.model_ = evaluated
                return
        self.model_ = self._grown(pool, None, rounds, objective)

    def _with_holdout(
        self, pool: catboost.Pool, target: NDArray[Any], objective: str
    ) -> tuple[catboost.CatBoost | None, int]:
        def grow(training: IntArray, held_out: IntArray) -> tuple[catboost.CatBoost, int, int]:
            model = self._grown(
                pool.slice(training), pool.slice(held_out), self.planned_iterations, objective
            )
            losses = next(iter(model.get_evals_result()["validation"].values()))
            return model, max(int(model.tree_count_), 1), len(losses)

        return self._look(target, grow)

    def _grown(
        self, pool: catboost.Pool, held_out: catboost.Pool | None, rounds: int, objective: str
    ) -> catboost.CatBoost:
        model = catboost.CatBoost(self._parameters(rounds, objective, pool.num_row()))
        clock = [_Clock(rounds)] if current().is_limited else None
        return model.fit(pool, eval_set=held_out, verbose=False, callbacks=clock)

    def _parameters(self, rounds: int, objective: str, n_rows: int) -> dict[str, Any]:
        sampling = {"bootstrap_type": "Bernoulli", "subsample": self.subsample}
        if n_rows < LEAST_SAMPLED_ROWS:
            sampling = {"bootstrap_type": "No"}
        return {
            "iterations": rounds,
            "loss_function": objective,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "l2_leaf_reg": self.l2_leaf_reg,
            "random_strength": self.random_strength,
            **sampling,
            "rsm": self.colsample,
            "od_type": "Iter",
            "od_wait": self._rounds.patience,
            "random_seed": self.random_state,
            "thread_count": self.n_jobs,
            "allow_writing_files": False,
            "logging_level": "Silent",
        }

    def _pool(
        self, X: Any, target: NDArray[Any] | None = None, weight: FloatArray | None = None
    ) -> catboost.Pool:
        """CatBoost's container; categories are integer codes, missing ones -1."""
        array = self.codes_.transform(X)
        nominal = list(self.codes_.positions)
        if not nominal:
            return catboost.Pool(array, target, weight=weight, thread_count=self.n_jobs)
        codes = np.nan_to_num(array[:, nominal], nan=-1.0).astype(np.int64)
        frame = pd.DataFrame(
            {
                i: codes[:, nominal.index(i)] if i in nominal else array[:, i]
                for i in range(array.shape[1])
            }
        )
        return catboost.Pool(
            frame, target, cat_features=nominal, weight=weight, thread_count=self.n_jobs
        )

    def _raw(self, X: Any, kind: str) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        assert self.model_ is not None
        result = self.model_.predict(self._pool(X), kind, thread_count=self.n_jobs)
        return np.asarray(result, dtype=np.float64)


class _Clock:
    """Ends a fit after the round in which its time was over."""

    def __init__(self, most: int) -> None:
        self._most, self._allowance = most, current()

    def after_iteration(self, info: Any) -> bool:
        """Whether to go on after this round, the first of which is 1."""
        if not self._allowance.is_over() or info.iteration >= self._most:
            return True
        self._allowance.cut(info.iteration)
        return False


class CatBoostEarlyClassifier(ClassifierMixin, _CatBoost):  # type: ignore[misc]
    """Oblivious boosted trees for classes; parameters as in `_CatBoost`."""

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on an array or typed frame (n_rows, n_columns) and class codes (n_rows,)."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) == 1:
            self.model_ = None
            return self
        weight = row_weights(np.asarray(y), self.class_weight, sample_weight)
        self._train(X, codes, weight, "Logloss" if len(self.classes_) == 2 else "MultiClass")
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        check_is_fitted(self, "classes_")
        return np.ones((X.shape[0], 1)) if self.model_ is None else self._raw(X, "Probability")

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class code (n_rows,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class CatBoostEarlyRegressor(RegressorMixin, _CatBoost):  # type: ignore[misc]
    """Oblivious boosted trees for a number; parameters as in `_CatBoost`."""

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on an array or typed frame (n_rows, n_columns) and numbers (n_rows,)."""
        self._train(X, np.asarray(y, dtype=np.float64), sample_weight, "RMSE")
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted number (n_rows,)."""
        return self._raw(X, "RawFormulaVal")
