"""Batches of configurations as arrays: drawn, spread and varied without a loop over points.

Notation
--------
S : number of signatures of the space
L : number of leaf names over all signatures
position : where a value lies in [0, 1] by the CDF of its leaf's distribution; of a category, any
    place inside its mass. Leaves that are not active in a point's signature have one as well, so
    that a value is there when an exchange of the signature makes them active.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from automl.records import BoolArray, Configuration, FloatArray, IntArray
from automl.spaces.distributions import Categorical, category_key
from automl.spaces.nodes import Hyperparameter, Signature
from automl.spaces.tree import SpaceTree


@dataclass(frozen=True)
class Points:
    """n points of a space.

    Parameters
    ----------
    signatures : (n,), index into `PointSpace.signatures`
    unit : (n, L), in [0, 1]
        Positions of all leaves.
    """

    signatures: IntArray
    unit: FloatArray

    def __len__(self) -> int:
        return len(self.signatures)

    def take(self, rows: IntArray | BoolArray | slice) -> Points:
        """The points of these rows."""
        return Points(self.signatures[rows], self.unit[rows])


def join(parts: Sequence[Points]) -> Points:
    """Points of all parts, in order; at least one part."""
    return Points(
        np.concatenate([part.signatures for part in parts]),
        np.concatenate([part.unit for part in parts]),
    )


class PointSpace:
    """The points of a space: how they are drawn, varied, and turned into configurations.

    Rules of the space are not checked here: `SpaceTree.is_legal` does, for the few points that
    become configurations.

    Attributes
    ----------
    names : (L,)
        Leaf names over all signatures, in tree order.
    signatures : (S,)
    active : (S, L)
        Which leaves a signature has.
    is_numerical : (S, L)
        Which of them are numerical.
    """

    def __init__(self, space: SpaceTree) -> None:
        self.space = space
        self.signatures: tuple[Signature, ...] = tuple(space.signatures())
        names = dict.fromkeys(leaf.name for s in self.signatures for leaf in s.leaves)
        self.names: tuple[str, ...] = tuple(names)
        self._index = {name: i for i, name in enumerate(self.names)}
        self._by_path = {(s.family, s.path): i for i, s in enumerate(self.signatures)}
        shape = (len(self.signatures), len(self.names))
        self.active: BoolArray = np.zeros(shape, dtype=bool)
        self.is_numerical: BoolArray = np.zeros(shape, dtype=bool)
        self._middles, self._edges = self._read_leaves()
        self._shares = np.cumsum([s.probability for s in self.signatures])[:-1]
        self._neighbors: dict[int, IntArray] = {}

    def _read_leaves(self) -> tuple[FloatArray, FloatArray]:
        """Middles and upper edges of the categories' masses, (S, L, most categories)."""
        sizes = [len(leaf.choices) for s in self.signatures for leaf in s.nominals]
        shape = (*self.active.shape, max(sizes, default=0))
        middles, edges = np.full(shape, np.nan), np.full(shape, np.inf)
        for i, column, leaf in self.leaves():
            self.active[i, column] = True
            self.is_numerical[i, column] = leaf.is_numerical
            if isinstance(leaf.distribution, Categorical):
                above = np.cumsum(leaf.distribution.probabilities)
                middles[i, column, : len(above)] = above - 0.5 * leaf.distribution.probabilities
                edges[i, column, : len(above) - 1] = above[:-1]
        return middles, edges

    def leaves(self) -> Iterator[tuple[int, int, Hyperparameter]]:
        """(signature, leaf, node) of every active leaf."""
        for i, signature in enumerate(self.signatures):
            for leaf in signature.leaves:
                yield i, self._index[leaf.name], leaf

    # --- drawing ----------------------------------------------------------------------------

    def sample(self, n: int, rng: np.random.Generator) -> Points:
        """`n` independent points from the prior of the space."""
        signatures = np.searchsorted(self._shares, rng.random(n), "right")
        return Points(signatures, rng.random((n, len(self.names))))

    def spread(self, n: int, rng: np.random.Generator) -> Points:
        """`n` points of a scrambled Sobol sequence through the prior: signature, then leaves."""
        from scipy.stats.qmc import Sobol

        sequence = Sobol(1 + len(self.names), scramble=True, rng=rng)
        drawn = sequence.random_base2(max(n - 1, 0).bit_length())[:n]
        return Points(np.searchsorted(self._shares, drawn[:, 0], "right"), drawn[:, 1:])

    # --- configurations ---------------------------------------------------------------------

    def read(self, configurations: Sequence[Configuration], rng: np.random.Generator) -> Points:
        """Points of legal configurations; leaves that are not active get random positions."""
        by_path = self._by_path
        signatures = np.array([by_path[c.family, c.path] for c in configurations], dtype=np.intp)
        unit = rng.random((len(configurations), len(self.names)))
        for row, (i, configuration) in enumerate(zip(signatures, configurations, strict=True)):
            for leaf in self.signatures[i].leaves:
                value = configuration.values[leaf.name]
                unit[row, self._index[leaf.name]] = leaf.distribution.cdf(value)
        return Points(signatures, unit)

    def configuration(self, points: Points, row: int) -> Configuration:
        """Configuration of one point; it may break a rule of the space."""
        signature = self.signatures[points.signatures[row]]
        unit = points.unit[row]
        nominals = {}
        for leaf in signature.nominals:
            assert isinstance(leaf.distribution, Categorical)
            nominals[leaf.name] = leaf.distribution.ppf(float(unit[self._index[leaf.name]]))
        positions = [float(unit[self._index[leaf.name]]) for leaf in signature.numericals]
        return self.space.from_unit(signature, positions, nominals)

    def categories(self, points: Points) -> IntArray:
        """(n, L) index of the category of each nominal leaf; 0 elsewhere."""
        edges = self._edges[points.signatures]
        return np.asarray((points.unit[:, :, None] >= edges).sum(axis=2))

    # --- varying ----------------------------------------------------------------------------

    def jitter(self, points: Points, rng: np.random.Generator, *, sd: float) -> Points:
        """One point near each: all numerical leaves moved, each nominal one redrawn now and then.

        Parameters
        ----------
        sd : positive
            Of the normal around the position, truncated to [0, 1]. A nominal leaf is redrawn with
            the probability 1 / (active leaves of the signature); signatures stay.
        """
        is_numerical = (self.active & self.is_numerical)[points.signatures]
        n_active = np.maximum(self.active.sum(axis=1)[points.signatures], 1)
        redrawn = ~is_numerical & (rng.random(points.unit.shape) < 1.0 / n_active[:, None])
        unit = points.unit.copy()
        unit[redrawn] = rng.random(int(redrawn.sum()))
        unit[is_numerical] = truncated_draws(points.unit[is_numerical], sd, rng)
        return Points(points.signatures, unit)

    def neighbors(
        self, points: Points, rng: np.random.Generator, *, n_draws: int = 4, sd: float = 0.2
    ) -> tuple[Points, IntArray]:
        """Points that differ from one of `points` in a single hyperparameter.

        `n_draws` per numerical leaf from a normal around its position, truncated to [0, 1];
        every other category of a nominal leaf; every other value of a branching choice, with
        every way through the choices that it makes active.

        Parameters
        ----------
        sd : positive
            Standard deviation of the draws, in unit coordinates.

        Returns
        -------
        points : m
        owner : (m,)
            Row of `points` that each is a neighbor of.

        References
        ----------
        .. [1] van Hoof (2018), section 2.5.2; Xiang (2020), section VI-B.
        """
        neighbors = [
            self._numerical_neighbors(points, rng, n_draws, sd),
            self._nominal_neighbors(points),
            self._branch_neighbors(points),
        ]
        return join([part for part, _ in neighbors]), np.concatenate(
            [owner for _, owner in neighbors]
        )

    def _numerical_neighbors(
        self, points: Points, rng: np.random.Generator, n_draws: int, sd: float
    ) -> tuple[Points, IntArray]:
        which = (self.active & self.is_numerical)[points.signatures]
        rows, leaves = (np.repeat(index, n_draws) for index in np.nonzero(which))
        moved = points.take(rows)
        unit = moved.unit.copy()
        unit[np.arange(len(rows)), leaves] = truncated_draws(points.unit[rows, leaves], sd, rng)
        return Points(moved.signatures, unit), rows

    def _nominal_neighbors(self, points: Points) -> tuple[Points, IntArray]:
        middles = self._middles[points.signatures]
        other = np.arange(middles.shape[2]) != self.categories(points)[:, :, None]
        rows, leaves, categories = np.nonzero(other & ~np.isnan(middles))
        moved = points.take(rows)
        unit = moved.unit.copy()
        unit[np.arange(len(rows)), leaves] = middles[rows, leaves, categories]
        return Points(moved.signatures, unit), rows

    def _branch_neighbors(self, points: Points) -> tuple[Points, IntArray]:
        others = [self._exchanges(int(i)) for i in points.signatures]
        rows = np.repeat(np.arange(len(points)), [len(theirs) for theirs in others])
        signatures = np.concatenate([np.zeros(0, dtype=np.intp), *others])
        return Points(signatures, points.unit[rows]), rows

    def _exchanges(self, signature: int) -> IntArray:
        """Signatures that differ in the value of one branching choice and what hangs on it."""
        if signature not in self._neighbors:
            own = self.signatures[signature]
            exchanges = [i for i, s in enumerate(self.signatures) if _differing(own, s) == 1]
            self._neighbors[signature] = np.array(exchanges, dtype=np.intp)
        return self._neighbors[signature]


def _differing(one: Signature, other: Signature) -> int:
    """Number of branching choices that both make, and make differently; the family is the root."""
    if one.family != other.family:
        return 1
    shared = one.branches.keys() & other.branches.keys()
    return sum(
        category_key(one.branches[name]) != category_key(other.branches[name]) for name in shared
    )


def truncated_draws(centers: FloatArray, sd: float, rng: np.random.Generator) -> FloatArray:
    """One draw per center from a normal with `sd`, truncated to [0, 1]; by rejection."""
    draws = rng.normal(centers, sd)
    outside = np.flatnonzero((draws < 0.0) | (draws > 1.0))
    while len(outside):
        draws[outside] = rng.normal(centers[outside], sd)
        outside = outside[(draws[outside] < 0.0) | (draws[outside] > 1.0)]
    return np.asarray(draws)


def all_configurations(space: SpaceTree, *, limit: int) -> list[Configuration] | None:
    """Every legal configuration in tree order; None if the space has more than `limit` points."""
    if space.size() > limit:
        return None
    configurations = []
    for signature in space.signatures():
        axes = space.axes(signature, limit)
        for values in product(*axes.values()):
            chosen = {**signature.branches, **dict(zip(axes, values, strict=True))}
            configurations.append(Configuration(signature.family, chosen, signature.path))
    return [
        configuration for configuration in configurations if space.is_legal(configuration) is None
    ]
