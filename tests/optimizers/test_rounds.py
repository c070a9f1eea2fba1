"""Rounds: several proposals of one fit and one search."""

import pickle

import numpy as np
import pytest

from automl.optimizers import rounds
from automl.optimizers.composition import GP_EI, GP_SAMPLED
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.randomness import Purpose, stream
from automl.records import FoldResult, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

UNIT = {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.9}
SPACE = SpaceTree.build("bowl", {"x": UNIT, "y": UNIT})
SMALL = SpaceTree.build("list", {"k": {"type": "uniform", "low": 1, "high": 40, "integer": True}})


def told(optimizer, space, n):
    for index in range(n):
        configuration = space.sample(stream(0, Purpose.SAMPLE, index))
        values = np.array([float(value) for value in configuration.values.values()])
        score = 1.0 - float(np.sum((values - 0.3) ** 2))
        folds = (FoldResult(0, 0, score, 10, 0.1, 0.01),)
        optimizer.tell(Trial("run", index, configuration, TrialStatus.COMPLETE, score, folds))
    return optimizer


def round_of(optimizer, n, pending=()):
    given = []
    for number in range(n):
        ask = optimizer.ask_again if given else optimizer.ask
        rng = stream(1, Purpose.OPTIMIZER, number)
        given.append(ask(pending=[*pending, *given], rng=rng).configuration)
    return given


@pytest.mark.parametrize("composition", [GP_EI, GP_SAMPLED])
def test_a_round_takes_one_fit_for_as_many_proposals_as_a_search_gives(composition, monkeypatch):
    optimizer = told(ModelBasedOptimizer(SPACE, composition), SPACE, 12)
    fits = []
    fit = optimizer._surrogate.fit_uneven
    monkeypatch.setattr(
        optimizer._surrogate, "fit_uneven", lambda *a, **k: (fits.append(1), fit(*a, **k))
    )
    given = round_of(optimizer, rounds.MOST)
    assert len(fits) == 1
    assert len({configuration.id for configuration in given}) == rounds.MOST
    assert not {configuration.id for configuration in given} & optimizer._observations.known
    round_of(optimizer, rounds.MOST + 1)
    assert len(fits) == 3


def test_the_proposals_of_a_round_keep_away_from_each_other():
    given = round_of(told(ModelBasedOptimizer(SPACE, GP_SAMPLED), SPACE, 12), 8)
    points = np.array([[float(value) for value in each.values.values()] for each in given])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(len(points))
    assert distances.min() > 0.9 * rounds.NEAR


def test_an_ask_begins_anew_whatever_a_round_has_left():
    one, other = (told(ModelBasedOptimizer(SPACE, GP_EI), SPACE, 12) for _ in range(2))
    rng = stream(2, Purpose.OPTIMIZER, 0)
    expected = one.ask(pending=[], rng=stream(2, Purpose.OPTIMIZER, 0))
    round_of(other, 1)
    assert other.ask(pending=[], rng=rng) == expected


def test_a_pickled_optimizer_goes_on_with_its_round():
    optimizer = told(ModelBasedOptimizer(SPACE, GP_EI), SPACE, 12)
    given = round_of(optimizer, 3)
    again = pickle.loads(pickle.dumps(optimizer))
    rng = [stream(3, Purpose.OPTIMIZER, 0) for _ in range(2)]
    assert optimizer.ask_again(pending=given, rng=rng[0]) == again.ask_again(
        pending=given, rng=rng[1]
    )


def test_a_round_ends_where_a_small_space_does():
    optimizer = told(ModelBasedOptimizer(SMALL, GP_EI), SMALL, 6)
    left = 40 - len(optimizer._observations.known)
    given = round_of(optimizer, left)
    assert len({configuration.id for configuration in given}) == left
    assert optimizer.ask_again(pending=given, rng=stream(1, Purpose.OPTIMIZER, 99)) is None
