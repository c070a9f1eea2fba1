"""The function that a maximizer maximizes: the utility of encoded points, in one batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.acquisition.functions import Acquisition, Prediction, Reference
from automl.records import FloatArray
from automl.surrogates.protocol import Predictor, SmoothSurrogate, Surrogate


@dataclass(frozen=True)
class Criterion:
    """An acquisition function over a fitted surrogate.

    Parameters
    ----------
    log_seconds
        Fitted model of the logarithm of seconds; without one all trials take as long.
    """

    surrogate: Surrogate
    acquisition: Acquisition
    reference: Reference
    log_seconds: Predictor | None = None

    def __call__(self, X: FloatArray) -> FloatArray:
        """Utility (m,) of encoded points X (m, d)."""
        return self.of(*self.surrogate.predict(X), X)

    def of(self, mean: FloatArray, std: FloatArray, X: FloatArray) -> FloatArray:
        """Utility (m,) of encoded points X (m, d) of which mean and std (m,) are predicted."""
        if self.log_seconds is None:
            seconds = self._typical_seconds(X)
        else:
            seconds = np.exp(self.log_seconds.predict(X)[0])
        return self.acquisition.utility(Prediction(mean, std, seconds), self.reference)

    def _typical_seconds(self, X: FloatArray) -> FloatArray:
        return np.full(len(X), self.reference.typical_seconds)

    @property
    def is_smooth(self) -> bool:
        """Whether `with_gradient` can be called."""
        return self.acquisition.is_smooth and isinstance(self.surrogate, SmoothSurrogate)

    def with_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Utility (m,) and its derivatives by the columns (m, d), as if all trials took as long."""
        assert isinstance(self.surrogate, SmoothSurrogate)
        mean, std, d_mean, d_std = self.surrogate.predict_with_gradient(X)
        at = Prediction(mean, std, self._typical_seconds(X))
        by_mean, by_std = self.acquisition.slopes(at, self.reference)
        gradient = by_mean[:, None] * d_mean + by_std[:, None] * d_std
        return self.acquisition.utility(at, self.reference), gradient
