"""Model-based optimizers that know trials of other data sets, or hear a vote of them."""

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
