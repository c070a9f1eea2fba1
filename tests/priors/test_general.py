"""Priors of hyperparameters from the trials of many data sets (B14 Alg. 4)."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.priors.accepted_values import PriorSettings, acceptances, accepted_values
from automl.priors.gaussian_components import Components
from automl.priors.general import learn_priors
from automl.priors.learned_distributions import distribution_of
from automl.records import Task, TrialStatus
from automl.spaces.distributions import LogUniform, Normal, Uniform
from automl.spaces.gaussian import log_mass
from automl.spaces.tree import SpaceTree

TREE = {
    "C": {"type": "loguniform", "low": 0.01, "high": 100},
    "kernel": {
        "choices": {
            "linear": None,
            "rbf": {"tree": {"gamma": {"type": "loguniform", "low": 1e-4, "high": 1}}},
        }
    },
    "depth": {"type": "uniform", "low": 1, "high": 10, "integer": True},
}
SPACE = SpaceTree.build("plain", TREE)
SPACES = {"classification": {"plain": SPACE}}
BEST_C, BEST_DEPTH = 3.0, 7


def score_of(values, shift):
    gap = math.log10(values["C"] / BEST_C) - shift
    return 0.9 - 0.2 * gap**2 - 0.01 * (values["depth"] - BEST_DEPTH) ** 2


def data_set(i, n_trials=40, draw=None, score=score_of, **others):
    rng = np.random.default_rng(i)
    shift = rng.normal(0, 0.1)
    trials = []
    for _ in range(n_trials):
        configuration = SPACE.sample(rng) if draw is None else draw(rng)
        found = score(configuration.values, shift) + rng.normal(0, 0.01)
        trials.append(KnownTrial(configuration, TrialStatus.COMPLETE, float(found), 1.0, 5))
    facts = DataSetFacts(f"d{i}", f"f{i}", "l", Task.BINARY, 100, 3, 2)
    return Experience(f"r{i}", facts, "index", tuple(trials), **others)


@pytest.fixture(scope="module")
def experiences():
    return [data_set(i) for i in range(12)]


@pytest.fixture(scope="module")
def learned(experiences):
    return {(p.signature, p.name): p for p in learn_priors(experiences, spaces=SPACES)}


def test_every_number_of_every_signature_gets_a_prior_of_its_own(learned):
    assert set(learned) == {
        ("plain/kernel=linear", "C"),
        ("plain/kernel=linear", "depth"),
        ("plain/kernel=rbf", "C"),
        ("plain/kernel=rbf", "depth"),
        ("plain/kernel=rbf", "gamma"),
    }


def test_a_planted_optimum_is_recovered(learned):
    for signature in ("plain/kernel=linear", "plain/kernel=rbf"):
        c = learned[signature, "C"].distribution
        assert c.ppf([0.2, 0.8]) == pytest.approx([BEST_C, BEST_C], rel=2.0)
        assert abs(math.log10(float(c.value(0.5)) / BEST_C)) < 0.25
        assert abs(learned[signature, "depth"].distribution.value(0.5) - BEST_DEPTH) <= 1


def test_a_number_without_influence_keeps_a_flat_prior(learned):
    gamma = learned["plain/kernel=rbf", "gamma"].distribution
    assert np.all(np.abs(gamma.ppf([0.25, 0.5, 0.75]) - [1e-3, 1e-2, 1e-1]) < [2e-3, 2e-2, 2e-1])


def test_a_priors_scale_bounds_and_kind_are_those_of_the_leaf(learned):
    c, depth = (learned["plain/kernel=rbf", name].distribution for name in ("C", "depth"))
    assert (c.low, c.high, c.log, c.integer) == (0.01, 100.0, True, False)
    assert (depth.low, depth.high, depth.log, depth.integer) == (1.0, 10.0, False, True)


def test_the_order_of_data_sets_does_not_matter(experiences, learned):
    again = learn_priors(experiences[::-1], spaces=SPACES)
    assert {(p.signature, p.name): p.distribution for p in again} == {
        key: prior.distribution for key, prior in learned.items()
    }


def test_a_data_set_that_is_left_out_leaves_nothing_behind(experiences):
    without = learn_priors(experiences[1:], spaces=SPACES)
    odd = data_set(0, score=lambda values, _: values["C"])
    values = {tuple(p.values) for p in without}
    assert values == {tuple(p.values) for p in learn_priors(experiences[1:], spaces=SPACES)}
    assert values != {tuple(p.values) for p in learn_priors([odd, *experiences[1:]], spaces=SPACES)}


def test_trials_that_an_optimizer_crowded_count_as_if_they_were_uniform():
    def crowded(rng):
        configuration = SPACE.sample(rng)
        values = {**configuration.values, "C": float(10 ** rng.uniform(1.5, 2))}
        return SPACE.complete(values) if rng.random() < 0.8 else configuration

    known = [data_set(i, draw=crowded) for i in range(12)]
    found = {(p.signature, p.name): p for p in learn_priors(known, spaces=SPACES)}
    c = found["plain/kernel=linear", "C"].distribution
    assert abs(math.log10(float(c.value(0.5)) / BEST_C)) < 0.5


def test_too_few_data_sets_or_trials_give_no_prior(experiences):
    assert learn_priors(experiences[:2], spaces=SPACES) == ()
    assert learn_priors([data_set(i, n_trials=2) for i in range(9)], spaces=SPACES) == ()
    assert learn_priors([], spaces=SPACES) == ()


def test_two_runs_on_one_data_set_count_as_one(experiences):
    twice = [
        *experiences,
        *(Experience(f"again{i}", e.data, e.metric, e.trials) for i, e in enumerate(experiences)),
    ]
    assert {p.data_sets for p in learn_priors(twice, spaces=SPACES)} == {12}
    by_other_metrics = [
        replace(e, id=f"{e.id}-{m}", metric=m) for e in experiences[:2] for m in "abc"
    ]
    assert learn_priors(by_other_metrics, spaces=SPACES) == ()


def test_failed_trials_push_values_away(experiences):
    def failing(experience):
        trials = [
            KnownTrial(t.configuration, TrialStatus.TIMED_OUT, None, 1.0, 0)
            if t.configuration.values["depth"] > 5
            else t
            for t in experience.trials
        ]
        return Experience(experience.id, experience.data, experience.metric, tuple(trials))

    found = learn_priors([failing(e) for e in experiences], spaces=SPACES)
    depths = np.concatenate([p.values for p in found if p.name == "depth"])
    assert np.mean(depths > 6) < 0.02


def test_foreign_and_poisoned_trials_are_passed_over(experiences, learned):
    bad = [
        KnownTrial(t.configuration, TrialStatus.COMPLETE, math.inf, 1.0, 5)
        for t in experiences[0].trials
    ]
    poisoned = Experience("bad", experiences[0].data, "index", tuple(bad))
    again = learn_priors([*experiences, poisoned], spaces=SPACES)
    assert {p.distribution for p in again} == {p.distribution for p in learned.values()}


def test_trials_of_fewer_folds_or_rows_are_passed_over(experiences, learned):
    """However well they did: their scores are those of another task."""
    partial = [
        KnownTrial(SPACE.sample(np.random.default_rng(i)), TrialStatus.PARTIAL, 2.0, 1.0, 1)
        for i in range(40)
    ]
    again = learn_priors(
        [replace(e, trials=(*e.trials, *partial)) for e in experiences], spaces=SPACES
    )
    assert {p.distribution for p in again} == {p.distribution for p in learned.values()}


def test_the_thesis_accepts_with_the_score_itself():
    scores = np.array([-0.5, 0.0, 0.4, 1.0, 1.2, np.nan])
    found = acceptances(scores, PriorSettings(acceptance="index"))
    assert found.tolist() == [0.0, 0.0, 0.4, 1.0, 1.0, 0.0]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(1, 40))
def test_rivals_accept_the_best_always_and_depend_on_ranks_alone(scores, rivals):
    x = np.array(scores)
    settings = PriorSettings(rivals=rivals)
    found = acceptances(x, settings)
    assert np.all((found >= 0) & (found <= 1))
    assert found[x.argmax()] == 1.0
    shares = [(x <= score).mean() ** rivals for score in x]
    np.testing.assert_allclose(found, shares)


def test_accepted_values_follow_the_chances():
    positions, chances = np.array([0.1, 0.3, 0.9]), np.array([1.0, 0.0, 0.5])
    settings = PriorSettings(most_values=100_000, most_draws=200_000, settled=1e-9)
    found = accepted_values(
        positions, chances, settings=settings, rng=np.random.default_rng(0), number=Uniform(0, 1)
    )
    # nearest to 0.1 is what lies below 0.2, nearest to 0.9 what lies above 0.6
    assert np.all((found <= 0.2) | (found >= 0.6))
    assert np.mean(found < 0.2) == pytest.approx(0.5, abs=0.02)


def test_nothing_is_accepted_where_all_has_failed():
    found = accepted_values(
        np.array([0.5]),
        np.zeros(1),
        settings=PriorSettings(),
        rng=np.random.default_rng(0),
        number=Uniform(0, 1),
    )
    assert len(found) == 0


ORIGINALS = [
    Uniform(-2, 5),
    LogUniform(1e-5, 10),
    Uniform(1, 10, integer=True),
    LogUniform(1, 500, integer=True),
    Normal(low=0, high=1, mean=0.5, sd=0.1),
]


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda d: d.text_name + str(d.integer))
@given(
    st.lists(
        st.tuples(st.floats(0.01, 9), st.floats(0, 1), st.floats(0.02, 0.4)), min_size=1, max_size=6
    ),
    st.floats(0.02, 0.9),
)
@example([(1.0, 0.003, 0.0234375)], 0.0625)
@hypothesis_settings(max_examples=30)
def test_the_floor_keeps_its_share_and_every_legal_value_a_positive_density(original, parts, floor):
    weights, means, sds = (
        np.array(column) for column in zip(*sorted(parts, key=lambda p: p[1]), strict=True)
    )
    found = distribution_of(Components(weights, means, sds), original, floor)
    masses, low, high = found.components, *found.scale_bounds
    shares = masses[0] * np.exp(
        log_mass((low - masses[1]) / masses[2], (high - masses[1]) / masses[2])
    )
    shares /= shares.sum()
    assert shares[-1] == pytest.approx(floor, rel=1e-3)
    np.testing.assert_allclose(shares[:-1], (1 - floor) * weights / weights.sum(), rtol=2e-3)
    u = np.linspace(0, 1, 101)
    x = np.unique(original.ppf(u))
    ratio = found.log_density(x) - original.log_density(x)
    assert np.all(ratio >= np.log(0.95 * floor))


def test_the_fewer_data_sets_the_more_mass_stays_on_the_range():
    settings = PriorSettings(floor=0.1, doubt=2.0)
    assert settings.floor_among(2) == pytest.approx(0.1 + 0.9 * 0.5)
    assert settings.floor_among(1000) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"floor": 1.0},
        {"rivals": 0},
        {"threshold": 1.5},
        {"doubt": -1},
        {"acceptance": "rank"},
    ],
)
def test_settings_out_of_their_range_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        PriorSettings(**wrong)
