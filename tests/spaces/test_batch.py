"""Batches of points are the configurations that they stand for, only faster."""

import pickle

import numpy as np
import pytest

from automl.families.registry import get_family
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.point_encoding import PointEncoder
from automl.spaces.points import PointSpace, all_configurations, join, truncated_draws
from automl.spaces.tree import SpaceTree
from automl.spaces.union import UnionTree

NUMBER = {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.5}
ODD = {
    "curved": {"type": "uniform", "low": 1, "high": 9, "default": 2, "encode": "1 / value"},
    "steps": {
        "type": "uniform", "low": 1, "high": 900, "integer": True, "default": 2,
        "encode": "sqrt(value)",
    },
    "bell": {"type": "normal", "mean": 0.0, "sd": 1.0, "default": 0.0},
    "few": {"type": "uniform", "low": 3, "high": 3, "integer": True, "default": 3},
    "mixed": {
        "type": "categorical", "branch": False, "default": "auto",
        "choices": {"auto": {"encode": 0.3}, 1: {"weight": 4}, 5: {}},
    },
    "kind": {
        "type": "categorical",
        "default": "a",
        "choices": {"a": {}, "b": {"tree": {"x": NUMBER}}, "c": {"tree": {"x": NUMBER}}},
    },
}  # fmt: skip
SPACES = {
    "svm": lambda: get_family("svm").space("binary"),
    "lightgbm": lambda: get_family("lightgbm").space("regression"),
    "random forest": lambda: get_family("random_forest").space("multiclass"),
    "odd columns": lambda: SpaceTree.build("odd", ODD),
    "several families": lambda: UnionTree.of(
        [get_family(name).space("binary") for name in ("svm", "knn", "stump")]
    ),
    "families with equal leaves": lambda: UnionTree.of(
        [get_family(name).space("binary") for name in ("random_forest", "extra_trees")]
    ),
    "one point": lambda: get_family("stump").space("binary"),
}


@pytest.fixture(params=SPACES, scope="module")
def space(request):
    return SPACES[request.param]()


@pytest.fixture(scope="module")
def points(space):
    return PointSpace(space)


def drawn(points, n=60, seed=0):
    sample = points.sample(n, np.random.default_rng(seed))
    return sample, [points.configuration(sample, row) for row in range(n)]


def test_points_are_legal_configurations(space, points):
    _, configurations = drawn(points)
    assert [space.is_legal(configuration) for configuration in configurations] == [None] * 60


def test_configurations_are_read_back(points):
    _, configurations = drawn(points)
    again = points.read(configurations, np.random.default_rng(1))
    assert [points.configuration(again, row) for row in range(60)] == configurations


@pytest.mark.parametrize("form", ["onehot", "index"])
def test_points_are_encoded_as_their_configurations(space, points, form):
    encoder = ConfigurationEncoder(space, form=form).fit()
    fast = PointEncoder(points, encoder)
    sample, configurations = drawn(points)
    assert fast.is_exact
    np.testing.assert_allclose(
        fast.encode(sample), encoder.transform(configurations), rtol=0, atol=1e-4
    )


def test_the_encoding_survives_pickling(space, points):
    fast = PointEncoder(points, ConfigurationEncoder(space).fit())
    sample, _ = drawn(points)
    copy = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(fast.encode(sample), copy.encode(sample))


def test_what_depends_on_two_leaves_is_encoded_through_configurations(space, points):
    class Product(ConfigurationEncoder):
        def transform(self, configurations, facts=None):
            found = super().transform(configurations, facts)
            return np.hstack([found, found.sum(axis=1, keepdims=True) ** 2])

    encoder = Product(space).fit()
    sample, configurations = drawn(points)
    fast = PointEncoder(points, encoder)
    np.testing.assert_array_equal(fast.encode(sample), encoder.transform(configurations))


def test_slopes_are_differences(space, points):
    fast = PointEncoder(points, ConfigurationEncoder(space).fit())
    sample, _ = drawn(points)
    sample.unit[:] = 0.1 + 0.8 * sample.unit
    step = 1e-4
    found = np.zeros((len(points.names), *fast.encode(sample).shape))
    for leaf, column, slopes in fast.slopes(sample):  # a leaf may differ between signatures
        found[leaf, :, column] += slopes
    for leaf in np.flatnonzero((points.active & points.is_numerical).any(axis=0)):
        ends = []
        for sign in (-1, 1):
            unit = sample.unit.copy()
            is_moved = points.is_numerical[sample.signatures, leaf]
            unit[is_moved, leaf] += sign * step
            ends.append(fast.encode(type(sample)(sample.signatures, unit), relaxed=True))
        np.testing.assert_allclose(
            found[leaf], (ends[1] - ends[0]) / (2 * step), rtol=0.05, atol=0.05
        )


def test_signatures_are_drawn_by_their_probability():
    points = PointSpace(SPACES["svm"]())
    for draw in (points.sample, points.spread):
        found = draw(4096, np.random.default_rng(0))
        shares = np.bincount(found.signatures, minlength=len(points.signatures)) / 4096
        expected = [signature.probability for signature in points.signatures]
        np.testing.assert_allclose(shares, expected, atol=0.03)


def test_neighbors_differ_in_one_hyperparameter_and_what_hangs_on_it(space, points):
    sample, configurations = drawn(points, n=6)
    near, owner = points.neighbors(sample, np.random.default_rng(0))
    for row, i in enumerate(owner):
        before, after = configurations[i], points.configuration(near, row)
        if before.family != after.family:
            continue
        own, other = (points.signatures[p.signatures[r]] for p, r in ((sample, i), (near, row)))
        shared = own.branches.keys() & other.branches.keys()
        turned = [name for name in shared if own.branches[name] != other.branches[name]]
        same = [leaf.name for leaf in own.leaves if leaf in other.leaves]
        moved = [name for name in same if before.values[name] != after.values[name]]
        assert len(turned) + len(moved) <= 1
        assert bool(turned) == (before.path != after.path)


def test_every_other_category_is_a_neighbor(space, points):
    sample, configurations = drawn(points, n=4)
    near, owner = points.neighbors(sample, np.random.default_rng(0), n_draws=3)
    for i, configuration in enumerate(configurations):
        found = [points.configuration(near, row) for row in np.flatnonzero(owner == i)]
        signature = space.signature(configuration)
        for leaf in signature.nominals:
            alike = [c for c in found if c.signature == configuration.signature]
            seen = {c.values[leaf.name] for c in alike}
            assert seen >= set(leaf.distribution.values) - {configuration.values[leaf.name]}
        branches = set(signature.branches)
        assert branches <= {
            name
            for c in found
            if c.family == configuration.family
            for name in branches & c.values.keys()
            if c.values[name] != configuration.values[name]
        }


def test_draws_around_a_point_are_normal_inside_the_interval():
    rng = np.random.default_rng(0)
    found = truncated_draws(np.full(20_000, 0.5), 0.1, rng)
    assert found.std() == pytest.approx(0.1, rel=0.05)
    edge = truncated_draws(np.zeros(20_000), 0.2, rng)
    assert edge.min() >= 0.0
    assert edge.mean() == pytest.approx(0.2 * np.sqrt(2 / np.pi), rel=0.05)


def test_jitter_stays_in_the_signature_and_moves_numbers(points):
    sample, _ = drawn(points)
    moved = points.jitter(sample, np.random.default_rng(0), sd=0.05)
    np.testing.assert_array_equal(moved.signatures, sample.signatures)
    is_numerical = (points.active & points.is_numerical)[sample.signatures]
    steps = np.abs(moved.unit - sample.unit)[is_numerical]
    assert np.all(steps < 0.5)
    assert np.all(steps > 0.0)


def test_parts_are_joined_in_order(points):
    sample, _ = drawn(points)
    again = join([sample.take(slice(0, 10)), sample.take(slice(10, None))])
    np.testing.assert_array_equal(again.unit, sample.unit)
    assert len(again) == 60


def test_a_finite_space_is_listed_completely():
    space = get_family("gaussian_process").space("binary")
    found = all_configurations(space, limit=200)
    assert len({configuration.id for configuration in found}) == len(found) == space.size()
    assert all(space.is_legal(configuration) is None for configuration in found)


def test_rules_are_kept_and_great_spaces_are_not_listed():
    axis = {"type": "uniform", "low": 1, "high": 4, "integer": True, "default": 1}
    space = SpaceTree.build("ruled", {"a": axis, "b": axis}, rules=["a <= b"])
    assert len(all_configurations(space, limit=16)) == 10
    assert all_configurations(space, limit=15) is None
