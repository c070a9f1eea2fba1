"""Labels of a target: their texts, their codes, and where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from automl.errors import DataError
from automl.inference.columns import NOMINAL_MARKERS
from automl.inference.forms import BOOLEAN_WORDS
from automl.inference.raw_table import Column


def given_target(y: ArrayLike, n_rows: int) -> Column:
    """The target of rows to score, by position, without a gap.

    Parameters
    ----------
    y : (n_rows,) or (n_rows, 1)
        Labels or numbers.

    Raises
    ------
    DataError
        If its shape does not fit, or rows have no target.
    """
    array = np.asarray(y)
    is_matrix = array.ndim == 2 and array.shape[1] == 1
    if array.shape[:1] != (n_rows,) or not (array.ndim == 1 or is_matrix):
        raise DataError(
            f"y must have one target for each of {n_rows} rows; got shape {array.shape}"
        )
    if not n_rows:
        raise DataError("score needs at least one row")
    if is_matrix:
        y = array[:, 0]
    column = Column(pd.Series(y, name="y").reset_index(drop=True))
    n_missing = int(missing_targets(column).sum())
    if n_missing:
        raise DataError(
            f"y holds no target in {n_missing} of {n_rows} rows; leave these rows out of X and y"
        )
    return column


def missing_targets(column: Column) -> NDArray[np.bool_]:
    """Rows without a target: missing values, blank texts and ``?``."""
    if column.kind != "text":
        return column.missing
    codes, values = column.distinct
    is_marker = [isinstance(value, str) and value.strip() in NOMINAL_MARKERS for value in values]
    missing: NDArray[np.bool_] = column.missing | np.array([*is_marker, False])[codes]
    return missing


def encode_labels(series: pd.Series, class_labels: NDArray[Any]) -> NDArray[np.int32]:
    """Class codes of later rows; -1 where a label is not among `class_labels`.

    Labels are compared as values first, then as texts, so that ``1`` and ``"1"`` agree; outer blanks and the
    case of boolean words do not count.
    """
    labels_index = pd.Index(class_labels)
    plain = series.astype(series.cat.categories.dtype) if series.dtype == "category" else series
    codes = labels_index.get_indexer(pd.Index(plain.astype(object)))
    labels = [label_text(label) for label in class_labels]
    texts = pd.Series([label_text(value).strip() for value in plain], dtype=object)
    codes = np.where(codes < 0, pd.Index(labels).get_indexer(pd.Index(texts)), codes)
    folded = [label.casefold() for label in labels]
    if set(folded) in [set(words) for words in BOOLEAN_WORDS]:
        by_case = pd.Index(folded).get_indexer(pd.Index(texts.str.casefold()))
        codes = np.where(codes < 0, by_case, codes)
    result: NDArray[np.int32] = codes.astype(np.int32)
    return result


def label_text(label: object) -> str:
    """Text of a class label; whole floats like integers."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)
