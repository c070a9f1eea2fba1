"""The final model: one scikit-learn estimator on raw columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference.calibration import Calibration, calibrated
from automl.inference.columns import short, with_table_names
from automl.inference.combining import Combine, check_combination, combined
from automl.inference.constant import is_constant
from automl.inference.decision import DecisionRule, cost_threshold
from automl.inference.deviations import Deviations, deviations_of
from automl.inference.labels import encode_labels, given_target
from automl.inference.prediction import raw_prediction
from automl.inference.readings import Reading
from automl.inference.reference import TrainingReference
from automl.inference.schema import TableSchema
from automl.inference.second_layer import StackInputs
from automl.listing import first_few
from automl.preprocessing import TablePreprocessor

CHUNK_ROWS = 20_000
"""Rows predicted at once: they bound the memory, and each chunk pays once for the call (by judgement)."""
MOST_NAMED = 5
"""Columns that an error names; the others follow from them (by judgement)."""
TASKS = ("binary", "multiclass", "regression")


@dataclass
class FittedPipeline:
    """A fitted preprocessor and the estimator that was fitted on its output.

    Parameters
    ----------
    preprocessor
        Pipelines may share one; then it runs once per prediction. None if the estimator takes
        nothing but predictions, or says the same for every row.
    estimator
        Its classes are codes into the model's classes.
    stack
        Makes the estimator's input of the predictions of other members; None in the first layer.
    """

    preprocessor: TablePreprocessor | None
    estimator: Any
    stack: StackInputs | None = None

    def predict(
        self,
        typed: pd.DataFrame,
        n_classes: int | None,
        cache: dict[int, Any] | None = None,
        inputs: Sequence[NDArray[Any]] = (),
    ) -> NDArray[np.float32]:
        """Raw prediction for a typed frame; see `raw_prediction`.

        Parameters
        ----------
        cache
            Matrices of this frame by the identity of the preprocessor; filled here.
        inputs : n_inputs of (n_rows, n_classes) or (n_rows,)
            Predictions for the same rows that the second layer takes.
        """
        matrix = self._features(typed, {} if cache is None else cache)
        if self.stack is not None:
            matrix = self.stack.transform(inputs, matrix)
        return raw_prediction(self.estimator, matrix, n_classes)

    def _features(self, typed: pd.DataFrame, cache: dict[int, Any]) -> Any:
        if self.preprocessor is None:
            return typed if self.stack is None else None
        key = id(self.preprocessor)
        if key not in cache:
            cache[key] = self.preprocessor.transform(typed)
        return cache[key]


@dataclass
class Member:
    """One configuration in the model.

    Parameters
    ----------
    weight : >= 0
        Share in the blend, before the weights are divided by their sum; 0 for one whose predictions are
        inputs of others only.
    pipelines : at least one
        One refit on all rows, one per fold (a bag), or all of these: their predictions are averaged.
    family, trial
        Names for people: the algorithm family and the trial's id.
    inputs : positions of members of the first layer
        Whose predictions this one takes; empty for a member of the first layer.
    """

    weight: float
    pipelines: list[FittedPipeline]
    family: str = ""
    trial: str = ""
    inputs: tuple[int, ...] = ()

    def predict(
        self,
        typed: pd.DataFrame,
        n_classes: int | None,
        cache: dict[int, Any],
        inputs: Sequence[NDArray[Any]] = (),
    ) -> NDArray[np.float64]:
        """Mean prediction of the pipelines, (n_rows, n_classes) or (n_rows,)."""
        share = 1.0 / len(self.pipelines)
        total: Any = 0.0
        for pipeline in self.pipelines:
            # float64 sums, so that the order of the pipelines does not show
            part = pipeline.predict(typed, n_classes, cache, inputs)
            total = total + share * part.astype(np.float64)
        return np.asarray(total)


class TableModel(BaseEstimator):  # type: ignore[misc]
    """Weighted blend of fitted pipelines, from raw columns to labels, probabilities or numbers.

    It needs no `fit`. Raw columns may come in any order. The model handles unseen categories and
    missing values. It ignores unknown columns and fills missing ones with missing values, both with a
    warning; a strict model refuses missing columns. A column with values of a wrong type is an error
    that names it. The target column may be present and is not used.

    Parameters
    ----------
    schema
        Raw columns to typed frame.
    members : at least one
        What is blended.
    task : ``binary``, ``multiclass`` or ``regression``
    target
        Name of the target column.
    classes
        Original labels in the order of the class codes; None for regression.
    threshold : in [0, 1]
        Two classes only; None takes ½, or what follows from `cost_matrix`.
    cost_matrix : (n_classes, n_classes)
        Cost of predicting class j (column) for a row of class i.
    combine : ``mean``, ``median`` or ``vote``
        How the members' predictions become one; see `automl.inference.combining.combined`. After a vote
        the probabilities are shares of the votes.
    calibration
        Of the blend's probabilities, see `automl.inference.calibration`; None leaves them as they are.
    target_reading
        How the target's numbers are read where rows are scored; None for plain ones, and for classes.
    reference
        What the training table looked like; None if it is not known.
    strict
        Whether a column that is left out is an error. It may be changed at any time.
    n_jobs : at least 1
        Threads that predict chunks of `CHUNK_ROWS` side by side. It may be changed at any time, and changes no
        prediction.

    Attributes
    ----------
    classes_ : (n_classes,)
        Original labels; not there for regression.
    threshold_ : in [0, 1]
        Two classes only: `predict` returns ``classes_[1]`` where its probability is greater than this. It may be
        changed at any time; `predict_proba` does not depend on it.
    cost_matrix_ : (n_classes, n_classes) or None
    weights_ : (n_members,), sums to 1
    feature_names_in_ : names of the raw columns that are needed
    """

    def __init__(
        self,
        schema: TableSchema,
        members: Sequence[Member],
        *,
        task: str,
        target: str,
        classes: Sequence[Any] | None = None,
        threshold: float | None = None,
        cost_matrix: ArrayLike | None = None,
        combine: Combine = "mean",
        calibration: Calibration | None = None,
        target_reading: Reading | None = None,
        reference: TrainingReference | None = None,
        strict: bool = False,
        n_jobs: int = 1,
    ) -> None:
        self.schema = schema
        self.members = members
        self.task = task
        self.target = target
        self.classes = classes
        self.threshold = threshold
        self.cost_matrix = cost_matrix
        self.combine = combine
        self.calibration = calibration
        self.target_reading = target_reading
        self.reference = reference
        self.strict = strict
        self.n_jobs = n_jobs
        self._check()
        self._check_layers()
        weights = np.array([member.weight for member in members], dtype=np.float64)
        self.weights_ = weights / weights.sum()
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.n_features_in_ = len(schema.names)
        if classes is None:
            return
        self.classes_ = label_array(classes)
        self.cost_matrix_ = None if cost_matrix is None else np.asarray(cost_matrix, dtype=float)
        if len(self.classes_) == 2:
            self.threshold_ = _threshold(threshold, self.cost_matrix_)

    def fit(self, X: pd.DataFrame, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Not possible: the model is born fitted.

        Raises
        ------
        SettingsError
            Always.
        """
        raise SettingsError("a TableModel is fitted already; train a new one instead")

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Original labels, or numbers, of raw rows (n_rows, any number of columns).

        Returns
        -------
        (n_rows,)

        Raises
        ------
        DataError
            If a column has values of a wrong type, with every such column; or if columns are left out, all of them or
            where the model is strict.
        """
        return self.labels(self.raw(X))

    def labels(self, raw: NDArray[np.float32]) -> NDArray[Any]:
        """Original labels, or numbers, (n_rows,), of raw predictions."""
        codes = self.codes(raw)
        return raw.astype(np.float64) if codes is None else np.asarray(self.classes_[codes])

    def codes(self, raw: NDArray[np.float32]) -> NDArray[np.intp] | None:
        """Class codes of raw predictions, (n_rows, n_classes), by `rule_`; None for regression."""
        return None if self.rule_ is None else self.rule_.codes(raw)

    @property
    def rule_(self) -> DecisionRule | None:
        """How `predict` makes labels of probabilities; None for regression."""
        if self.task == "regression":
            return None
        if len(self.classes_) == 2:
            return DecisionRule(self.threshold_)
        return DecisionRule.given(len(self.classes_), self.cost_matrix_)

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float32]:
        """Class probabilities (n_rows, n_classes) in the order of `classes_`.

        Raises
        ------
        SettingsError
            For regression.
        DataError
            As in `predict`.
        """
        if self.task == "regression":
            raise SettingsError(
                "probabilities need a classification model; this one is a regression"
            )
        return self.raw(X)

    def score(self, X: pd.DataFrame, y: ArrayLike) -> float:
        """Accuracy, or R² for regression; a label that the model lacks is an error of the model.

        Raises
        ------
        DataError
            If y has another number of rows than X, lacks a target, holds no (finite) numbers for regression, or none
            of the model's labels; else as `predict`.
        """
        from sklearn.metrics import r2_score

        raw = self.raw(X)
        truth = given_target(y, len(raw))
        predicted = self.codes(raw)
        if predicted is None:
            values = truth.read(self.target_reading).values
            if not np.isfinite(values).all():
                bad = truth.series.iloc[int(np.isfinite(values).argmin())]
                raise DataError(f"y must hold finite numbers; found {short(bad)}")
            return float(r2_score(values, self.labels(raw)))
        codes = encode_labels(truth.series, self.classes_)
        if not (codes >= 0).any():
            shown = first_few(map(repr, dict.fromkeys(truth.series)))
            raise DataError(f"y holds none of the model's labels; found {shown}")
        return float(np.mean(codes == predicted))

    def raw(self, X: pd.DataFrame) -> NDArray[np.float32]:
        """Blended probabilities (n_rows, n_classes) or numbers (n_rows,).

        Rows go through in chunks of `CHUNK_ROWS`, `n_jobs` at a time, so memory is bounded by these.
        """
        return self.raw_typed(self.typed(X))

    def typed(self, X: pd.DataFrame) -> pd.DataFrame:
        """Typed frame of raw rows (`automl.inference.schema`); columns that are left out are missing in every row.

        Raises
        ------
        DataError
            As `predict`.

        Warns
        -----
        AutoMLWarning
            Once, with the columns that were left out.
        """
        X = _named(X)
        absent = self._absent(X)
        frame = self._without_target(X)
        if absent:
            shown = ", ".join(map(repr, absent))
            text = (
                f"the table lacks {_columns(absent)} {shown}; all values there are taken as missing"
            )
            warnings.warn(text, AutoMLWarning, stacklevel=2)
            empty = pd.DataFrame(dict.fromkeys(absent), index=frame.index, dtype=object)
            frame = pd.concat([frame, empty], axis=1)
        return self.schema.transform(frame)

    def deviations(self, X: pd.DataFrame, typed: pd.DataFrame | None = None) -> Deviations:
        """Unseen categories and values outside the training range, counted by column.

        Parameters
        ----------
        typed
            Typed frame of the same rows, where it is there already.
        """
        typed = self.typed(X) if typed is None else typed
        return deviations_of(self.schema, self.reference, typed, self._absent(_named(X)))

    def raw_typed(self, typed: pd.DataFrame) -> NDArray[np.float32]:
        """As `raw`, for a frame that the schema has typed already."""
        n_classes = None if self.task == "regression" else len(self.classes_)
        shape = (len(typed),) if n_classes is None else (len(typed), n_classes)
        if 0 < len(typed) <= CHUNK_ROWS:
            return self._blend(typed, n_classes).astype(np.float32)
        out = np.zeros(shape, dtype=np.float32)

        def predict_chunk(start: int) -> None:
            chunk = typed.iloc[start : start + CHUNK_ROWS].reset_index(drop=True)
            out[start : start + CHUNK_ROWS] = self._blend(chunk, n_classes)

        # threads of the numerical libraries would wait for each other
        with threadpool_limits(1), ThreadPoolExecutor(self.n_jobs) as threads:
            list(threads.map(predict_chunk, range(0, len(typed), CHUNK_ROWS)))
        return out

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """Tags with the kind of estimator, which scikit-learn's scorers ask for."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.task == "regression" else "classifier"
        tags.input_tags.allow_nan = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        families = ", ".join(
            f"{weight:.2f} {member.family or 'member'}"
            for weight, member in zip(self.weights_, self.members, strict=True)
            if weight > 0
        )
        return f"TableModel({self.task} of {self.target!r}: {families})"

    def _blend(self, typed: pd.DataFrame, n_classes: int | None) -> NDArray[np.float32]:
        cache: dict[int, Any] = {}
        matrices: dict[int, NDArray[np.float64]] = {}
        for place in self._prediction_order():
            member = self.members[place]
            inputs = [matrices[source] for source in member.inputs]
            matrices[place] = member.predict(typed, n_classes, cache, inputs)
        weighted = [place for place in matrices if self.weights_[place] > 0]
        parts = [matrices[place] for place in weighted]
        blended = combined(parts, self.weights_[weighted], self.combine)
        return calibrated(blended, self.calibration)

    def _prediction_order(self) -> list[int]:
        """Members that matter, each once: the first layer, then the second."""
        weighted = [place for place, weight in enumerate(self.weights_) if weight > 0]
        second = [place for place in weighted if self.members[place].inputs]
        first = {place for place in weighted if not self.members[place].inputs}
        first.update(source for place in second for source in self.members[place].inputs)
        return [*sorted(first), *second]

    def _absent(self, X: pd.DataFrame) -> list[str]:
        """Columns that are left out and may be; none for a strict model, whose schema refuses them."""
        if not isinstance(X, pd.DataFrame) or self.strict:
            return []
        there = set(X.columns)
        absent = [name for name in self.schema.names if name not in there]
        if absent and len(absent) == len(self.schema.names):
            shown = ", ".join(map(repr, absent[:MOST_NAMED]))
            raise DataError(f"the table has none of the model's columns, such as {shown}")
        return absent

    def _without_target(self, X: pd.DataFrame) -> pd.DataFrame:
        if not isinstance(X, pd.DataFrame) or self.target in self.schema.names:
            return X
        return X.loc[:, [name != self.target for name in X.columns]]

    def _check(self) -> None:
        if self.task not in TASKS:
            raise SettingsError(f"task must be one of {', '.join(TASKS)}; got {self.task!r}")
        if not self.members or any(not member.pipelines for member in self.members):
            raise SettingsError("a model needs at least one member, and each member one pipeline")
        weights = [member.weight for member in self.members]
        if any(not weight >= 0 for weight in weights) or not max(weights) > 0:
            raise SettingsError(
                f"weights of members must not be negative, and one greater than 0; got {weights}"
            )
        n_classes = 0 if self.classes is None else len(self.classes)
        if (n_classes == 0) != (self.task == "regression") or n_classes == 1:
            raise SettingsError(f"classes do not fit the task {self.task}; got {n_classes} classes")
        if self.cost_matrix is not None and np.shape(self.cost_matrix) != (n_classes, n_classes):
            raise SettingsError(
                f"cost_matrix must have shape {(n_classes, n_classes)}; got {np.shape(self.cost_matrix)}"
            )
        if self.threshold is not None and (n_classes != 2 or not 0.0 <= self.threshold <= 1.0):
            raise SettingsError(
                f"threshold must be in [0, 1] and is for two classes; got {self.threshold!r} "
                f"for {n_classes} classes"
            )
        try:
            check_combination(self.combine, is_classification=n_classes > 0)
        except ValueError as error:
            raise SettingsError(f"combine: {error}") from None
        if self.calibration is not None and len(self.calibration.biases) != n_classes:
            raise SettingsError(
                f"calibration must have a bias for each of {n_classes} classes; got {self.calibration.biases}"
            )

    def _check_layers(self) -> None:
        for place, member in enumerate(self.members):
            for source in member.inputs:
                if not 0 <= source < len(self.members) or self.members[source].inputs:
                    raise SettingsError(
                        f"inputs of member {place} must be positions of members of the first layer; "
                        f"got {member.inputs}"
                    )
            for pipeline in member.pipelines:
                is_stacked = pipeline.stack is not None
                is_whole = pipeline.preprocessor is not None or is_constant(pipeline.estimator)
                if is_stacked != bool(member.inputs) or not (is_stacked or is_whole):
                    raise SettingsError(
                        f"pipelines of member {place} must take predictions exactly if it has inputs"
                    )


def label_array(classes: Sequence[Any]) -> NDArray[Any]:
    """Labels as an array: numbers and booleans in their type, everything else as objects."""
    values = np.asarray(classes)
    same_kind = len({type(label) for label in np.asarray(classes, dtype=object)}) == 1
    if values.dtype.kind in "iufb" and same_kind:
        return values
    out = np.empty(len(classes), dtype=object)
    out[:] = list(classes)
    return out


def _named(X: Any) -> Any:
    """A frame as its table calls the columns; what is no frame is refused later."""
    return with_table_names(X) if isinstance(X, pd.DataFrame) else X


def _columns(names: Sequence[str]) -> str:
    return "the column" if len(names) == 1 else f"{len(names)} columns:"


def _threshold(threshold: float | None, costs: NDArray[np.float64] | None) -> float:
    if threshold is not None:
        return float(threshold)
    return 0.5 if costs is None else cost_threshold(costs)
