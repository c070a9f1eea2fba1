"""What the final model will be made of, and what that takes."""

import pytest

from automl.stages import final_plan
from automl.stages.final_plan import is_bag, prediction_seconds, sample_size, wants_refits


@pytest.mark.parametrize(
    ("milliseconds", "rows"), [(0.0, 1000), (0.1, 1000), (1.0, 500), (2.0, 250), (1e3, 100)]
)
def test_slow_models_are_timed_on_fewer_rows(milliseconds, rows):
    assert sample_size(milliseconds) == rows


@pytest.mark.parametrize(
    ("given", "has_folds", "has_refits"),
    [
        ({}, True, True),
        ({"final": "bag"}, True, False),
        ({"final": "refit"}, False, True),
        ({"bag_up_to_rows": 100}, False, True),
        ({"data_mode": "halves", "ensemble": "none"}, False, True),
        ({"holdout_above_rows": 100}, False, True),
    ],
)
def test_what_a_final_model_is_made_of(session_of, given, has_folds, has_refits):
    session = session_of(**given)
    assert is_bag(session) is has_folds
    assert wants_refits(session) is has_refits


def test_predicting_takes_each_fold_model_and_the_test_rows_too(session_of, trial_of):
    members = [trial_of(0), trial_of(1)]  # 0.01 ms per row and model
    assert prediction_seconds(session_of(final="bag"), members) == pytest.approx(5 * 0.02)
    assert prediction_seconds(session_of(final="refit"), members) == pytest.approx(0.02)
    with_test = prediction_seconds(session_of(test_share=0.25), members)
    assert with_test == pytest.approx(6 * 0.02 * (final_plan.SAMPLE_ROWS + 50) / 1000)
