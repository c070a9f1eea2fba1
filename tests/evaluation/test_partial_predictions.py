"""Predictions of partial trials, and when they go."""

import numpy as np
import pytest

from automl.evaluation.partial_predictions import PartialPredictions
from automl.evaluation.predictions import PredictionStore
from automl.records import Configuration, Fidelity, Trial, TrialStatus


@pytest.fixture
def store(tmp_path):
    return PredictionStore(tmp_path, 10)


def saved(store, index, k, fidelity, status=TrialStatus.PARTIAL):
    trial = Trial("run", index, Configuration("knn", {"k": k}), status, 0.5, fidelity=fidelity)
    if fidelity.has_full_fits:
        store.save(trial.id, np.zeros((4, 2)))
    return trial


def test_a_partial_trial_is_kept_until_a_later_one_of_its_configuration_has_ended(store):
    partial = PartialPredictions(store, 5)
    first = saved(store, 0, 1, Fidelity(folds=1))
    partial.add(first)
    partial.add(saved(store, 1, 2, Fidelity(folds=1)))
    assert store.trial_ids() == ["run-s00000", "run-s00001"]
    partial.add(saved(store, 2, 1, Fidelity(folds=3)))
    assert store.trial_ids() == ["run-s00001", "run-s00002"]
    partial.add(saved(store, 3, 1, Fidelity(), TrialStatus.COMPLETE))
    assert store.trial_ids() == ["run-s00001", "run-s00003"]


def test_the_oldest_goes_where_there_are_too_many(store):
    partial = PartialPredictions(store, 2)
    for i in range(4):
        partial.add(saved(store, i, i, Fidelity(folds=1)))
    assert store.trial_ids() == ["run-s00002", "run-s00003"]


def test_trials_of_weaker_fits_have_nothing_to_keep(store):
    partial = PartialPredictions(store, 0)
    partial.add(saved(store, 0, 1, Fidelity(row_share=0.5)))
    partial.add(saved(store, 1, 1, Fidelity(folds=1)))
    assert store.trial_ids() == []
