"""Pictures of H18's chapter 6 show what the records say."""

from __future__ import annotations

import numpy as np
import pytest

from automl.errors import DataError
from automl.reports.meta_learning import (
    INPUTS,
    MOST_IMPORTANT,
    LeftOut,
    Searches,
    against_nearest,
    error_and_correlation,
    gain_of_standardizing,
    important_features,
    loss_by_start,
    ranking_and_loss,
)

LEARNERS = {
    **{learner: 0.1 * k for k, learner in enumerate(INPUTS.values())},
    "configuration/standardized/4": 0.3,
    "configuration/standardized/16": 0.25,
    "both/standardized/4": 0.5,
    "both/standardized/16": 0.6,
    "knn/standardized": 0.2,
    "knn_lightgbm/standardized": 0.25,
}
METHODS = {"warm": "gbqr/best", "cold": "gbqr/random"}


def left_out(shift: float) -> LeftOut:
    learners = {name: {"rmse": 1.0 - tau, "tau": tau + shift} for name, tau in LEARNERS.items()}
    return LeftOut.from_json({"share": 0.2, "learners": learners})


def searches(best: list[float], random: list[float]) -> Searches:
    curves = {"gbqr/best/0": best, "gbqr/random/0": random, "gbqr/random/1": [0.5, 0.5, 0.5]}
    return Searches.from_json({"best": 1.0, "median": 0.5, "curves": curves})


KNOWN = {"forest": [left_out(0.0), left_out(0.1)], "svc": [left_out(0.0)]}
SEARCHED = [searches([0.8, 0.9, 1.0], [0.5, 0.6, 0.9]), searches([0.7, 0.7, 0.9], [0.5, 1.0, 1.0])]


def heights(axes) -> list[float]:
    return [bar.get_height() for bar in axes.patches]


def labels(axes) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_errors_stand_above_correlations_by_what_the_learner_is_told():
    figure = error_and_correlation(KNOWN)
    above, _, below, _ = figure.axes
    assert labels(above) == labels(below) == list(INPUTS)
    assert heights(above) == pytest.approx([1.0 - 0.1 * k for k in range(4)])
    assert heights(below) == pytest.approx([0.1 * k + 0.05 for k in range(4)])
    assert figure.axes[0].get_title() == "forest (2 data sets)"


def test_gains_are_differences_to_the_plain_score_of_the_same_input():
    forest, _ = gain_of_standardizing(KNOWN).axes
    assert heights(forest) == pytest.approx([0.1, 0.05, 0.2, 0.3])
    assert labels(forest)[0] == "hyperparameters,\n4 leaves"


def test_the_nearest_data_set_stands_beside_the_meta_learner():
    _, svc = against_nearest(KNOWN).axes
    assert dict(zip(labels(svc), heights(svc), strict=True)) == pytest.approx(
        {"KNN": 0.2, "KNN + LightGBM": 0.25, "LightGBM, 4 leaves": 0.5, "LightGBM, 16 leaves": 0.6}
    )


def test_the_ten_most_important_features_have_shares_of_all():
    told = {f"f{i:02}": float(i) for i in range(15)}
    (axes,) = important_features({"forest": told}).axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [f"f{i:02}" for i in range(14, 14 - MOST_IMPORTANT, -1)]
    assert next(bar.get_width() for bar in axes.patches) == pytest.approx(14 / sum(told.values()))


def test_ranks_and_regrets_are_means_over_data_sets_and_regrets_over_seeds():
    assert SEARCHED[0].regret["gbqr/random"] == pytest.approx([1.0, 0.9, 0.6])
    left, right = ranking_and_loss(SEARCHED, METHODS).axes
    warm, cold = left.lines
    assert list(warm.get_ydata()) == [1.0, 1.5, 1.0]
    assert list(cold.get_ydata()) == [2.0, 1.5, 2.0]
    assert right.lines[0].get_ydata() == pytest.approx([0.5, 0.4, 0.1])
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["warm", "cold"]
    (panel,) = loss_by_start({"forest": SEARCHED}, METHODS).axes
    assert panel.lines[0].get_ydata() == pytest.approx([0.5, 0.4, 0.1])
    area = panel.collections[0].get_paths()[0].vertices[:, 1]
    assert (area.min(), area.max()) == pytest.approx((0.0, 0.6))


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: error_and_correlation({}), "at least one flow"),
        (lambda: against_nearest({"forest": []}), "at least one flow"),
        (lambda: against_nearest({"forest": [LeftOut({}, {})]}), "lacks the learner 'knn/sta"),
        (lambda: ranking_and_loss([], METHODS), "at least one record"),
        (lambda: ranking_and_loss(SEARCHED, {"x": "gbqr/opt"}), "lacks 'gbqr/opt'"),
    ],
)
def test_pictures_without_records_are_refused(draw, words):
    with pytest.raises(DataError, match=words):
        draw()


def test_constant_records_have_no_width():
    same = Searches({"gbqr/best": np.zeros(3), "gbqr/random": np.zeros(3)})
    left, _ = ranking_and_loss([same, same], METHODS).axes
    assert list(left.lines[0].get_ydata()) == [1.5, 1.5, 1.5]
