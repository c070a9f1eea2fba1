"""Simulated annealing and evolutionary search (B14, section 6.1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.optimizers.annealing import COLDEST, SimulatedAnnealing, reflected
from automl.optimizers.evolution import Evolution
from automl.optimizers.random_search import RandomSearch
from automl.records import Trial, TrialStatus
from automl.spaces.tree import SpaceTree

TREE = {
    "x": {"type": "uniform", "low": 0, "high": 1},
    "y": {"type": "loguniform", "low": 0.001, "high": 1000},
    "n": {"type": "uniform", "low": 1, "high": 9, "integer": True},
    "kind": {
        "choices": {"a": {"tree": {"z": {"type": "uniform", "low": 0, "high": 1}}}, "b": None}
    },
    "shape": {"branch": False, "choices": ["p", "q", "r"]},
}


@pytest.fixture
def space():
    return SpaceTree.build("plain", TREE)


def target(values):
    distance = abs(values["x"] - 0.7) + abs(np.log10(values["y"]) + 1) / 6
    distance += abs(values["n"] - 6) / 8 + (values["shape"] != "q") + (values["kind"] != "a")
    return -float(distance + abs(values.get("z", 1.0) - 0.2))


def run(optimizer, n, *, seed=0, score=target):
    scores = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        configuration = optimizer.ask(pending=[], rng=rng).configuration
        scores.append(score(configuration.values))
        optimizer.tell(Trial("run", i, configuration, TrialStatus.COMPLETE, scores[-1]))
    return np.array(scores)


@pytest.mark.parametrize("make", [SimulatedAnnealing, Evolution])
def test_it_comes_closer_than_random_search(space, make):
    gains = [
        run(make(space), 150, seed=seed).max() - run(RandomSearch(space), 150, seed=seed).max()
        for seed in range(6)
    ]
    assert np.mean(gains) > 0.05
    assert np.mean(np.array(gains) > 0) >= 0.6


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=5))
def test_steps_are_reflected_at_the_bounds(positions):
    found = reflected(np.array(positions))
    assert ((found >= 0) & (found <= 1)).all()
    inside = np.array([p for p in positions if 0 <= p <= 1])
    assert np.array_equal(reflected(inside), inside)
    assert reflected(np.array([-0.25, 1.25])) == pytest.approx([0.25, 0.75])


def test_worse_points_are_accepted_less_the_colder_it_is(space):
    optimizer = SimulatedAnnealing(space)
    optimizer._scores = [0.0, 1.0]
    for temperature in (1.0, 0.1):
        optimizer._temperature = temperature
        border = np.exp(-0.25 / (0.5 * temperature))
        assert optimizer._is_accepted(-0.25, border - 1e-9)
        assert not optimizer._is_accepted(-0.25, border + 1e-9)
    assert optimizer._is_accepted(0.0, 1.0)


def test_a_cold_walk_is_reheated_at_the_best_point(space):
    optimizer = SimulatedAnnealing(space)
    scores = run(optimizer, 20)
    while optimizer._temperature * 0.95 >= COLDEST:
        run(optimizer, 1, seed=len(optimizer._scores))
    run(optimizer, 1, seed=99)
    assert optimizer._temperature == 1.0
    assert optimizer._current == optimizer._best
    assert optimizer._best[0] >= scores.max()


def test_a_partial_trial_does_not_move_the_walk(space):
    optimizer = SimulatedAnnealing(space)
    configuration = optimizer.ask(pending=[], rng=np.random.default_rng(0)).configuration
    optimizer.tell(Trial("run", 0, configuration, TrialStatus.PARTIAL, 9.0))
    assert optimizer._current is None
    optimizer.tell(Trial("run", 0, configuration, TrialStatus.RACED, 9.0))
    assert optimizer._current is None


def test_a_generation_moves_the_population_and_failures_are_its_worst(space):
    optimizer = Evolution(space, population_size=6)
    run(optimizer, 5)
    assert optimizer._population.generation == 0
    configuration = optimizer.ask(pending=[], rng=np.random.default_rng(7)).configuration
    optimizer.tell(Trial("run", 5, configuration, TrialStatus.FAILED, None))
    assert optimizer._population.generation == 1


@pytest.mark.parametrize("score", [0.0, 1e12])
def test_equal_scores_do_not_break_the_population(space, score):
    run(Evolution(space), 100, score=lambda _: score)


@pytest.mark.parametrize(
    ("make", "options"),
    [(SimulatedAnnealing, {"cooling": 1.0}), (Evolution, {"population_size": 3})],
)
def test_settings_out_of_range_are_refused(space, make, options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        make(space, **options)
