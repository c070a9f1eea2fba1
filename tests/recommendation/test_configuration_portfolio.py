"""Greedy portfolios: against all lists of small problems, and without the data sets left out."""

from __future__ import annotations

from itertools import combinations
from math import e

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.experience.snapshot import Snapshot
from automl.recommendation import configuration_portfolio as module
from automl.records import Configuration, Task, TrialStatus

seeds = st.integers(0, 2**32 - 1)


def problem(seed, t=6, m=8):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(t, m)) * rng.uniform(0.05, 5.0, (t, 1))
    scores[rng.random((t, m)) < 0.15] = np.nan
    return scores, np.full(t, 1.0 / t)


def experience(name, scores, seconds=1.0, families=("knn", "lda")):
    trials = tuple(
        KnownTrial(
            Configuration(families[j % len(families)], {"number": j}),
            TrialStatus.FAILED if score is None else TrialStatus.COMPLETE,
            score,
            seconds * (j + 1),
            5,
        )
        for j, score in enumerate(scores)
    )
    facts = DataSetFacts(name, f"f-{name}", f"l-{name}", Task.BINARY, 100, 4, 2)
    return Experience(f"id-{name}", facts, "index", trials)


@given(seeds)
def test_standardized_scores_do_not_depend_on_a_data_sets_scale(seed):
    S, _ = problem(seed)
    rng = np.random.default_rng(seed)
    G = module.standardized(10 * S)
    moved = module.standardized(
        10 * S * rng.uniform(1.0, 4.0, (len(S), 1)) + rng.normal(size=(len(S), 1))
    )
    np.testing.assert_allclose(G, moved, atol=1e-9)
    assert ((G >= 0.0) & (G <= 1.0)).all()
    assert (G[np.isnan(S)] == 0.0).all()
    known = np.isfinite(S).any(axis=1)
    assert (G[known].max(axis=1) == 1.0).all()


def test_differences_below_the_least_range_are_not_stretched():
    G = module.standardized(np.array([[0.9990, 0.9992, 0.9991]]))
    assert G.min() > 0.95


@given(seeds)
def test_each_step_adds_most_and_the_value_is_near_that_of_the_best_list(seed):
    S, w = problem(seed)
    G = module.standardized(S)
    chosen = module.greedy(G, w, most=3)
    assert len(set(chosen)) == len(chosen) <= 3
    for step, column in enumerate(chosen):
        before = chosen[:step]
        gains = [module.value(G, [*before, j], w) for j in range(G.shape[1])]
        assert module.value(G, [*before, column], w) == pytest.approx(max(gains))
    best = max(module.value(G, some, w) for some in combinations(range(G.shape[1]), 3))
    assert module.value(G, chosen, w) >= (1 - 1 / e) * best - 1e-12


@given(seeds)
def test_per_second_and_within_a_budget(seed):
    S, w = problem(seed)
    G = module.standardized(S)
    seconds = np.random.default_rng(seed).uniform(0.1, 10.0, G.shape[1])
    chosen = module.greedy(G, w, most=8, seconds=seconds, budget=12.0)
    assert seconds[chosen].sum() <= 12.0
    if chosen:
        gains = w @ G
        fits = seconds <= 12.0
        assert gains[chosen[0]] / seconds[chosen[0]] == pytest.approx((gains / seconds)[fits].max())


@given(seeds)
def test_every_family_has_its_best_configuration(seed):
    S, w = problem(seed)
    G = module.standardized(S)
    families = ["a", "a", "b", "b", "c", "c", "d", "d"]
    chosen = module.greedy(G, w, most=2)
    found = module.with_every_family(chosen, G, w, families)
    assert found[: len(chosen)] == chosen
    assert {families[j] for j in found} == set(families)
    for column in found[len(chosen) :]:
        own = [j for j in range(8) if families[j] == families[column]]
        assert (w @ G)[column] == max((w @ G)[own])


def test_seconds_are_those_of_the_configurations_whatever_the_data_set_and_the_busy_machine():
    rng = np.random.default_rng(1)
    true = rng.uniform(0.01, 100.0, 9)
    C = true * rng.uniform(0.1, 50.0, (40, 1))
    C[rng.random(C.shape) < 0.1] *= 30.0
    C[rng.random(C.shape) < 0.3] = np.nan
    C[:, 4] = np.nan
    found = module.relative_seconds(C)
    known = [j for j in range(9) if j != 4]
    np.testing.assert_allclose(
        found[known] / found[known[0]], true[known] / true[known[0]], rtol=1e-6
    )
    assert found[4] == 1.0


def test_entries_of_one_data_set_share_its_weight():
    twice = [experience("a", [1.0, 0.0]), experience("a", [1.0, 0.0]), experience("b", [0.0, 1.0])]
    np.testing.assert_allclose(module.known_scores(twice, "binary").weights, [0.25, 0.25, 0.5])


def test_only_numbers_of_the_kind_of_target_are_scores():
    poisoned = experience("a", [1.0, float("nan"), float("inf"), None, 0.5])
    known = module.known_scores([poisoned], Task.MULTICLASS)
    assert known.scores.tolist() == [[1.0, 0.5]]
    assert known.seconds.tolist() == [[0.2, 1.0]]
    assert module.known_scores([poisoned], Task.REGRESSION).n_data_sets == 0
    assert module.learned_portfolio(module.known_scores([], Task.BINARY), most=3) == []


@pytest.mark.parametrize("text", ["c", "f-c", "l-c", "id-c"])
@pytest.mark.parametrize("per_second", [False, True])
def test_a_data_set_that_is_left_out_leaves_nothing_behind(text, per_second):
    rng = np.random.default_rng(3)
    names = "abcdefgh"
    entries = [experience(name * 6, rng.random(12)) for name in names]
    snapshot = Snapshot.of(entries, [text.replace("c", "cccccc")])
    never = [entry for entry in entries if entry.data.name != "cccccc"]
    assert len(snapshot.experiences) == len(names) - 1

    def made(some):
        known = module.known_scores(some, Task.BINARY)
        return module.learned_portfolio(known, most=4, per_second=per_second)

    assert made(snapshot.experiences) == made(never)


def test_dear_families_come_later_where_their_fits_grow():
    entries = [experience(f"data{i}", [0.9, 0.9, 0.1, 0.1, 0.1]) for i in range(3)]
    known = module.known_scores(entries, Task.BINARY)
    first = module.learned_portfolio(known, most=1, per_second=True, growth={"knn": 100.0})
    assert first[0].family == "lda"
    assert module.learned_portfolio(known, most=1, per_second=True)[0].family == "knn"
