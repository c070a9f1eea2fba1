"""Forecast of a run's trials by family: which fit into the time left, and usual seconds."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from automl.forecasts.runtime_model import RuntimeModel, growth
from automl.forecasts.timings import LEAST_SECONDS, KnownTimings, Timing, Workload, timing_of
from automl.randomness import Purpose, stream
from automl.records import Configuration, Fidelity, Trial
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

FULL = Fidelity()


class Forecast:
    """Expected seconds of trials; learns from every trial that it receives. Safe between threads.

    One `RuntimeModel` per family. A family without a timing in this run gets its known
    seconds, times a common factor. The known seconds are those of earlier runs of the family, or else
    its relative seconds. The factor is how much slower or faster the other families of this run have
    been than their known seconds (the median of their log ratios).

    Parameters
    ----------
    spaces
        By family.
    known
        This run's workload, and timings of other runs.
    n_folds
        Of a complete trial.
    seed
        Root of the surrogates' streams.
    """

    def __init__(
        self,
        spaces: Mapping[str, SpaceTree],
        timings: KnownTimings,
        *,
        n_folds: int,
        seed: int = 0,
    ) -> None:
        self._spaces, self._n_folds = dict(spaces), n_folds
        earlier = tuple(t for t in timings.earlier if t.configuration.family in self._spaces)
        self._known = replace(timings, earlier=earlier)
        self._seed = seed
        self._own: list[Timing] = []
        self._models: dict[str, RuntimeModel] = {}
        self._shifts_at = -1
        self._shifts: tuple[float | None, float | None] = (None, None)
        self._lock = threading.Lock()

    def add(self, trial: Trial) -> None:
        """Learn from a trial of this run; one of another family tells nothing."""
        timing = timing_of(trial, self._known.workload)
        if timing is None or timing.configuration.family not in self._spaces:
            return
        with self._lock:
            self._own.append(timing)
            self._model(timing.configuration.family).add(timing)

    def seconds(
        self,
        configuration: Configuration,
        fidelity: Fidelity = FULL,
        earlier: Trial | None = None,
    ) -> float | None:
        """Seconds of a trial, positive; None while nothing is known of any family.

        Parameters
        ----------
        earlier
            Partial trial of this configuration whose folds are not run again; each of the others
            is expected to take as long as these.
        """
        n_folds = min(fidelity.folds or self._n_folds, self._n_folds)
        if earlier is not None and earlier.folds:
            n_missing = max(n_folds - len(earlier.folds), 1)
            return n_missing * max(earlier.seconds / len(earlier.folds), LEAST_SECONDS)
        with self._lock:
            seconds = self._fold_seconds(configuration, self._known.workload.at(fidelity))
        return None if seconds is None else n_folds * seconds

    def usual_seconds(self) -> float | None:
        """Median over the families of the seconds that a trial of their default takes; None as above."""
        by_family = [self.seconds(space.default()) for space in self._spaces.values()]
        usual = [seconds for seconds in by_family if seconds is not None]
        return statistics.median(usual) if usual else None

    def _fold_seconds(self, configuration: Configuration, workload: Workload) -> float | None:
        if configuration.family not in self._spaces:
            return None
        model = self._model(configuration.family)
        shift = 0.0 if model.n_own else self._shift(has_earlier=model.n_earlier > 0)
        if shift is None:
            return None
        self._fit(model)
        return math.exp(shift) * float(model.seconds([configuration], workload)[0])

    def _shift(self, *, has_earlier: bool) -> float | None:
        """Log ratio of what fits of other families take to what was expected of them."""
        if self._shifts_at != len(self._own):
            self._shifts_at = len(self._own)
            self._shifts = (self._shift_of_line(), self._shift_of_earlier())
        return self._shifts[has_earlier]

    def _shift_of_line(self) -> float | None:
        """Against relative seconds, by this run or else by earlier ones."""
        points = self._own or self._known.earlier
        logs = [math.log(t.seconds) - growth(t.configuration.family, t.workload) for t in points]
        return statistics.median(logs) if logs else None

    def _shift_of_earlier(self) -> float:
        """Against earlier runs of the same families."""
        models = [m for m in self._models.values() if m.n_own and m.n_earlier]
        for model in models:
            self._fit(model)
        return float(np.median(np.concatenate([m.surprises() for m in models]))) if models else 0.0

    def _fit(self, model: RuntimeModel) -> None:
        model.fit(stream(self._seed, Purpose.RUNTIME, model.n_own))

    def _model(self, family: str) -> RuntimeModel:
        if family not in self._models:
            self._models[family] = RuntimeModel(
                ConfigurationEncoder(self._spaces[family]).fit(), self._known
            )
        return self._models[family]
