"""SCoT: one ranking of the configurations of all data sets, then a process on it (S15, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray, IntArray
from automl.surrogates.earlier_data import Sources, described, target_rows
from automl.surrogates.gaussian_process import GaussianProcess
from automl.surrogates.scale import Scale

PAIRS = 2
"""Pairs of each earlier trial with another one of its data set."""
MOST_PAIRS = 10_000
"""Pairs of earlier trials that are looked at, and of own ones, drawn at random."""
MOST_VALUES = 2 * 10**7
"""Numbers in the differences of these pairs; where a pair has many columns there are fewer."""
BLOCK = 128
"""Trials ranked at once, whose pairs grow with the square (by judgement)."""
_STEPS = 30
"""Steps of the process's parameters, which are chosen anew with every trial (by judgement)."""


def ranking_weights(differences: FloatArray, *, cost: float) -> FloatArray:
    """(d,) weights of a linear ranking, from differences (q, d) of a better and a worse row.

    Minimizes ``½ |w|² + cost / q Σ max(0, 1 - w'z)²`` by L-BFGS; zeros without differences.

    References
    ----------
    .. [1] Herbrich et al. (2000), Large margin rank boundaries for ordinal regression; with the
       squared hinge, which is smooth.
    """
    from scipy.optimize import minimize

    q, d = differences.shape
    if q == 0:
        return np.zeros(d)

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        short = np.maximum(0.0, 1.0 - differences @ w)
        value = 0.5 * float(w @ w) + cost / q * float(short @ short)
        return value, w - 2.0 * cost / q * (short @ differences)

    return np.asarray(minimize(loss, np.zeros(d), jac=True, method="L-BFGS-B").x)


def pairs_of(
    y: FloatArray, task: IntArray, n_pairs: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Rows of the better and of the worse (q,) trials of pairs of one data set; no ties.

    Each row is paired with the `n_pairs` that follow it in a random order of its data set.
    """
    order = np.lexsort((rng.random(len(y)), task))
    counts = np.bincount(task)
    size = counts[task[order]]
    begin = (np.cumsum(counts) - counts)[task[order]]
    place = np.arange(len(y)) - begin
    others = [order[begin + (place + shift) % size] for shift in range(1, n_pairs + 1)]
    first = np.tile(order, n_pairs)
    second = np.concatenate([*others, np.zeros(0, dtype=int)])
    is_better, is_worse = y[first] > y[second], y[first] < y[second]
    better = np.concatenate([first[is_better], second[is_worse]])
    return better, np.concatenate([second[is_better], first[is_worse]])


def _at_most(
    n: int, better: IntArray, worse: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Some of the pairs where there are more than n."""
    if len(better) <= n:
        return better, worse
    drawn = rng.choice(len(better), n, replace=False)
    return better[drawn], worse[drawn]


def products(X: FloatArray, meta: FloatArray) -> FloatArray:
    """(n, d + d (d + 1) / 2 + d p): X (n, d), its products, and those with meta (n, p)."""
    i, j = np.triu_indices(X.shape[1])
    crossed = (X[:, :, None] * meta[:, None]).reshape(len(X), -1)
    return np.concatenate([X, X[:, i] * X[:, j], crossed], axis=1)


@dataclass
class RankingProcess:
    """SCoT: a ranking, and a Gaussian process of the ranks over configurations and meta-features.

    Scores of different data sets are never compared, only ranked among each other. What is the
    same for all trials of a data set says nothing of their order: a linear ranking has weights of
    the configuration alone.

    Parameters
    ----------
    degree : 1 or 2
        1: the ranking is linear, as in the document's experiments; 2: it has the products of
        hyperparameters among each other and with meta-features too.
    cost : positive
        Of pairs in the wrong order.
    most_rows : at least 1
        Earlier trials that the process sees, drawn at random once.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Schilling et al. (2015), section 4.4; Bardenet et al. (2013), Collaborative
       hyperparameter tuning.
    """

    degree: int = 2
    cost: float = 1000.0
    most_rows: int = 1000
    _sources: Sources | None = field(default=None, init=False, repr=False)
    _shown: Sources | None = field(default=None, init=False, repr=False)
    _process: GaussianProcess = field(init=False, repr=False)
    _scale: Scale = field(default=Scale(0.0, 1.0), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.degree not in {1, 2}:
            raise SettingsError(f"degree must be 1 or 2; got {self.degree}")
        if not 0.0 < self.cost < np.inf or self.most_rows < 1:
            raise SettingsError(
                "cost must be positive and finite and most_rows at least 1; got"
                f" {self.cost:g} and {self.most_rows}"
            )
        self._process = GaussianProcess(most_steps=_STEPS)

    def learn_from(self, sources: Sources) -> None:
        """Take the trials on earlier data sets; no trials are as no sources."""
        self._sources = sources if len(sources.y) else None
        self._shown = None

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Rank all trials, the target's X (n, d), y (n,) included, and fit the process."""
        weights = self._weights(X, y, rng)
        ranks = self._own_features(X) @ weights
        rows, targets = target_rows(self._sources, X), ranks
        if self._sources is not None:
            if self._shown is None:
                self._shown = self._sources.subset(self._drawn(len(self._sources.y), rng))
            shown = self._shown
            rows = np.concatenate([described(shown.X, shown.task, shown.meta), rows])
            earlier = self._ranks(shown, weights)
            targets = np.concatenate([earlier, ranks])
        everywhere = Scale.of(targets, None)
        expected = None if self._sources is None else everywhere.to_common(ranks)
        self._scale = Scale.of(y, expected)
        self._process.fit(rows, everywhere.to_common(targets), rng=rng)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) for the target, on the scale of its scores."""
        return self._scale.from_common(*self._process.predict(target_rows(self._sources, X)))

    def _weights(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        features = self._own_features(X)
        most = max(min(MOST_PAIRS, MOST_VALUES // features.shape[1]), 1)
        nobody = np.zeros(len(y), dtype=int)
        better, worse = _at_most(most, *pairs_of(y, nobody, len(y) // 2, rng), rng)
        differences = features[better] - features[worse]
        if self._sources is not None:
            sources = self._sources
            better, worse = _at_most(most, *pairs_of(sources.y, sources.task, PAIRS, rng), rng)
            first, second = sources.subset(better), sources.subset(worse)
            earlier = self._features(first.X, first.meta[first.task])
            earlier -= self._features(second.X, second.meta[second.task])
            differences = np.concatenate([earlier, differences])
        return ranking_weights(differences, cost=self.cost)

    def _ranks(self, sources: Sources, weights: FloatArray) -> FloatArray:
        """(n,) ranks of earlier trials, by blocks."""
        blocks = np.array_split(np.arange(len(sources.y)), -(-len(sources.y) // BLOCK))
        parts = (sources.subset(rows) for rows in blocks)
        return np.concatenate([self._features(p.X, p.meta[p.task]) @ weights for p in parts])

    def _features(self, X: FloatArray, meta: FloatArray) -> FloatArray:
        """What the ranking sees of rows X (n, d) of data sets with meta-features (n, p)."""
        return X.copy() if self.degree == 1 else products(X, meta)

    def _own_features(self, X: FloatArray) -> FloatArray:
        meta = np.zeros(0) if self._sources is None else self._sources.target_meta
        return self._features(X, np.tile(meta, (len(X), 1)))

    def _drawn(self, n: int, rng: np.random.Generator) -> IntArray:
        return np.sort(rng.choice(n, min(n, self.most_rows), replace=False))
