"""Several proposals of one search of the acquisition, each of which believes those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from automl.acquisition.criterion import Criterion
from automl.optimizers.geometry import Geometry
from automl.records import Configuration, FloatArray
from automl.spaces.points import Points
from automl.surrogates.joint import JointPrediction
from automl.surrogates.protocol import JointSurrogate

N_BEST = 256
"""Points of a search that are kept: their covariances take half a megabyte for each set of
hyperparameters, and are updated in less than a millisecond."""
MOST = 32
"""Proposals of one search: an eighth of its points, so that none is taken for want of a better one."""

NEAR = 0.01
"""Share of every range: points that differ by less score alike, and starts of the search meet in one."""


class Shortlist:
    """The best points of a search, for further proposals; nothing is worked out before the first.

    Parameters
    ----------
    criterion
        Of the search; its surrogate, a `JointSurrogate`, believes what was under way then.
    points
        Of the search, best first.
    proposed
        What the search gave.
    """

    def __init__(
        self, criterion: Criterion, geometry: Geometry, points: Points, proposed: Configuration
    ) -> None:
        self._criterion, self._geometry, self._proposed = criterion, geometry, proposed
        self._points = points.take(slice(0, N_BEST))
        self._left = list(range(len(self._points)))
        self._n_given = 1

    def next(self, is_new: Callable[[Configuration], bool]) -> Configuration | None:
        """The best point that is new, given those taken before; None if another search is due."""
        while self._left and self._n_given < MOST:
            mean, std = self._joint.predict()
            utilities = self._criterion.of(mean, std, self._encoded)[self._left]
            row = self._left.pop(int(np.argmax(np.nan_to_num(utilities, nan=-np.inf))))
            configuration = self._geometry.points.configuration(self._points, row)
            if is_new(configuration):
                self._believe(self._joint, row)
                self._n_given += 1
                return configuration
        return None

    def _believe(self, joint: JointPrediction, row: int) -> None:
        """Take the mean of a point for its outcome, which may be the best one; leave out its like."""
        joint.believe(row)
        distances = np.abs(self._encoded - self._encoded[row]).max(axis=1)
        self._left = [other for other in self._left if distances[other] > NEAR]
        reference = self._criterion.reference
        best = max(reference.best, float(joint.predict()[0][row]))
        self._criterion = replace(self._criterion, reference=replace(reference, best=best))

    @cached_property
    def _encoded(self) -> FloatArray:
        """(m + 1, d) encodings of the points, and of what the search gave."""
        encoded = self._geometry.points_encoder.encode(self._points)
        return np.concatenate([encoded, self._geometry.encoder.transform([self._proposed])])

    @cached_property
    def _joint(self) -> JointPrediction:
        assert isinstance(self._criterion.surrogate, JointSurrogate)
        joint = self._criterion.surrogate.predict_jointly(self._encoded)
        self._believe(joint, len(self._encoded) - 1)
        return joint
