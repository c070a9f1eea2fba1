"""The library holds the best trials, and the best of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from automl.ensembles.diversity import diverse_library

TRIALS = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=40
)


@given(TRIALS, st.integers(1, 30))
def test_half_are_the_best_and_the_others_lead_their_family_or_its_preprocessing(trials, size):
    scores = np.array([score / 20 for score, _, _ in trials])
    families, kinds = [t[1] for t in trials], [t[2] for t in trials]
    found = diverse_library(scores, families, kinds, size).tolist()
    order = np.argsort(-scores, kind="stable").tolist()
    assert len(found) == len(set(found)) == min(size, len(trials))
    assert found == [i for i in order if i in found]
    assert set(order[: round(0.5 * size)]) <= set(found)
    if len(trials) <= size:
        assert found == order
        return
    room = size - round(0.5 * size)
    leaders = {next(i for i in order if families[i] == family) for family in families}
    assert leaders <= set(found) or len(leaders) > room
    pairs = list(zip(families, kinds, strict=True))
    of_pairs = {next(i for i in order if pairs[i] == pair) for pair in pairs}
    assert of_pairs <= set(found) or len(of_pairs) > room
    rest = [i for i in found if i not in of_pairs]
    assert rest == [i for i in order if i in rest][: len(rest)]


def test_near_copies_of_one_family_leave_room_for_the_others():
    scores = np.array([0.9, 0.89, 0.88, 0.87, 0.5, 0.4, 0.3])
    families, kinds = list("aaaabba"), list("xxxxxyz")
    assert diverse_library(scores, families, kinds, 4).tolist() == [0, 1, 4, 5]
    assert diverse_library(scores, families, kinds, 5).tolist() == [0, 1, 4, 5, 6]
    assert diverse_library(scores, families, kinds, None).tolist() == list(range(7))
    assert diverse_library(np.empty(0), [], [], 3).tolist() == []
