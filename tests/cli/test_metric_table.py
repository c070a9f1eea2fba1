"""Every metric of a run in its natural units, wherever a result is printed."""

from __future__ import annotations

import json

import pytest
from run_records import TEST

from automl_flows.training import summary_text
from automl_flows.words.rendering import text_of
from automl_flows.words.result_display import next_commands, page_facts, show_result


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
