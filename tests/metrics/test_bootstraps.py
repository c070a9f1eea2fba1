"""Scores on bootstraps against the index on the drawn rows themselves."""

import numpy as np
import pytest

from automl.metrics.bootstraps import bootstrap_multiplicities, bootstrap_scores
from automl.metrics.building import build_index
from automl.records import Task

N = 60


def scorer(y, prediction):
    return float(np.mean(prediction.argmax(axis=1) == y))


def index_of(spec, y, sample_weight=None):
    return build_index(
        spec, task=Task.MULTICLASS, y_all=y, n_classes=3, sample_weight=sample_weight
    )


@pytest.mark.parametrize("spec", ["index", "accuracy", "log_loss", f"{__file__}:scorer"])
@pytest.mark.parametrize("has_weights", [False, True])
def test_a_bootstrap_is_scored_as_its_drawn_rows(spec, has_weights):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    probability = rng.dirichlet(np.ones(3), N).astype(np.float32)
    weight = np.where(rng.random(N) < 0.2, 0.0, rng.random(N)) if has_weights else None
    index = index_of(spec, y, weight)
    found = bootstrap_scores(
        index, y, probability, n_bootstraps=5, rng=np.random.default_rng(1), sample_weight=weight
    )
    usable = np.flatnonzero(np.ones(N) if weight is None else weight)
    counts = bootstrap_multiplicities(len(usable), 5, np.random.default_rng(1))
    for score, times in zip(found, counts, strict=True):
        rows = np.repeat(usable, times)
        assert len(rows) == len(usable)
        extra = () if weight is None else (weight[rows],)
        assert score == pytest.approx(index.score(y[rows], probability[rows], *extra))


def test_equal_generators_draw_equal_bootstraps_whatever_is_predicted():
    y = np.arange(N) % 3
    right = np.eye(3, dtype=np.float32)[y]
    scores = [
        bootstrap_scores(
            index_of("accuracy", y), y, prediction, n_bootstraps=4, rng=np.random.default_rng(2)
        )
        for prediction in (right, right, np.roll(right, 1, axis=0))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] > scores[2]).all()


def test_no_bootstraps_give_no_scores():
    y = np.arange(N) % 3
    found = bootstrap_scores(
        index_of("accuracy", y), y, np.eye(3)[y], n_bootstraps=0, rng=np.random.default_rng(0)
    )
    assert found.shape == (0,)
