"""What a search takes over from other data sets to begin with, in the way that the settings name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from automl.families.family import Family, kind_of
from automl.metalearning.cleaning import cleaned, is_legal
from automl.metalearning.experience import Experience
from automl.metalearning.harvest import data_set_facts
from automl.metalearning.learner import MetaLearner
from automl.metalearning.neighbors import best_configurations, nearest_experiences
from automl.metalearning.portfolio import KnownScores, known_scores, learned_portfolio
from automl.metalearning.warm_starts import best_start, delta_start, meta_order
from automl.randomness import Purpose, stream
from automl.records import Configuration, FloatArray, IntArray
from automl.spaces.encoding import ConfigurationEncoder
from automl.spaces.tree import SpaceTree
from automl.stages.search_spaces import spaces_of
from automl.stages.session import Session

LEAST_DATA_SETS = 10
"""Known ones of the same kind of target without which nothing is taken over."""
MOST_LEARNED = 24
"""Configurations of a portfolio, beside those of families that it lacks, or of nearest data sets."""
USUAL_ROWS = 1_000
"""Training rows of known data sets, roughly."""
META_STARTS: dict[str, Callable[[FloatArray], IntArray]] = {
    "best": best_start,
    "delta": delta_start,
    "order": meta_order,
}
"""Which configurations are tried, by what the meta-learner predicts for them (SPEC H4)."""


def learned_start(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    """Configurations of these families and their narrowed spaces; none where too little is known.

    By `warm_start` those of a portfolio (SPEC H6), the best of the nearest data sets, or those that
    the meta-learner prefers (SPEC H4).
    """
    known = known_scores(session.experience, session.plan.table.task)
    if known.n_data_sets < LEAST_DATA_SETS:
        return []
    spaces = spaces_of(session.plan, families, session.settings)
    way = session.settings.warm_start
    if way == "nearest":
        return _nearest(session, spaces)
    usable = known.only(
        [j for j, found in enumerate(known.configurations) if is_legal(found, spaces)]
    )
    if way == "portfolio":
        return learned_portfolio(
            usable,
            most=MOST_LEARNED,
            per_second=session.is_timed,
            growth=_growth(session, families),
        )
    return _by_meta_learner(session, usable, spaces)


def _growth(session: Session, families: Mapping[str, Family]) -> dict[str, float]:
    """By family, how much longer a fit takes here than on a table of `USUAL_ROWS`."""
    training, _ = session.plan.rows_of("search", 0, 0)
    return {
        name: family.relative_seconds(len(training), 1) / family.relative_seconds(USUAL_ROWS, 1)
        for name, family in families.items()
    }


def _nearest(session: Session, spaces: Mapping[str, SpaceTree]) -> list[Configuration]:
    known = _usable(session, spaces)
    return best_configurations(
        nearest_experiences(known, data_set_facts(session.folder)), MOST_LEARNED
    )


def _usable(session: Session, spaces: Mapping[str, SpaceTree]) -> list[Experience]:
    """Other data sets with trials of these spaces."""
    kind = kind_of(session.plan.table.task)
    known = [cleaned(one, spaces) for one in session.experience if kind_of(one.data.task) == kind]
    return [one for one in known if one.scored(spaces)]


def _by_meta_learner(
    session: Session, usable: KnownScores, spaces: Mapping[str, SpaceTree]
) -> list[Configuration]:
    """Known configurations by what is expected of them on this data set."""
    known = _usable(session, spaces)
    if not known:
        return []
    learner = MetaLearner(ConfigurationEncoder(list(spaces.values())).fit())
    learner.fit(known, rng=stream(session.settings.seed, Purpose.META_LEARNER))
    expected = learner.predict(usable.configurations, data_set_facts(session.folder))
    chosen = META_STARTS[session.settings.warm_start](expected)
    return [usable.configurations[j] for j in chosen]
