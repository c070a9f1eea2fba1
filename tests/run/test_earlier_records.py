"""Records that lack something: of earlier versions they are read, others are not there."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from run_records import (
    candidates_of,
    ensemble_of,
    final_of,
    honest_of,
    result_of,
    selection_of,
    write,
)

from automl.home import RunFolder
from automl.metrics.intervals import Intervals
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalRecord, UntouchedScore
from automl.run_records.honest import HonestRecord
from automl.run_records.registration import RegistrationRule
from automl.run_records.result import RunResult
from automl.selection.correction import HonestMetric
from automl.stage_record import StageRecord

WHOLE = (
    candidates_of("t", "u"),
    selection_of("t"),
    ensemble_of({"t": 0.7, "u": 0.3}),
    honest_of(),
    final_of({"t": 1.0}),
    result_of(),
)
LATER = {"baseline", "honest", "untried", "defaults", "experience", "complete_trials", "notices"}
SURE = HonestMetric(0.8, 0.7, 0.9, 0.82)
LATER_OF_SELECTION = ("digest", "seconds", "fold_rows", "max_predict_ms", "dispositions", "scoring")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "r")


def write_without(folder: RunFolder, record: StageRecord, *paths: Sequence[str]) -> None:
    """Write a record, then delete the parts of it that the paths lead to."""
    write(folder, record)
    file = folder.stages / f"{record.stage}.json"
    content = json.loads(file.read_text())
    for *before, last in paths:
        inner = content
        for part in before:
            inner = inner[part]
        del inner[last]
    file.write_text(json.dumps(content))


def test_intervals_of_metrics_are_read_and_earlier_records_have_none(folder: RunFolder) -> None:
    plain = honest_of().ensemble
    assert plain is not None
    honest = honest_of(ensemble=replace(plain, metrics={"accuracy": SURE}))
    intervals = Intervals(1000, (0.1, 0.2), {"accuracy": (0.6, 0.9)})
    final = final_of(test=UntouchedScore(30, 0.15, {"accuracy": 0.8}, intervals))
    write_without(folder, honest)
    write_without(folder, final)
    assert HonestRecord.read(folder) == honest
    assert honest.of_metrics == {"accuracy": SURE}
    assert FinalRecord.read(folder) == final
    write_without(folder, honest, ("ensemble", "metrics"), ("single", "metrics"))
    write_without(folder, final, ("test", "intervals"))
    earlier, tested = HonestRecord.read(folder), FinalRecord.read(folder)
    assert earlier is not None
    assert earlier == honest_of()
    assert tested is not None
    assert tested.test == UntouchedScore(30, 0.15, {"accuracy": 0.8})


@pytest.mark.parametrize("record", WHOLE, ids=lambda record: record.stage)
def test_what_was_written_is_read(folder: RunFolder, record: StageRecord) -> None:
    write(folder, record)
    found = type(record).read(folder)
    assert found is not None
    again = json.loads(json.dumps(found.to_json()))
    assert again == json.loads((folder.stages / f"{record.stage}.json").read_text())


def test_a_result_without_what_came_later_is_read(folder: RunFolder) -> None:
    write_without(folder, result_of(), *([name] for name in LATER))
    found = RunResult.read(folder)
    assert found is not None
    assert (found.score, found.baseline, found.honest) == (0.5, None, HonestRecord())


def test_a_selection_without_what_came_later_is_read(folder: RunFolder) -> None:
    write_without(folder, selection_of("t"), *([name] for name in LATER_OF_SELECTION))
    found = ChampionRecord.read(folder)
    assert found is not None
    assert (found.champion, dict(found.dispositions), found.scoring.scored) == ("t", {}, {})


def test_evidence_and_an_honest_score_without_what_came_later_are_read(folder: RunFolder) -> None:
    names = ("learned_score", "replaced_score", "n_bags", "seconds")
    write_without(folder, ensemble_of({"t": 1.0}), *(("evidence", name) for name in names))
    ensemble = EnsembleRecord.read(folder)
    assert ensemble is not None
    assert ensemble.evidence is not None
    assert math.isnan(ensemble.evidence.decision.learned_score)
    assert ensemble.evidence.decision.pvalue == 0.02
    write_without(folder, honest_of(), ("ensemble", "gain"))
    honest = HonestRecord.read(folder)
    assert honest is not None
    assert honest.of_model is not None
    assert (honest.of_model.score, honest.of_model.gain) == (0.77, 0.0)


@pytest.mark.parametrize(
    ("record", "name"),
    [(selection_of("t"), "decisions"), (ensemble_of({}), "members"), (result_of(), "score")],
    ids=lambda value: value if isinstance(value, str) else value.stage,
)
def test_a_record_without_a_field_that_was_always_there_says_which(
    folder: RunFolder, record: StageRecord, name: str
) -> None:
    write_without(folder, record, [name])
    assert type(record).read(folder) is None
    content = json.loads((folder.stages / f"{record.stage}.json").read_text())
    with pytest.raises(ValueError, match=f"no {type(record).__name__}: '{name}'"):
        type(record).from_json(content)


def test_a_run_without_a_rule_registers_its_model(folder: RunFolder) -> None:
    rule = RegistrationRule.of(folder)
    assert (rule.register, rule.promote, rule.compared_with) == (True, True, None)
    write(folder, RegistrationRule(register=False, compared_with=""))
    assert RegistrationRule.of(folder) == RegistrationRule(register=False, compared_with="")
