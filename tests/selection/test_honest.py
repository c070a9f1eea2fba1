"""The honest score: no correction without a choice, most of the luck taken off where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from automl.inference.decision import DecisionRule
from automl.metrics.building import build_index
from automl.records import Task
from automl.selection.correction import SHARE, WIDENING, corrected
from automl.selection.honest import BLOCK, LEAST_BOOTSTRAPS, N_INTERVAL, Gain, Repetition
from automl.selection.luck import luck_of
from automl.selection.scored_rows import Choice, ScoredRows, draw

SKILL = 0.7


def accuracy(y, prediction, sample_weight=None, *, labels=None):
    """Share of rows whose value of class 1 is on the right side of one half, or of a threshold."""
    found = prediction > 0.5 if labels is None else labels
    return float(np.average(found == y, weights=sample_weight))


def models(rng, n_models, n_rows, skill=SKILL):
    """Predictions that are right in a share of the rows, independently of each other."""
    y = rng.integers(0, 2, n_rows)
    right = rng.random((n_models, n_rows)) < np.broadcast_to(skill, n_models)[:, None]
    return y, [np.where(hit, y, 1 - y).astype(np.float32) for hit in right]


def only(n_models, place):
    return Choice(np.eye(n_models)[place])


def best_of(rows):
    """The model with the best score on the drawn rows."""
    n_models = len(rows.versions[0])

    def choose(counts, _):
        found = []
        for drawn in counts:
            scores = [rows.score_under([p], drawn) for p in rows.versions[0]]
            found.append({"single": only(n_models, int(np.argmax(scores)))})
        return found

    return choose


def estimate(rows, seed=0, gains=None, **options):
    """Honest score of the best model on all rows."""
    choose = best_of(rows)
    final = choose(np.ones((1, len(rows.y)), dtype=np.float32), None)[0]
    seed = np.random.SeedSequence(seed)
    return Repetition(rows, final, choose, seed=seed, **options).whole(gains)["single"]


@given(st.integers(0, 10_000), st.integers(10, 200))
@settings(max_examples=10)
def test_one_model_needs_no_correction(seed, n_rows):
    y, predictions = models(np.random.default_rng(seed), 1, n_rows)
    found = estimate(ScoredRows([predictions], y, accuracy), n_bootstraps=40)
    naive = accuracy(y, predictions[0])
    assert found.bias == 0.0
    assert found.score == found.naive == naive
    assert found.low == pytest.approx(naive - WIDENING * (naive - found.naive_low))
    assert found.high == pytest.approx(min(naive + WIDENING * (found.naive_high - naive), 1.0))


def test_the_interval_of_one_model_is_as_wide_as_the_binomial_one():
    y, predictions = models(np.random.default_rng(1), 1, 400)
    found = estimate(ScoredRows([predictions], y, accuracy), n_bootstraps=40)
    error = np.sqrt(found.naive * (1 - found.naive) / 400)
    assert found.naive_high - found.naive_low == pytest.approx(2 * 1.96 * error, rel=0.15)


@pytest.fixture(scope="module")
def equals():
    """Honest scores of the best of 20 models that are all right in `SKILL` of the rows."""
    found = []
    for seed in range(20):
        y, predictions = models(np.random.default_rng(seed), 20, 80)
        found.append(estimate(ScoredRows([predictions], y, accuracy), n_bootstraps=40))
    return found


def test_of_models_that_are_equally_good_most_of_the_best_ones_luck_is_taken_off(equals):
    naive = np.mean([found.naive for found in equals]) - SKILL
    honest = np.mean([found.score for found in equals]) - SKILL
    assert naive > 0.07
    assert abs(honest) < 0.45 * naive
    assert np.mean([found.low <= SKILL <= found.high for found in equals]) >= 0.9


def test_the_whole_shortfall_is_the_bias_where_models_are_equally_good(equals):
    rest = [found.naive - found.bias / SHARE - SKILL for found in equals]
    assert abs(np.mean(rest)) < 3 * np.std(rest) / np.sqrt(len(rest))


def test_a_model_that_is_far_better_than_all_others_needs_no_correction():
    skill = np.array([0.95, *[0.55] * 10])
    y, predictions = models(np.random.default_rng(3), 11, 300, skill)
    found = estimate(ScoredRows([predictions], y, accuracy), n_bootstraps=60)
    assert found.bias == 0.0


def squared(y, prediction, sample_weight=None, *, labels=None):
    """R² with a variance of 1."""
    return 1.0 - float(np.average((y - prediction) ** 2, weights=sample_weight))


def test_models_that_diverge_on_one_row_each_are_not_the_final_ones_luck():
    rng = np.random.default_rng(12)
    y = rng.normal(size=1000)
    steady = [y + 0.6 * rng.normal(size=1000) for _ in range(5)]
    wild = [y + 0.5 * rng.normal(size=1000) for _ in range(2)]
    for prediction in wild:
        prediction[rng.integers(1000)] += 30.0
    rows = ScoredRows([[*steady, *wild]], y, squared)
    found = estimate(rows, n_bootstraps=100)
    final = best_of(rows)(np.ones((1, 1000), dtype=np.float32), None)[0]["single"]
    assert final.weights[:5].sum() == 1.0
    assert found.naive == pytest.approx(1 - 0.36, abs=0.05)
    assert abs(found.bias) < 0.02
    assert found.high - found.low < 0.15


def uncorrelated(seed, n, size):
    """(n, size) samples whose means are 0 and whose covariance is exactly the identity's multiple."""
    drawn = np.random.default_rng(seed).normal(size=(size, n))
    return np.linalg.qr(drawn - drawn.mean(axis=0))[0].T


@given(st.integers(0, 1000), st.floats(0, 0.95))
def test_all_of_a_difference_between_alike_models_may_be_luck(seed, correlation):
    common, *own = uncorrelated(seed, 3, 400)
    final, other = (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * o for o in own)
    assert luck_of(final, other) == 1.0


@given(st.integers(0, 1000), st.floats(2.0, 1000.0))
def test_of_a_difference_to_a_model_that_varies_more_less_is(seed, scale):
    final, other = uncorrelated(seed, 2, 400)
    expected = min(4.0 / (1.0 + scale**2), 1.0)
    assert luck_of(final, scale * other) == pytest.approx(expected)
    assert luck_of(scale * final, other) == 1.0


def test_scores_that_do_not_differ_or_are_not_defined_are_counted_in_full():
    scores = np.random.default_rng(13).normal(size=20)
    assert luck_of(scores, scores) == 1.0
    assert luck_of(np.full(20, np.nan), scores) == 1.0


def test_a_threshold_that_was_fitted_to_noise_is_corrected():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 60)
    positive = rng.random(60).astype(np.float32)
    rows = ScoredRows([[np.column_stack([1 - positive, positive])]], y, accuracy)

    def choose(counts, _):
        places = [DecisionRule(threshold) for threshold in np.linspace(0.05, 0.95, 19)]
        return [
            {
                "single": Choice(
                    np.ones(1),
                    places[np.argmax([rows.score_under(rows.versions[0], d, t) for t in places])],
                )
            }
            for d in counts
        ]

    final = choose(np.ones((1, 60), dtype=np.float32), None)[0]
    seed = np.random.SeedSequence(4)
    found = Repetition(rows, final, choose, seed=seed, n_bootstraps=100).whole()["single"]
    assert found.bias > 0.02


def test_equal_seeds_give_equal_scores_and_others_do_not():
    y, predictions = models(np.random.default_rng(5), 10, 60)
    rows = ScoredRows([predictions], y, accuracy)
    first, again, other = (estimate(rows, seed, n_bootstraps=40) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_gain_is_added_and_not_known_exactly():
    y, predictions = models(np.random.default_rng(11), 10, 60)
    rows = ScoredRows([predictions], y, accuracy)
    plain = estimate(rows, n_bootstraps=40)
    better = estimate(rows, n_bootstraps=40, gains={"single": Gain(0.05), "other": Gain(0.3)})
    assert better.gain == 0.05
    assert better.score == pytest.approx(plain.score + 0.05)
    assert better.score - better.low > plain.score - plain.low
    assert (better.naive, better.bias) == (plain.naive, plain.bias)


@given(st.integers(1, 12), st.integers(0, 1000))
def test_groups_are_drawn_whole(n_groups, seed):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
    counts = draw(len(groups), 5, rng=rng, groups=groups)
    for group in range(n_groups):
        inside = counts[:, groups == group]
        assert (inside == inside[:, :1]).all()


@given(st.integers(1, 60), st.integers(0, 1000))
def test_as_many_rows_are_drawn_as_there_are(n_rows, seed):
    counts = draw(n_rows, 7, rng=np.random.default_rng(seed))
    assert counts.shape == (7, n_rows)
    assert (counts.sum(axis=1) == n_rows).all()


def test_groups_widen_the_interval_where_rows_of_a_group_are_alike():
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(30), 10)
    right = np.repeat(rng.random(30) < SKILL, 10)
    y = rng.integers(0, 2, 300)
    predictions = [np.where(right, y, 1 - y).astype(np.float32)]
    alone = estimate(ScoredRows([predictions], y, accuracy), n_bootstraps=40)
    whole = estimate(ScoredRows([predictions], y, accuracy, groups=groups), n_bootstraps=40)
    assert whole.high - whole.low > 2 * (alone.high - alone.low)


def test_a_row_with_weight_two_counts_as_two_rows():
    y, predictions = models(np.random.default_rng(7), 3, 40)
    weight = np.where(np.arange(40) < 20, 2.0, 1.0)
    rows = ScoredRows([predictions], y, accuracy, sample_weight=weight)
    twice = np.repeat(np.arange(40), weight.astype(int))
    plain = ScoredRows([[p[twice] for p in predictions]], y[twice], accuracy)
    ones, more = np.ones(40, dtype=np.float32), np.ones(60, dtype=np.float32)
    for i in range(3):
        expected = plain.score_under([plain.versions[0][i]], more)
        assert rows.score_under([predictions[i]], ones) == pytest.approx(expected)


@pytest.mark.parametrize("takes_weights", [True, False])
def test_counts_are_repeated_rows_with_and_without_weights(takes_weights):
    rng = np.random.default_rng(8)
    y, predictions = rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50).astype(np.float32)
    index = build_index("index", task=Task.MULTICLASS, y_all=y)
    rows = ScoredRows([[predictions]], y, index.score, takes_weights=takes_weights)
    counts = draw(50, 1, rng=rng)[0]
    drawn = np.repeat(np.arange(50), counts.astype(int))
    expected = index.score(y[drawn], predictions[drawn])
    assert rows.score_under([predictions], counts) == pytest.approx(expected)


def test_the_score_is_the_mean_over_versions():
    y, predictions = models(np.random.default_rng(9), 2, 30)
    rows = ScoredRows([predictions[:1], predictions[1:]], y, accuracy)
    expected = np.mean([accuracy(y, p) for p in predictions])
    found = rows.score_under(rows.blends(Choice(np.ones(1))), np.ones(30, dtype=np.float32))
    assert found == pytest.approx(expected)


def test_without_time_for_enough_bootstraps_there_is_no_score():
    y, predictions = models(np.random.default_rng(10), 2, 30)
    rows = ScoredRows([predictions], y, accuracy)
    choose, final = best_of(rows), {"single": only(2, 0)}
    repetition = Repetition(rows, final, choose, seed=np.random.SeedSequence(0))
    blocks = [repetition.block(number) for number in range(LEAST_BOOTSTRAPS // BLOCK)]
    assert repetition.scores(blocks[:-1]) == {}
    assert repetition.scores(blocks)["single"].n_bootstraps == LEAST_BOOTSTRAPS


def test_a_block_is_the_same_whoever_makes_it_and_whenever():
    y, predictions = models(np.random.default_rng(10), 5, 60)
    rows = ScoredRows([predictions], y, accuracy)
    choose, final = best_of(rows), {"single": only(5, 0)}
    one, other = (
        Repetition(rows, final, choose, seed=np.random.SeedSequence(0), n_bootstraps=25)
        for _ in range(2)
    )
    backwards = [other.block(number) for number in reversed(range(other.n_blocks))]
    assert [len(block["single"]) for block in reversed(backwards)] == [10, 10, 5]
    assert one.scores(backwards[::-1]) == one.whole() == other.whole()
    assert len({block["single"] == backwards[-1]["single"] for block in backwards}) == 2


@given(
    st.floats(-1, 0.9),
    st.lists(st.floats(-0.2, 0.4), min_size=2, max_size=30),
    st.floats(-0.1, 0.1),
    st.integers(0, 1000),
)
def test_the_intervals_hold_their_scores_and_the_honest_one_is_no_narrower_below(
    naive, shortfalls, gain, seed
):
    resampled = naive + np.random.default_rng(seed).normal(0, 0.03, N_INTERVAL)
    found = corrected(naive, resampled, np.array(shortfalls), gain)
    without = naive - SHARE * np.mean(shortfalls)
    assert_allclose(found.score, min(without + gain, max(without, 1.0)), atol=1e-12)
    assert found.naive_low <= naive <= found.naive_high
    assert found.low <= found.score <= found.high + 1e-12
    assert found.score - found.low >= naive - found.naive_low - 1e-12
