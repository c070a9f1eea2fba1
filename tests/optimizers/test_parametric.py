"""Learned priors that are held against the scores (B14, sections 3.4.3 and 4.2)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.optimizers.parametric import GRID, ParametricDensity, fidelity
from automl.records import Trial, TrialStatus
from automl.spaces.tree import SpaceTree

TREE = {
    "x": {"type": "normal", "mean": 0.3, "sd": 0.1, "low": 0, "high": 1},
    "C": {"type": "gmm", "log": True, "weights": [1, 1], "means": [-3, 2], "sds": [1, 1]},
    "n": {"type": "normal", "mean": 4, "sd": 2, "low": 1, "high": 9, "integer": True},
    "plain": {"type": "uniform", "low": 0, "high": 1},
}


@pytest.fixture
def space():
    return SpaceTree.build("plain", TREE)


def run(optimizer, n, score):
    asked = []
    for i in range(n):
        configuration = optimizer.ask(pending=[], rng=np.random.default_rng(i)).configuration
        asked.append(configuration)
        value = score(configuration.values)
        optimizer.tell(Trial("run", i, configuration, TrialStatus.COMPLETE, value))
    return asked


def refuted(optimizer, space):
    return optimizer.refuted(space.signatures()[0])


def prior_density(space, name):
    """Density of a prior on the scale of its uniform alternative, greatest 1."""
    leaf = space.signatures()[0].leaf(name).distribution
    scale = leaf.ppf(np.linspace(0.001, 0.999, 400))
    jacobian = np.log(scale) if leaf.is_log else 0.0
    top = (leaf.log_density(scale) + jacobian).max()

    def density(value):
        return float(np.exp(leaf.log_density(value) + (np.log(value) if leaf.is_log else 0) - top))

    return density


@pytest.mark.parametrize("name", ["x", "C", "n"])
def test_a_prior_that_the_scores_follow_is_kept(space, name):
    density = prior_density(space, name)
    optimizer = ParametricDensity(space)
    run(optimizer, 150, lambda values: density(values[name]))
    assert name not in refuted(optimizer, space)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("x", lambda v: float(v["x"] > 0.4)),
        ("C", lambda v: float(v["C"] > 1.0)),
        ("n", lambda v: float(v["n"] >= 6)),
    ],
)
def test_a_prior_that_the_scores_contradict_gives_way_to_the_uniform(space, name, score):
    optimizer = ParametricDensity(space)
    asked = run(optimizer, 120, score)
    assert name in refuted(optimizer, space)
    assert "plain" not in refuted(optimizer, space)
    values = np.array([float(c.values[name]) for c in asked[-60:]])
    if name == "x":
        assert np.mean(values > 0.6) > 0.25
    for configuration in asked:
        assert space.is_legal(configuration) is None


def test_without_a_threshold_the_priors_are_always_drawn_from(space):
    optimizer = ParametricDensity(space, threshold=0.0)
    asked = run(optimizer, 60, lambda v: float(v["x"] > 0.4))
    assert max(c.values["x"] for c in asked) < 0.75
    assert refuted(optimizer, space) == []


def test_few_trials_and_those_of_others_refute_nothing(space):
    optimizer = ParametricDensity(space)
    run(optimizer, 7, lambda v: float(v["x"] > 0.4))
    assert refuted(optimizer, space) == []
    optimizer = ParametricDensity(space)
    rng = np.random.default_rng(0)
    for i in range(50):
        foreign = space.sample(rng)
        optimizer.tell(
            Trial("run", i, foreign, TrialStatus.COMPLETE, float(foreign.values["x"] > 0.4))
        )
    assert refuted(optimizer, space) == []


@settings(max_examples=30)
@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_draws_of_the_distribution_itself_agree_with_it(n, seed):
    positions = np.random.default_rng(seed).random(n)
    found = fidelity(GRID, positions, np.full(n, 1 / n), tolerance=0.1, n_effective=n)
    assert 0.25 < found <= 1.0


def test_the_fidelity_is_that_of_the_document():
    """All mass at 0 against the uniform: D = 1/2."""
    positions, weights = np.zeros(1000), np.full(1000, 1e-3)
    found = fidelity(GRID, positions, weights, tolerance=0.5, n_effective=1000)
    assert found == pytest.approx(np.exp(-(0.5**2) / (0.25 + 2 / 3000)), rel=1e-2)


@pytest.mark.parametrize("options", [{"tolerance": 0.0}, {"threshold": 1.5}])
def test_settings_out_of_range_are_refused(space, options):
    with pytest.raises(SettingsError, match="tolerance must be positive"):
        ParametricDensity(space, **options)
