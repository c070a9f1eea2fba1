"""Which configurations other data sets recommend to try first, in one of several ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from automl.experience.cleaning import cleaned, is_legal, of_kind
from automl.experience.data_set import DataSetFacts, Experience
from automl.randomness import Purpose, stream
from automl.recommendation.agreement import agreement
from automl.recommendation.configuration_portfolio import (
    KnownScores,
    known_scores,
    learned_portfolio,
)
from automl.recommendation.meta_learner import MetaLearner
from automl.recommendation.nearest_data_sets import (
    best_configurations,
    nearest_experiences,
    weights_by_similarity,
)
from automl.recommendation.warm_starts import best_start, delta_start, meta_order
from automl.records import Configuration, FloatArray, IntArray, Task
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

LEAST_DATA_SETS = 10
"""Known ones of the same kind of target without which nothing is recommended."""
LEAST_AGREEMENT = 0.3
"""Mean correlation of their scores below which known data sets recommend nothing.

110 tables have 0.65 and 0.69; with their scores shuffled 0.05 to 0.2, every other one upside down 0.05.
"""
MOST = 24
"""Configurations of a portfolio, beside those of families that it lacks, or of nearest data sets."""
META_STARTS: dict[str, Callable[[FloatArray], IntArray]] = {
    "best": best_start,
    "delta": delta_start,
    "order": meta_order,
}
"""Which configurations are tried, by what the meta-learner predicts for them (H18, chapter 6)."""
ADAPTIVE = "adaptive"
"""The way whose next configuration depends on what the others scored; see `automl.search.guide`."""
WAYS = (ADAPTIVE, "portfolio", "nearest", *META_STARTS)


@dataclass(frozen=True)
class Target:
    """Context of a recommendation.

    Parameters
    ----------
    data
        The data set.
    spaces
        By family, of those that take part, narrowed as the settings say.
    growth
        By family, how much longer its fits take than on the known data sets; where it is given, a
        portfolio is ordered by what is gained per second.
    seed
        Of the meta-learner.
    """

    data: DataSetFacts
    spaces: Mapping[str, SpaceTree]
    growth: Mapping[str, float] | None = None
    seed: int = 0


def recommended(experiences: Sequence[Experience], target: Target, way: str) -> list[Configuration]:
    """Configurations to try first, in their order; none if too little is known.

    Parameters
    ----------
    experiences
        Of any kinds of target, whatever history it came with.
    way
        Any but `adaptive`. `portfolio`: good on many data sets; `nearest`: the best of the
        nearest data sets; `best`, `delta`, `order`: those that a meta-learner prefers (H18, chapter 6).
    """
    usable = _usable_scores(experiences, target)
    if usable is None:
        return []
    if way == "nearest":
        return best_configurations(
            nearest_experiences(_usable(experiences, target), target.data), MOST
        )
    if way == "portfolio":
        return learned_portfolio(
            usable, most=MOST, per_second=target.growth is not None, growth=target.growth
        )
    return _by_meta_learner(experiences, usable, target, way)


def similar_scores(experiences: Sequence[Experience], target: Target) -> KnownScores | None:
    """Known scores of usable configurations, more similar data sets with more weight.

    None if too little is known.
    """
    usable = _usable_scores(experiences, target)
    if usable is None or not usable.configurations:
        return None
    similar = weights_by_similarity(of_kind(experiences, target.data.task), target.data)
    weights = usable.weights * similar
    return replace(usable, weights=weights / weights.sum())


def obstacle(experiences: Sequence[Experience], task: Task | str) -> str:
    """Why nothing is recommended to data sets of this kind of target; empty: nothing is in the way."""
    return _obstacle(known_scores(experiences, task))


def _obstacle(scores: KnownScores) -> str:
    if scores.n_data_sets < LEAST_DATA_SETS:
        return (
            f"{LEAST_DATA_SETS} known data sets of this kind of target are needed; found "
            f"{scores.n_data_sets}"
        )
    alike = agreement(scores)
    if np.isnan(alike):
        return (
            f"the {scores.n_data_sets} known data sets share too few configurations to be compared"
        )
    if alike < LEAST_AGREEMENT:
        return (
            f"the {scores.n_data_sets} known data sets do not agree: the mean correlation of their scores "
            f"is {alike:.2f}; {LEAST_AGREEMENT} is needed"
        )
    return ""


def _usable_scores(experiences: Sequence[Experience], target: Target) -> KnownScores | None:
    """Scores of the configurations that are of the spaces; None if there is an obstacle."""
    scores = known_scores(experiences, target.data.task)
    if _obstacle(scores):
        return None
    return scores.only(
        [j for j, c in enumerate(scores.configurations) if is_legal(c, target.spaces)]
    )


def _usable(experiences: Sequence[Experience], target: Target) -> list[Experience]:
    """Data sets of the same kind of target, with trials of the spaces."""
    usable = [cleaned(one, target.spaces) for one in of_kind(experiences, target.data.task)]
    return [one for one in usable if one.scored(target.spaces)]


def _by_meta_learner(
    experiences: Sequence[Experience], scores: KnownScores, target: Target, way: str
) -> list[Configuration]:
    """Known configurations in the order of their predicted scores on this data set."""
    usable = _usable(experiences, target)
    if not usable:
        return []
    learner = MetaLearner(ConfigurationEncoder(list(target.spaces.values())).fit())
    learner.fit(usable, rng=stream(target.seed, Purpose.META_LEARNER))
    chosen = META_STARTS[way](learner.predict(scores.configurations, target.data))
    return [scores.configurations[j] for j in chosen]
