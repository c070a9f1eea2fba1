"""Few rows that decide a score: seen where errors have no variance, not where they have one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from automl.selection.tails import borderline, decided_by_few, effective_rows, tail_weight


@given(st.integers(1, 40), st.integers(0, 400), st.floats(0.1, 1e6))
def test_equal_rows_among_many_without_a_loss_are_as_many_as_they_are(n_hit, n_other, size):
    losses = np.zeros(n_hit + 100 * n_hit + n_other)
    losses[:n_hit] = size
    assert effective_rows(losses) == pytest.approx(n_hit, rel=0.03)


def test_rows_that_are_all_alike_all_count():
    assert effective_rows(np.full(37, 2.0)) == 37


@given(st.floats(0.5, 5), st.integers(20, 400))
def test_of_a_power_law_it_is_one_over_the_index(index, n_largest):
    shares = (np.arange(100 * n_largest) + 0.5) / (100 * n_largest)
    assert_allclose(tail_weight(shares ** (-1 / index), n_largest), 1 / index, rtol=0.06)


def test_the_borderline_is_that_of_squares_of_t_with_four_degrees_of_freedom():
    squares = np.random.default_rng(0).standard_t(4, 400_000) ** 2
    for share in (0.01, 0.05, 0.2):
        assert_allclose(borderline(share), tail_weight(squares, int(share * 400_000)), rtol=0.02)
    assert borderline(1e-6) == pytest.approx(0.5, abs=0.01)


def share_of_doubts(draw, n_rows, n=60):
    rng = np.random.default_rng(1)
    return np.mean([bool(decided_by_few(draw(rng, n_rows))) for _ in range(n)])


@pytest.mark.parametrize("n_rows", [200, 1000, 4500])
def test_errors_with_a_variance_of_their_squares_are_believed(n_rows):
    assert share_of_doubts(lambda rng, n: rng.normal(size=n) ** 2, n_rows) <= 0.02
    assert share_of_doubts(lambda rng, n: rng.uniform(size=n), n_rows) == 0
    assert share_of_doubts(lambda rng, n: np.abs(rng.normal(size=n)), n_rows) == 0


@pytest.mark.parametrize(
    ("n_rows", "least"), [(200, 0.5), (1000, 0.7), (4500, 0.95)], ids=["200", "1000", "4500"]
)
def test_errors_without_one_are_not(n_rows, least):
    assert share_of_doubts(lambda rng, n: rng.standard_t(3, n) ** 2, n_rows) >= least
    assert share_of_doubts(lambda rng, n: rng.lognormal(0, 2, n), n_rows) >= least
    assert share_of_doubts(lambda rng, n: rng.pareto(1.5, n), n_rows) >= least


def test_one_row_that_diverges_decides():
    losses = np.random.default_rng(2).normal(size=4500) ** 2
    losses[17] = 1e4
    assert "one of the 4500 rows decides" in decided_by_few(losses)


@given(st.integers(0, 1000), st.floats(1e-6, 1e6), st.integers(2, 300))
def test_the_unit_of_the_losses_does_not_matter(seed, unit, n_rows):
    losses = np.random.default_rng(seed).lognormal(0, 1.5, n_rows)
    assert decided_by_few(losses) == decided_by_few(unit * losses)


@pytest.mark.parametrize("losses", [np.zeros(1), np.zeros(50), np.ones(2), np.arange(3.0)])
def test_hardly_any_rows_or_losses_are_no_reason(losses):
    assert decided_by_few(losses) == ""
