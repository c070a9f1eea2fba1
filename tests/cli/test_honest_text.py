"""The honest score in the summary and in the leaderboard of a finished run."""

from __future__ import annotations

import pytest

from automl.run_records.honest import HonestRecord
from automl.tracking.descriptions import honest_sentences
from automl.tracking.layout import honest_metrics
from automl_flows.words.result_display import ensemble_row, honest_text

SINGLE = {"score": 0.8, "low": 0.75, "high": 0.84, "naive": 0.82, "bias": 0.02}
SINGLE |= {"naive_low": 0.78, "naive_high": 0.86}
ENSEMBLE = {**SINGLE, "score": 0.8124, "low": 0.7808, "high": 0.8404, "naive": 0.8291}
ENSEMBLE |= {"bias": 0.0187, "gain": 0.002}


def result_of(**honest):
    blank = {"single": SINGLE, "ensemble": ENSEMBLE, "chosen": "ensemble", "reason": ""}
    members = [{"weight": 0.5}, {"weight": 0.5}, {"weight": 0.0}]
    return {
        "honest": {**blank, **honest},
        "score": 0.8291,
        "model": {"members": members, "predict_ms": 0.1},
    }


def test_it_is_one_line():
    text = honest_text(result_of())
    assert text == "0.812 [0.781, 0.840] (uncorrected 0.829)"


def test_it_is_that_of_the_model():
    text = honest_text(result_of(chosen="single"))
    assert text == "0.800 [0.750, 0.840] (uncorrected 0.820)"
    assert ensemble_row(result_of(chosen="single")) is None


def test_where_there_is_none_it_says_why():
    assert honest_text(result_of(ensemble=None, reason="no time")) == "none: no time"


@pytest.mark.parametrize("result", [{}, {"honest": None}])
def test_runs_of_earlier_versions_have_none(result):
    assert honest_text(result) is None
    assert ensemble_row(result) is None


def test_the_ensemble_has_a_row_where_it_is_the_model():
    row = ensemble_row(result_of())
    assert row is not None
    assert (row["score"], row["honest"], row["family"]) == (0.8291, 0.8124, "2 members")


def test_the_tracking_store_has_the_models_and_both_scores():
    found = honest_metrics(HonestRecord.from_json(result_of()["honest"]))
    assert found == {
        "honest_score": 0.8124,
        "honest_low": 0.7808,
        "honest_high": 0.8404,
        "honest_bias": 0.0187,
        "honest_gain": 0.002,
        "honest_score_single": 0.8,
        "honest_score_ensemble": 0.8124,
    }
    assert honest_metrics(None) == honest_metrics(HonestRecord()) == {}


def test_the_registered_model_has_it_in_sentences_or_why_there_is_none():
    def described(honest):
        return " ".join(honest_sentences(HonestRecord.from_json(honest)))

    assert described({**result_of()["honest"], "n_trials": 12}) == (
        "Honest score: **0.812**, 95 % interval 0.781 to 0.840. It is corrected for the choice among 12 trials."
    )
    known = result_of(ensemble=None, reason="one row decides")["honest"]
    assert described(known) == "No honest score: one row decides."
    assert not list(honest_sentences(None))
