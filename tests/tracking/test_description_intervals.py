"""Metrics in MLflow's descriptions and in the model card have their intervals beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from run_records import final_of, honest_of, result_of

from automl.home import RunFolder
from automl.metrics.intervals import Intervals
from automl.run_records.final import UntouchedScore
from automl.run_records.honest import HonestRecord
from automl.selection.correction import HonestMetric
from automl.tracking.descriptions import Described, problem_description, version_description
from automl.tracking.model_card import quality_lines

FACTS = {
    "settings": {"table": "t.csv", "target": "y"},
    "data": {"columns": 3, "rows": 90, "folds": 5},
    "run_id": "r",
}
METRICS = {"accuracy": 0.8218, "log_loss": 0.4094}
TEST = UntouchedScore(
    105,
    0.6436,
    {"accuracy": 0.8476, "log_loss": 0.4},
    Intervals(1000, None, {"accuracy": (0.78, 0.91)}),
)


def sure() -> HonestRecord:
    score = honest_of().ensemble
    assert score is not None
    known = {"accuracy": HonestMetric(0.8153, 0.7761, 0.8512, 0.8218)}
    return honest_of(ensemble=replace(score, metrics=known))


def text_of(folder: Path, honest: HonestRecord, test: UntouchedScore | None) -> str:
    result = result_of(metrics=METRICS, honest=honest, test=test)
    final = final_of(test=test)
    described = Described(RunFolder(folder), FACTS, final, result, honest, None)
    return version_description(described)


def test_the_headline_has_its_interval_and_says_what_it_is_for(tmp_path: Path) -> None:
    text = text_of(tmp_path, sure(), TEST)
    assert "Accuracy 0.8218, score 0.5, cross-validated." in text
    assert (
        "Corrected for the choice, accuracy is **0.815 [0.776, 0.851]**, with a 95 % interval for new rows of "
        "this one model."
    ) in text


def test_the_table_has_columns_of_corrected_and_of_tested_values(tmp_path: Path) -> None:
    lines = text_of(tmp_path, sure(), TEST).splitlines()
    assert "| metric | cross-validated | corrected [95 %] | 105 test rows [95 %] |" in lines
    assert "| accuracy | 0.8218 | 0.815 [0.776, 0.851] | 0.848 [0.780, 0.910] |" in lines
    assert "| log loss | 0.4094 |  | 0.4 |" in lines
    assert "| score | 0.5 | 0.770 [0.700, 0.830] | 0.6436 |" in lines


def test_records_of_earlier_versions_have_the_values_alone(tmp_path: Path) -> None:
    text = text_of(tmp_path, honest_of(), UntouchedScore(105, 0.6436, {"accuracy": 0.8476}))
    assert "Corrected for the choice" not in text
    assert "| accuracy | 0.8218 | 0.8476 |" in text.splitlines()


def test_the_model_card_has_them() -> None:
    lines = quality_lines(result_of(metrics=METRICS, honest=sure(), test=TEST))
    assert "| metric | out of fold | corrected [95 %] | 105 test rows [95 %] |" in lines
    assert "| accuracy | 0.8218 | 0.815 [0.776, 0.851] | 0.848 [0.780, 0.910] |" in lines
    assert "| log_loss | 0.4094 |  | 0.4 |" in lines


def test_a_version_tells_all_training_rows_and_the_raw_columns(tmp_path: Path) -> None:
    data = {"columns": 28, "learned_columns": 22, "rows": 867, "training_rows": 578, "folds": 3}
    facts = {**FACTS, "data": data}
    described = Described(RunFolder(tmp_path), facts, final_of(), result_of(), honest_of(), None)
    text = version_description(described)
    assert "It predicts `y` from 22 columns, learned from 867 rows." in text
    assert "from 22 columns of `t.csv`" in problem_description(facts)
