"""A retraining that follows the champion's recipe, or begins with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Command
from run_records import write

from automl.alternatives import How
from automl.errors import SettingsError
from automl.evaluation.journal import read as read_journal
from automl.home import Home
from automl.records import Configuration, Trial
from automl.run_records.ensemble import EnsembleRecord, Share
from automl.run_records.final import FinalMember, FinalRecord
from automl.run_records.recipe import Recipe
from automl.stages.recipes import n_trials_of, recipe_of
from automl.training_request import TrainingRequest
from automl_flows import retraining_ways
from automl_flows.retraining_ways import asked_for

RECIPE = Recipe("r", (Configuration("ridge", {}), Configuration("knn", {})), (0.75, 0.25))


@pytest.fixture
def champion(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """A home whose champion was made by a run that it has."""
    home = Home(tmp_path)
    folder = home.create_run()
    found = SimpleNamespace(label="p/1", run_id=folder.run_id)
    monkeypatch.setattr(retraining_ways, "champion_bundle", lambda *_: found)
    monkeypatch.setattr(retraining_ways, "recipe_of", lambda folder: RECIPE)
    return home


def request(**settings: Any) -> TrainingRequest:
    return TrainingRequest("first", settings, "binary")


def test_a_refit_has_a_trial_for_each_configuration_and_the_constant(champion: Home) -> None:
    asked, recipe, _ = asked_for(request(trials=100), "refit", "p", champion, {"seed": 3})
    assert asked.overrides == {"seed": 3, "trials": n_trials_of(RECIPE)} == {"seed": 3, "trials": 3}
    assert (asked.how, recipe) == ("refit", RECIPE)
    assert "fitted once more" in asked.remark


@pytest.mark.parametrize("how", ["refit", "warm"])
@pytest.mark.parametrize(("is_counted", "word"), [(True, "always"), (False, "never")])
def test_a_recipe_brings_its_counts_of_values(
    champion: Home, monkeypatch: pytest.MonkeyPatch, how: How, is_counted: bool, word: str
) -> None:
    recipe = replace(RECIPE, value_counts=is_counted)
    monkeypatch.setattr(retraining_ways, "recipe_of", lambda folder: recipe)
    settings = {"table": "t.csv", "target": "y", "name": "p", "trials": 9}
    asked, *_ = asked_for(request(**settings), how, "p", champion, {})
    assert asked.settings_for("u.csv").value_counts == word
    assert "value_counts" not in asked.remark


@pytest.mark.parametrize(
    ("settings", "given", "expected"),
    [
        ({"trials": 100}, {}, {"trials": 25}),
        ({"trials": 8}, {}, {"trials": 3}),
        ({"budget_seconds": 60.0}, {}, {"budget_seconds": 15.0}),
        ({"trials": 100}, {"trials": 7}, {"trials": 7}),
    ],
)
def test_a_warm_search_is_short_and_begins_with_the_recipe(
    champion: Home, settings: dict[str, Any], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    asked, recipe, _ = asked_for(request(**settings), "warm", "p", champion, given)
    assert asked.overrides == expected
    assert recipe is not None
    assert not recipe.is_final


def test_a_limit_of_a_refit_and_a_champion_of_another_home_are_refused(
    champion: Home, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match="trials has no effect"):
        asked_for(request(), "refit", "p", champion, {"trials": 3})
    with pytest.raises(SettingsError, match=r"is not in .*; retrain with --how search"):
        asked_for(request(), "refit", "p", Home(tmp_path / "other"), {})


def test_a_model_with_a_second_layer_is_no_recipe(tmp_path: Path) -> None:
    folder = Home(tmp_path).create_run()
    with pytest.raises(SettingsError, match="has no model"):
        recipe_of(folder)
    members = (FinalMember("a", 0.0), FinalMember("b", 1.0, inputs=("a",)))
    write(folder, FinalRecord(members), EnsembleRecord((Share("b", 1.0),)))
    with pytest.raises(SettingsError, match="second layer"):
        recipe_of(folder)


@pytest.mark.integration
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("_with_server")
def test_a_refit_has_the_champions_configurations_and_weights(
    tmp_path: Path, versions: dict[str, Path]
) -> None:
    command = Command(tmp_path / "home")
    options = ["--target", "target", "--name", "tumors", "--trials", "6", "--preset", "fast"]
    families = ["--families", "lda,knn,logistic_regression"]
    (tmp_path / "own.yaml").write_text("value_counts: always\n")
    own = ["--config", str(tmp_path / "own.yaml")]
    first = command.json("train", str(versions["second"]), *options, *families, *own)
    outcome = command.json("retrain", "tumors", str(versions["third"]), "--how", "refit")
    home = Home(tmp_path / "home")
    old, new = home.run(first["run_id"]), home.run(outcome["run_id"])
    recipe = recipe_of(old)
    assert recipe_of(new).weights == pytest.approx(recipe.weights)
    assert {c.id for c in recipe_of(new).configurations} == {c.id for c in recipe.configurations}
    records = [r for r in read_journal(new.journal) if r.get("type") == "trial"]
    trials = [Trial.from_json(record["trial"]) for record in records]
    assert len(trials) == n_trials_of(recipe)
    assert all(trial.stage == "search" for trial in trials)
    assert outcome["result"]["honest"]["reason"].startswith("nothing was chosen")
    assert recipe_of(new).value_counts
    assert outcome["registered"].startswith("tumors/2")
    assert command.json("why", outcome["run_id"], "--check")["adds_up"]
