"""A run keeps the files of the trials that an ensemble would choose from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.records import Configuration, Trial, TrialStatus
from automl.stages.best_trials import BestTrials
from automl.stages.blending import library_of
from automl.stages.searching import N_KEPT

LIBRARY = 60


def trial_of(index, score, family="svm", scaler="none"):
    status = TrialStatus.COMPLETE if score is not None else TrialStatus.RACED
    return Trial("run", index, Configuration(family, {"prep.scaler": scaler}), status, score)


def kept_of(trials, n_kept, **room):
    dropped = []
    best = BestTrials(n_kept, dropped.append, **room)
    for trial in trials:
        best.add(trial)
    assert len(dropped) == len(set(dropped))
    return [trial.index for trial in trials if trial.id not in dropped]


@given(st.permutations(range(12)))
def test_the_worst_go_but_no_familys_best(order):
    trials = [trial_of(i, i / 10, "ridge" if i < 2 else "svm") for i in order]
    assert sorted(kept_of(trials, 5)) == [1, 8, 9, 10, 11]


def test_families_beyond_the_number_lose_the_worst_leader():
    trials = [trial_of(0, 0.5, "svm"), trial_of(1, 0.1, "ridge"), trial_of(2, 0.3, "lda")]
    assert kept_of(trials, 2) == [0, 2]


def test_a_trial_that_is_not_complete_displaces_nothing():
    assert kept_of([trial_of(0, 0.5), trial_of(1, None)], 1) == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_all_trials_that_the_ensemble_chooses_from_are_kept(seed):
    rng = np.random.default_rng(seed)
    better = rng.normal(size=12)
    trials = []
    for index in range(200):
        family = int(rng.integers(12))
        score = float(better[family] + rng.normal())
        trials.append(trial_of(index, score, f"family {family}", str(rng.integers(4))))
    assert set(library_of(trials, LIBRARY)) <= set(kept_of(trials, N_KEPT))


def test_over_the_room_the_largest_go_and_the_best_one_stays():
    trials = [trial_of(i, i / 10) for i in range(8)]
    sizes = {trial.id: 5_000.0 if trial.index in (3, 7) else 2.0 for trial in trials}
    assert kept_of(trials, 6, mib_of=sizes.get, room_mib=4_096.0) == [1, 2, 4, 5, 6, 7]


def test_of_equal_sizes_the_worst_go():
    trials = [trial_of(i, i / 10) for i in range(8)]
    assert kept_of(trials, 8, mib_of=lambda _: 10.0, room_mib=30.0) == [4, 5, 6, 7]
