"""The meta-learner and its rival, the nearest data sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from automl.errors import SettingsError
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.recommendation.meta_learner import (
    MetaLearner,
    ScoreBoosting,
    common_scores,
    meta_feature_names,
    meta_matrix,
)
from automl.recommendation.meta_vote import vote_on
from automl.recommendation.nearest_data_sets import (
    NearestRuns,
    best_configurations,
    comparable,
    nearest_data_sets,
    nearest_experiences,
)
from automl.records import Configuration, Task, TrialStatus
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

SPACE = SpaceTree.build("hill", {"x": {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.5}})


def facts(name: str, top: float) -> DataSetFacts:
    """A data set whose best x is its meta-feature."""
    return DataSetFacts(name, name, name, Task.BINARY, 100, 3, 2, {"top": top})


def known(name: str, top: float, *, level: float = 0.0, n: int = 60) -> Experience:
    xs = np.random.default_rng(abs(hash(top)) % 1000).random(n)
    trials = [
        KnownTrial(
            Configuration("hill", {"x": float(x)}), TrialStatus.COMPLETE,
            level - (x - top) ** 2, 1.0, 5,
        )
        for x in xs
    ]  # fmt: skip
    return Experience(name, facts(name, top), "index", tuple(trials))


def learner() -> MetaLearner:
    return MetaLearner(ConfigurationEncoder(SPACE).fit())


def test_scores_are_standardized_by_data_set():
    scores, task = np.array([1.0, 3.0, 10.0, 30.0, 5.0, 5.0]), np.array([7, 7, 2, 2, 4, 4])
    assert common_scores(scores, task) == pytest.approx([-1.0, 1.0, -1.0, 1.0, 0.0, 0.0])
    assert common_scores(np.array([0.1 + 0.2, 0.3]), np.zeros(2)) == pytest.approx([0.0, 0.0])


def test_a_score_without_a_lower_end_leaves_the_others_their_spread():
    good = np.linspace(0.4, 0.9, 20)
    y = common_scores(np.array([-5e5, *good]), np.zeros(21))
    assert np.ptp(y[1:]) > 1.0
    assert y[0] == y.min()


def test_it_learns_that_the_best_configuration_depends_on_the_meta_feature():
    past = [known(str(top), top, level=100.0 * top) for top in np.linspace(0.0, 1.0, 21)]
    model = learner().fit(past, rng=np.random.default_rng(0))
    grid = [Configuration("hill", {"x": float(x)}) for x in np.linspace(0.0, 1.0, 51)]
    for top in (0.22, 0.78):
        best = grid[int(model.predict(grid, facts("new", top)).argmax())].values["x"]
        assert best == pytest.approx(top, abs=0.15)


def test_failed_trials_and_other_families_do_not_count():
    good = known("a", 0.3)
    bad = KnownTrial(Configuration("hill", {"x": 0.9}), TrialStatus.CRASHED, None, 1.0, 0)
    other = KnownTrial(Configuration("valley", {"x": 0.9}), TrialStatus.COMPLETE, 9.0, 1.0, 5)
    more = Experience("a", good.data, "index", (*good.trials, bad, other))
    models = [learner().fit([one], rng=np.random.default_rng(0)) for one in (good, more)]
    asked = [Configuration("hill", {"x": x}) for x in (0.1, 0.5, 0.9)]
    assert models[0].n_trials == models[1].n_trials == 60
    np.testing.assert_array_equal(*(model.predict(asked, good.data) for model in models))


def test_it_says_what_is_missing():
    with pytest.raises(SettingsError, match="complete trial of hill"):
        learner().fit([], rng=np.random.default_rng(0))
    with pytest.raises(SettingsError, match="must be fitted"):
        learner().predict([Configuration("hill", {"x": 0.5})], facts("a", 0.1))
    with pytest.raises(SettingsError, match="n_leaves must be at least 2; got 1"):
        ScoreBoosting(n_leaves=1)


def test_meta_features_that_a_data_set_lacks_are_nan():
    sets = [facts("a", 0.1), DataSetFacts("b", "b", "b", Task.BINARY, 1, 1, 2, {"other": 2.0})]
    names = meta_feature_names(sets)
    assert names == ("other", "top")
    matrix = meta_matrix([one.meta_features for one in sets], names)
    np.testing.assert_array_equal(matrix, [[np.nan, 0.1], [2.0, np.nan]])


def test_meta_features_are_filled_with_the_median_and_standardized():
    meta = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan], [np.nan, 5.0, np.nan]])
    found, goal = comparable(meta, np.array([2.0, 7.0, 1.0]))
    assert found[:, 0] == pytest.approx(np.sqrt(1.5) * np.array([-1.0, 1.0, 0.0]))
    assert not found[:, 1:].any()
    assert goal == pytest.approx([0.0, 0.0, 0.0])


def test_the_nearest_data_set_comes_first():
    meta = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [1.0, 1.0]])
    assert list(nearest_data_sets(meta, np.array([1.2, 1.0]))) == [1, 3, 0, 2]
    with pytest.raises(SettingsError, match="order must be at least 1"):
        nearest_data_sets(meta, meta[0], order=0.5)


def test_nearest_runs_are_weighted_by_inverse_distance():
    rng = np.random.default_rng(2)
    X, y, asked = rng.random((40, 3)), rng.random(40), rng.random((7, 3))
    mean, spread = X.mean(axis=0), X.std(axis=0)
    expected = KNeighborsRegressor(5, weights="distance").fit((X - mean) / spread, y)
    found = NearestRuns().fit(X, y)
    np.testing.assert_allclose(found.predict(asked), expected.predict((asked - mean) / spread))
    np.testing.assert_allclose(found.predict(X), y)
    assert NearestRuns().fit(X[:2], y[:2]).predict(asked).shape == (7,)


def test_the_best_configurations_of_the_most_similar_data_sets_are_different():
    past = [known(str(top), top) for top in (0.9, 0.1, 0.3, 0.3)]
    near = nearest_experiences(past, facts("new", 0.28))
    assert [one.data.name for one in near] == ["0.3", "0.3", "0.1", "0.9"]
    found = best_configurations(near, 3)
    assert len({configuration.id for configuration in found}) == 3
    assert [one.values["x"] for one in found] == pytest.approx([0.3, 0.1, 0.9], abs=0.05)
    again = [replace(one, id=f"again-{one.id}") for one in past]
    other = best_configurations([*near, *again], 9)
    assert len(other) == 3
    assert nearest_experiences([], facts("new", 0.28)) == []
    with pytest.raises(SettingsError, match="k must be at least 1"):
        best_configurations(near, 0)


def test_a_vote_is_the_learners_word_on_encoded_configurations():
    past = [known(str(top), top) for top in np.linspace(0.0, 1.0, 21)]
    encoder = ConfigurationEncoder(SPACE).fit()
    grid = [Configuration("hill", {"x": float(x)}) for x in np.linspace(0.0, 1.0, 51)]
    X = encoder.transform(grid)
    rng = np.random.default_rng(0)
    vote = vote_on(facts("new", 0.3), past, encoder, k=10.0, rng=rng)
    assert grid[int(vote.beside(X[:, 0], X, 0).argmax())].values["x"] == pytest.approx(
        0.3, abs=0.15
    )
    assert int(vote.beside(X[:, 0], X, 10_000).argmax()) == len(grid) - 1
    other = SpaceTree.build(
        "valley", {"x": {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.5}}
    )
    assert (
        vote_on(facts("new", 0.3), past, ConfigurationEncoder(other).fit(), k=1.0, rng=rng) is None
    )
