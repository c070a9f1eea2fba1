"""Distributions of numbers and categories against properties and scipy."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from automl.errors import SettingsError
from automl.spaces.distributions import (
    Categorical,
    GaussianMixture,
    LogNormal,
    LogUniform,
    Normal,
    Numerical,
    Uniform,
    canonical,
)
from automl.spaces.gaussian import log_mass
from automl.spaces.text import from_mapping, from_text, to_mapping, to_text

finite = st.floats(-100, 100).map(canonical)
positive = st.floats(0.01, 100).map(canonical)


@st.composite
def continuous(draw: st.DrawFn) -> Numerical:
    kind = draw(st.sampled_from(["uniform", "loguniform", "normal", "lognormal", "gmm", "loggmm"]))
    mean, sd = draw(st.floats(-3, 3)), draw(st.floats(0.1, 3))
    if kind in {"loguniform", "lognormal", "loggmm"}:
        low = draw(positive)
        high = low * draw(st.floats(1.5, 1000))
    else:
        low = draw(st.floats(-8, 8))
        high = low + draw(st.floats(0.5, 20))
    if kind == "uniform":
        return Uniform(low, high)
    if kind == "loguniform":
        return LogUniform(low, high)
    if kind == "normal":
        return Normal(mean=mean, sd=sd, low=low, high=high)
    if kind == "lognormal":
        return LogNormal(mean=mean, sd=sd, low=low, high=high)
    return GaussianMixture(
        weights=(1.0, draw(st.floats(0.1, 5))),
        means=(mean, draw(st.floats(-3, 3))),
        sds=(sd, draw(st.floats(0.1, 3))),
        low=low,
        high=high,
        log=kind == "loggmm",
    )


@st.composite
def integers(draw: st.DrawFn) -> Numerical:
    low = draw(st.integers(1, 50))
    high = low + draw(st.integers(0, 200))
    kind = draw(st.sampled_from(["uniform", "loguniform", "normal", "lognormal", "gmm"]))
    if kind == "uniform":
        return Uniform(low - 20, high, integer=True)
    if kind == "loguniform":
        return LogUniform(low, high, integer=True)
    if kind == "normal":
        return Normal(mean=low + 3, sd=30, low=low, high=high, integer=True)
    if kind == "lognormal":
        return LogNormal(mean=2, sd=2, low=low - 1, high=high, integer=True)
    return GaussianMixture(
        weights=(1, 2), means=(low, high), sds=(40, 30), low=low, high=high, integer=True
    )


numericals = st.one_of(continuous(), integers())
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=8), finite.filter(lambda x: x != 0)
)
categoricals = st.lists(
    st.tuples(scalars, positive),
    min_size=1,
    max_size=5,
    unique_by=lambda pair: (isinstance(pair[0], bool), pair[0]),
).map(lambda pairs: Categorical(tuple(v for v, _ in pairs), tuple(w for _, w in pairs)))


@given(st.one_of(numericals, categoricals))
def test_text_and_mapping_come_back_equal(distribution) -> None:
    assert from_text(to_text(distribution)) == distribution
    assert from_mapping(to_mapping(distribution)) == distribution
    assert pickle.loads(pickle.dumps(distribution)) == distribution


def test_the_one_line_text_is_the_documented_one() -> None:
    assert to_text(LogUniform(0.001, 1000)) == "loguniform(low=0.001, high=1000)"
    assert from_text("uniform(low=2, high=5, integer=true)") == Uniform(2, 5, integer=True)
    text = "normal(mean=0.5, sd=0.1, low=-1)"
    assert from_text(text) == Normal(mean=0.5, sd=0.1, low=-1)
    assert from_text("categorical(values=[null, true, 'a', 2])").values == (None, True, "a", 2)
    assert from_mapping({"type": "uniform", "low": "1e-5", "high": 1}) == Uniform(1e-5, 1)


@given(continuous(), st.floats(0.001, 0.999))
def test_continuous_positions_come_back(distribution, u) -> None:
    x = distribution.ppf(u)
    assert distribution.low <= x <= distribution.high
    assert distribution.cdf(x) == pytest.approx(u, abs=1e-7)
    assert distribution.ppf(distribution.cdf(x)) == pytest.approx(float(x), rel=1e-6, abs=1e-9)
    assert distribution.value(u) == pytest.approx(float(x), rel=1e-9, abs=1e-9)


@given(integers())
def test_integers_come_back_from_the_middle_of_their_mass(distribution) -> None:
    values = np.arange(distribution.low, distribution.high + 1)
    assert np.array_equal(distribution.ppf(distribution.cdf(values)), values)
    assert np.exp(distribution.log_density(values)).sum() == pytest.approx(1.0, abs=1e-9)
    assert len(values) == distribution.size


@settings(max_examples=40)
@given(continuous())
def test_densities_integrate_to_one_and_belong_to_the_cdf(distribution) -> None:
    edges = distribution.ppf(np.linspace(0, 1, 9))
    area = sum(
        integrate.quad(lambda x: float(np.exp(distribution.log_density(x))), a, b, limit=100)[0]
        for a, b in itertools.pairwise(edges)
    )
    assert area == pytest.approx(1.0, abs=1e-6)
    a, b = edges[2], edges[5]
    middle = integrate.quad(lambda x: float(np.exp(distribution.log_density(x))), a, b, limit=100)[
        0
    ]
    assert middle == pytest.approx(3 / 8, abs=1e-6)


@given(numericals, st.integers(0, 2**32))
def test_samples_are_legal_canonical_and_seeded(distribution, seed) -> None:
    rng = np.random.default_rng(seed)
    drawn = [distribution.draw(rng) for _ in range(20)]
    assert all(distribution.contains(x) for x in drawn)
    assert all(type(x) is (int if distribution.integer else float) for x in drawn)
    assert all(distribution.integer or canonical(x) == x for x in drawn)
    again = np.random.default_rng(seed)
    assert [distribution.draw(again) for _ in range(20)] == drawn
    many = distribution.sample(rng, 50)
    assert np.all((many >= distribution.low) & (many <= distribution.high))


@given(numericals)
def test_outside_the_bounds_there_is_no_density(distribution) -> None:
    outside = np.array([distribution.low - 1, distribution.high + 1])
    assert np.all(distribution.log_density(outside) == -np.inf)
    assert distribution.cdf(outside[0]) == 0.0
    assert distribution.cdf(outside[1]) == 1.0
    assert not distribution.contains(float(outside[0]))


@pytest.mark.parametrize(
    ("mean", "sd", "low", "high"),
    [
        (0, 1, -1, 2),
        (0, 1, 8, 50),
        (0, 1, -50, -8),
        (3, 0.5, 0, 1),
        (0, 1, -5, math.inf),
        (0, 1, 30, 31),
    ],
)
def test_truncated_normals_agree_with_scipy(mean, sd, low, high) -> None:
    ours = Normal(mean=mean, sd=sd, low=low, high=high)
    theirs = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    u = np.linspace(0.01, 0.99, 25)
    x = theirs.ppf(u)
    assert ours.ppf(u) == pytest.approx(x, rel=1e-8)
    assert ours.cdf(x) == pytest.approx(u, abs=1e-9)
    assert ours.log_density(x) == pytest.approx(theirs.logpdf(x), rel=1e-8)


def test_log_uniform_and_log_normal_agree_with_scipy() -> None:
    u = np.linspace(0.01, 0.99, 25)
    theirs = stats.loguniform(0.001, 1000)
    ours = LogUniform(0.001, 1000)
    assert ours.ppf(u) == pytest.approx(theirs.ppf(u))
    assert ours.log_density(theirs.ppf(u)) == pytest.approx(theirs.logpdf(theirs.ppf(u)))
    bell, log_bell = stats.lognorm(0.5, scale=math.exp(1.0)), LogNormal(mean=1.0, sd=0.5)
    assert log_bell.ppf(u) == pytest.approx(bell.ppf(u))
    assert log_bell.log_density(bell.ppf(u)) == pytest.approx(bell.logpdf(bell.ppf(u)))
    assert log_bell.cdf(bell.ppf(u)) == pytest.approx(u)


def test_integer_masses_are_differences_of_the_cdf_over_half_integer_bins() -> None:
    ours = LogUniform(1, 100, integer=True)
    theirs = stats.loguniform(0.5, 100.5)
    k = np.arange(1, 101)
    masses = theirs.cdf(k + 0.5) - theirs.cdf(k - 0.5)
    assert np.exp(ours.log_density(k)) == pytest.approx(masses)
    counts = np.bincount(ours.sample(np.random.default_rng(0), 40_000).astype(int), minlength=101)
    assert stats.chisquare(counts[1:], masses * 40_000).pvalue > 1e-3


def test_draws_one_by_one_follow_the_distribution() -> None:
    rng = np.random.default_rng(1)
    for distribution in (
        Normal(mean=0, sd=1, low=1, high=2),
        LogNormal(mean=0, sd=1, high=3),
        GaussianMixture(weights=(1, 3), means=(-1, 2), sds=(0.5, 1), low=-1.5, high=2.5),
        LogUniform(0.1, 10),
    ):
        drawn = [distribution.draw(rng) for _ in range(3000)]
        assert stats.kstest(drawn, distribution.cdf).pvalue > 1e-3


def test_the_tails_keep_their_mass_in_log_space() -> None:
    assert log_mass(39.0, 40.0) == pytest.approx(stats.norm.logsf(39.0), rel=1e-12)
    assert log_mass(-40.0, -39.0) == log_mass(39.0, 40.0)
    assert log_mass(1.0, 1.0) == -np.inf
    assert log_mass(-1.0, 1.0) == pytest.approx(math.log(0.6826894921370859))


def test_unbounded_distributions_map_the_whole_unit_interval_to_finite_numbers() -> None:
    for distribution in (Normal(mean=0, sd=1), LogNormal(mean=0, sd=200)):
        values = distribution.ppf([0.0, 0.5, 1.0])
        assert np.all(np.isfinite(values))
        assert values[0] < values[1] < values[2]


@given(categoricals, st.integers(0, 100))
def test_categories_come_back_from_the_middle_of_their_mass(distribution, seed) -> None:
    for value in distribution.values:
        found = distribution.ppf(distribution.cdf(value))
        assert found == value
        assert type(found) is type(value)
    total = sum(math.exp(distribution.log_density(value)) for value in distribution.values)
    assert total == pytest.approx(1.0)
    assert distribution.contains(distribution.draw(np.random.default_rng(seed)))


def test_true_and_one_are_different_categories() -> None:
    distribution = Categorical((True, 1))
    assert distribution.index(1) == 1
    assert distribution.log_density(None) == -math.inf
    with pytest.raises(SettingsError):
        Categorical((1, 1.0))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("uniform(low=1, high=1)", "low"),
        ("uniform(low=2, high=1)", "low"),
        ("uniform(low=0, high=inf)", "high"),
        ("uniform(low=0.5, high=2, integer=true)", "low"),
        ("uniform(low=0)", "high"),
        ("uniform(low=a, high=1)", "low"),
        ("uniform(low='x', high=1)", "low"),
        ("uniform(low=true, high=1)", "low"),
        ("uniform(low=0, high=1, sd=2)", "sd"),
        ("uniform(low=0, high=1, integer=1)", "integer"),
        ("loguniform(low=0, high=1)", "low"),
        ("normal(mean=0, sd=0)", "sd"),
        ("normal(mean=inf, sd=1)", "mean"),
        ("lognormal(mean=0, sd=1, low=-1)", "low"),
        ("gmm(weights=[1], means=[1, 2], sds=[1])", "weights"),
        ("gmm(weights=[-1], means=[1], sds=[1])", "weights"),
        ("gmm(weights=3, means=[1], sds=[1])", "weights"),
        ("categorical(values=[])", "values"),
        ("categorical(values=[a])", "values"),
        ("categorical(values=['a'], weights=[0])", "weights"),
        ("unifrom(low=0, high=1)", "type"),
    ],
)
def test_wrong_parameters_are_named(text, key) -> None:
    with pytest.raises(SettingsError) as caught:
        from_text(text)
    assert caught.value.fields["key"] == key


@pytest.mark.parametrize("text", ["", "uniform", "uniform(1, 2)", "a.b(low=1)", "x(**y)", "((("])
def test_text_that_is_no_call_is_refused(text) -> None:
    with pytest.raises(SettingsError, match="of the form"):
        from_text(text)
