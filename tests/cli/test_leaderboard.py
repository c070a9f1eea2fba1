"""`automl leaderboard` of a real run, and its single trials as models for `predict` and `evaluate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from automl.evaluation.fold_models import remove_all_models
from automl.home import Home, RunFolder
from automl.run.beginning import begin
from automl.run.stage_table import stages_of
from automl.run_records.final import FinalRecord
from automl.settings import Settings
from automl.stages.line import close_line, open_line
from automl_flows import Result


def rows(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n_rows))
    label = np.where(x + 0.5 * z + 0.5 * rng.normal(size=n_rows) > 0.4, "yes", "no")
    return pd.DataFrame({"x": x, "z": z, "y": label})


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> RunFolder:
    """A run that has kept its fold models, with test rows; it touches no tracking store."""
    place = tmp_path_factory.mktemp("leaderboard")
    rows(160, 0).to_csv(place / "train.csv", index=False)
    settings = Settings(
        table=str(place / "train.csv"),
        target="y",
        trials=6,
        workers=1,
        families=("lda", "gaussian_nb"),
        test_share=0.25,
        experience=False,
        challenge=False,
        keep_models=True,
    )
    session = begin(settings, Home(place / "home"))
    line = open_line(session)
    try:
        line.finish_search()
        for stage in stages_of(session.settings):
            line.record(stage.record)
        line.close()
    finally:
        close_line(line)
        session.release()
    return session.folder


@pytest.fixture
def run(kept, monkeypatch) -> str:
    monkeypatch.setenv("AUTOML_HOME", str(kept.path.parents[1]))
    rows(80, 1).to_csv("new.csv", index=False)
    return kept.run_id


def test_every_kept_trial_is_scored_on_the_test_rows(automl, run, kept):
    entries = automl("leaderboard", run, "--test", "--json").json
    assert [entry["rank"] for entry in entries] == [None, *range(1, len(entries))]
    assert all(entry["test_metrics"]["accuracy"] > 0.3 for entry in entries)
    test = FinalRecord.read(kept).test
    assert entries[0]["test_score"] == pytest.approx(test.score)
    assert entries[0]["test_metrics"] == pytest.approx(dict(test.metrics))


def test_another_table_scores_a_trial_as_evaluate_does(automl, run):
    entries = automl("leaderboard", run, "--table", "new.csv", "--json").json
    for entry in (entries[0], entries[-1]):
        found = automl("evaluate", entry["model"], "new.csv", "--json").json
        assert found["metrics"] == pytest.approx(entry["test_metrics"])
        assert found["score"] == pytest.approx(entry["test_score"])


@pytest.mark.parametrize(("seed", "n_known"), [(1, 0), (0, 160)])
def test_rows_that_the_model_was_fitted_on_are_told(automl, run, seed, n_known):
    rows(160, seed).to_csv("rows.csv", index=False)
    told = automl("leaderboard", run, "--table", "rows.csv").err
    n_training = round(0.75 * n_known)
    words = f"the model was fitted on {n_training} of these 160 rows, so the values are too good"
    assert (words in told) is (n_known > 0)


def test_a_finished_run_is_not_resumed_and_what_registers_its_model_is_named(automl, run):
    outcome = automl("resume", run)
    assert outcome.code == 2
    assert "it is finished; automl sync" in outcome.err
    assert "registers its model" in outcome.err


def test_the_table_names_what_predicts_and_warns_of_choosing(automl, run):
    outcome = automl("leaderboard", run, "--test")
    head = outcome.out.splitlines()[0]
    assert head.split("  ")[-1] == "predicts"
    assert "test accuracy" in head
    assert "a model chosen by them is scored too well" in outcome.err
    assert f"automl predict '{run}#s" in outcome.err


@pytest.mark.parametrize("name", ["s00003", "3", "lda"])
def test_a_trial_predicts_by_its_id_its_number_or_its_family(automl, run, name):
    outcome = automl("predict", f"{run}#{name}", "new.csv", "-o", "out.csv")
    assert outcome.code == 0
    assert set(pd.read_csv("out.csv")["prediction"]) == {"no", "yes"}


def test_an_unknown_trial_is_named_with_near_ones(automl, run):
    outcome = automl("predict", f"{run}#s00999", "new.csv", "-o", "out.csv")
    assert outcome.code == 2
    assert "has no trial 's00999'" in outcome.err


def test_a_trial_without_fitted_models_says_how_to_keep_them(automl, run, kept, tmp_path):
    members = {member.trial_id for member in FinalRecord.read(kept).members}
    entries = automl("leaderboard", run, "--json").json[1:]
    gone = [e["trial"] for e in entries if f"{run}-{e['trial']}" not in members]
    models, aside = kept.path / "models", tmp_path / "aside"
    models.rename(aside)
    try:
        outcome = automl("predict", f"{run}#{gone[0]}", "new.csv", "-o", "out.csv")
        listed = automl("leaderboard", run, "--json").json
        told = automl("leaderboard", run).err
    finally:
        remove_all_models(kept.path)
        aside.rename(models)
    assert outcome.code == 2
    assert f"no fitted models of trial {gone[0]}; give --keep-models" in outcome.err
    assert {entry["trial"] for entry in listed if not entry["model"]} == set(gone)
    assert f"{len(gone)} of these have no fitted model" in told


def test_a_run_without_a_model_has_a_leaderboard_all_the_same(automl, runs):
    outcome = automl("leaderboard", runs[0].run_id)
    assert outcome.code == 0
    assert "ridge" in outcome.out
    assert "no model yet" in automl("leaderboard", runs[0].run_id, "--test").err


def test_test_rows_and_a_table_contradict_each_other(automl, runs):
    outcome = automl("leaderboard", runs[0].run_id, "--test", "--table", "new.csv")
    assert outcome.code == 2
    assert "contradict" in outcome.err
    assert not Path("new.csv").exists()


def test_python_has_the_same_as_a_frame(automl, run, kept):
    result = Result.of(run)
    for asked, options in (({}, ()), ({"test": True}, ("--test",))):
        entries = automl("leaderboard", run, "--json", *options).json
        found = result.leaderboard(**asked)
        assert list(found["trial"]) == [entry["trial"] for entry in entries]
        assert list(found["rank"].dropna()) == [entry["rank"] for entry in entries[1:]]
        assert list(found["model"]) == [entry["model"] for entry in entries]
        for name in entries[0]["metrics"]:
            values = [entry["metrics"].get(name, np.nan) for entry in entries]
            np.testing.assert_array_equal(found[name], values)
    assert found["test_score"][0] == pytest.approx(entries[0]["test_score"])
    assert found["test_accuracy"][0] == entries[0]["test_metrics"]["accuracy"]
    later = rows(80, 1).set_index(pd.Index(range(400, 480)))  # as the end of a longer frame
    of_frame, of_file = result.leaderboard(later), result.leaderboard("new.csv")
    np.testing.assert_allclose(of_frame["test_accuracy"], of_file["test_accuracy"])
