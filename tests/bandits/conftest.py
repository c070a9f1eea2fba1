"""Trials, and a search in miniature with four turns under way."""

import pytest

from automl.randomness import Purpose, stream
from automl.records import Configuration, Trial, TrialStatus

ARMS = ["lightgbm", "svm", "knn", "ridge"]


def finished(family, index=0, *, seconds=1.0, score=0.5, status=TrialStatus.COMPLETE):
    is_scored = status is TrialStatus.COMPLETE
    return Trial(
        "run", index, Configuration(family), status, score if is_scored else None, seconds=seconds
    )


def run_turns(
    allocator,
    steps,
    *,
    arms=ARMS,
    lookback=4,
    score=lambda family, rng: 0.5,
    seconds=lambda family: 1.0 + len(family),
    status=lambda index: TrialStatus.COMPLETE,
):
    chosen, pending = [], []
    for index in steps:
        rng = stream(1, Purpose.ALLOCATOR, index)
        chosen.append(allocator.choose(arms, pending=pending, rng=rng))
        pending.append(chosen[-1])
        if len(pending) >= lookback:
            family = pending.pop(0)
            reward = score(family, stream(1, Purpose.SAMPLE, index))
            allocator.update(
                finished(family, index, score=reward, seconds=seconds(family), status=status(index))
            )
    return chosen


@pytest.fixture
def trial():
    return finished


@pytest.fixture
def drive():
    return run_turns


@pytest.fixture
def arms():
    return list(ARMS)


@pytest.fixture
def rng():
    return stream(0, Purpose.ALLOCATOR)
