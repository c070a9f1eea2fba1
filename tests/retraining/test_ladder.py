"""How much of a retraining is done where the drift decides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Command

from automl.data.table import Table, prepare_table
from automl.errors import DataError
from automl.home import Home
from automl.monitoring.drift_report import DriftReport
from automl.run.drift_reports import report_drift, schema_change
from automl.training_request import TrainingRequest
from automl_flows.retrain_flows import outcome_text, retraining_state
from automl_flows.retraining import Retraining
from automl_flows.retraining_ways import asked_for


def raw() -> pd.DataFrame:
    kinds = ["abc"[i % 3] for i in range(90)]
    return pd.DataFrame(
        {"x": [i * 37 % 90 for i in range(90)], "kind": kinds, "target": ["no", "yes"] * 45}
    )


@pytest.fixture(scope="module")
def training() -> Table:
    return prepare_table(raw(), target="target", roles={"x": "numeric", "kind": "nominal"})


def test_a_table_of_the_same_columns_has_not_changed(training: Table) -> None:
    assert schema_change(training, raw().head(20)).sentence == ""
    few = raw().assign(kind="a", x=lambda f: f["x"] + 1e6)
    assert schema_change(training, few).sentence == ""


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (raw().drop(columns="x"), "missing columns: 'x'"),
        (raw().assign(z=1), "new columns: 'z'"),
        (raw().assign(x="far"), "columns of another kind: 'x'"),
        (raw().assign(kind=range(90)), "columns of another kind: 'kind'"),
        (raw().assign(target="perhaps"), "new classes: 'perhaps'"),
    ],
)
def test_what_the_champion_cannot_follow(
    training: Table, changed: pd.DataFrame, sentence: str
) -> None:
    assert schema_change(training, changed).sentence == sentence


def test_a_table_without_target_is_refused(training: Table) -> None:
    with pytest.raises(DataError, match="lacks the target column 'target'"):
        schema_change(training, raw().drop(columns="target"))


def test_without_a_champion_all_is_searched(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    report = report_drift("beans", raw(), home)
    assert report.rung == "search"
    assert report.obstacle in report.reason


def test_a_champion_that_cannot_be_made_once_more_is_searched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from automl_flows import retraining_ways

    found = SimpleNamespace(label="p/1", run_id="")
    monkeypatch.setattr(retraining_ways, "champion_bundle", lambda *_: found)
    report = DriftReport("p/1", rung="refit", reason="refit: 'x' moved")
    request = TrainingRequest("r", {"trials": 9}, "binary")
    asked, recipe, done = asked_for(request, report, "p", Home(tmp_path), {"trials": 5})
    assert (asked.how, recipe, asked.overrides) == ("search", None, {"trials": 5})
    assert done is not None
    assert (done.rung, "searched in full, since" in done.reason) == ("search", True)


def test_a_kept_champion_is_told_on_prefects_page() -> None:
    drift = replace(DriftReport("p/1", "r", 100, 5), rung="keep", reason="keep: nothing moved")
    outcome = Retraining("kept", "p", "t", "d", "r", False, drift.reason, drift=drift.to_json())
    assert retraining_state(outcome).name == "Kept"
    assert "## Drift: keep" in outcome_text(outcome)
    assert "- 5 fresh rows, 100 training rows" in outcome_text(outcome)


@pytest.mark.integration
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("_with_server")
def test_few_rows_keep_the_champion_and_many_refit_it(
    tmp_path: Path, versions: dict[str, Path], tumors: pd.DataFrame
) -> None:
    command = Command(tmp_path / "home")
    options = ["--target", "target", "--name", "tumors", "--trials", "6", "--preset", "fast"]
    options += ["--promotion", "superior"]
    families = ["--families", "lda,knn,logistic_regression"]
    first = command.json("train", str(versions["second"]), *options, *families)
    kept: dict[str, Any] = command.json("retrain", "tumors", str(versions["more"]), "--how", "auto")
    assert (kept["status"], kept["run_id"], kept["drift"]["rung"]) == (
        "kept",
        first["run_id"],
        "keep",
    )
    assert (kept["drift"]["fresh_rows"], kept["drift"]["training_rows"]) == (10, 300)
    assert kept["promoted"] is False
    home = Home(tmp_path / "home")
    assert [folder.run_id for folder in home.run_folders()] == [first["run_id"]]
    limits = ["--how", "auto", "--trials", "50"]
    refit = command.json("retrain", "tumors", str(versions["third"]), *limits)
    assert (refit["status"], refit["drift"]["rung"]) == ("trained", "refit")
    folder = home.run(refit["run_id"])
    assert folder.read_facts()["request"]["how"] == "refit"
    report = DriftReport.read(folder)
    assert report is not None
    assert report.to_json() == json.loads(json.dumps(refit["drift"]))
    assert report.fresh_rows == 200
    assert {shift.test for shift in report.columns} == {"ks"}
    assert report.score is not None
    assert not refit["promoted"]
    tumors.to_csv(whole := tmp_path / "whole.csv", index=False)
    again: dict[str, Any] = command.json("retrain", "tumors", str(whole), "--how", "auto")
    assert (again["status"], again["drift"]["fresh_rows"]) == ("kept", 269)
    assert again["drift"]["tried"] == {
        "run_id": refit["run_id"],
        "training_rows": again["drift"]["tried"]["training_rows"],
        "fresh_rows": 69,
    }
    assert "did not take the alias" in again["reason"]
