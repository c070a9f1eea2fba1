"""The meta-features of a run's table, kept with the run."""

from __future__ import annotations

from automl.data.splits import distinct_rows
from automl.meta_features import MetaFeatures, describe
from automl.randomness import Purpose, stream
from automl.run.session import Session

SECONDS_SHARE = 0.02
"""Share of the budget, for meta-features, which the search pays (by judgement)."""
LEAST_SECONDS = 2.0
"""Fewest seconds of a time budget; what they take without a limit is a fraction of a second."""


def describe_table(session: Session) -> MetaFeatures:
    """Record of the meta-features, made at the first call.

    Only rows that the search may look at are described. The sample does not depend on the run's seed, so
    that equal tables have equal meta-features in all runs. Under a trial budget no clock bears on
    them but the guard of each, and the run is not reproducible where that had to act.
    """

    def make() -> MetaFeatures:
        plan, seconds = session.plan, session.settings.seconds
        table, rows = plan.table, distinct_rows(plan.stage("search").rows)
        described = describe(
            table if len(rows) == len(table) else table.subset(rows),
            rng=stream(0, Purpose.META_FEATURES),
            seconds=max(SECONDS_SHARE * seconds, LEAST_SECONDS)
            if session.is_timed and seconds is not None
            else None,
        )
        session.is_reproducible &= not described.late
        return described

    return session.record(MetaFeatures, make)
