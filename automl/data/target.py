"""The target column: which task it asks for, and how its values become `y`.

The rule of ``auto``: texts, categories and booleans are classes. Whole numbers are classes where there are at
most 20 distinct ones, each three times on average; other numbers are a regression target, unless there are
only two distinct ones. Two classes are ``binary``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.column_readings import (
    DATE_SHARE,
    Evidence,
    date_fits,
)
from automl.data.findings import Findings, listed
from automl.errors import DataError, SettingsError
from automl.inference.columns import are_whole
from automl.inference.labels import label_text
from automl.inference.raw_table import Column
from automl.listing import first_few
from automl.records import Task

MAX_INTEGER_CLASSES = 20
"""Whole numbers of more values are taken for amounts; digits, grades and stars have fewer (by
judgement)."""
SHOWN_GROUPS = 3
"""Spellings of a label that a sentence names before it counts the others."""
LARGEST_TARGET = 1e30
"""Predictions are float32, and some learners square what they fit."""
LARGEST_EXACT = 2**53
"""From here on a float does not have every whole number."""
FARTHEST_MEAN = 1e6
"""Standard deviations between 0 and the mean of a target. Up to here no family loses in R². At ten times as many the
seven digits of predictions cost most families 0.02 to 0.08 and forests 0.1 to 0.2, and ridge fails (600 rows, 25
families)."""
TASKS = ("auto", "classification", *Task)


@dataclass(frozen=True)
class EncodedTarget:
    """A target ready for learning.

    Parameters
    ----------
    y : (n_rows,), int32 class codes or float64 values
    class_labels : (n_classes,), sorted, of the original type; None for regression
    positive
        Position of the positive class; None unless there are two classes.
    """

    task: Task
    y: NDArray[Any]
    class_labels: NDArray[Any] | None = None
    positive: int | None = None

    @property
    def texts_or_values(self) -> NDArray[Any]:
        """Labels as texts, or the values of a regression target, (n_rows,)."""
        if self.class_labels is None:
            return self.y
        texts = np.array([label_text(label) for label in self.class_labels], dtype=object)
        return np.take(texts, self.y)


def check_task(task: str) -> str:
    """Return `task` if it is known.

    Raises
    ------
    SettingsError
        If it is not one of `TASKS`.
    """
    if task not in TASKS:
        raise SettingsError(f"the task must be one of {', '.join(TASKS)}; got {task!r}")
    return task


def encode_target(
    column: Column, *, task: str, positive: object, findings: Findings
) -> EncodedTarget | None:
    """Task, codes or values, and labels of a target without missing values.

    Parameters
    ----------
    task : one of `TASKS`
    positive
        Label of the positive class, compared as text; None is the second label in order.

    Returns
    -------
    EncodedTarget or None
        None if a problem in `findings` leaves nothing to encode.
    """
    values = _plain(column, findings)
    if values is None or not _check_texts(values, findings):
        return None
    if task == "regression" or (task == "auto" and _is_regression(values)):
        if task == "auto":
            _note_few_numbers(values, findings)
        return _encode_numbers(values, positive, findings)
    if inexact := _inexact_label(values.series):
        findings.problems.append(inexact)
        return None
    return _encode_classes(values, task, positive, findings)


def _inexact_label(values: pd.Series) -> str:
    """What is wrong with whole numbers that a float cannot tell from the next; empty if nothing."""
    if values.dtype != np.float64:
        return ""
    inexact = values[values.abs() >= LARGEST_EXACT]
    if inexact.empty:
        return ""
    return (
        f"target column {values.name!r} holds {inexact.iloc[0]:.17g} in row {inexact.index[0] + 1}; beside missing values, "
        f"fractions or longer numbers, whole numbers from {LARGEST_EXACT} on cannot be told apart: write such classes as texts"
    )


def _plain(column: Column, findings: Findings) -> Column | None:
    """Booleans, integers or floats as numpy types, or texts; None after a problem."""
    if column.series.dtype == "category":
        series = column.series
        column = Column(series.astype(series.cat.categories.dtype), column.name)
    series, kind, name = column.series, column.kind, column.name
    if kind == "date" or series.dtype.kind in "mM":
        what = "dates"
        if getattr(series.dtype, "kind", "") == "m":
            what = "durations, which may be numbers such as seconds"
        findings.problems.append(
            f"target column {name!r} holds {what}; a target is classes or numbers"
        )
        return None
    if kind == "boolean":
        return Column(series.astype(bool), name)
    if kind == "number":
        numeric = _numeric(series)
        return column if numeric is series else Column(numeric, name)
    problem = "" if isinstance(series.dtype, pd.StringDtype) else _text_problem(series)
    if problem:
        findings.problems.append(problem)
    return None if problem else column


def _text_problem(series: pd.Series) -> str:
    """Why the objects of a column are no texts; empty if they are."""
    types = series.astype(object).map(type)
    if types.nunique() > 1:
        other = int(np.argmax([kind is not types.iloc[0] for kind in types]))
        return (
            f"target column {series.name!r} mixes types: {series.iloc[0]!r} in row {series.index[0] + 1}, "
            f"{series.iloc[other]!r} in row {series.index[other] + 1}"
        )
    if types.iloc[0] is not str:
        return (
            f"target column {series.name!r} must hold numbers, texts or booleans; "
            f"found {series.iloc[0]!r} in row {series.index[0] + 1}"
        )
    return ""


def _check_texts(values: Column, findings: Findings) -> bool:
    """Whether texts may be classes or numbers; a problem where they are dates."""
    if values.kind != "text":
        return True
    fits = date_fits(Evidence.of(values))
    if fits and fits[0].share >= DATE_SHARE:
        findings.problems.append(
            f"target column {values.name!r} holds dates; a target is classes or numbers"
        )
        return False
    return True


def _note_few_numbers(values: Column, findings: Findings) -> None:
    n_distinct = len(values.distinct[1])
    if n_distinct <= MAX_INTEGER_CLASSES:
        findings.notes.append(
            f"the {n_distinct} different numbers of target column {values.name!r} are taken as a "
            "quantity; give the task multiclass if they are classes"
        )


def _note_classes(
    values: Column, task: str, labels: NDArray[Any], texts: list[str], findings: Findings
) -> None:
    name = values.name
    if task == "auto" and len(labels) > 2 and _as_numbers(values) is not None:
        findings.notes.append(
            f"the {len(labels)} different numbers of target column {name!r} are taken as classes; "
            "give the task regression if they are a quantity"
        )
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    groups = [" and ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
    if groups:
        findings.notes.append(
            f"classes of target column {name!r} differ only in case or white space: "
            f"{first_few(groups, SHOWN_GROUPS)}; write them the same way if they are the same"
        )


def _numeric(series: pd.Series) -> pd.Series:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return series
    kind = getattr(dtype, "kind", "O")
    if kind in "iu" or (kind == "O" and pd.api.types.infer_dtype(series) == "integer"):
        least, greatest = series.min(), series.max()
        if least >= -(2**63) and greatest < 2**63:
            return series.astype(np.int64)
        if least >= 0 and greatest < 2**64:
            return series.astype(np.uint64)
    return series.astype(np.float64)


def _as_numbers(values: Column) -> NDArray[np.float64] | None:
    """Values as float64; None if any is not a number (booleans are not)."""
    if values.kind == "boolean":
        return None
    try:
        return values.read().values
    except DataError:
        return None


def _is_regression(values: Column) -> bool:
    parsed = _as_numbers(values)
    if parsed is None:
        return False
    n_distinct = len(pd.unique(parsed))
    if n_distinct <= 2:
        return False
    few = n_distinct <= MAX_INTEGER_CLASSES and len(parsed) >= 3 * n_distinct
    return not (few and np.array_equal(parsed, np.floor(parsed)))


def _encode_numbers(values: Column, positive: object, findings: Findings) -> EncodedTarget | None:
    name = values.name
    parsed = _as_numbers(values)
    if parsed is None or np.isnan(parsed).any():
        shown = _first_text(values.series)
        findings.problems.append(
            f"target column {name!r} must hold numbers for regression; found {shown}"
        )
        return None
    if np.abs(parsed).max() > LARGEST_TARGET:
        row = int(np.abs(parsed).argmax())
        findings.problems.append(
            f"target column {name!r} holds {parsed[row]:g} in row {values.series.index[row] + 1}; numbers "
            f"to predict must not exceed {LARGEST_TARGET:g} in size: rescale the column"
        )
    elif len(pd.unique(parsed)) < 2:
        findings.problems.append(
            f"target column {name!r} has the value {parsed[0]:g} in every row; there is nothing to learn"
        )
    else:
        _take_far_mean(parsed, name, findings)
    if positive is not None:
        findings.problems.append(
            f"the positive label {positive!r} needs two classes; target column {name!r} is numeric"
        )
    return EncodedTarget(Task.REGRESSION, parsed)


def _take_far_mean(values: NDArray[np.float64], name: str, findings: Findings) -> None:
    mean, spread = float(values.mean()), float(values.std())
    if abs(mean) > FARTHEST_MEAN * spread:
        sentence = (
            f"the numbers of target column {name!r} differ by about {spread:.2g} around {mean:.7g}, and "
            f"predictions have seven digits; predict the differences from {mean:.7g} instead"
        )
        findings.take(sentence, sentence)


def _first_text(values: pd.Series) -> str:
    for row, value in values.items():
        try:
            bad = isinstance(value, bool) or np.isnan(float(value))
        except ValueError:
            bad = True
        if bad:
            return f"{value!r} in row {int(str(row)) + 1}"
    return "no number"


def _encode_classes(
    values: Column, task: str, positive: object, findings: Findings
) -> EncodedTarget | None:
    name, (codes, distinct) = values.name, values.distinct
    dtype: Any = object if values.kind == "text" else values.series.dtype
    order, labels = pd.factorize(np.array(distinct, dtype=dtype), sort=True)
    codes = order[codes]
    if len(labels) == 1:
        findings.problems.append(
            f"target column {name!r} has one class only ({label_text(labels[0])!r} in "
            f"{len(values)} rows); at least two are needed"
        )
        return None
    if np.dtype(dtype).kind == "f" and _is_continuous(values):
        findings.problems.append(
            f"target column {name!r} is continuous: {len(labels)} different numbers in {len(values)} "
            f"rows; task {task} needs classes: use regression"
        )
        return None
    if len(labels) == len(values):
        numeric = values.kind == "number"
        findings.problems.append(
            f"target column {name!r} has another {'number' if numeric else 'text'} in each of its "
            f"{len(values)} rows, so no class can be learned; name another target"
            f"{' or use task regression' if numeric else ''}"
        )
        return None
    _note_classes(values, task, labels, [label_text(label) for label in labels], findings)
    kind = Task.BINARY if len(labels) == 2 else Task.MULTICLASS
    if task in tuple(Task) and task != kind:
        findings.problems.append(
            f"task {task} does not fit target column {name!r}, which has {len(labels)} classes "
            f"({listed(map(label_text, labels))}); use {kind}"
        )
    index = _positive_index(labels, positive, name, findings)
    return EncodedTarget(kind, codes.astype(np.int32), labels, index)


def _is_continuous(values: Column) -> bool:
    return len(values.distinct[1]) > MAX_INTEGER_CLASSES and not are_whole(values.read().values)


def check_single_rows(target: EncodedTarget, series: pd.Series, findings: Findings) -> None:
    """Refuse classes of one row with `strict`, and where fewer than two classes have more.

    Parameters
    ----------
    series : (n_rows,)
        The target column; its index gives the row positions for messages.
    """
    if target.class_labels is None:
        return
    name, counts = series.name, np.bincount(target.y, minlength=len(target.class_labels))
    labels = [label_text(label) for label in target.class_labels]
    single = np.flatnonzero(counts == 1)
    if len(single) and (findings.strict or np.count_nonzero(counts > 1) < 2):
        row = int(series.index[int(np.flatnonzero(target.y == single[0])[0])]) + 1
        what = "a class" if len(single) == 1 else f"{len(single)} classes"
        findings.problems.append(
            f"target column {name!r} has {what} with one row only: {listed(labels[i] for i in single)} "
            f"(the first in row {row}); add rows, merge the class with another, or remove the row"
        )


def _positive_index(
    labels: NDArray[Any], positive: object, name: object, findings: Findings
) -> int | None:
    if positive is None:
        return 1 if len(labels) == 2 else None
    texts = [label_text(label) for label in labels]
    if len(labels) != 2:
        findings.problems.append(
            f"the positive label {positive!r} needs two classes; "
            f"target column {name!r} has {len(labels)}"
        )
        return None
    if label_text(positive) not in texts:
        findings.problems.append(
            f"the positive label {positive!r} is not in target column {name!r}; "
            f"its labels are {listed(texts)}"
        )
        return None
    return texts.index(label_text(positive))
