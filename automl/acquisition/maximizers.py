"""Maximizers: where to look for points of great utility.

A maximizer returns every point that it has scored; the optimizer takes the best one that is legal
and new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from automl.acquisition.criterion import Criterion
from automl.errors import SettingsError
from automl.records import Configuration, FloatArray, IntArray
from automl.spaces.point_encoding import PointEncoder
from automl.spaces.points import Points, PointSpace, join


@dataclass(frozen=True)
class Ground:
    """The space that is searched and what is known of it.

    Parameters
    ----------
    told : n
        Configurations with a score, legal in the space.
    X : (n, d)
        Their encodings.
    scores : (n,)
    elsewhere
        Points of the space that were good on other data sets, if any are known.
    """

    space: PointSpace
    encoder: PointEncoder
    told: Sequence[Configuration]
    X: FloatArray
    scores: FloatArray
    elsewhere: Points | None = None


@dataclass(frozen=True)
class Scored:
    """Points and their utilities (m,), in no order."""

    points: Points
    utilities: FloatArray


class Maximizer(Protocol):
    """Scores points of the space in batches."""

    def search(self, criterion: Criterion, ground: Ground, rng: np.random.Generator) -> Scored:
        """Points with their utilities, among them the best ones found."""
        ...


def best_first(utilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rows by decreasing utility, ties in random order; what is not a number comes last."""
    comparable = np.where(np.isnan(utilities), -np.inf, utilities)
    return np.lexsort((rng.random(len(comparable)), -comparable))


def _gather(parts: Sequence[Scored]) -> Scored:
    return Scored(
        join([part.points for part in parts]), np.concatenate([part.utilities for part in parts])
    )


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise SettingsError(f"{name} must be at least 1; got {count}")


def _check_sd(sd: float) -> None:
    """Refuse what is wider than the unit interval: nearly all draws would fall outside of it."""
    if not 0.0 < sd <= 1.0:
        raise SettingsError(f"sd must be positive and at most 1; got {sd:g}")


@dataclass(frozen=True)
class RandomCandidates:
    """`n_candidates` draws from the prior of the space, scored in one batch.

    Raises
    ------
    SettingsError
        If `n_candidates` is less than 1.
    """

    n_candidates: int = 10_000

    def __post_init__(self) -> None:
        _check_counts(n_candidates=self.n_candidates)

    def search(self, criterion: Criterion, ground: Ground, rng: np.random.Generator) -> Scored:
        """The draws."""
        points = ground.space.sample(self.n_candidates, rng)
        return Scored(points, criterion(ground.encoder.encode(points)))


@dataclass(frozen=True)
class LocalSearch:
    """SMAC's: best-improvement searches from the told points of greatest utility, and random draws.

    Every search looks at all neighbors of its point (see `PointSpace.neighbors`), goes to the best
    one, and stops where none is better. The searches go on side by side, one batch a step.

    Parameters
    ----------
    n_candidates, n_starts, n_draws, most_steps : at least 1
        Random draws; searches; neighbors of a numerical hyperparameter; steps of a search.
    sd : in (0, 1]
        Standard deviation of these neighbors, in unit coordinates.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), section 2.5.2; Xiang (2020), section VI-B.
    """

    n_candidates: int = 10_000
    n_starts: int = 10
    n_draws: int = 4
    sd: float = 0.2
    most_steps: int = 20

    def __post_init__(self) -> None:
        _check_counts(
            n_candidates=self.n_candidates,
            n_starts=self.n_starts,
            n_draws=self.n_draws,
            most_steps=self.most_steps,
        )
        _check_sd(self.sd)

    def search(self, criterion: Criterion, ground: Ground, rng: np.random.Generator) -> Scored:
        """The random draws, and every neighbor that was looked at."""
        drawn = RandomCandidates(self.n_candidates).search(criterion, ground, rng)
        if not ground.told:
            return drawn
        utilities = criterion(ground.X)
        first = best_first(utilities, rng)[: self.n_starts]
        starts = ground.space.read([ground.told[i] for i in first], rng)
        return _gather([drawn, *self._climb(starts, utilities[first], criterion, ground, rng)])

    def _climb(
        self,
        points: Points,
        utilities: FloatArray,
        criterion: Criterion,
        ground: Ground,
        rng: np.random.Generator,
    ) -> list[Scored]:
        tops: list[Scored] = []
        for _ in range(self.most_steps):
            near, owner = ground.space.neighbors(points, rng, n_draws=self.n_draws, sd=self.sd)
            if len(near) == 0:
                break
            scored = Scored(near, criterion(ground.encoder.encode(near)))
            tops.append(scored)
            best = _best_of_each(scored.utilities, owner)
            better = best[scored.utilities[best] > utilities[owner[best]]]
            if len(better) == 0:
                break
            points, utilities = near.take(better), scored.utilities[better]
        return tops


def _best_of_each(utilities: FloatArray, owner: IntArray) -> IntArray:
    """Row of the greatest utility of each owner; the first one of ties."""
    order = np.lexsort((-utilities, owner))
    _, first = np.unique(owner[order], return_index=True)
    return np.asarray(order[first])


@dataclass(frozen=True)
class SobolRefined:
    """Sobol points, points near the best ones told and what was good elsewhere; the best refined by L-BFGS.

    The refinement moves the numerical hyperparameters inside a point's signature, integers as if
    they were continuous, all points in one problem. Where the criterion has no gradient nothing is
    refined.

    Parameters
    ----------
    n_points, n_refined, most_steps : at least 1
        Sobol points; points that are refined; steps of L-BFGS, of which the first few bring nearly
        all (by judgement).
    n_near : at least 0
        Points near the best ones.
    n_best : at least 1
        How many told points they are near to.
    sd : in (0, 1]
        Their standard deviation, in unit coordinates.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Lacoste et al. (2014), section 2.
    """

    n_points: int = 512
    n_near: int = 128
    n_best: int = 4
    sd: float = 0.1
    n_refined: int = 5
    most_steps: int = 8

    def __post_init__(self) -> None:
        _check_counts(
            n_points=self.n_points,
            n_best=self.n_best,
            n_refined=self.n_refined,
            most_steps=self.most_steps,
        )
        if self.n_near < 0:
            raise SettingsError(f"n_near must be at least 0; got {self.n_near}")
        _check_sd(self.sd)

    def search(self, criterion: Criterion, ground: Ground, rng: np.random.Generator) -> Scored:
        """All these points, and the refined ones."""
        parts = [ground.space.spread(self.n_points, rng)]
        if self.n_near and ground.told:
            best = best_first(ground.scores, rng)[: self.n_best]
            centers = ground.space.read([ground.told[i] for i in best], rng)
            rows = np.resize(np.arange(len(best)), self.n_near)
            parts.append(ground.space.jitter(centers.take(rows), rng, sd=self.sd))
        if ground.elsewhere is not None:
            parts.append(ground.elsewhere)
        points = join(parts)
        scored = Scored(points, criterion(ground.encoder.encode(points)))
        if not criterion.is_smooth:
            return scored
        chosen = points.take(best_first(scored.utilities, rng)[: self.n_refined])
        refined = refine(chosen, criterion, ground.encoder, most_steps=self.most_steps)
        return _gather([scored, Scored(refined, criterion(ground.encoder.encode(refined)))])


def refine(
    points: Points, criterion: Criterion, encoder: PointEncoder, *, most_steps: int
) -> Points:
    """Points moved uphill along their numerical hyperparameters by L-BFGS, inside [0, 1].

    The sum of the utilities is maximized, which maximizes each of them: no point depends on
    another one.
    """
    from scipy.optimize import minimize

    leaves = np.array(sorted({leaf for leaf, _, _ in encoder.slopes(points)}), dtype=np.intp)
    if len(leaves) == 0:
        return points

    def at(flat: FloatArray) -> Points:
        unit = points.unit.copy()
        unit[:, leaves] = flat.reshape(len(points), len(leaves))
        return Points(points.signatures, unit)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        moved = at(flat)
        utilities, by_column = criterion.with_gradient(encoder.encode(moved, relaxed=True))
        gradient = np.zeros_like(points.unit)
        for leaf, column, slopes in encoder.slopes(moved):
            gradient[:, leaf] += by_column[:, column] * slopes
        return -float(utilities.sum()), -gradient[:, leaves].ravel()

    start = points.unit[:, leaves].ravel()
    bounds = [(0.0, 1.0)] * len(start)
    options = {"maxiter": most_steps, "maxfun": 2 * most_steps}
    optimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return at(np.clip(optimum.x, 0.0, 1.0))
