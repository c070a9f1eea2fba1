"""SMAC++: the random forest over configurations and meta-features of all data sets (S15, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.surrogates.earlier_data import Sources, described, target_rows
from automl.surrogates.forest import RandomForest
from automl.surrogates.scale import Scale


@dataclass
class TransferForest:
    """A forest that is grown anew from the trials of all data sets whenever there is a new one.

    Parameters
    ----------
    n_trees : at least 1
    feature_share : in (0, 1]
    min_split : at least 2
    most_rows : at least 1
        Trials of earlier data sets that each forest sees, drawn at random.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Schilling et al. (2015), section 4.4.
    """

    n_trees: int = 10
    feature_share: float = 5 / 6
    min_split: int = 10
    most_rows: int = 20_000
    _sources: Sources | None = field(default=None, init=False, repr=False)
    _first: RandomForest | None = field(default=None, init=False, repr=False)
    _forest: RandomForest | None = field(default=None, init=False, repr=False)
    _scale: Scale = field(default=Scale(0.0, 1.0), init=False, repr=False)

    def __post_init__(self) -> None:
        self._new()
        if self.most_rows < 1:
            raise SettingsError(f"most_rows must be at least 1; got {self.most_rows}")

    def learn_from(self, sources: Sources) -> None:
        """Take the trials on earlier data sets; no trials are as no sources."""
        self._sources = sources if len(sources.y) else None
        self._first = None

    def prepare(self, *, rng: np.random.Generator) -> None:
        """Learn what earlier data sets make expected, if that has not been done."""
        if self._sources is not None and self._first is None:
            self._first = self._new()
            X, y = self._earlier(self._sources, rng)
            self._first.fit(X, y, rng=rng)

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Grow the trees from the target's trials X (n, d), y (n,) and earlier ones."""
        self.prepare(rng=rng)
        own = target_rows(self._sources, X)
        self._scale = Scale.of(y, None if self._first is None else self._first.predict(own)[0])
        targets = self._scale.to_common(y)
        if self._sources is not None:
            earlier, scores = self._earlier(self._sources, rng)
            own, targets = np.concatenate([earlier, own]), np.concatenate([scores, targets])
        self._forest = self._new()
        self._forest.fit(own, targets, rng=rng)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) for the target."""
        assert self._forest is not None, "fit comes first"
        return self._scale.from_common(*self._forest.predict(target_rows(self._sources, X)))

    def _new(self) -> RandomForest:
        return RandomForest(self.n_trees, self.feature_share, self.min_split)

    def _earlier(self, sources: Sources, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Rows and scores of earlier trials."""
        if len(sources.y) > self.most_rows:
            rows = rng.choice(len(sources.y), self.most_rows, replace=False)
            sources = sources.subset(np.sort(rows))
        return described(sources.X, sources.task, sources.meta), sources.y
