"""Experience as arrays for surrogates across data sets."""

import numpy as np
import pytest

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.recommendation.transfer_sources import sources_of
from automl.records import Configuration, Task, TrialStatus
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

SPACE = SpaceTree.build("hill", {"x": {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.5}})
ENCODER = ConfigurationEncoder(SPACE).fit()


def entry(name, scores, features, *, family="hill"):
    trials = [
        KnownTrial(
            Configuration(family, {"x": i / 10}),
            TrialStatus.FAILED if score is None else TrialStatus.COMPLETE,
            score,
            1.0,
            5,
        )
        for i, score in enumerate(scores)
    ]
    return Experience(name, facts(name, features), "index", tuple(trials))


def facts(name, features):
    return DataSetFacts(name, name, name, Task.BINARY, 100, 3, 2, features)


def test_scores_are_standardized_per_data_set_and_failed_trials_are_left_out():
    known = [entry("a", [0.0, 1.0, None, 2.0], {"p": 1.0}), entry("b", [5.0, 6.0], {"p": 3.0})]
    sources = sources_of(known, ENCODER, facts("target", {"p": 2.0}))
    assert sources.task.tolist() == [0, 0, 0, 1, 1]
    for task in (0, 1):
        y = sources.y[sources.task == task]
        assert y.mean() == pytest.approx(0.0)
        assert y.std() == pytest.approx(1.0)
    expected = [Configuration("hill", {"x": x}) for x in (0, 0.1, 0.3, 0, 0.1)]
    np.testing.assert_allclose(sources.X, ENCODER.transform(expected))
    assert sources.configurations == expected


def test_meta_features_are_scaled_over_the_others_and_gaps_are_filled():
    known = [
        entry("a", [0.0, 1.0], {"p": 1.0, "same": 7.0, "gap": 4.0}),
        entry("b", [0.0, 1.0], {"p": 3.0, "same": 7.0}),
        entry("c", [0.0, 1.0], {"p": 2.0, "same": 7.0, "gap": 8.0}),
    ]
    sources = sources_of(known, ENCODER, facts("target", {"p": 99.0}))
    by_name = dict(zip(("gap", "p"), sources.meta.T, strict=True))
    np.testing.assert_allclose(by_name["p"], [0.0, 1.0, 0.5])
    np.testing.assert_allclose(by_name["gap"], [0.0, 0.5, 1.0])
    np.testing.assert_allclose(sources.target_meta, [0.5, 2.0])


def test_meta_features_that_nobody_could_have_measured_are_gaps():
    known = [
        entry("a", [0.0, 1.0], {"p": 1.7e308}),
        entry("b", [0.0, 1.0], {"p": -1.7e308}),
        entry("c", [0.0, 1.0], {"p": 1.0}),
        entry("d", [0.0, 1.0], {"p": 2.0}),
    ]
    sources = sources_of(known, ENCODER, facts("target", {"p": 1.7e308}))
    np.testing.assert_allclose(sources.meta[:, 0], [0.5, 0.5, 0.0, 1.0])
    np.testing.assert_allclose(sources.target_meta, [0.5])


def test_other_families_and_entries_without_a_score_are_no_sources():
    known = [entry("a", [1.0, 2.0], {"p": 1.0}, family="valley"), entry("b", [None], {"p": 2.0})]
    sources = sources_of(known, ENCODER, facts("target", {}))
    assert len(sources.y) == sources.n_tasks == 0
    assert sources.X.shape == (0, len(ENCODER.feature_names))
