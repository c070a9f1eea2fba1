"""Curves over trials: ranks, hyperparameter ranks, distance to the best known (S15, section 4.3; H18, figures 5.4 and 5.8)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from automl.comparison.curves import (
    against_best,
    bands,
    best_so_far,
    hyperparameter_ranks,
    rank_curves,
)


def test_ranks_are_of_the_best_so_far():
    risks = np.array([[[3.0, 5.0, 1.0]], [[2.0, 2.0, 2.0]], [[np.inf, 2.0, 2.0]]])
    assert best_so_far(risks)[0, 0].tolist() == [3.0, 3.0, 1.0]
    assert rank_curves(risks)[:, 0].T.tolist() == [[2, 1, 3], [3, 1.5, 1.5], [1, 2.5, 2.5]]


def test_hyperparameter_ranks_are_positions_in_the_whole_table():
    rng = np.random.default_rng(0)
    tested = [rng.integers(0, 6, 20).astype(float), rng.random(15)]
    tried = np.stack([rng.permutation(15)[:8] for _ in range(3)])
    chosen = np.stack([best_so_far(table[tried]) for table in tested], axis=1)
    found = hyperparameter_ranks(chosen, tested)
    for place, table in enumerate(tested):
        expected = np.minimum.accumulate(rankdata(table)[tried], axis=1)
        assert found[:, place] == pytest.approx(expected)
    assert hyperparameter_ranks([[[0.5]]], [[0.0, 1.0, np.inf]])[0, 0, 0] == 1.5  # between


def test_the_best_known_is_0_as_a_distance_and_1_as_a_share():
    risks = np.array([[[1.0, 0.5, 0.25]]])
    assert against_best(risks, [0.25])[0, 0].tolist() == [0.75, 0.25, 0.0]
    assert against_best(risks, [0.25], reference=[1.25])[0, 0].tolist() == [0.25, 0.75, 1.0]


def test_bands_hold_the_mean_and_draw_data_sets_together():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 40, 3))
    alone = bands(values, np.arange(40), rng=np.random.default_rng(1), n_resamples=4000)
    assert alone.mean == pytest.approx(values.mean(axis=1))
    assert ((alone.low < alone.mean) & (alone.mean < alone.high)).all()
    error = values.std(axis=1) / np.sqrt(40)
    assert alone.high - alone.low == pytest.approx(2 * 1.96 * error, rel=0.08)
    assert alone.quartiles.shape == (2, 2, 3)
    assert alone.quartiles[0] == pytest.approx(np.quantile(values, 0.25, axis=1))
    twice = bands(
        np.repeat(values, 2, axis=1),
        np.repeat(np.arange(40), 2),
        rng=np.random.default_rng(1),
        n_resamples=4000,
    )
    assert twice.low == pytest.approx(alone.low)  # copies of a data set are no new evidence


def test_unusable_curves_are_refused():
    with pytest.raises(ValueError, match="tested risks for each of 1 places"):
        hyperparameter_ranks([[[1.0]]], [])
    with pytest.raises(ValueError, match="must be finite"):
        against_best([[[np.inf]]], [0.0])
    with pytest.raises(ValueError, match="reference must be above"):
        against_best([[[1.0]]], [0.0], reference=[0.0])
    with pytest.raises(ValueError, match="steps"):
        bands([[1.0]], ["a"], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="3 dimensions"):
        rank_curves([[1.0]])
