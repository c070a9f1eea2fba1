"""Model-based optimizers that know trials of other data sets, or hear a vote of them."""

from dataclasses import replace

import numpy as np
import pytest
from bowls import FAST, bowl, bowl_space, search, trial

from automl.errors import SettingsError
from automl.optimizers.composition import parse_composition
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.registry import OPTIMIZERS, compose, get_optimizer
from automl.recommendation.meta_vote import MetaVote
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.earlier_data import Sources
from automl.surrogates.informed_process import InformedProcess


@pytest.fixture(scope="module")
def space():
    return bowl_space()


def sources_for(space, n_tasks=4, n_each=30):
    """Bowls of other data sets, in the encoding of the space."""
    encoder = ConfigurationEncoder(space).fit()
    rng = np.random.default_rng(0)
    configurations = [space.sample(rng) for _ in range(n_tasks * n_each)]
    y = np.array([bowl(configuration) for configuration in configurations])
    task = np.repeat(np.arange(n_tasks), n_each)
    return Sources(
        encoder.transform(configurations),
        (y - y.mean()) / y.std(),
        task,
        rng.random((n_tasks, 2)),
        np.array([0.5, 0.5]),
        configurations=configurations,
    )


EXPERIENCED = [name for name, entry in OPTIMIZERS.items() if entry.uses_experience]


def test_those_that_learn_from_other_data_sets_are_marked():
    assert set(EXPERIENCED) == {
        "fmlp", "mlp_transfer", "fm_transfer", "smac_transfer", "scot", "mkl_gp", "gp_prior",
    }  # fmt: skip
    assert get_optimizer({"base": "fmlp", "interleaving": 3}).uses_experience
    with pytest.raises(SettingsError, match="n_histories cannot be combined with surrogate"):
        get_optimizer({"base": "fmlp", "n_histories": 2})


@pytest.mark.parametrize("name", ["fmlp", "smac_transfer", "scot", "mkl_gp", "gp_prior"])
def test_with_sources_the_first_proposals_are_good_ones(name, space):
    sources = sources_for(space)
    optimizer = OPTIMIZERS[name].make(space, sources=sources)
    if name == "fmlp":
        surrogate = {"name": "factorized_perceptron", "n_members": 5, "n_steps": 600}
        optimizer = compose({"base": name, "surrogate": surrogate}).make(space, sources=sources)
    if name == "gp_prior":  # a run gives it the default, which is no proposal of its own
        optimizer.tell(trial(space.default(), bowl(space.default()), 0))
        seen = search(optimizer, bowl, 4)
    else:
        (_, first), *seen = search(optimizer, bowl, 5)
        assert first == space.default()
    rng = np.random.default_rng(0)
    usual = [bowl(space.sample(rng)) for _ in range(500)]
    assert np.median([score for score, _ in seen]) > np.mean(usual) + np.std(usual)


@pytest.mark.parametrize("is_listed", [False, True])
def test_what_others_expect_takes_the_place_of_an_initial_design(space, is_listed):
    sources = sources_for(space)
    rng = np.random.default_rng(0)
    candidates = [space.sample(rng) for _ in range(300)] if is_listed else None
    optimizer = ModelBasedOptimizer(
        space, parse_composition({"base": "gp_prior"}), candidates=candidates, sources=sources
    )
    pending = []
    for _ in range(4):
        proposal = optimizer.ask(pending=pending, rng=rng)
        assert not proposal.is_designed
        pending.append(proposal.configuration)
    assert len({configuration.id for configuration in pending}) == 4
    usual = [bowl(space.sample(rng)) for _ in range(500)]
    assert bowl(pending[0]) > np.quantile(usual, 0.9)
    if candidates:
        encoder = ConfigurationEncoder(space).fit()
        surrogate = InformedProcess()
        surrogate.learn_from(sources)
        expected = surrogate.expect(
            encoder.transform(candidates), encoder.transform([]), rng=np.random.default_rng(5)
        )
        rank = [c.id for c in candidates].index(pending[0].id)
        assert expected[rank] > np.quantile(expected, 0.98)


def needle_sources(space, needle):
    """Two data sets that know the same narrow peak."""
    encoder = ConfigurationEncoder(space).fit()
    rng = np.random.default_rng(0)
    of_each = [*[space.sample(rng) for _ in range(20)], needle]
    y = np.tile([0.0] * 20 + [4.0], 2) - 4.0 / 21
    X, meta = encoder.transform(of_each * 2), np.zeros((2, 1))
    task = np.repeat([0, 1], 21)
    return Sources(X, y, task, meta, np.zeros(1), configurations=of_each * 2)


@pytest.mark.parametrize("n_told", [0, 4])
def test_the_best_of_other_data_sets_are_among_the_points_that_are_looked_at(space, n_told):
    rng = np.random.default_rng(3)
    needle = space.sample(rng)
    composition = parse_composition(
        {"base": "gp_prior", "maximizer": {"name": "sobol", "n_points": 2, "n_near": 0}}
    )
    sources = needle_sources(space, needle)
    optimizer = ModelBasedOptimizer(space, composition, sources=sources)
    for index in range(n_told):
        optimizer.tell(trial(space.sample(rng), 0.1 * index, index))
    assert optimizer.ask(pending=[], rng=rng).configuration == needle
    optimizer.tell(trial(needle, 0.0, n_told))
    assert optimizer.ask(pending=[], rng=rng).configuration != needle


def test_what_was_best_elsewhere_is_not_proposed_where_it_is_not_legal(space):
    needle = space.default()
    narrow = space.narrow({"word": [w for w in "abc" if w != needle.values["word"]]})
    assert narrow.is_legal(needle) is not None
    sources = needle_sources(narrow, needle)
    optimizer = OPTIMIZERS["gp_prior"].make(narrow, sources=sources)
    proposal = optimizer.ask(pending=[], rng=np.random.default_rng(0))
    assert narrow.is_legal(proposal.configuration) is None


def test_the_best_of_each_data_set_are_named_once_best_first(space):
    sources = sources_for(space, n_tasks=2, n_each=5)
    first, second = (sources.configurations[i : i + 5] for i in (0, 5))
    best = [task[row] for task, y in ((first, sources.y[:5]), (second, sources.y[5:]))
            for row in np.argsort(-y)[:2]]  # fmt: skip
    assert sources.best_of_each(2) == best
    alike = replace(sources, configurations=first * 2, y=np.tile(sources.y[:5], 2))
    assert alike.best_of_each(2) == best[:2]
    assert replace(sources, configurations=()).best_of_each(3) == []


def test_trials_that_are_left_out_take_their_configurations_with_them(space):
    sources = sources_for(space, n_tasks=2, n_each=5)
    some = sources.subset(np.array([1, 7]))
    assert list(some.configurations) == [sources.configurations[1], sources.configurations[7]]
    with pytest.raises(ValueError, match="there must be 10 configurations or none; got 3"):
        replace(sources, configurations=sources.configurations[:3])


def test_no_earlier_trials_are_as_no_sources(space):
    n = ConfigurationEncoder(space).fit().transform([space.default()]).shape[1]
    make = OPTIMIZERS["mkl_gp"].make
    asked = [search(make(space, sources=given), bowl, 8) for given in (None, Sources.none(n))]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("is_listed", [False, True])
def test_a_strong_vote_decides_what_is_proposed_and_gives_way_to_trials(space, is_listed):
    encoder = ConfigurationEncoder(space).fit()
    x = encoder.feature_names.index("x")
    vote = MetaVote(lambda X: -np.abs(X[:, x] - 0.8), k=1e6)
    rng = np.random.default_rng(0)
    candidates = [space.sample(rng) for _ in range(300)] if is_listed else None
    composition = parse_composition({"base": "gbqr", "maximizer": FAST})

    def proposed(vote):
        optimizer = ModelBasedOptimizer(space, composition, candidates=candidates, vote=vote)
        return [c.values["x"] for _, c in search(optimizer, bowl, 12)]

    assert np.allclose(proposed(vote), 0.8, atol=0.05)
    weak = proposed(MetaVote(vote.expected, k=1e-6))
    assert weak[0] == pytest.approx(0.8, abs=0.05)
    assert not np.allclose(weak[2:], 0.8, atol=0.05)
    assert proposed(MetaVote(vote.expected, is_heard=lambda: False)) == proposed(None)
