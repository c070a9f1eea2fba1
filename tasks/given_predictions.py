"""Predictions that somebody else made: their forms, a blend of them, their scores by fold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from automl.data.division import encoded_target
from automl.data.findings import Findings
from automl.data.target import EncodedTarget
from automl.errors import DataError, SettingsError
from automl.inference.combining import Combine, combined
from automl.inference.raw_table import Column
from automl.metrics.building import IndexSpec, build_index
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray
from automl.settings.option_texts import parse_metric

Predictions = Mapping[str, ArrayLike]


def blend(
    predictions: Predictions, weights: Mapping[str, float], *, combine: Combine = "mean"
) -> NDArray[np.float32]:
    """Predictions of several models as one, by their weights.

    Parameters
    ----------
    predictions : each (n_rows, n_classes) or (n_rows,)
        By the model's name. A vector holds values, or probabilities of the positive class.
    weights : not negative, of any sum above 0
        By the model's name; a model without one is left out.
    combine
        ``mean``, ``median`` of values, ``vote`` of classes, for which probabilities of each class are needed.

    Returns
    -------
    Of the shape that each has.

    Raises
    ------
    DataError
        If shapes differ.
    SettingsError
        If a weight is of no model, negative or not finite, all are 0, or the combination is not usable.
    """
    unknown = [name for name in weights if name not in predictions]
    if unknown:
        raise SettingsError(f"weights name models without predictions: {', '.join(unknown)}")
    sizes = np.array([float(weights.get(name, 0.0)) for name in predictions])
    if not np.isfinite(sizes).all() or (sizes < 0).any() or not sizes.sum() > 0:
        raise SettingsError(f"weights must not be negative, and one above 0; got {dict(weights)}")
    arrays = [np.asarray(values, dtype=np.float32) for values in predictions.values()]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise DataError(f"predictions must have one shape; got {sorted(shapes)}")
    try:
        return combined(arrays, sizes / sizes.sum(), combine)
    except ValueError as error:
        raise SettingsError(str(error), setting="combine") from None


def score_folds(
    predictions: Predictions,
    labels: ArrayLike,
    folds: ArrayLike,
    *,
    metric: IndexSpec = "index",
    task: str = "auto",
) -> dict[str, tuple[float, ...]]:
    """Score of each model on each fold, for `select_models`.

    Parameters
    ----------
    predictions : each (n_rows, n_classes) or (n_rows,)
        Out of fold, by the model's name; columns in the sorted order of the labels, or a vector of values or of
        probabilities of the last label.
    labels : (n_rows,)
        Original labels or numbers.
    folds : (n_rows,)
        Number of the fold of each row, such as `make_folds` gives; rows below 0 are left out.

    Raises
    ------
    DataError
        If shapes do not fit, or a prediction is missing in a fold.
    SettingsError
        If the metric is not usable.
    """
    encoded = encode(labels, task)
    arrays = as_arrays(predictions, encoded)
    numbers = np.asarray(folds)
    if numbers.shape != encoded.y.shape:
        raise DataError(f"folds must have shape {encoded.y.shape}; got {numbers.shape}")
    rows = [np.flatnonzero(numbers == fold) for fold in np.unique(numbers[numbers >= 0])]
    index = index_of(metric, encoded, encoded.y)
    try:
        return {
            name: tuple(index.score(encoded.y[part], array[part]) for part in rows)
            for name, array in arrays.items()
        }
    except ValueError as error:
        raise DataError(f"the predictions: {error}") from None


def encode(labels: ArrayLike, task: str) -> EncodedTarget:
    """Codes or numbers of labels, (n_rows,)."""
    return encoded_target(Column(pd.Series(np.asarray(labels), name="labels")), task)


def as_arrays(predictions: Predictions, encoded: EncodedTarget) -> dict[str, NDArray[np.float32]]:
    """Matrices of probabilities, (n_rows, n_classes), or vectors of values, (n_rows,), by the model's name.

    Raises
    ------
    DataError
        With every model whose predictions have another shape, or are no probabilities of the positive class.
    """
    findings = Findings("the predictions")
    if not predictions:
        findings.problems.append("at least one model is needed; got none")
    labels = encoded.class_labels
    shape = (len(encoded.y),) if labels is None else (len(encoded.y), len(labels))
    arrays = {}
    for name, values in predictions.items():
        array = np.asarray(values, dtype=np.float32)
        if len(shape) == 2 and shape[1] == 2 and array.shape == shape[:1]:
            if (array < 0).any() or (array > 1).any():
                findings.problems.append(
                    f"model {name!r} must have probabilities of the positive class in [0, 1]"
                )
            array = np.column_stack([1 - array, array])
        if array.shape != shape:
            findings.problems.append(
                f"model {name!r} must have predictions of shape {shape}; got {array.shape}"
            )
        arrays[name] = array
    findings.raise_problems()
    return arrays


def index_of(
    metric: IndexSpec,
    encoded: EncodedTarget,
    y: NDArray[np.generic],
    sizes: FloatArray | None = None,
) -> PerformanceIndex:
    """Performance index of a metric, with its baseline from these labels."""
    labels = encoded.class_labels
    return build_index(
        parse_metric(metric),
        task=encoded.task,
        y_all=y,
        n_classes=None if labels is None else len(labels),
        sample_weight=sizes,
    )
