"""A stream of random numbers is that of its seed, purpose and keys, and of nothing else."""

from __future__ import annotations

from itertools import combinations

import pytest

from automl.randomness import Purpose, integer_seed, stream

STREAMS = [
    (root, purpose, keys)
    for root in (0, 1)
    for purpose in Purpose
    for keys in ((), (0,), (1,), (0, 1))
]


@pytest.mark.parametrize("draw", [lambda *key: stream(*key).integers(2**62), integer_seed])
def test_seed_purpose_and_keys_each_give_another_stream(draw):
    drawn = {(root, purpose, keys): draw(root, purpose, *keys) for root, purpose, keys in STREAMS}
    alike = [(one, two) for one, two in combinations(STREAMS, 2) if drawn[one] == drawn[two]]
    assert alike == []
    assert drawn == {(r, p, keys): draw(r, p, *keys) for r, p, keys in reversed(STREAMS)}
