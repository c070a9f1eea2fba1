"""A model scored on rows with known labels, by the measure of the run that made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.checks import Columns, check_labels
from automl.data.digests import used_row_digests
from automl.data.table import Table
from automl.data.target import EncodedTarget
from automl.errors import DataError
from automl.home import RunFolder
from automl.inference.deviations import Deviations
from automl.inference.model import TableModel
from automl.inference.raw_table import RawTable
from automl.inference.readings import Reading
from automl.metrics.building import build_index
from automl.metrics.custom import is_scorer_name
from automl.metrics.index import PerformanceIndex
from automl.metrics.intervals import Intervals
from automl.records import FloatArray, Task
from automl.run.foreign_runs import refuse_foreign
from automl.selection.row_intervals import row_intervals


@dataclass(frozen=True)
class Measure:
    """How a run scores, and what it knows of its rows.

    Parameters
    ----------
    index : None takes the default index, with baselines of the rows that are scored
    target_reading : how numbers of the target are read, for bundles that do not say it; None for plain ones
    weights : name of the column of weights; None without one
    training_rows : (n,), digests of the rows that the model was fitted on; None if they are not known
    """

    index: PerformanceIndex | None = None
    target_reading: Reading | None = None
    weights: str | None = None
    training_rows: NDArray[np.uint64] | None = None


@dataclass(frozen=True)
class LabelledRows:
    """Rows with labels, as a model takes them.

    Parameters
    ----------
    raw, typed : (n, n_columns), (n, n_features)
    target : of these rows
    weights : (n,), >= 0, or None
    unlabelled : rows left out, since they have no label
    """

    raw: pd.DataFrame
    typed: pd.DataFrame
    target: EncodedTarget
    weights: FloatArray | None
    unlabelled: int


@dataclass(frozen=True)
class ModelEvaluation:
    """Score of a model on labelled rows.

    Parameters
    ----------
    rows : that have a label, and are scored
    unlabelled : rows left out, since they have none
    trained_on : scored rows that are among the model's training rows; None if that is not known
    metric : name of the index
    score : of the index
    metrics : in natural units
    intervals : of 95 %
    is_own_scale : whether the baselines of the score are those of the run's training rows
    """

    target: str
    rows: int
    unlabelled: int
    trained_on: int | None
    metric: str
    score: float
    metrics: Mapping[str, float]
    intervals: Intervals
    is_own_scale: bool
    deviations: Deviations

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "deviations": self.deviations.to_json()}


def measure_of(folder: RunFolder, *, trust: bool = False) -> Measure:
    """Measure of a run; an empty one where its folder is gone.

    Raises
    ------
    SettingsError, DataError
        If the index names code, and this installation did not begin the run or it was changed.
    """
    plan = folder.path / "plan.json"
    if not plan.is_file() or not folder.table.is_dir():
        return Measure()
    content = json.loads(plan.read_text(encoding="utf-8"))["index"]
    if not trust and (content.get("places") or any(map(is_scorer_name, content["weights"]))):
        refuse_foreign(folder, folder.read_facts())
    table = Table.load(folder.table)
    index = PerformanceIndex.from_json(content)
    weights = table.columns.weights if index.takes_weights else None
    return Measure(index, table.target_reading, weights, table.row_digests)


def labelled_rows(
    model: TableModel, raw: pd.DataFrame, measure: Measure, *, source: str = "the frame"
) -> LabelledRows:
    """The rows of a raw table that have a label, as a model takes them.

    Parameters
    ----------
    raw : (n_rows, n_columns)
        With the target column and any index; columns that the model needs and are missing are filled, as in a prediction.
    source
        The table's name in messages.

    Raises
    ------
    DataError
        If the target column is missing, no row has a label (for a strict model: any has none), a label is unknown to the model, or the model
        cannot take the rows.
    """
    labelled = check_labels(
        RawTable.of(raw.reset_index(drop=True)),
        columns=Columns(model.target, weights=measure.weights),
        task=Task(model.task),
        class_labels=getattr(model, "classes_", None),
        target_reading=model.target_reading or measure.target_reading,
        source=source,
        strict=model.strict,
    )
    kept = raw.iloc[labelled.rows]
    try:
        typed = model.typed(kept)
    except DataError as error:
        raise DataError.of(error.problems, source=source) from None
    return LabelledRows(kept, typed, labelled.target, labelled.weights, len(raw) - len(kept))


def evaluate_model(model: TableModel, rows: LabelledRows, measure: Measure) -> ModelEvaluation:
    """Score a model on labelled rows."""
    prediction = model.raw_typed(rows.typed)
    labels, y, weights = model.codes(prediction), rows.target.y, rows.weights
    index = measure.index or _default_index(model, y)
    deviations = model.deviations(rows.raw, rows.typed)
    return ModelEvaluation(
        target=model.target,
        rows=len(y),
        unlabelled=rows.unlabelled,
        trained_on=n_trained_on(model, rows, measure, deviations),
        metric=index.name,
        score=index.score(y, prediction, weights, labels=labels),
        metrics=index.metrics(y, prediction, weights, labels=labels),
        intervals=row_intervals(index, y, prediction, labels=labels, sample_weight=weights),
        is_own_scale=measure.index is not None,
        deviations=deviations,
    )


def _default_index(model: TableModel, y: NDArray[Any]) -> PerformanceIndex:
    """The default index, by the model's own costs."""
    if model.task == "regression":
        return build_index(task=Task(model.task), y_all=y)
    return build_index(
        task=Task(model.task),
        y_all=y,
        n_classes=len(model.classes_),
        cost_matrix=model.cost_matrix_,
    )


def n_trained_on(
    model: TableModel, rows: LabelledRows, measure: Measure, deviations: Deviations
) -> int | None:
    """Rows that the model was fitted on; their score says nothing of new rows. None if that is not known."""
    if measure.training_rows is None or deviations.filled:
        return None
    digests = used_row_digests(rows.raw, model.schema, rows.target.texts_or_values)
    return int(np.isin(digests, measure.training_rows).sum())
