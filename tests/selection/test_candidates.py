"""Candidates, ranking and screening (B14, sections 3.5.1 and 3.5.3)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.records import Configuration
from automl.selection.clusters import Candidate, kmeans_clusters
from automl.selection.ranking import compound_ranks, criterion_ranks, rank_order
from automl.selection.screening import screen, stand_ins


def candidate(trial_id, scores, **options):
    return Candidate(trial_id, Configuration("svm"), tuple(scores), **options)


def leaders(points, scores, **options):
    return list(kmeans_clusters(points, scores, **options).leaders)


def test_the_best_of_each_cluster_is_chosen_best_first():
    points = np.array([[0, 0], [0.1, 0], [5, 5], [5.1, 5], [9, 0], [9, 0.1]], dtype=float)
    assert leaders(points, [0.1, 0.5, 0.9, 0.2, 0.3, 0.4], k=3, seed=0) == [2, 1, 5]


def test_columns_are_standardized():
    points = np.array([[0, 0], [1000, 0], [0, 1], [1000, 1]], dtype=float)
    found = leaders(points * [1, 1e-3], [1.0, 2.0, 3.0, 4.0], k=4, seed=0)
    assert found == [3, 2, 1, 0]


def test_equal_configurations_count_once():
    points = np.array([[1.0], [1.0], [2.0]])
    assert leaders(points, [0.1, 0.2, 0.3], k=10, seed=0) == [2, 1]
    assert leaders(np.ones((4, 0)), [0.1, 0.4, 0.2, 0.3], seed=0) == [1]
    assert leaders(np.ones((0, 2)), [], seed=0) == []


@given(seed=st.integers(0, 1000), k=st.integers(1, 12), n=st.integers(1, 30))
@settings(max_examples=20, deadline=None)
def test_the_best_trial_is_always_a_candidate(seed, k, n):
    rng = np.random.default_rng(seed)
    points, scores = rng.random((n, 2)), rng.random(n)
    found = leaders(points, scores, k=k, seed=seed)
    assert found[0] == scores.argmax()
    assert len(set(found)) == len(found) == min(k, n)
    assert found == leaders(points, scores, k=k, seed=seed)


def test_unusable_trials_are_refused():
    with pytest.raises(ValueError, match="finite"):
        leaders(np.array([[np.nan]]), [1.0], seed=0)
    with pytest.raises(ValueError, match="finite"):
        leaders(np.array([[1.0]]), [np.nan], seed=0)
    with pytest.raises(ValueError, match="k must be positive"):
        leaders(np.array([[1.0]]), [1.0], k=0, seed=0)
    with pytest.raises(ValueError, match="encoded configurations for"):
        leaders(np.array([[1.0]]), [1.0, 2.0], seed=0)


def test_a_candidate_survives_json():
    made = candidate("t1", [0.1, 0.2], seconds=1.5, simplicity=0.3, interpretability=0.4)
    assert Candidate.from_json(made.to_json()) == made


def test_ranks_are_fractional_and_prefer_the_documented_direction():
    made = [
        candidate("a", [0.5, 0.7], seconds=2.0, simplicity=0.5, interpretability=0.1),
        candidate("b", [0.6, 0.6], seconds=2.0, simplicity=0.9, interpretability=0.2),
        candidate("c", [0.1, 0.9], seconds=1.0, simplicity=0.5, interpretability=0.3),
    ]
    ranks = {name: values.tolist() for name, values in criterion_ranks(made).items()}
    assert ranks == {
        "generalization": [1.5, 1.5, 3.0],
        "speed": [2.5, 2.5, 1.0],
        "stability": [2.0, 1.0, 3.0],
        "simplicity": [2.5, 1.0, 2.5],
        "interpretability": [3.0, 2.0, 1.0],
    }
    assert compound_ranks(made, {"speed": 1, "stability": 3}) == pytest.approx(
        [(2.5 + 6) / 4, (2.5 + 3) / 4, (1 + 9) / 4]
    )


def test_generalization_dominates_by_default_and_ties_go_to_the_simpler():
    better = candidate("z", [0.61, 0.62], simplicity=0.1, interpretability=0.1)
    simpler = candidate("y", [0.60, 0.60], simplicity=0.9, interpretability=0.9)
    assert rank_order([simpler, better]) == [1, 0]
    equal = candidate("a", [0.61, 0.62], simplicity=0.9, interpretability=0.1)
    assert rank_order([better, equal]) == [1, 0]
    assert rank_order(
        [better, candidate("b", [0.61, 0.62], simplicity=0.1, interpretability=0.1)]
    ) == [1, 0]


def test_unusable_criteria_are_refused():
    for weights in ({"beauty": 1.0}, {"speed": -1.0}, {"speed": 0.0}):
        with pytest.raises(SettingsError):
            compound_ranks([candidate("a", [1.0])], weights)


def test_screening_keeps_what_is_not_clearly_worse_up_to_the_limit():
    rng = np.random.default_rng(0)
    base = rng.normal(0.8, 0.05, 10)
    scores = np.array([base - 0.3, base, base - 0.002 + rng.normal(0, 0.01, 10), base - 0.4])
    found = screen(scores, test_train_ratio=1 / 9)
    assert found.kept == (1, 2)
    assert found.pvalues[1] == 1.0
    assert found.pvalues[0] < 0.05
    assert screen(scores, limit=1, test_train_ratio=1 / 9).kept == (1,)


def test_screening_without_folds_takes_the_best():
    assert screen([[0.1], [0.5], [0.3]], limit=2, test_train_ratio=0.25).kept == (1, 2)
    with pytest.raises(ValueError, match="finite"):
        screen([[np.nan]], test_train_ratio=0.25)


def test_stand_ins_are_within_one_standard_error_of_the_best():
    best = np.array([0.8, 0.7, 0.9, 0.6])
    wave = np.array([1.0, -1.0, 1.0, -1.0])
    error = np.std(wave, ddof=1) * np.sqrt(1 / 4 + 1 / 3)  # of the mean difference, corrected
    inside, outside = (best - factor * error - wave for factor in (0.999, 1.001))
    always_worse = best - 1e-3
    scores = [best, inside, outside, best.copy(), always_worse]
    assert stand_ins(scores, test_train_ratio=1 / 3) == [0, 1, 3]
    assert stand_ins([[0.5], [0.5]], test_train_ratio=1 / 3) == [0]
