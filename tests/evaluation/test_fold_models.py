"""Fold models that a run keeps: those of the best trials, and none once it has finished."""

from __future__ import annotations

import os
import shutil

import pytest

from automl.evaluation.fold_models import BestModels, load_models, remove_all_models, save_models
from automl.installation import make_key
from automl.records import Configuration, Trial, TrialStatus


@pytest.fixture
def make_trial():
    def make(index, score, *, complete=True, family="knn"):
        status = TrialStatus.COMPLETE if complete else TrialStatus.RACED
        return Trial("run", index, Configuration(family, (), {}), status, score)

    return make


def test_only_the_best_trials_keep_their_models(tmp_path, make_trial):
    best = BestModels(tmp_path, n_kept=2)
    for index, score in enumerate([0.5, 0.9, 0.1, 0.7]):
        trial = make_trial(index, score)
        save_models(tmp_path, trial.id, {})
        best.add(trial)
    kept = [index for index in range(4) if load_models(tmp_path, make_trial(index, 0).id) == {}]
    assert kept == [1, 3]


def test_the_best_of_each_family_keeps_its_models_beside_the_best_of_all(tmp_path, make_trial):
    best = BestModels(tmp_path, n_kept=4)
    families = ["knn", "ridge", "knn", "knn", "ridge", "knn", "svm"]
    for index, (family, score) in enumerate(
        zip(families, [0.8, 0.1, 0.9, 0.7, 0.2, 0.6, 0.05], strict=True)
    ):
        trial = make_trial(index, score, family=family)
        save_models(tmp_path, trial.id, {})
        best.add(trial)
    kept = [index for index in range(7) if load_models(tmp_path, make_trial(index, 0).id) == {}]
    assert kept == [0, 2, 4, 6]


def test_a_trial_that_is_not_complete_displaces_nothing(tmp_path, make_trial):
    best = BestModels(tmp_path, n_kept=1)
    good, partial = make_trial(0, 0.5), make_trial(1, 0.9, complete=False)
    for trial in (good, partial):
        save_models(tmp_path, trial.id, {})
        best.add(trial)
    assert load_models(tmp_path, good.id) == {}


def test_a_finished_run_has_no_fold_models(tmp_path, make_trial):
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
