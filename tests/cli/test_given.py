"""Options become settings."""

from __future__ import annotations

import re

import pytest

from automl.addresses import ENVIRONMENT
from automl.errors import SettingsError
from automl.evaluation.launch import MARKER
from automl.inference.pyfunc import TRUST_VARIABLE
from automl.settings.option_texts import parse_metric, parse_roles, read_cost_matrix
from automl.settings.sources import resolve_settings
from automl_flows.commands.train_options import flags


def test_roles_may_hold_equals_signs_in_the_column_name():
    assert parse_roles(["a=b=nominal", "c=date"]) == {"a=b": "nominal", "c": "date"}
    assert parse_roles({"c": "date"}) == {"c": "date"}


def test_metric_weights_are_parsed_and_names_kept():
    assert parse_metric("auc=2, accuracy=1") == {"auc": 2.0, "accuracy": 1.0}
    assert parse_metric("own.py:gain=1,brier=2") == {"own.py:gain": 1.0, "brier": 2.0}
    assert parse_metric("a=b/own.py:gain") == "a=b/own.py:gain"
    assert parse_metric("index") == "index"
    assert parse_metric(None) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("m.csv", "0,1\n5,0\n"), ("m.csv", "0;1\n5;0\n"), ("m.yaml", "[[0, 1], [5, 0]]\n")],
)
def test_cost_matrix_is_read_from_csv_and_yaml(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert read_cost_matrix(path) == [[0.0, 1.0], [5.0, 0.0]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.csv", "a,b\n0,1\n"),
        ("m.csv", "0,1\n"),
        ("m.csv", ""),
        ("m.yaml", "3"),
        ("m.yaml", "[[0, 1"),
        ("m.yaml", "- {a: 1}\n- 2\n"),
    ],
)
def test_a_cost_matrix_that_is_none_is_refused_by_name(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SettingsError, match=str(path)):
        read_cost_matrix(path)


def test_a_file_that_is_missing_is_told_without_the_number_of_the_systems_error(tmp_path):
    with pytest.raises(SettingsError) as caught:
        read_cost_matrix(tmp_path / "none.csv")
    assert str(caught.value) == (
        f"cost matrix {tmp_path / 'none.csv'} cannot be read: No such file or directory"
    )


def test_a_time_column_of_words_is_told_what_it_must_hold(automl, table):
    outcome = automl("train", table, "--target", "y", "--time", "kind", "--dry-run")
    assert outcome.code == 3
    assert re.search(r"time column 'kind' must hold dates; found '\w+'$", outcome.err, re.MULTILINE)


def test_an_environment_variable_that_names_no_setting_is_refused():
    given = {"table": "t", "target": "y"}
    with pytest.raises(
        SettingsError, match=r"AUTOML_SEDE names no setting; did you mean 'AUTOML_SEED'"
    ):
        resolve_settings(given, environment={"AUTOML_SEDE": "7"})
    ours = {"AUTOML_HOME": "h", "AUTOML_TRUST": "1", "AUTOML_SEDE": "", "AUTOMLX": "1"}
    assert resolve_settings(given, environment=ours) == resolve_settings(given, environment={})


def test_variables_of_our_own_are_no_misspelt_settings():
    own = dict.fromkeys((MARKER, ENVIRONMENT, TRUST_VARIABLE), "1")
    resolve_settings({"table": "t", "target": "y"}, environment=own)


def test_command_line_beats_environment_beats_file_beats_preset(
    automl, table, tmp_path, monkeypatch
):
    config = tmp_path / "settings.yaml"
    config.write_text("preset: fast\ntarget: y\nseed: 1\nbudget_seconds: 60\nalpha: 0.2\n")
    monkeypatch.setenv("AUTOML_SEED", "2")
    monkeypatch.setenv("AUTOML_BUDGET_SECONDS", "70")
    plan = automl("train", table, "--config", config, "--budget", 80, "--dry-run", "--json").json
    settings = plan["settings"]
    assert (settings["budget_seconds"], settings["seed"], settings["alpha"]) == (80, 2, 0.2)
    assert (
        settings["folds"] == resolve_settings({"table": "t", "target": "y", "preset": "fast"}).folds
    )


def test_every_option_of_train_reaches_its_setting(automl, table):
    plan = automl(
        "train", table, "--target", "y", "--task", "binary", "--budget", "2m", "--seed", 5,
        "--families", "ridge,lda,svm", "--exclude", "svm", "--positive", "yes", "--alpha", 0.1,
        "--ensemble", "none", "--optimizer", "random", "--allocator", "uniform", "--name", "p",
        "--max-predict-ms", 2, "--workers", 1, "--class-weight", "balanced", "--test-share", 0.25,
        "--role", "kind=nominal", "--metric", "accuracy", "--preset", "fast", "--dry-run", "--json",
    ).json  # fmt: skip
    settings = plan["settings"]
    expected = {
        "target": "y", "task": "binary", "budget_seconds": 120.0, "seed": 5, "trials": None,
        "families": ["ridge", "lda", "svm"], "exclude": ["svm"], "positive": "yes", "alpha": 0.1,
        "ensemble": "none", "optimizer": "random", "allocator": "uniform", "name": "p",
        "max_predict_ms": 2.0, "workers": 1, "class_weight": "balanced", "test_share": 0.25,
        "roles": {"kind": "nominal"}, "metric": "accuracy", "preset": "fast",
    }  # fmt: skip
    assert {key: settings[key] for key in expected} == expected
    assert settings["table"] == str(table.resolve())


def test_the_options_of_the_selection_reach_their_settings(automl, table):
    given = {"selection_test": "thesis", "normality": "lilliefors", "alpha_split": "level"}
    options = [
        part for key, value in given.items() for part in (f"--{key.replace('_', '-')}", value)
    ]
    settings = automl(
        "train", table, "--target", "y", *options, "--alpha", "leaf=0.01,root=0.1",
        "--dry-run", "--json",
    ).json["settings"]  # fmt: skip
    assert {key: settings[key] for key in given} == given
    assert settings["alpha"] == {"leaf": 0.01, "root": 0.1}


def test_a_dry_run_says_what_would_run_and_writes_nothing(automl, table, own_home):
    outcome = automl("train", table, "--target", "y", "--exclude", "svm", "--dry-run")
    plan = automl("train", table, "--target", "y", "--exclude", "svm", "--dry-run", "--json").json
    runs = {row["family"]: row["runs"] for row in plan["families"]}
    assert outcome.code == 0
    assert "auto: expected_gain_seconds" in outcome.out
    assert plan["chosen"] == {"allocator": "expected_gain_seconds", "alpha_split": "tree"}
    assert "lightgbm" in outcome.out
    assert runs["lightgbm"]
    assert not runs["svm"]
    assert not runs["huber"]
    assert plan["data"]["rows"] == 60
    assert {row["column"]: row["role"] for row in plan["columns"]} == {
        "x": "numeric",
        "kind": "nominal",
    }
    assert not own_home.path.exists()


def test_a_dry_run_tells_the_floors_that_every_run_tries(automl, table):
    def families(*options):
        command = ("train", table, "--target", "y", *options, "--dry-run", "--json")
        return {row["family"]: row for row in automl(*command).json["families"]}

    floor = {"runs": True, "reason": "tried once, as a floor"}
    without = families("--exclude", "lightgbm,stump,svm")
    for name in ("constant", "stump", "lightgbm"):
        assert without[name] == {"family": name, **floor}
    assert without["svm"] == {"family": "svm", "runs": False, "reason": "not chosen"}
    named = families("--families", "ridge")
    assert named["stump"] == {"family": "stump", **floor}
    assert not named["lightgbm"]["runs"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target: y\nseed: 1\nseed: 2\n", "settings file .*: must be YAML; got .*'seed'.* line 3"),
        ("target: [y\n", "settings file .*: must be YAML"),
        ("target: 1\n", "setting target .in .*settings.yaml.: .*; got 1, write it in quotes"),
        ("target: ''\n", "setting target"),
        ("target: y\ntest: ''\n", "setting test"),
        ("target: y\nfamilies: ','\n", "setting families .in .*: must name families"),
        (
            "target: y\ncriteria: {generalisation: 1}\n",
            "setting criteria .in .*: .*'generalisation'",
        ),
        ("target: y\nmetric: {accuracy: much}\n", "setting metric.accuracy .in .*: .*; got 'much'"),
        ("target: y\nmetric: [accuracy]\n", "setting metric"),
        ("target: y\nholdout_above_rows: -1\n", "setting holdout_above_rows"),
    ],
)
def test_a_settings_file_that_cannot_be_meant_is_refused(tmp_path, text, words):
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=words):
        resolve_settings({"table": "t.csv"}, file=file, environment={})


def test_a_settings_file_is_read_by_the_rules_of_the_family_files(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text(
        "target: on\nbudget_seconds: 1e2\nracing: no\nspaces: {svm: {C: {low: 1e-2}}}\n"
    )
    settings = resolve_settings({"table": "t.csv"}, file=file, environment={})
    assert (settings.target, settings.budget_seconds, settings.racing) == ("on", 100.0, False)
    assert settings.spaces == {"svm": {"C": {"low": 0.01}}}


def test_the_environment_may_hold_mappings_and_what_is_empty_is_not_given():
    given = {"table": "t.csv", "target": "y"}
    environment = {"AUTOML_SPACES": "{svm: {kernel: [rbf]}}", "AUTOML_NAME": "", "AUTOML_SEED": "3"}
    settings = resolve_settings(given, environment=environment)
    assert settings.spaces == {"svm": {"kernel": ["rbf"]}}
    assert (settings.seed, settings.name) == (3, "")
    with pytest.raises(SettingsError, match="AUTOML_SPACES: must be YAML"):
        resolve_settings(given, environment={"AUTOML_SPACES": "{a"})


def test_texts_of_the_command_line_are_understood_in_every_source():
    environment = {"AUTOML_METRIC": "auc=2,accuracy=1", "AUTOML_ROLES": "[zip=nominal, day=date]"}
    settings = resolve_settings({"table": "t.csv", "target": "y"}, environment=environment)
    assert settings.metric == {"auc": 2.0, "accuracy": 1.0}
    assert settings.roles == {"zip": "nominal", "day": "date"}
    one = {"AUTOML_ROLES": "zip=nominal"}
    assert resolve_settings({"table": "t", "target": "y"}, environment=one).roles == {
        "zip": "nominal"
    }


def test_every_setting_that_cannot_be_used_is_named_with_the_place_where_it_stands(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("alpha: 3\nbudget: soon\n")
    with pytest.raises(SettingsError) as caught:
        resolve_settings(
            {"table": "t.csv", "target": "y", "seed": "x"},
            file=file,
            environment={"AUTOML_FOLDS": "1"},
        )
    message = caught.value.message
    assert message.startswith("4 settings cannot be used: ")
    assert f"setting alpha (in {file}): alpha must be a number between 0 and 1; got 3" in message
    assert f"setting budget_seconds (in {file}): a duration must look like" in message
    assert "setting folds (in the environment): must be at least 2; got '1'" in message
    assert "setting seed: must be a whole number; got 'x'" in message


def test_a_setting_of_the_command_line_is_called_as_it_is_written_there(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("test_share: 7\n")
    with pytest.raises(SettingsError) as caught:
        resolve_settings(
            {"table": "t.csv", "budget": "1s"},
            file=file,
            environment={"AUTOML_FOLDS": "1"},
            called=flags(),
        )
    message = caught.value.message
    assert "option --target is missing" in message
    assert "option --budget: must be at least 10; got 1" in message
    assert f"setting test_share (in {file}): must be" in message
    assert "setting folds (in the environment): must be" in message
    with pytest.raises(SettingsError, match=r"^option --normality: 'lilliefors' has no effect"):
        resolve_settings(
            {"table": "t.csv", "target": "y", "normality": "lilliefors"},
            environment={},
            called=flags(),
        )
