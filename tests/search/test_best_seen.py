"""The best trials seen against a look at all of them."""

import math
from heapq import nlargest

from hypothesis import given
from hypothesis import strategies as st

from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.search.best_seen import Standing

KINDS = [("a", 0), ("b", 0), ("b", 1), ("c", 0)]
OUTCOMES = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from([0.1, 0.3, 0.5, 0.7]),
        st.sampled_from([TrialStatus.COMPLETE, TrialStatus.RACED, TrialStatus.FAILED]),
    ),
    max_size=30,
)


def configuration(family, scaler):
    return Configuration(family, {"prep.scaler": scaler, "c": 1.0})


def trial(index, kind, score, status):
    folds = (FoldResult(0, 0, score, 10, 0.1, 0.01),)
    return Trial("run", index, configuration(*kind), status, score, folds)


@given(OUTCOMES, st.integers(1, 5))
def test_the_standing_is_that_of_all_trials_together(outcomes, n):
    seen = [trial(index, *outcome) for index, outcome in enumerate(outcomes)]
    standing = Standing()
    for each in seen:
        standing.add(each)
    complete = [t for t in seen if t.is_complete]
    for family in (None, "a", "b", "c"):
        own = [t for t in complete if family in (None, t.configuration.family)]
        assert standing.best(family) == max(own, key=lambda t: (t.achieved, -t.index), default=None)
    best = nlargest(n, [t.score for t in complete])
    nth = best[-1] if len(best) >= n else -math.inf
    for kind in KINDS:
        alike = configuration(*kind)
        own = [t.score for t in complete if t.configuration == alike]
        assert standing.least_kept(n, alike) == min(nth, max(own, default=-math.inf))
