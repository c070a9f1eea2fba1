"""The Poisson-binomial test against enumeration, the binomial distribution and closed forms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from automl.comparison import poisson_binomial
from automl.comparison.marks import Mark
from automl.comparison.poisson_binomial import (
    drawn_risks,
    drawn_risks_of_scores,
    number_of_wins,
    poisson_binomial_test,
    row_weights,
    winning_probabilities,
)
from automl.metrics.building import build_index
from automl.records import Task


def scores_of(index):
    return lambda y, prediction, weights: index.scores(y, prediction[None], weights)


PROBABILITIES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9)


@given(PROBABILITIES)
def test_the_number_of_wins_is_that_of_enumeration(p):
    enumerated = np.zeros(len(p) + 1)
    for outcome in product((0, 1), repeat=len(p)):
        enumerated[sum(outcome)] += np.prod(np.where(outcome, p, 1.0 - np.array(p)))
    assert number_of_wins(p) == pytest.approx(enumerated)


@given(st.integers(1, 120), st.floats(1e-6, 1.0))
def test_equal_probabilities_are_the_binomial_distribution(n, p):
    expected = binom.pmf(np.arange(n + 1), n, p)
    assert number_of_wins(np.full(n, p)) == pytest.approx(expected, abs=1e-12)


@given(PROBABILITIES)
def test_the_two_methods_share_the_probability(p):
    forward, backward = poisson_binomial_test(p), poisson_binomial_test(1.0 - np.array(p))
    assert forward.probability + backward.probability == pytest.approx(1.0)
    assert poisson_binomial_test(sorted(p)).probability == pytest.approx(forward.probability)


def test_known_probabilities():
    assert poisson_binomial_test([0.5] * 7).probability == pytest.approx(0.5)
    assert poisson_binomial_test([1.0, 0.0]).probability == 0.5  # half of the tie
    assert poisson_binomial_test([0.9]).probability == pytest.approx(0.9)
    assert poisson_binomial_test([0.9, 0.9]).probability == pytest.approx(0.81 + 0.09)
    sure = poisson_binomial_test([1.0] * 39)
    assert (sure.probability, sure.mark, sure.n_data_sets) == (1.0, Mark.HIGHLY, 39)
    assert "39 data sets" in str(sure)


@pytest.mark.parametrize("bad", [[1.1], [np.nan], [-0.1], [[0.5]], []])
def test_unusable_probabilities_are_refused(bad):
    with pytest.raises(ValueError):
        poisson_binomial_test(bad)


@pytest.mark.parametrize("reweighting", ["dirichlet", "bootstrap"])
def test_weights_have_the_moments_of_their_distribution(reweighting, monkeypatch):
    monkeypatch.setattr(poisson_binomial, "CELLS_AT_ONCE", 64)
    n, draws = 8, 20_000
    rng = np.random.default_rng(0)
    portions = list(row_weights(n, draws, rng=rng, reweighting=reweighting))
    weights = np.concatenate(portions)
    assert len(portions) == draws // 8
    assert weights.shape == (draws, n)
    assert weights.sum(axis=1) == pytest.approx(n)
    assert weights.mean(axis=0) == pytest.approx(1.0, abs=0.03)
    # variance of n times a Dirichlet(1, ..., 1) component, and of a multinomial count
    expected = (n - 1) / (n + 1) if reweighting == "dirichlet" else 1 - 1 / n
    assert weights.var(axis=0) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("reweighting", ["dirichlet", "bootstrap"])
def test_many_rows_follow_the_normal_approximation(reweighting):
    rng = np.random.default_rng(1)
    difference = rng.normal(-0.05, 1.0, 2000)
    losses = np.stack([difference, np.zeros(2000)])
    drawn = drawn_risks(losses, rng=rng, n_draws=4000, reweighting=reweighting)
    expected = norm.cdf(-difference.mean() / (difference.std() / np.sqrt(2000)))
    assert winning_probabilities(drawn)[0, 1] == pytest.approx(expected, abs=0.03)


def test_two_rows_have_the_closed_form_of_the_dirichlet():
    # weights (w, 1 - w) with w uniform: A wins where w > (1 - w) 3, that is w > 3/4
    drawn = drawn_risks([[0, 3], [1, 0]], rng=np.random.default_rng(0), n_draws=40_000)
    assert winning_probabilities(drawn)[0, 1] == pytest.approx(0.25, abs=0.01)


def test_equal_losses_are_ties_and_all_worse_rows_always_lose():
    losses = np.random.default_rng(0).random((3, 50))
    losses[1] = losses[0]
    losses[2] = losses[0] + 0.1
    found = winning_probabilities(drawn_risks(losses, rng=np.random.default_rng(1), n_draws=200))
    assert found.tolist() == [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.5]]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["dirichlet", "bootstrap"]))
@settings(max_examples=25)
def test_the_probabilities_of_a_pair_add_up_to_one_for_any_unit(seed, reweighting):
    losses = np.random.default_rng(seed).integers(0, 3, (4, 7)).astype(float)
    first, second = (
        winning_probabilities(
            drawn_risks(
                scaled,
                rng=np.random.default_rng(seed),
                n_draws=50,
                reweighting=reweighting,
            )
        )
        for scaled in (losses, losses * 1024.0)
    )
    assert first + first.T == pytest.approx(np.ones((4, 4)))
    assert (first == second).all()


def test_rows_of_weight_zero_do_not_count():
    losses = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    drawn = drawn_risks(
        losses, rng=np.random.default_rng(0), n_draws=20, sample_weight=[1.0, 0.0, 1.0]
    )
    assert winning_probabilities(drawn)[0, 1] == 1.0


def test_scores_that_are_means_over_rows_give_what_losses_give():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    predictions = [rng.dirichlet((1, 1), 60).astype(np.float64) for _ in range(3)]
    index = build_index("brier", task=Task.BINARY, y_all=y)
    losses = np.array([((p - np.eye(2)[y]) ** 2).sum(axis=1) for p in predictions])
    by_rows = drawn_risks(losses, rng=np.random.default_rng(3), n_draws=300)
    by_score = drawn_risks_of_scores(
        scores_of(index), y, predictions, rng=np.random.default_rng(3), n_draws=300
    )
    assert (winning_probabilities(by_rows) == winning_probabilities(by_score)).all()


def test_a_score_that_is_not_a_mean_over_rows_is_weighted():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 80)
    right = np.where(y == 1, 0.9, 0.1)
    good = np.column_stack([1 - right, right])
    bad = good[:, ::-1]
    index = build_index("roc_auc", task=Task.BINARY, y_all=y)
    drawn = drawn_risks_of_scores(
        scores_of(index), y, [good, bad, good], rng=rng, n_draws=30, reweighting="bootstrap"
    )
    assert winning_probabilities(drawn)[0].tolist() == [0.5, 1.0, 0.5]


def test_failures_lose_against_everything_but_failures():
    drawn = np.column_stack([np.full(5, np.inf), np.zeros(5), np.full(5, np.inf)])
    assert winning_probabilities(drawn)[0].tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("losses", [[1.0, 2.0], [[np.nan]], [[]]])
def test_unusable_losses_are_refused(losses):
    with pytest.raises(ValueError, match="losses must"):
        drawn_risks(losses, rng=np.random.default_rng(0))


def test_there_must_be_rows_and_draws():
    with pytest.raises(ValueError, match="at least 1"):
        next(row_weights(3, 0, rng=np.random.default_rng(0)))
