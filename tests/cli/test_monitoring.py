"""`automl predict --each` and `--log`, and `automl drift`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from tiny_models import tiny_bundle, training_rows

from automl_flows import prediction_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("models") / "classes")


@pytest.fixture
def drops(tmp_path):
    folder = tmp_path / "drops"
    folder.mkdir()
    training_rows().to_csv(folder / "a.csv", index=False)
    training_rows(10).to_parquet(folder / "b.parquet")
    (folder / "bad.csv").write_text("x,kind\ntall,a\n")
    os.utime(folder / "bad.csv", (0, 0))
    (folder / "notes.md").write_text("no table")
    return folder


def test_each_file_is_predicted_once_and_bad_ones_are_set_aside(automl, model, drops, tmp_path):
    out = tmp_path / "out"
    given = ("predict", model, drops, "-o", out, "--each", "--json")
    first = automl(*given).json
    assert first["predicted"] == {"a.csv": 60, "b.parquet": 10}
    assert "column 'x' must hold numbers; found 'tall'" in first["failed"]["bad.csv"]
    assert "found 'tall'" in (drops / "failed" / "bad.csv.reason.txt").read_text()
    assert (drops / "failed" / "bad.csv").exists()
    assert not (drops / "bad.csv").exists()
    assert len(pd.read_csv(out / "a.csv")) == 60
    assert len(pd.read_parquet(out / "b.parquet")) == 10
    again = automl(*given).json
    assert (again["predicted"], again["known"]) == ({}, ["a.csv", "b.parquet"])
    training_rows(5).to_csv(drops / "a.csv", index=False)
    assert automl(*given).json["predicted"] == {"a.csv": 5}


def test_a_file_that_is_still_written_waits(automl, model, drops, tmp_path):
    os.utime(drops / "bad.csv")
    outcome = automl("predict", model, drops, "-o", tmp_path / "out", "--each", "--json").json
    assert (outcome["waiting"], outcome["failed"]) == (["bad.csv"], {})
    assert (drops / "bad.csv").exists()


def test_the_folder_of_predictions_is_another_one(automl, model, drops, tmp_path):
    outcome = automl("predict", model, drops, "-o", drops, "--each")
    assert outcome.code == 2
    assert "different folder" in outcome.err
    assert automl("predict", model, tmp_path / "no", "-o", "out", "--each").code == 2


def test_logged_rows_are_held_against_the_training_table(automl, model, tmp_path):
    assert "has no logged rows" in automl("drift", model).err
    moved = training_rows().assign(x=lambda f: f["x"] + 100)
    moved.assign(secret="s").to_csv(tmp_path / "moved.csv", index=False)
    with pytest.warns(Warning, match="'secret'"):
        automl("predict", model, "moved.csv", "-o", "out.csv", "--log")
    outcome = automl("drift", model, "--days", "1", "--json").json
    verdicts = {each["name"]: each["verdict"] for each in outcome["movements"]}
    assert (outcome["rows"], verdicts["x"], verdicts["kind"]) == (60, "large", "same")
    (file,) = Path(os.environ["AUTOML_HOME"]).glob("monitoring/*/date=*/*.parquet")
    assert "secret" not in pd.read_parquet(file)
    told = automl("drift", model)
    assert "moved: prediction, probability, x" in told.err
    assert "100.0%" in told.out


def test_days_are_of_the_log(automl, model, table):
    outcome = automl("drift", model, table, "--days", "3")
    assert outcome.code == 2
    assert "--days" in outcome.err


def test_a_flow_predicts_a_folder(model, drops, tmp_path, own_home):
    from automl_flows.prediction_flow import predict

    outcome = predict.fn(str(model), str(drops), str(tmp_path / "out"), log=True)
    assert json.loads(json.dumps(outcome))["predicted"] == {"a.csv": 60, "b.parquet": 10}
    assert list(own_home.path.glob("monitoring/*/date=*/*.parquet"))


def test_probabilities_asked_for_later_are_written(automl, model, drops, tmp_path):
    out = tmp_path / "out"
    given = ("predict", model, drops, "-o", out, "--each", "--json")
    assert automl(*given).json["predicted"] == {"a.csv": 60, "b.parquet": 10}
    assert automl(*given, "--proba").json["predicted"] == {"a.csv": 60, "b.parquet": 10}
    assert len(pd.read_csv(out / "a.csv").columns) == 3
    assert automl(*given, "--proba").json["known"] == ["a.csv", "b.parquet"]
    for receipt in (out / ".predicted").iterdir():  # as earlier versions wrote them
        facts = json.loads(receipt.read_text())
        del facts["proba"]
        receipt.write_text(json.dumps(facts))
    assert automl(*given).json["known"] == ["a.csv", "b.parquet"]
    assert automl(*given, "--proba").json["predicted"] == {"a.csv": 60, "b.parquet": 10}


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("drops/a.csv/out", "output folder drops/a.csv/out cannot be made: Not a directory"),
        ("/proc/out", "output folder /proc/out cannot be made: "),
        ("-", "the predictions of a folder need a folder; got -"),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused(automl, model, drops, output, told):
    outcome = automl("predict", model, drops, "-o", output, "--each")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {told}")
    assert not Path("-").exists()


def test_a_folder_that_cannot_be_written_is_refused(automl, model, drops, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "out")
    outcome = automl("predict", model, drops, "-o", "out", "--each")
    assert (outcome.code, outcome.err) == (2, "error: output folder out cannot be written\n")


def test_a_file_that_cannot_be_read_or_is_gone_fails_alone(
    automl, model, drops, tmp_path, monkeypatch
):
    real = prediction_folder.file_digest

    def digest(file):
        if file.name == "bad.csv":
            raise PermissionError(13, "Permission denied")
        if file.name == "b.parquet":
            file.unlink(missing_ok=True)
        return real(file)

    monkeypatch.setattr(prediction_folder, "file_digest", digest)
    os.utime(drops / "bad.csv", (0, 0))
    outcome = automl("predict", model, drops, "-o", tmp_path / "out", "--each", "--json").json
    assert outcome["predicted"] == {"a.csv": 60}
    assert outcome["failed"] == {
        "b.parquet": "b.parquet cannot be read: No such file or directory",
        "bad.csv": "bad.csv cannot be read: Permission denied",
    }
    assert (drops / "failed" / "bad.csv").exists()
    assert (drops / "failed" / "b.parquet.reason.txt").exists()
