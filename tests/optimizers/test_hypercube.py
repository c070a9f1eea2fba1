"""Algorithm 1 of Bermúdez-Chacón."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.families.registry import get_family
from automl.optimizers import hypercube
from automl.optimizers.hypercube import ShrinkingHypercube, _Cube
from automl.records import Trial, TrialStatus
from automl.spaces.tree import SpaceTree

SIDES = st.floats(0.011, 2.0)
TREE = {
    "C": {"type": "loguniform", "low": 0.001, "high": 1000},
    "share": {"type": "uniform", "low": 0, "high": 1},
    "shrinking": {"branch": False, "choices": [True, False]},
}
POINT = np.array([0.5, 0.5])


def plain_space():
    return SpaceTree.build("plain", TREE)


def trial(configuration, score, index=0, status=TrialStatus.COMPLETE):
    return Trial("run", index, configuration, status, score)


def cube_with(side, score=0.0):
    return _Cube(side=side, center=POINT, nominals={}, score=score)


def only_cube(optimizer):
    (cubes,) = optimizer._cubes.values()
    return cubes[0]


def test_the_constants_are_those_of_the_document():
    assert (hypercube.INITIAL_SIDE, hypercube.SHRINK, hypercube.THRESHOLD) == (0.5, 0.95, 0.01)


@given(SIDES, st.floats(-1, 1), st.floats(1e-6, 1))
def test_an_improvement_doubles_the_side_and_moves_the_center(side, score, gain):
    cube = cube_with(side, score)
    there = np.array([0.1, 0.9])
    cube.learn(there, {"a": 1}, score + gain)
    assert cube.side == min(2 * side, hypercube.GREATEST_SIDE)
    assert cube.center is there
    assert cube.nominals == {"a": 1}
    assert cube.score == score + gain


@given(SIDES, st.floats(-1, 1), st.floats(0, 1))
def test_no_improvement_shrinks_the_side_by_a_twentieth(side, score, loss):
    cube = cube_with(side, score)
    cube.learn(np.array([0.1, 0.9]), {}, score - loss)
    if 0.95 * side < 0.01:
        assert cube.center is None
        assert cube.side == 0.5
    else:
        assert cube.side == pytest.approx(0.95 * side)
        assert cube.center is POINT


def test_a_cube_restarts_below_the_threshold():
    cube = cube_with(0.5)
    steps = 0
    while cube.center is not None:
        cube.learn(POINT, {}, -1.0)
        steps += 1
    assert steps == int(np.ceil(np.log(0.01 / 0.5) / np.log(0.95)))
    assert cube.side == 0.5
    assert cube.score == -np.inf


@settings(max_examples=60)
@given(
    center=st.tuples(st.floats(0, 1), st.floats(0, 1)), side=SIDES, seed=st.integers(0, 2**32 - 1)
)
def test_points_lie_in_the_cube_and_in_the_unit_box(center, side, seed):
    space = plain_space()
    optimizer = ShrinkingHypercube(space)
    rng = np.random.default_rng(seed)
    fresh = space.sample(rng)
    cube = _Cube(side, np.array(center), {"shrinking": True}, 0.0)
    _, point = space.to_unit(optimizer._draw(cube, fresh, rng))
    assert (point >= 0).all()
    assert (point <= 1).all()
    assert (np.abs(point - center) <= side / 2 + 1e-9).all()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_small_cube_keeps_the_nominals_of_its_center(seed):
    space = plain_space()
    optimizer, rng = ShrinkingHypercube(space), np.random.default_rng(seed)
    cube = _Cube(0.0, POINT, {"shrinking": False}, 0.0)
    drawn = optimizer._draw(cube, space.sample(rng), rng)
    assert drawn.values["shrinking"] is False


def test_the_cubes_of_a_signature_take_turns():
    optimizer = ShrinkingHypercube(plain_space(), n_cubes=3)
    asked = [
        optimizer.ask(pending=[], rng=np.random.default_rng(i)).configuration for i in range(6)
    ]
    assert [optimizer._asked[configuration.id] for configuration in asked] == [0, 1, 2, 0, 1, 2]


def test_each_signature_has_cubes_of_its_own():
    space = get_family("svm").space("binary")
    optimizer = ShrinkingHypercube(space)
    for i in range(60):
        proposal = optimizer.ask(pending=[], rng=np.random.default_rng(i))
        optimizer.tell(trial(proposal.configuration, 0.5, i))
    assert set(optimizer._cubes) <= {signature.name for signature in space.signatures()}
    assert len(optimizer._cubes) > 1
    for name, cubes in optimizer._cubes.items():
        for cube in cubes:
            assert cube.center is None or len(cube.center) == len(space.signature(name).numericals)


@pytest.mark.parametrize("status", [s for s in TrialStatus if s is not TrialStatus.COMPLETE])
def test_a_trial_that_is_not_complete_never_becomes_a_center(status):
    optimizer = ShrinkingHypercube(plain_space(), n_cubes=1)
    proposal = optimizer.ask(pending=[], rng=np.random.default_rng(0))
    optimizer.tell(trial(proposal.configuration, 0.9, status=status))
    assert only_cube(optimizer).center is None
    worse = optimizer.ask(pending=[], rng=np.random.default_rng(1)).configuration
    optimizer.tell(trial(worse, -5.0))
    assert only_cube(optimizer).score == -5.0
    other = optimizer.ask(pending=[], rng=np.random.default_rng(2)).configuration
    optimizer.tell(trial(other, 0.9, status=status))
    assert only_cube(optimizer).score == -5.0
    is_told = status is not TrialStatus.PARTIAL
    assert only_cube(optimizer).side == pytest.approx(0.5 * 0.95 if is_told else 0.5)


def test_a_better_trial_of_others_becomes_the_center_of_the_first_cube():
    space = plain_space()
    optimizer = ShrinkingHypercube(space)
    optimizer.tell(trial(space.default(), 0.7))
    cube = only_cube(optimizer)
    assert cube.score == 0.7
    assert cube.side == 0.5


def test_a_cube_around_known_points_shrinks_and_restarts_instead_of_repeating_itself():
    space = SpaceTree.build(
        "grid", {"k": {"type": "uniform", "low": 1, "high": 60, "integer": True}}
    )
    optimizer, seen = ShrinkingHypercube(space), set()
    for i in range(50):
        configuration = optimizer.ask(pending=[], rng=np.random.default_rng(i)).configuration
        seen.add(configuration.id)
        optimizer.tell(trial(configuration, -float(configuration.values["k"]), i))
    assert len(seen) > 40


def test_it_comes_closer_to_an_optimum_than_its_prior():
    space = plain_space()

    def score(configuration):
        return -float(np.abs(space.to_unit(configuration)[1] - 0.2).max())

    optimizer = ShrinkingHypercube(space, n_cubes=1)
    found = []
    for i in range(80):
        configuration = optimizer.ask(pending=[], rng=np.random.default_rng(i)).configuration
        found.append(score(configuration))
        optimizer.tell(trial(configuration, found[-1], i))
    drawn = [score(space.sample(np.random.default_rng(i))) for i in range(80)]
    assert max(found) > max(drawn)
