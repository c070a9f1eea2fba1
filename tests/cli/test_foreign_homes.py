"""Homes and bundles that somebody else wrote, at the command line: a sentence, an exit code, and no code of theirs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from automl.inference.bundle import write_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.schema import TableSchema
from automl.installation import make_key
from automl.preprocessing import build_preprocessor


class Own(ClassifierMixin, BaseEstimator):
    """A class of somebody's own, whose pickle makes a folder where it is read."""

    def __init__(self, mark=""):
        self.mark = mark

    def fit(self, X, y):
        self.classes_ = [0, 1]
        return self

    def predict_proba(self, X):
        return [[0.0, 1.0]] * len(X)

    def __setstate__(self, state):
        Path(state["mark"]).mkdir(exist_ok=True)
        super().__setstate__(state)


@pytest.fixture(scope="module")
def marked_bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model of this installation that only a pickle holds, and the folder that the pickle makes."""
    folder = tmp_path_factory.mktemp("own")
    mark = folder / "code-ran"
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "kind": ["a", "b", "c", "a"]})
    schema = TableSchema.fit(frame, {"x": "numeric", "kind": "nominal"})
    preprocessor = build_preprocessor({}, seed=0)
    estimator = Own(str(mark)).fit(preprocessor.fit_transform(schema.transform(frame)), None)
    member = Member(1.0, [FittedPipeline(preprocessor, estimator)], "own")
    model = TableModel(schema, [member], task="binary", target="y", classes=["no", "yes"])
    write_bundle(model, folder / "bundle", extra={"run": "20260102-000000-bbbb"}, key=make_key())
    return folder / "bundle", mark


@pytest.fixture
def mark(marked_bundle: tuple[Path, Path]) -> Path:
    mark = marked_bundle[1]
    if mark.exists():
        mark.rmdir()
    return mark


@pytest.fixture
def run(runs, marked_bundle: tuple[Path, Path]):
    """A finished run of this installation, whose model only a pickle holds."""
    folder = runs[1]
    shutil.copytree(marked_bundle[0], folder.bundle)
    return folder


def predict(automl, run, table, home: Path, *options):
    return automl("predict", run.run_id, table, "-o", home / "out.csv", "--home", home, *options)


def test_a_copied_home_of_this_installation_predicts(automl, run, table, own_home, mark, tmp_path):
    shutil.copytree(own_home.path, tmp_path / "copy")
    outcome = predict(automl, run, table, tmp_path / "copy")
    assert outcome.code == 0, outcome.err
    assert mark.is_dir()


def test_a_home_of_another_installation_predicts_on_trust_only(
    automl, run, table, own_home, mark, tmp_path, monkeypatch
):
    shutil.copytree(own_home.path, tmp_path / "copy")
    monkeypatch.setenv("AUTOML_KEY_FILE", str(tmp_path / "another-key"))
    for reference in (run, run):  # without a key, and with another
        outcome = predict(automl, reference, table, tmp_path / "copy")
        assert outcome.code == 2
        assert "is a pickle" in outcome.err
        assert "nothing proves that this installation wrote it; load it with trust" in outcome.err
        assert len(outcome.err.splitlines()) == 1
        assert not mark.exists()
        make_key()
    assert predict(automl, run, table, tmp_path / "copy", "--trust").code == 0
    assert mark.is_dir()


def test_a_bundle_under_the_id_of_another_run_proves_nothing(
    automl, runs, run, table, own_home, mark
):
    shutil.copytree(run.bundle, runs[0].bundle)
    outcome = predict(automl, runs[0], table, own_home.path)
    assert (outcome.code, mark.exists()) == (2, False)
    assert "nothing proves" in outcome.err


def test_a_key_that_others_may_read_is_told(automl, run, table, own_home, mark):
    key = Path(os.environ["AUTOML_KEY_FILE"])
    key.chmod(0o644)
    try:
        outcome = predict(automl, run, table, own_home.path)
    finally:
        key.chmod(0o600)
    assert (outcome.code, mark.exists()) == (2, False)
    assert "mode 0600" in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"preprocessors": ["../../x"]}, 3, "preprocessors[0] must be a relative path"),
        ({"members": []}, 3, "members must be a list of at least one"),
        ({"members": "none"}, 3, "members must be a list"),
        ({"format": "4"}, 2, "format must be one of"),
        ({"files": {}}, 3, "preprocessors[0] must be a path that files has a digest of"),
        ({"classes": ["no", ["yes"]]}, 3, "classes[1] must be"),
        ({"schema": {"columns": [{}], "ignored": []}}, 3, "schema.columns[0].name must be there"),
    ],
)
def test_a_malformed_manifest_is_a_sentence_and_an_exit_code(
    automl, run, table, own_home, mark, change, code, words
):
    path = run.bundle / "manifest.json"
    content = {
        key: value for key, value in json.loads(path.read_text()).items() if key != "signature"
    }
    path.write_text(json.dumps({**content, **change}))
    for reference in (run.run_id, run.bundle):
        outcome = automl(
            "predict", reference, table, "-o", own_home.path / "o.csv", "--home", own_home.path
        )
        assert outcome.code == code
        assert words in outcome.err
        assert str(path) in outcome.err
        assert len(outcome.err.splitlines()) == 1
    assert not mark.exists()


def test_a_run_that_another_installation_began_is_not_resumed(automl, runs):
    outcome = automl("resume", runs[0].run_id)
    assert outcome.code == 2
    assert "nothing proves that this installation began run" in outcome.err
    assert "--trust" in outcome.err
