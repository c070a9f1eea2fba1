"""Decisions on the way to the final model."""

import pytest

from automl.stages import finishing
from automl.stages.finishing import prediction_seconds, sample_size, wants_refits


@pytest.mark.parametrize(
    ("milliseconds", "rows"), [(0.0, 1000), (0.1, 1000), (1.0, 500), (2.0, 250), (1e3, 100)]
)
def test_slow_models_are_timed_on_fewer_rows(milliseconds, rows):
    assert sample_size(milliseconds) == rows


def test_refits_are_wanted_without_a_bag_or_after_a_single_holdout(session_of):
    assert not wants_refits(session_of())
    assert wants_refits(session_of(final="refit"))
    assert wants_refits(session_of(bag_up_to_rows=100))
    assert wants_refits(session_of(data_mode="halves", ensemble="none"))
    assert wants_refits(session_of(holdout_above_rows=100))


def test_predicting_takes_each_fold_model_and_the_test_rows_too(session_of, trial_of):
    members = [trial_of(0), trial_of(1)]  # 0.01 ms per row and model
    assert prediction_seconds(session_of(), members) == pytest.approx(5 * 0.02)
    with_test = prediction_seconds(session_of(test_share=0.25), members)
    assert with_test == pytest.approx(5 * 0.02 * (finishing.SAMPLE_ROWS + 50) / 1000)
