"""Models that say the same for every row, as a few plain numbers.

Such a model reads no column, so it needs no preprocessor, and no skops to write or read it. Importing skops costs a
second of a processor, and a run ends with a constant when it has no second to spare.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from automl.inference.plain_records import ShapeError, read_record

if TYPE_CHECKING:
    from sklearn.dummy import DummyClassifier, DummyRegressor

_STRATEGIES = {"DummyClassifier": "prior", "DummyRegressor": "mean"}
_SUM_TOLERANCE = 1e-9
"""Rounding of a sum; a larger difference is none of ours."""


@dataclass(frozen=True)
class _Frequencies:
    """Class codes in ascending order, and the probability of each."""

    classes: tuple[int, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class _Mean:
    """The number that is predicted."""

    value: float


def is_constant(estimator: object) -> bool:
    """Whether an estimator is fitted and predicts the class frequencies, or the mean, of one target."""
    kind = type(estimator)
    return (
        kind.__module__ == "sklearn.dummy"
        and _STRATEGIES.get(kind.__name__) == getattr(estimator, "strategy", None)
        and getattr(estimator, "n_outputs_", None) == 1
    )


def constant_text(estimator: Any) -> str:
    """JSON of an estimator for which `is_constant` holds; every number is kept to its last bit."""
    if type(estimator).__name__ == "DummyClassifier":
        classes, shares = estimator.classes_.tolist(), estimator.class_prior_.tolist()
        return json.dumps(asdict(_Frequencies(tuple(map(int, classes)), tuple(shares))))
    return json.dumps(asdict(_Mean(float(estimator.constant_.item()))))


def constant_of_text(text: str) -> DummyClassifier | DummyRegressor:
    """Inverse of `constant_text`.

    Raises
    ------
    ValueError
        If the text is no JSON of a constant.
    """
    content = json.loads(text)
    if isinstance(content, dict) and "value" in content:
        return _regressor(read_record(_Mean, content))
    return _classifier(read_record(_Frequencies, content))


def _regressor(found: _Mean) -> DummyRegressor:
    from sklearn.dummy import DummyRegressor

    estimator = DummyRegressor(strategy="mean").fit(np.zeros((1, 1)), [found.value])
    estimator.constant_ = np.array([[found.value]])
    return estimator


def _classifier(found: _Frequencies) -> DummyClassifier:
    from sklearn.dummy import DummyClassifier

    classes, shares = found.classes, found.probabilities
    if not classes or list(classes) != sorted(set(classes)) or classes[0] < 0:
        raise ShapeError("classes", "distinct codes in ascending order", list(classes))
    if len(shares) != len(classes) or min(shares) < 0:
        raise ShapeError("probabilities", "one of each class, none negative", list(shares))
    if not math.isclose(sum(shares), 1.0, abs_tol=_SUM_TOLERANCE):
        raise ShapeError("the sum of probabilities", "1", sum(shares))
    codes = np.array(classes, dtype=np.int64)
    estimator = DummyClassifier(strategy="prior").fit(np.zeros((len(codes), 1)), codes)
    estimator.class_prior_ = np.array(shares)
    return estimator
