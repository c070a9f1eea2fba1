"""Every metric of a run in its natural units, wherever a result is printed."""

from __future__ import annotations

import json

import pytest
from run_records import TEST

from automl.home import Home
from automl.metrics.words import estimate_text
from automl.reports.command_line import command
from automl_flows.commands.demonstration import demo_commands
from automl_flows.training import summary_text
from automl_flows.words.rendering import text_of
from automl_flows.words.result_display import (
    next_commands,
    page_facts,
    show_result,
    untried_notes,
)


@pytest.fixture
def result(runs):
    """Of a finished run with metrics, validated and on test rows."""
    file = runs[1].stages / "result.json"
    found = json.loads(file.read_text())
    found["metrics"] = {"log_loss": 0.4, "accuracy": 0.8125, "rmse": 31234.5}
    found["test"] = {"rows": TEST.rows, "score": TEST.score, "metrics": dict(TEST.metrics)}
    file.write_text(json.dumps(found))
    return found


def rows_after(text: str, head: str) -> dict[str, list[str]]:
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(head))
    return {line.split("  ")[0]: line.split() for line in lines[start : start + 6]}


def test_train_and_show_print_every_metric_validated_and_on_test_rows(
    automl, runs, result, own_home, capsys
):
    show_result(result, own_home, as_json=False)
    at_the_end = capsys.readouterr().out
    for text in (at_the_end, automl("show", runs[1].run_id).out):
        found = rows_after(text, "metric ")
        assert "cross-validated  30 test rows" in " ".join(text.splitlines())
        assert found["accuracy"][1:3] == ["0.8125", "0.7"]
        assert found["log loss"][2] == "0.4"
        assert found["RMSE"][1] == "31234"
        assert found["score"][1:3] == ["0.5", "0.45"]


@pytest.fixture
def sure(result, runs):
    """The same with intervals, of the corrected and of the tested values."""
    metrics = {"accuracy": {"value": 0.7953, "low": 0.7402, "high": 0.8417, "naive": 0.8125}}
    honest = {**result["honest"], "chosen": "single", "n_trials": 17, "reason": ""}
    score = {"score": 0.47, "low": 0.41, "high": 0.52, "naive": 0.5, "metrics": metrics}
    found = {**result, "honest": {**honest, "single": score}}
    intervals = {"n_bootstraps": 1000, "score": [0.3, 0.6], "metrics": {"accuracy": [0.55, 0.85]}}
    found["test"] = {**result["test"], "intervals": intervals}
    (runs[1].stages / "result.json").write_text(json.dumps(found))
    return found


def test_values_have_their_intervals_beside_them(automl, runs, sure, own_home, capsys):
    show_result(sure, own_home, as_json=False)
    at_the_end = capsys.readouterr().out
    for text in (at_the_end, automl("show", runs[1].run_id).out):
        assert "cross-validated  corrected [95 %]      30 test rows [95 %]" in text
        assert "0.8125  0.795 [0.740, 0.842]  0.700 [0.550, 0.850]" in text
        assert "0.5  0.470 [0.410, 0.520]  0.450 [0.300, 0.600]" in text
        assert "0.795 [0.740, 0.842] (cross-validated 0.8125)" in text
        assert (
            "Brackets hold 95 % intervals for new rows of this one model; corrected values leave out "
            "the luck of its choice among 17 trials."
        ) in text.splitlines()


def test_the_page_of_prefect_has_the_intervals_too(sure):
    whole = {"champion": {"family": "ridge", "trial_id": "t"}, **sure}
    expected = "- accuracy 0.8125, corrected 0.795 [0.740, 0.842], test 0.700 [0.550, 0.850]"
    assert expected in summary_text(whole).splitlines()


def test_json_has_them_as_numbers(automl, runs, sure):
    found = automl("show", runs[1].run_id, "--json").json["result"]
    assert found["honest"]["single"]["metrics"]["accuracy"]["low"] == 0.7402
    assert found["test"]["intervals"]["metrics"]["accuracy"] == [0.55, 0.85]


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.9584, (0.94, 0.9723), "0.958 [0.940, 0.972]"),
        (0.95841, (0.9561, 0.9602), "0.9584 [0.9561, 0.9602]"),
        (31234.5, (29800.0, 32700.0), "31234 [29800, 32700]"),
        (14.23, (13.1, 15.02), "14.2 [13.1, 15.0]"),
        (-0.0001, (-0.2, 0.1), "0.000 [-0.200, 0.100]"),
        (1.0, (1.0, 1.0), "1 [1, 1]"),
    ],
)
def test_digits_are_those_that_the_interval_has_a_use_for(value, interval, text):
    assert estimate_text(value, interval) == text


def test_runs_name_the_metric_that_everybody_knows(automl, result):
    assert result["metrics"]["accuracy"] == 0.8125
    assert "accuracy 0.8125" in automl("runs").out
    listed = [row for row in automl("runs", "--json").json if row["status"] == "finished"]
    assert [(row["metric"], row["value"]) for row in listed] == [("accuracy", 0.8125)]


def test_the_page_of_prefect_has_them_too(result):
    whole = {"champion": {"family": "ridge", "trial_id": "t"}, **result}
    assert "- accuracy 0.8125, test 0.7" in summary_text(whole).splitlines()


def test_the_last_words_are_commands_that_name_the_model(result, own_home):
    named = {**result, "model": {**result["model"], "registered": "beans/3@champion"}}
    found = next_commands(named, own_home)
    assert found["evaluate"] == "automl evaluate beans@champion TABLE"
    assert found["report"] == f"automl report {result['run_id']}"
    assert list(found) == ["why", "report", "predict", "evaluate"]
    assert f"predict {result['run_id']} TABLE" in next_commands(result, own_home)["predict"]


def test_links_are_addresses_and_nothing_else(runs, result, own_home, monkeypatch):
    runs[1].report.write_text("page")
    ids = {**result, "links": {"tracking_store": "sqlite:////x.db", "experiment": "1"}}
    found = page_facts(runs[1], ids, own_home)
    assert found == {"link report": runs[1].report.as_uri(), "pages": "open them with: automl ui"}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    pages = {**result, "links": {"experiment": "http://host:5000/#/experiments/1"}}
    found = page_facts(runs[1], pages, own_home)
    assert found["link experiment"] == "http://host:5000/#/experiments/1"
    assert "pages" not in found


def test_a_run_without_metrics_has_no_table(automl, runs):
    assert "what it says" not in automl("show", runs[0].run_id).out


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.1235"), (9999.4, "9999"), (12345.6, "12346"), (-2e6, "-2000000")],
)
def test_great_numbers_have_no_exponent(value, text):
    assert text_of(value) == text


def test_families_without_a_trial_share_one_note():
    others = "the search spent its time on others, most of it on svm, mlp, qda"
    many = {"untried": dict.fromkeys("abcdef", others)}
    assert untried_notes(many) == [f"6 families got no trial (a, b, c, d and 2 more): {others}"]
    assert untried_notes({"untried": {"a": others}}) == [f"1 family got no trial (a): {others}"]
    slow = {"untried": {"a": others, "b": others, "gp": "too slow"}}
    assert untried_notes(slow) == [f"3 families got no trial; a, b: {others}; gp: too slow"]
    assert untried_notes({}) == []


def test_commands_name_the_home_only_where_it_is_not_the_usual_one(tmp_path, monkeypatch):
    usual, other = Home((tmp_path / "automl-home").resolve()), Home(tmp_path / "other")
    monkeypatch.delenv("AUTOML_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert command(usual, "ui") == "automl ui"
    assert command(other, "ui") == f"automl ui --home {other.path}"
    monkeypatch.setenv("AUTOML_HOME", str(other.path))
    assert command(other, "ui") == "automl ui"
    assert command(usual, "ui") == f"automl ui --home {usual.path}"


def test_the_demo_ends_with_one_list_of_commands(result, own_home, capsys):
    show_result(result, own_home, as_json=False, commands=demo_commands)
    last = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert [line.partition(":")[0] for line in last] == [
        "why", "report", "predict", "pages", "own table",
    ]  # fmt: skip
    assert last[0] == f"why:       automl why {result['run_id']}"
    assert (own_home.path / "demo" / "breast_cancer_sample.csv").is_file()
