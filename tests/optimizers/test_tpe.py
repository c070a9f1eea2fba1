"""The tree-structured Parzen estimator (X20, section VII)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, truncnorm

from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.optimizers.joint_parzen import JointParzen, log_mixture
from automl.optimizers.parzen import Parzen, bandwidths, posterior
from automl.optimizers.tpe import TPE
from automl.optimizers.tree_nodes import NodeTree, Observations
from automl.records import Trial, TrialStatus
from automl.spaces.distributions import Categorical, Uniform
from automl.spaces.tree import SpaceTree
from automl.spaces.union import UnionTree

UNIT = st.floats(0, 1)
GRID = st.integers(0, 1024).map(lambda k: k / 1024)
"""Points that are apart enough for numerical integration between them."""
TREE = {
    "x": {"type": "uniform", "low": 0, "high": 1},
    "n": {"type": "uniform", "low": 1, "high": 4, "integer": True},
    "kind": {
        "choices": {
            "a": {"tree": {"y": {"type": "uniform", "low": 0, "high": 1}}},
            "b": {"tree": {"y": {"type": "uniform", "low": 0, "high": 1}}},
            "c": None,
        }
    },
    "shape": {"branch": False, "choices": ["p", "q", "r", "s"]},
}


@pytest.fixture
def space():
    return SpaceTree.build("plain", TREE)


def told(optimizer, configuration, score, status=TrialStatus.COMPLETE):
    optimizer.tell(Trial("run", 0, configuration, status, score))


# --- one node -------------------------------------------------------------------------------------


def mixture_density(values, u):
    """The same mixture, written with scipy's truncated normal."""
    mu = np.sort(values)
    sigma = bandwidths(mu)
    kernels = truncnorm.pdf(u, -mu / sigma, (1 - mu) / sigma, mu, sigma)
    return (1.0 + kernels.sum()) / (len(mu) + 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(UNIT, min_size=1, max_size=8), UNIT)
def test_the_density_is_that_of_truncated_normals_and_the_prior(values, u):
    point = np.array([u])
    found = float(np.exp(Parzen(np.array(values)).log_density(point, point))[0])
    assert found == pytest.approx(mixture_density(values, u), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.lists(GRID, max_size=6))
def test_densities_integrate_to_one(values):
    parzen = Parzen(np.array(values, dtype=float))

    def density(u):
        return float(np.exp(parzen.log_density(np.array([u]), np.array([u])))[0])

    total, _ = quad(density, 0, 1, limit=400, points=sorted(set(values)) or None)
    assert total == pytest.approx(1.0, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(UNIT, max_size=6), st.integers(1, 9))
def test_the_cells_of_an_integer_hold_all_of_the_mass(values, n_cells):
    edges = np.linspace(0, 1, n_cells + 1)
    log_density = Parzen(np.array(values, dtype=float)).log_density(edges[:-1], edges[1:])
    assert float(np.exp(log_density) @ np.diff(edges)) == pytest.approx(1.0)


def test_draws_follow_the_density():
    values = np.array([0.02, 0.1, 0.11, 0.7])
    parzen = Parzen(values)
    draws = parzen.sample(4000, np.random.default_rng(0))
    grid = np.linspace(0, 1, 2001)
    density = np.exp(parzen.log_density(grid, grid))
    cumulative = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2) / 2000)
    assert kstest(draws, lambda u: np.interp(u, grid, cumulative)).pvalue > 0.01
    assert draws.min() >= 0
    assert draws.max() <= 1


def test_the_bandwidth_is_the_greater_distance_to_a_neighbor_and_clipped():
    mu = np.array([0.1, 0.4, 0.95, 0.5, 0.5])
    assert bandwidths(mu) == pytest.approx([0.3, 0.3, 0.45, 1 / 6, 0.45])
    assert bandwidths(np.array([0.2])) == pytest.approx([0.8])
    assert bandwidths(np.full(500, 0.5)) == pytest.approx(np.full(500, 0.01))


def test_categories_have_the_prior_and_their_counts():
    prior = np.array([0.5, 0.25, 0.25])
    found = posterior(prior, np.array([1, 1, 0]))
    assert found == pytest.approx(np.array([3 * 0.5 + 1, 0.75 + 2, 0.75]) / 6)
    assert posterior(prior, np.array([], dtype=int)) == pytest.approx(prior)


# --- whole configurations ------------------------------------------------------------------------

KEY, KIND = ("x",), ("kind",)
CATEGORIES = Categorical(("a", "b", "c"), (2.0, 1.0, 1.0))


def joint(x, kind):
    columns = {KEY: np.array(x, dtype=float), KIND: np.array(kind, dtype=float)}
    return JointParzen(columns, len(x))


@settings(max_examples=30, deadline=None)
@given(st.lists(UNIT, min_size=1, max_size=8), st.lists(UNIT, min_size=1, max_size=4))
def test_at_a_single_node_the_joint_density_is_that_of_the_node(values, points):
    u = np.array(points)
    found = log_mixture(joint(values, [0] * len(values)).log_number(KEY, u, u))
    assert found == pytest.approx(Parzen(np.array(values)).log_density(u, u))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_the_mean_of_the_kernels_of_categories_is_their_posterior(kinds):
    parzen = joint([0.5] * len(kinds), kinds)
    log = parzen.log_category(KIND, CATEGORIES, np.arange(3))
    kernels = np.exp(log[:, :-1]) * CATEGORIES.probabilities[:, None]
    assert kernels.sum(axis=0) == pytest.approx(1.0)
    expected = posterior(CATEGORIES.probabilities, np.array(kinds))
    assert kernels.mean(axis=1) == pytest.approx(expected)


def test_values_that_were_seen_together_are_drawn_together_and_likelier_together():
    x, kind = [0.1, 0.12, 0.9, 0.88], [0, 0, 1, 1]
    parzen, rng = joint(x, kind), np.random.default_rng(0)
    components = parzen.components(np.zeros(5), 4000, rng)
    numbers = parzen.numbers(KEY, components, rng)
    drawn = parzen.categories(KIND, CATEGORIES, components, rng)
    assert np.mean(drawn[numbers < 0.2] == 0) > 0.6 > 0.45 > np.mean(drawn[numbers > 0.8] == 0)
    u, index = np.array([0.1, 0.1]), np.array([0, 1])
    log = parzen.log_number(KEY, u, u) + parzen.log_category(KIND, CATEGORIES, index)
    together, apart = log_mixture(log)
    assert together > apart + 0.5


def test_where_a_configuration_has_no_value_it_says_nothing():
    u = np.array([0.2, 0.7])
    none = joint([np.nan, np.nan], [0, 0])
    assert log_mixture(none.log_number(KEY, u, u)) == pytest.approx([0.0, 0.0])
    some = joint([0.2, np.nan], [0, 0])
    one = joint([0.2], [0])
    assert np.exp(some.log_number(KEY, u, u))[:, 0] == pytest.approx(
        np.exp(one.log_number(KEY, u, u))[:, 0]
    )
    draws = none.numbers(KEY, np.zeros(2000, dtype=int), np.random.default_rng(0))
    assert kstest(draws, "uniform").pvalue > 0.01


# --- the tree -------------------------------------------------------------------------------------


def test_the_same_name_in_two_branches_is_two_nodes_and_a_root_name_is_one(space):
    tree = NodeTree(space)
    keys = {
        name: {node.key for s in space.signatures() for node in tree.nodes(s) if node.name == name}
        for name in ("x", "y", "kind")
    }
    assert keys["x"] == {("plain", "x")}
    assert keys["y"] == {("plain", "kind=a", "y"), ("plain", "kind=b", "y")}
    assert keys["kind"] == {("plain", "kind")}


def test_a_leaf_with_a_learned_prior_is_a_node_of_its_signature(space):
    path = ("kind=c",)
    tree = NodeTree(space.with_distribution(path, "x", Uniform(0.2, 0.4)))
    keys = [
        next(node.key for node in tree.nodes(s) if node.name == "x")
        for s in (space.signature(("kind=a",)), space.signature(path))
    ]
    assert keys == [("plain", "x"), ("plain", "kind=c", "x")]


def test_a_union_has_the_family_as_its_root(space):
    other = SpaceTree.build("other", {"x": {"type": "uniform", "low": 0, "high": 1}})
    union = UnionTree.of([space, other])
    tree, observations = NodeTree(union), Observations()
    observations.add(tree, other.default())
    observations.add(tree, space.default())
    columns = observations.columns(tree, [other.default()])
    assert columns["family",].tolist() == [1.0, 0.0, 1.0]
    assert np.isnan(columns["plain", "x"]).tolist() == [True, False, True]
    assert tree.walk(lambda key, prior: prior.values[-1]).name == "other"


# --- the optimizer --------------------------------------------------------------------------------


def test_the_best_share_is_good_and_what_failed_never_is(space):
    optimizer, rng = TPE(space, good_share=0.2), np.random.default_rng(0)
    for i in range(20):
        failed = i % 4 == 0
        status = TrialStatus.FAILED if failed else TrialStatus.COMPLETE
        told(optimizer, space.sample(rng), None if failed else float(i), status)
    assert np.flatnonzero(optimizer._is_good()).tolist() == [15, 17, 18, 19]
    for i in range(16):
        told(optimizer, space.sample(rng), None, TrialStatus.RACED if i % 2 else TrialStatus.FAILED)
    assert np.flatnonzero(optimizer._is_good()).tolist() == [10, 11, 13, 14, 15, 17, 18, 19]
    told(optimizer, space.sample(rng), 99.0, TrialStatus.PARTIAL)
    assert len(optimizer._scores) == 36


@pytest.mark.parametrize("is_joint", [True, False])
def test_proposals_move_to_where_the_good_ones_are(space, is_joint):
    optimizer = TPE(space, joint=is_joint)
    for i in range(60):
        rng = np.random.default_rng(i)
        configuration = optimizer.ask(pending=[], rng=rng).configuration
        values = configuration.values
        score = -abs(values["x"] - 0.8) - (values["kind"] != "b") - (values["shape"] != "r")
        told(optimizer, configuration, score)
    late = [
        optimizer.ask(pending=[], rng=np.random.default_rng(1000 + i)).configuration
        for i in range(20)
    ]
    assert np.mean([c.values["kind"] == "b" for c in late]) > 0.8
    assert np.mean([c.values["shape"] == "r" for c in late]) > 0.8
    assert np.median([abs(c.values["x"] - 0.8) for c in late]) < 0.15


@pytest.mark.parametrize("draw", ["good", "random"])
@pytest.mark.parametrize("is_joint", [True, False])
def test_pending_configurations_repel_proposals(space, draw, is_joint):
    optimizer = TPE(space, draw=draw, joint=is_joint)
    rng = np.random.default_rng(0)
    for _ in range(40):
        configuration = space.sample(rng)
        told(optimizer, configuration, -abs(configuration.values["x"] - 0.5))

    def closeness(pending):
        asked = [
            optimizer.ask(pending=pending, rng=np.random.default_rng(i)).configuration
            for i in range(30)
        ]
        return np.mean([abs(c.values["x"] - 0.5) < 0.1 for c in asked])

    crowd = [
        space.complete({**space.sample(rng).values, "x": float(x)})
        for x in np.linspace(0.4, 0.6, 60).round(6)
    ]
    assert closeness(crowd) < closeness([])


@pytest.mark.parametrize("is_joint", [True, False])
def test_an_estimator_over_the_whole_of_two_families_chooses_the_better_one(space, is_joint):
    other = SpaceTree.build("other", {"x": {"type": "uniform", "low": 0, "high": 1}})
    optimizer = TPE(UnionTree.of([space, other]), joint=is_joint)
    families = []
    for i in range(50):
        configuration = optimizer.ask(pending=[], rng=np.random.default_rng(i)).configuration
        families.append(configuration.family)
        told(optimizer, configuration, float(configuration.family == "other"))
    assert families[-20:].count("other") >= 17


@pytest.mark.parametrize(("option", "value"), [("good_share", 1.0), ("draw", "best")])
def test_settings_out_of_range_are_refused(space, option, value):
    with pytest.raises(SettingsError, match=option):
        TPE(space, **{option: value})


def test_a_narrow_valley_across_the_axes_is_followed_by_whole_configurations_only():
    tree = {name: {"type": "uniform", "low": 0, "high": 1} for name in ("x", "y", "z")}
    space = SpaceTree.build("valley", tree)

    def best(is_joint, seed):
        optimizer, scores = TPE(space, joint=is_joint), []
        for i in range(60):
            rng = np.random.default_rng([seed, i])
            values = (configuration := optimizer.ask(pending=[], rng=rng).configuration).values
            across = (values["x"] + values["y"] - 1) ** 2 + (values["y"] + values["z"] - 1) ** 2
            scores.append(-25 * across - (values["x"] - 0.7) ** 2)
            told(optimizer, configuration, scores[-1])
        return max(scores)

    gains = [best(True, seed) - best(False, seed) for seed in range(8)]
    assert np.mean(gains) > 0


def test_rules_between_numbers_and_between_choices_hold():
    space = SpaceTree.build(
        "plain", TREE, rules=["x + n < 4", "not (kind == 'c' and shape == 'p')"]
    )
    optimizer = TPE(space, n_startup=4)
    for i in range(60):
        configuration = optimizer.ask(pending=[], rng=np.random.default_rng(i)).configuration
        assert space.is_legal(configuration) is None
        told(optimizer, configuration, configuration.values["x"] + configuration.values["n"])


def test_a_thousand_trials_are_asked_about_in_a_tenth_of_a_second():
    import time

    space = get_family("lightgbm").space("binary")
    optimizer, rng = TPE(space), np.random.default_rng(0)
    for _ in range(1000):
        told(optimizer, space.sample(rng), float(rng.random()))
    seconds = []
    for i in range(5):
        start = time.process_time()
        optimizer.ask(pending=[], rng=np.random.default_rng(i))
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1
