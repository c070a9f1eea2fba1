"""Expected ranks, winning frequencies and the sign test (L14, section 6.2)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import binomtest

from automl.comparison.marks import Mark
from automl.comparison.ranks import (
    WinningFrequency,
    expected_rank,
    method_ranks,
    winning_frequency,
)
from automl.comparison.sign import sign_test, sign_test_of_wins

RISKS = arrays(
    float,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, np.inf]),
)

# L14, tables 1 and 2: winning frequencies of row against column, then the expected rank.
PRINTED = {
    "SVR": ".50 .66 .82 .86 1.66 .34 .50 .50 .77 2.38 .18 .50 .50 .64 2.68 .14 .23 .36 .50 3.27",
    "GBR": ".50 .52 .77 .86 1.84 .48 .50 .77 .91 1.85 .23 .23 .50 .42 3.12 .14 .09 .58 .50 3.19",
    "RFR": ".50 .53 .76 .91 1.80 .47 .50 .72 1.0 1.81 .24 .28 .50 .66 2.82 .09 .00 .34 .50 3.57",
    "SVM": ".50 .54 .55 .56 2.35 .46 .50 .51 .51 2.52 .45 .49 .50 .53 2.54 .44 .49 .47 .50 2.59",
    "GBC": ".50 .51 .59 .65 2.25 .49 .50 .59 .64 2.28 .41 .41 .50 .55 2.64 .35 .36 .45 .50 2.83",
    "RFC": ".50 .52 .60 .64 2.24 .48 .50 .60 .67 2.25 .40 .40 .50 .57 2.63 .36 .33 .43 .50 2.89",
    "MLP": ".50 .57 .76 .75 1.92 .43 .50 .68 .68 2.21 .24 .32 .50 .54 2.91 .25 .32 .46 .50 2.96",
}


@pytest.mark.parametrize("space", PRINTED)
def test_printed_ranks_follow_from_printed_frequencies(space):
    printed = np.array(PRINTED[space].split(), dtype=float).reshape(4, 5)
    frequency, ranks = printed[:, :4], printed[:, 4]
    assert frequency + frequency.T == pytest.approx(1.0, abs=0.0101)  # two digits each
    found = WinningFrequency(frequency, frequency[..., np.newaxis]).expected_rank
    assert found == pytest.approx(ranks, abs=0.02)


def test_ties_have_the_average_rank_of_the_document():
    risks = -np.array([[0.9], [0.8], [0.8], [0.7]])
    assert method_ranks(risks).ravel().tolist() == [1.0, 2.5, 2.5, 4.0]
    assert expected_rank(risks).expected.tolist() == [1.0, 2.5, 2.5, 4.0]


@given(RISKS)
def test_ranks_and_frequencies_agree_whatever_the_risks(risks):
    k = len(risks)
    rank, won = expected_rank(risks), winning_frequency(risks)
    assert rank.expected == pytest.approx(won.expected_rank)
    assert rank.expected.sum() == pytest.approx(k * (k + 1) / 2)
    assert won.frequency + won.frequency.T == pytest.approx(np.ones((k, k)))


@given(RISKS, st.randoms(use_true_random=False))
def test_only_the_order_of_risks_counts_and_not_that_of_methods_or_data_sets(risks, random):
    methods = random.sample(range(risks.shape[0]), risks.shape[0])
    places = random.sample(range(risks.shape[1]), risks.shape[1])
    shuffled = np.arctan(risks)[methods][:, places]
    assert expected_rank(shuffled).expected == pytest.approx(expected_rank(risks).expected[methods])
    found = winning_frequency(shuffled).frequency
    assert found == pytest.approx(winning_frequency(risks).frequency[methods][:, methods])


def test_a_data_set_counts_once_however_many_seeds_it_has():
    risks = [[1.0, 1.0, 1.0, 5.0], [2.0, 2.0, 2.0, 3.0]]
    data_sets = ["b", "b", "b", "a"]
    won = winning_frequency(risks, data_sets=data_sets)
    assert won.frequency[0, 1] == 0.5
    assert won.wins[0, 1].tolist() == [1.0, 0.0]  # in order of appearance
    assert expected_rank(risks, data_sets=data_sets).ranks.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    test = sign_test(*risks, data_sets=data_sets)
    assert (test.n_wins, test.n_losses) == (1, 1)


def test_failures_rank_last_together():
    assert method_ranks([[np.inf], [0.3], [np.inf]]).ravel().tolist() == [2.5, 1.0, 2.5]


@pytest.mark.parametrize("bad", [[[np.nan, 1.0]], [[-np.inf, 0.0]], [], [1.0, 2.0]])
def test_unusable_risks_are_refused(bad):
    with pytest.raises(ValueError, match="risks must"):
        expected_rank(bad)


def test_there_must_be_a_data_set_for_each_place():
    with pytest.raises(ValueError, match="one data set for each of 2 places"):
        winning_frequency([[1.0, 2.0]], data_sets=["a"])


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_the_sign_test_is_scipys_binomial_test_without_the_ties(wins, losses, ties):
    first = np.r_[np.zeros(wins), np.ones(losses), np.ones(ties)]
    second = np.r_[np.ones(wins), np.zeros(losses), np.ones(ties)]
    if not len(first):
        return
    found = sign_test(first, second)
    assert (found.n_wins, found.n_losses, found.n_ties) == (wins, losses, ties)
    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert found.pvalue == pytest.approx(expected)
    assert sign_test(second, first).pvalue == found.pvalue


def test_the_sign_test_meets_the_printed_critical_values():
    # Demsar (2006), table 3: wins needed of 10, 15, 20, 25 data sets at 0.05 and at 0.10
    for n, needed, weaker in ((10, 9, 9), (15, 12, 12), (20, 15, 15), (25, 18, 18)):
        assert sign_test_of_wins(np.arange(n) < needed).pvalue < 0.05
        assert sign_test_of_wins(np.arange(n) < weaker).pvalue < 0.10
        assert sign_test_of_wins(np.arange(n) < weaker - 2).pvalue > 0.10


def test_marks_have_the_levels_of_the_document():
    assert [Mark.of_pvalue(p) for p in (0.1, 0.0999, 0.05, 0.0499)] == [
        Mark.NONE,
        Mark.SIGNIFICANT,
        Mark.SIGNIFICANT,
        Mark.HIGHLY,
    ]
    assert [Mark.of_probability(p) for p in (0.8, 0.81, 0.9, 0.91)] == [
        Mark.NONE,
        Mark.SIGNIFICANT,
        Mark.SIGNIFICANT,
        Mark.HIGHLY,
    ]
    assert sign_test_of_wins([1, 1, 1, 1, 1]).mark is Mark.SIGNIFICANT
    assert str(sign_test_of_wins([1, 0, 0.5])) == "sign test: 1 wins, 1 losses, 1 ties, p = 1"
