"""What nobody must overlook at the end of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from run_records import final_of, write

from automl.home import Home, RunFolder
from automl.metrics.building import build_index
from automl.records import Configuration, Task, Trial, TrialStatus
from automl.run_records.final import FinalMember, FinalRecord
from automl.run_records.result import Baseline
from automl.stages.notices import baseline_of, notices_of, registration_notice
from automl.tracking.outbox import Outbox
from automl.tracking.pending import REFUSED

INDEX = build_index("mcc", task=Task.BINARY, y_all=np.array([0, 1]))
"""Matthews correlation: baseline 0, ideal 1."""


def trial(index: int, family: str, score: float) -> Trial:
    """Whose folds score less than all rows together, as they may."""
    return Trial(
        "r",
        index,
        Configuration(family, {}),
        TrialStatus.COMPLETE,
        score - 0.2,
        metrics={"mcc": score},
    )


CONSTANT = trial(0, "constant", 0.11)


def baseline(score: float, *families: str) -> Baseline:
    return baseline_of(INDEX, [CONSTANT], final(score, *families))


def final(score: float, *families: str) -> FinalRecord:
    members = tuple(FinalMember("t", 1.0, family) for family in families or ("lightgbm",))
    return FinalRecord(members, metrics={"mcc": score})


def test_a_model_is_measured_against_the_constant_and_not_against_zero() -> None:
    assert baseline(0.3).is_beaten
    assert baseline(0.3).notice == ""
    poor = baseline(0.1)  # above 0, below the constant
    assert not poor.is_beaten
    assert "the model scores 0.1000, predicting the same for every row 0.1100" in poor.notice
    assert not baseline(0.11).is_beaten


def test_the_constant_scores_above_zero_where_the_classes_are_unequal() -> None:
    y = np.array([0] * 90 + [1] * 10)
    index = build_index("index", task=Task.BINARY, y_all=y)
    constant = index.score(y, np.tile([0.9, 0.1], (100, 1)))
    # accuracy (.9 - .82) / .18, F1 (9/19 - 1/2) / (1/2), Brier and Matthews 0
    assert constant == pytest.approx((0.08 / 0.18 + 2 * (9 / 19 - 0.5)) / 4)
    assert constant > 0


def test_what_is_deployed_counts_and_not_what_was_chosen() -> None:
    alone = baseline(0.11, "constant")
    assert (alone.is_constant, alone.score, alone.model_score) == (True, alone.score, alone.score)
    assert "nothing that learns was better" in alone.notice
    assert not baseline(0.3, "constant").is_beaten
    assert baseline(0.4, "ridge", "constant").is_beaten


def test_without_a_trial_of_the_constant_zero_is_the_baseline() -> None:
    alone = baseline_of(INDEX, [], final(0.3))
    assert (alone.trial_id, alone.score, alone.is_beaten) == ("", 0.0, True)
    assert not baseline_of(INDEX, [], final(-0.1)).is_beaten


def make_run(home: Path, *, reason: str = "", **done: str) -> RunFolder:
    folder = Home(home).create_run()
    settings = {"table": "data/beans.csv", "target": "label", "name": ""}
    folder.write_facts({"run_id": folder.run_id, "settings": settings})
    write(folder, final_of())
    Outbox(folder.path / "outbox.json", done=done, reason=reason).save()
    return folder


PUBLISHED = {"version": "1", "registered_name": "beans-label", "published": "yes"}


def test_a_registered_model_needs_no_notice(tmp_path: Path) -> None:
    assert registration_notice(make_run(tmp_path, **PUBLISHED)) == ""


def test_a_name_that_does_not_exist_yet_is_named_and_who_completes_it(tmp_path: Path) -> None:
    folder = make_run(tmp_path, reason="the time for tracking was over")
    found = registration_notice(folder)
    assert "not registered yet (the time for tracking was over)" in found
    assert "beans-label@champion does not exist until then" in found
    assert "the next command that needs this name registers the model first" in found


def test_a_name_that_leads_elsewhere_until_then_is_said_to(tmp_path: Path) -> None:
    make_run(tmp_path, **PUBLISHED)
    found = registration_notice(make_run(tmp_path))
    assert "beans-label@champion leads to another model until then" in found


def test_a_refused_model_is_not_promised(tmp_path: Path) -> None:
    folder = make_run(tmp_path, reason="it does not load", **{REFUSED: "it does not load"})
    found = registration_notice(folder)
    assert "beans-label@champion does not exist: it does not load" in found
    assert "next command" not in found


def test_both_notices_are_told_the_baseline_first(tmp_path: Path) -> None:
    result = {"baseline": baseline(0.11, "constant").to_json()}
    first, second = notices_of(result, make_run(tmp_path))
    assert first.startswith("no better than the baseline")
    assert "not registered yet" in second
    assert notices_of({}, make_run(tmp_path, **PUBLISHED)) == []
