"""Fold models that a run keeps: those of the best trials, and none once it has finished."""

from __future__ import annotations

import os
import shutil

from automl.evaluation.fold_models import (
    load_models,
    remove_all_models,
    remove_models,
    save_models,
)
from automl.installation import make_key


def test_removed_models_are_gone_and_others_stay(tmp_path):
    for trial in ("t", "u"):
        save_models(tmp_path, trial, {})
    remove_models(tmp_path, "t")
    remove_models(tmp_path, "t")
    assert load_models(tmp_path, "t") is None
    assert load_models(tmp_path, "u") == {}


def test_a_finished_run_has_no_fold_models(tmp_path):
    save_models(tmp_path, "t", {})
    remove_all_models(tmp_path)
    remove_all_models(tmp_path)
    assert load_models(tmp_path, "t") is None


class Canary:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.makedirs, (str(self.folder),)


def test_fold_models_that_nobody_signed_are_not_read(tmp_path, monkeypatch):
    run, canary = tmp_path / "run", tmp_path / "canary"
    run.mkdir()
    save_models(run, "t", {(0, 0): Canary(canary)})
    path = run / "models" / "t.pickle"
    whole = path.read_bytes()
    for data in (whole[:-32], whole[:-1] + bytes([whole[-1] ^ 1]), b"", whole[:7], b"x" + whole):
        path.write_bytes(data)
        assert load_models(run, "t") is None
    path.write_bytes(whole)
    path.with_name("u.pickle").write_bytes(whole)
    assert load_models(run, "u") is None, "signed for another trial"
    shutil.copytree(run, tmp_path / "other")
    assert load_models(tmp_path / "other", "t") is None, "signed for another run"
    monkeypatch.setenv("AUTOML_KEY_FILE", str(tmp_path / "key"))
    assert load_models(run, "t") is None, "no key"
    make_key()
    assert load_models(run, "t") is None, "another key"
    monkeypatch.undo()
    assert not canary.exists()
    assert load_models(run, "t") == {(0, 0): None}, "what makedirs returns"
    assert canary.is_dir()


def test_a_copied_run_of_the_same_installation_has_its_fold_models(tmp_path):
    (tmp_path / "home" / "run").mkdir(parents=True)
    save_models(tmp_path / "home" / "run", "t", {})
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    assert load_models(tmp_path / "copy" / "run", "t") == {}
