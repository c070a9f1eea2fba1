"""Row weights from class weights, in the one form that every estimator understands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
ClassWeight = None | str | Mapping[int, float]


def row_weights(
    y: NDArray[Any], class_weight: ClassWeight, sample_weight: FloatArray | None = None
) -> FloatArray | None:
    """Weight of each row: its own weight times its class' weight.

    Parameters
    ----------
    y : (n_rows,)
        Class codes.
    class_weight
        None, ``"balanced"`` (rows / (classes * rows of the class)) or weights by class code;
        a class that is not named weighs 1.
    sample_weight : (n_rows,), >= 0

    Returns
    -------
    (n_rows,) or None if nothing weighs

    Raises
    ------
    ValueError
        If `class_weight` is another text than ``"balanced"``.
    """
    if class_weight is None:
        return sample_weight
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if class_weight == "balanced":
        by_class = len(y) / (len(classes) * counts)
    elif isinstance(class_weight, str):
        raise ValueError(f"class_weight must be 'balanced' or a mapping; got {class_weight!r}")
    else:
        by_class = np.array([class_weight.get(int(label), 1.0) for label in classes], dtype=float)
    weights = np.asarray(by_class[codes], dtype=np.float64)
    return weights if sample_weight is None else weights * sample_weight
