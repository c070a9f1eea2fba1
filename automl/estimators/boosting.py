"""LightGBM with early stopping on rows of its own training set.

Written against LightGBM's Booster: on tables of some hundred rows the scikit-learn classes of
LightGBM spend more time around the trees than in them. A fit whose time is over keeps the rounds
that it has (`automl.estimators.allowance`).
"""

from __future__ import annotations

from typing import Any, Self

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.allowance import current
from automl.estimators.histograms import useful_bins
from automl.estimators.holdout import IntArray
from automl.estimators.rounds import EarlyStopped
from automl.estimators.tables import CategoryCodes
from automl.estimators.weights import ClassWeight, FloatArray, row_weights

#: Objectives under which a constant added to the target is added to the prediction.
SHIFTED = (None, "regression", "regression_l1", "huber", "fair", "quantile")


class _EarlyStoppingLightGBM(EarlyStopped, BaseEstimator):  # type: ignore[misc]
    """Common part of `LightGBMClassifier` and `LightGBMRegressor`.

    Parameters
    ----------
    boosting
        ``gbdt``, ``goss`` (gradient-based one-side sampling) or ``dart`` (dropped trees; never
        stops early, since later rounds change earlier trees).
    n_estimators : >= 0
        Most rounds; a round grows one tree, or one per class for three classes or more. 0 takes
        50 / learning_rate within [100, 2000].
    learning_rate, num_leaves, max_depth, min_child_weight, reg_alpha, reg_lambda
        As in LightGBM.
    min_child_samples : >= 1
        Fewest rows in a leaf, at most a twentieth of the rows (LightGBM's 20 makes a constant
        of a table with less than 40 rows).
    subsample, colsample, colsample_by_node : in (0, 1]
        Shares of the rows, of the columns per tree, of the columns per split.
    extra_trees
        Whether one random threshold is tried per column.
    top_rate, other_rate : sum <= 1
        Only for ``goss``.
    drop_rate, skip_drop : in [0, 1]
        Only for ``dart``.
    objective
        None for the natural one (cross-entropy; squared error), or a LightGBM name.
    holdout_share : in (0, 0.5]
        Share of the rows kept aside to find the number of rounds, from 300 rows upward;
        below, it is 5 / learning_rate. All rows are used again, if the time allows: for that number, and for half
        as many more rounds where numbers are predicted.
    patience : rounds
        Rounds without improvement until the end; 0 for 2 / learning_rate within [20, 100].
    max_bin : >= 2
        Most histogram bins of a column; fewer on small tables, see `useful_bins`.
    class_weight
        None, ``"balanced"`` or weights by class code.

    Notes
    -----
    Why these defaults (fourteen public tables, at most 3,000 rows, 3 folds): to fit all rows again
    lowers the loss by 5 % on average for about a third more seconds; 127 bins and a rate of 0.1 change the
    mean loss by less than 1 % against 255 bins and 0.05. The rate halves the seconds of the median
    table; the bins save a third of the processor time on 700 to 3,000 rows of continuous columns,
    a seventh on 30,000, and nothing where columns have few values.

    Attributes
    ----------
    booster_ : lightgbm.Booster
    best_iteration_ : rounds used in prediction
    n_features_in_ : number of columns
    """

    FEW_ROUNDS = 5.0
    booster_: lgb.Booster | None
    best_iteration_: int
    n_features_in_: int
    codes_: CategoryCodes

    def __init__(
        self,
        *,
        boosting: str = "gbdt",
        n_estimators: int = 0,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        subsample: float = 1.0,
        colsample: float = 1.0,
        colsample_by_node: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        extra_trees: bool = False,
        max_bin: int = 127,
        cat_smooth: float = 10.0,
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        drop_rate: float = 0.1,
        skip_drop: float = 0.5,
        objective: str | None = None,
        holdout_share: float = 0.2,
        patience: int = 0,
        class_weight: ClassWeight = None,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.boosting = boosting
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample = colsample
        self.colsample_by_node = colsample_by_node
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.extra_trees = extra_trees
        self.max_bin = max_bin
        self.cat_smooth = cat_smooth
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.objective = objective
        self.holdout_share = holdout_share
        self.patience = patience
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(
        self,
        X: Any,
        target: NDArray[Any],
        weight: FloatArray | None,
        objective: dict[str, Any],
    ) -> None:
        self.codes_ = CategoryCodes().fit(X)
        array = self.codes_.transform(X)
        n_rows, self.n_features_in_ = array.shape
        parameters = self._parameters(n_rows, self.n_features_in_) | objective
        data = lgb.Dataset(
            array,
            label=target,
            weight=weight,
            categorical_feature=list(self.codes_.positions),
            params=parameters,
        )
        rounds = self._settled_rounds(n_rows)
        if rounds is not None:
            self.booster_ = _boost(parameters, data, rounds)
            self.best_iteration_ = self.booster_.current_iteration()
        else:
            self._train_with_holdout(parameters, data.construct(), target)
        assert self.booster_ is not None
        self.booster_.free_dataset()

    def _train_with_holdout(
        self, parameters: dict[str, Any], data: lgb.Dataset, target: NDArray[Any]
    ) -> None:
        def grow(training: IntArray, held_out: IntArray) -> tuple[lgb.Booster, int, int]:
            booster, best = _boost_until_worse(
                parameters,
                data.subset(training.tolist()),
                data.subset(held_out.tolist()),
                n_rounds=self._rounds.most,
                patience=self.patience or self._rounds.patience,
            )
            return booster, best, booster.current_iteration()

        self.booster_, rounds = self._look(target, grow)
        if self.booster_ is None:
            self.booster_ = _boost(parameters, data, rounds)
        self.best_iteration_ = min(rounds, self.booster_.current_iteration())

    def _settled_rounds(self, n_rows: int) -> int | None:
        """Rounds that are known before the fit; None if held-out rows will tell."""
        if self.boosting == "dart":
            return current().rounds(self.planned_iterations)
        return self._rounds.settled(n_rows)

    @property
    def planned_iterations(self) -> int:
        """Most rounds that `fit` grows."""
        if self.boosting == "dart":
            return self.n_estimators or 100
        return super().planned_iterations

    def _parameters(self, n_rows: int, n_columns: int) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "max_depth": self.max_depth,
            "min_data_in_leaf": max(1, min(self.min_child_samples, n_rows // 20)),
            "min_data_in_bin": 3 if n_rows >= 100 else 1,
            "min_sum_hessian_in_leaf": self.min_child_weight,
            "feature_fraction": self.colsample,
            "feature_fraction_bynode": self.colsample_by_node,
            "lambda_l1": self.reg_alpha,
            "lambda_l2": self.reg_lambda,
            "extra_trees": self.extra_trees,
            "max_bin": useful_bins(self.max_bin, n_rows),
            "cat_smooth": self.cat_smooth,
            "seed": self.random_state,
            "num_threads": self.n_jobs,
            "deterministic": True,
            "force_col_wise" if n_columns >= 100 else "force_row_wise": True,
            "verbosity": -1,
        }
        return parameters | self._sampling()

    def _sampling(self) -> dict[str, Any]:
        if self.boosting == "dart":
            sampling = {
                "boosting": "dart",
                "drop_rate": self.drop_rate,
                "skip_drop": self.skip_drop,
            }
        elif self.boosting == "goss":
            return {
                "data_sample_strategy": "goss",
                "top_rate": self.top_rate,
                "other_rate": self.other_rate,
            }
        elif self.boosting == "gbdt":
            sampling = {}
        else:
            raise ValueError(f"boosting must be gbdt, goss or dart; got {self.boosting!r}")
        if self.subsample < 1.0:
            sampling |= {"bagging_fraction": self.subsample, "bagging_freq": 1}
        return sampling

    def _raw(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "best_iteration_")
        assert self.booster_ is not None
        result = self.booster_.predict(
            self.codes_.transform(X),
            num_iteration=self.best_iteration_,
            num_threads=self.n_jobs,
        )
        return np.asarray(result, dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        """State with the booster as LightGBM's text, cut at the best round."""
        state = dict(super().__getstate__())
        if state.get("booster_") is not None:
            state["booster_"] = state["booster_"].model_to_string(
                num_iteration=self.best_iteration_
            )
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the booster from its text."""
        text = state.get("booster_")
        if isinstance(text, str):
            state = state | {"booster_": lgb.Booster(model_str=text)}
        super().__setstate__(state)


class LightGBMClassifier(ClassifierMixin, _EarlyStoppingLightGBM):  # type: ignore[misc]
    """Gradient boosted trees for classes; parameters as in `_EarlyStoppingLightGBM`.

    Attributes
    ----------
    classes_ : (n_classes,)
        The codes seen in `fit`; one class alone is predicted without trees.
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on an array or typed frame (n_rows, n_columns) and class codes (n_rows,)."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes == 1:
            self.booster_, self.best_iteration_ = None, 0
            self.n_features_in_ = X.shape[1]
            return self
        objective: dict[str, Any] = {"objective": self.objective or "binary"}
        if n_classes > 2:
            objective = {"objective": self.objective or "multiclass", "num_class": n_classes}
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


class LightGBMRegressor(RegressorMixin, _EarlyStoppingLightGBM):  # type: ignore[misc]
    """Gradient boosted trees for a number; parameters as in `_EarlyStoppingLightGBM`.

    Attributes
    ----------
    offset_
        What the trees' sum is added to: the target's mean under ``dart``, else 0. LightGBM puts the
        mean into the first tree. Where that tree is dropped the rest has to learn the mean anew,
        and a model that ends soon after is off by a large part of it.
    """

    offset_: float = 0.0

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on an array or typed frame (n_rows, n_columns) and numbers (n_rows,)."""
        objective = {"objective": self.objective or "regression"}
        target = np.asarray(y, dtype=np.float64)
        is_centred = self.boosting == "dart" and self.objective in SHIFTED
        self.offset_ = float(np.average(target, weights=sample_weight)) if is_centred else 0.0
        self._train(X, target - self.offset_, sample_weight, objective)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted number (n_rows,)."""
        return self._raw(X) + self.offset_


def _boost(parameters: dict[str, Any], data: lgb.Dataset, n_rounds: int) -> lgb.Booster:
    booster, allowance = lgb.Booster(params=parameters, train_set=data), current()
    for round_number in range(1, n_rounds + 1):
        if booster.update():
            break
        if allowance.is_over() and round_number < n_rounds:
            allowance.cut(round_number)
            break
    return booster


def _boost_until_worse(
    parameters: dict[str, Any],
    training: lgb.Dataset,
    held_out: lgb.Dataset,
    *,
    n_rounds: int,
    patience: int,
) -> tuple[lgb.Booster, int]:
    """Booster and its best number of rounds by the objective's loss on the held-out rows."""
    booster, allowance = lgb.Booster(params=parameters, train_set=training), current()
    booster.add_valid(held_out, "held_out")
    best_loss, best = np.inf, 1
    for round_number in range(1, n_rounds + 1):
        if booster.update():
            break
        loss = booster.eval_valid()[0][2]
        if loss < best_loss:
            best_loss, best = loss, round_number
        elif round_number - best >= patience:
            break
        if allowance.is_over() and round_number < n_rounds:
            allowance.cut(best)
            break
    return booster, best
