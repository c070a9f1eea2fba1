"""Cost of a trial, for criteria per second (H18, sections 5.2 and 5.4.4).

H18 divides by c = ln(seconds), which changes sign below one second and reverses the order of
configurations there. The cost used here is positive for every number of seconds and grows slowly:
a linear one over-prefers cheap configurations (H18 section 5.4.4).
"""

from __future__ import annotations

import math

import numpy as np

from automl.records import FloatArray


def growing_cost(seconds: FloatArray, typical_seconds: float) -> FloatArray:
    """Cost c = ln(e + s / s~), at least 1.

    Parameters
    ----------
    seconds : (m,), at least 0
        Predicted seconds s.
    typical_seconds : positive
        Median of the predicted seconds, s~.
    """
    return np.log(math.e + np.asarray(seconds, dtype=float) / typical_seconds)
