"""Grid search (X20, section III)."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.optimizers.grid import Grid, GridSearch, grid_size
from automl.records import Trial, TrialStatus
from automl.spaces.tree import SpaceTree

TREE = {
    "C": {"type": "loguniform", "low": 0.001, "high": 1000},
    "kernel": {
        "choices": {
            "linear": None,
            "poly": {"tree": {"degree": {"type": "uniform", "low": 2, "high": 4, "integer": True}}},
            "rbf": {"tree": {"gamma": {"type": "uniform", "low": 0, "high": 1}}},
        }
    },
    "shrinking": {"branch": False, "choices": [True, False]},
}


def space_of(rules=()):
    return SpaceTree.build("plain", TREE, rules=rules)


def exhaust(optimizer, *, seed=0, most=10_000):
    """Every configuration that the optimizer proposes until it has none left."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < most:
        proposal = optimizer.ask(pending=[], rng=rng)
        if proposal is None:
            return found
        found.append(proposal.configuration)
        trial = Trial("run", len(found), proposal.configuration, TrialStatus.COMPLETE, 0.0)
        optimizer.tell(trial)
    return found


def test_the_size_is_the_product_of_the_axes_and_not_their_sum():
    assert grid_size(space_of(), 5) == 5 * 2 + 5 * 3 * 2 + 5 * 5 * 2
    assert len(Grid(space_of(), 5)) == 90


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_every_point_comes_once_and_then_there_is_none(points, seed):
    space = space_of()
    found = exhaust(GridSearch(space, points=points), seed=seed)
    assert len(found) == len({c.id for c in found}) == grid_size(space, points)
    for signature in space.signatures():
        axes = space.axes(signature, points)
        own = [c for c in found if c.path == signature.path]
        assert len(own) == prod(len(axis) for axis in axes.values())
        for name, axis in axes.items():
            assert {c.values[name] for c in own} == set(axis)


def test_points_that_break_a_rule_are_passed_over():
    space = space_of(["C * gamma < 100"])
    found = exhaust(GridSearch(space, points=4))
    assert 0 < len(found) < grid_size(space, 4)
    assert all(space.is_legal(configuration) is None for configuration in found)


def test_a_grid_over_the_limit_is_refused_with_its_size():
    with pytest.raises(SettingsError, match=r"at most 100 points; 9 per number make 234"):
        GridSearch(space_of(), points=9, limit=100)


def test_without_a_number_of_points_the_finest_grid_within_the_limit_is_begun_with():
    optimizer = GridSearch(space_of(), limit=100)
    assert len(optimizer._grid) == grid_size(space_of(), 5) == 90


def test_a_finished_grid_is_refined_and_keeps_its_values():
    space = SpaceTree.build("plain", {"x": {"type": "uniform", "low": 0, "high": 1}})
    found = exhaust(GridSearch(space, limit=100))
    values = [configuration.values["x"] for configuration in found]
    assert sorted(values[:9]) == pytest.approx([(i + 0.5) / 9 for i in range(9)])
    assert sorted(values) == pytest.approx([(i + 0.5) / 81 for i in range(81)])
    assert len(set(values)) == 81


def test_a_large_grid_is_never_listed():
    many = {f"x{i}": {"type": "uniform", "low": 0, "high": 1} for i in range(12)}
    space = SpaceTree.build("plain", many)
    optimizer = GridSearch(space, points=10, limit=10**12)
    found = exhaust(optimizer, most=50)
    assert len({configuration.id for configuration in found}) == 50


def test_a_partial_trial_leaves_its_point_open_and_a_failed_one_does_not():
    space = SpaceTree.build("plain", {"shape": {"branch": False, "choices": ["a", "b"]}})
    optimizer, rng = GridSearch(space), np.random.default_rng(0)
    first = optimizer.ask(pending=[], rng=rng).configuration
    optimizer.tell(Trial("run", 0, first, TrialStatus.PARTIAL, 0.5))
    second = optimizer.ask(pending=[first], rng=rng).configuration
    assert second != first
    optimizer.tell(Trial("run", 1, second, TrialStatus.FAILED, None))
    assert optimizer.ask(pending=[], rng=rng).configuration == first
    assert optimizer.ask(pending=[first], rng=rng) is None
