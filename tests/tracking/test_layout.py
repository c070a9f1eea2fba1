"""What a run looks like in MLflow, and how much the mirror may take; neither needs mlflow."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from automl.inference.example import input_example
from automl.inference.forms import DateForm, TimeForm
from automl.inference.readings import Reading
from automl.settings import Settings
from automl.settings.presets import PRESETS
from automl.tracking import layout
from automl.tracking.links import links
from automl.tracking.outbox import Outbox
from automl.tracking.pace import OPENING_SECONDS, Pace

RUN = "20261120-120000-abcd"


@pytest.mark.parametrize("table", ["data/beans.csv", "s3://bucket/beans.csv.gz", "sklearn:iris"])
def test_problem_is_named_as_the_settings_name_it(table: str) -> None:
    settings = Settings(table=table, target="label")
    assert layout.problem_name({"settings": settings.model_dump()}) == settings.problem


def test_incumbents_are_the_complete_trials_better_than_all_before(runs: Any) -> None:
    trials = [runs.trial(RUN, i) for i in range(7)]
    worse = replace(trials[2], score=0.1)
    curve = layout.incumbents([*trials[3:], worse, *trials[:2]])
    assert curve == [(0, 0.5), (1, 0.501), (3, 0.503), (4, 0.504)]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("running", "RUNNING"),
        ("interrupted", "KILLED"),
        ("failed", "FAILED"),
        ("finished", "FINISHED"),
        ("empty", "KILLED"),
    ],
)
def test_the_store_repeats_what_became_of_a_run(status: str, expected: str) -> None:
    assert layout.run_status(status) == expected


def test_secrets_of_an_address_do_not_get_into_the_store() -> None:
    secret = "https://me:secret@host:80/a@b.csv?sig=secret#x"
    facts = {"run_id": RUN, "settings": {"table": secret, "target": "y", "test": secret}}
    content = layout.parent_content(facts)
    assert "secret" not in "".join([*content.params.values(), *map(str, content.tags.values())])
    assert content.params["table"] == "https://host:80/a@b.csv"


def test_long_values_are_cut_to_what_mlflow_takes(runs: Any) -> None:
    trial = replace(runs.trial(RUN, 5), reason="x" * 20_000)
    facts = {"run_id": RUN, "settings": {"table": "a.csv", "target": "y", "note": "z" * 20_000}}
    tags = layout.trial_content(facts, trial, decision={}, family_run="f", extra_tags={}).tags
    assert max(map(len, tags.values())) == layout.TAG_CHARACTERS
    assert len(layout.parent_content(facts).params["note"]) == layout.PARAM_CHARACTERS


def test_parameters_are_the_settings_that_somebody_has_chosen() -> None:
    settings = Settings(table="a.csv", target="y", preset="fast", budget_seconds=60.0, folds=7)
    shown = (
        settings.model_dump(mode="json")
        | PRESETS["fast"]
        | {"folds": 7, "criteria": {"speed": 1.0}}
    )
    content = layout.parent_content({"run_id": RUN, "started_at": 1.79e9, "settings": shown})
    assert content.params == {
        "table": "a.csv",
        "target": "y",
        "preset": "fast",
        "budget_seconds": "60.0",
        "seed": "0",
        "folds": "7",
        "criteria": '{"speed": 1.0}',
    }
    assert layout.shown_settings({"settings": shown}) == shown


def test_no_tag_of_a_training_run_repeats_a_parameter(runs: Any) -> None:
    facts = runs.make(1).read_facts()
    whole = {
        **facts,
        "settings": {**facts["settings"], "preset": "fast", "seed": 7, "task": "binary"},
    }
    content = layout.parent_content(whole)
    assert {"target", "preset", "seed", "task"} <= content.params.keys()
    assert not {"automl.target", "automl.preset", "automl.seed"} & content.tags.keys()
    assert {layout.RUN_ID_TAG, layout.KIND_TAG, "automl.problem"} <= content.tags.keys()
    assert layout.key_tags(whole)["automl.seed"] == "7"  # of trials


def test_names_of_runs_say_what_they_found(runs: Any) -> None:
    facts = {"started_at": 1.79e9, "settings": {"table": "data/beans.csv", "target": "y"}}
    began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(1.79e9))
    assert layout.run_name(facts, "lightgbm") == f"beans-y · {began} · lightgbm"
    trial = runs.trial(RUN, 4)
    assert layout.trial_name(trial) == "0.5040 lightgbm · s00004"
    assert layout.trial_name(runs.trial(RUN, 5)) == "ridge timed out · s00005"
    assert layout.trial_name(replace(trial, stage="candidates")) == "0.5040 lightgbm · c00004"


def test_a_users_metric_is_stored_under_a_name_that_mlflow_takes(runs: Any) -> None:
    from mlflow.utils.validation import _validate_metric_name

    own = {"accuracy": 0.5, "/home/me/my metrics.py:profit": 2.0, "package.module:f@2": 3.0}
    metrics = layout.trial_metrics(replace(runs.trial(RUN, 5), metrics=own))
    for name in metrics:
        _validate_metric_name(name)
    assert metrics["accuracy"] == 0.5
    assert metrics["my metrics.profit"] == 2.0
    assert metrics["package.module.f-2"] == 3.0


def test_pace_allows_opening_only_when_the_share_covers_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = {"wall": 1000.0, "cpu": 0.5}
    monkeypatch.setattr("automl.tracking.pace.time.monotonic", lambda: clock["wall"])
    monkeypatch.setattr("automl.tracking.pace.time.process_time", lambda: clock["cpu"])
    pace = Pace(share=0.05, n_cores=2, began=1000.0)
    assert not pace.may_write
    clock["wall"] += 10 * OPENING_SECONDS
    assert not pace.may_open
    clock["wall"] += 6
    assert pace.may_open
    short = Pace(share=0.05, n_cores=2, budget_seconds=60, began=clock["wall"])
    too_short = Pace(share=0.05, n_cores=2, budget_seconds=20, began=clock["wall"])
    assert not short.may_open
    clock["wall"] += 15
    assert short.may_open
    assert not too_short.may_open
    clock["wall"] -= 15
    clock["cpu"] = 5.59
    assert pace.may_write
    clock["cpu"] = 5.61
    assert not pace.may_write


def test_outbox_survives_as_it_was_saved_and_a_torn_file_begins_anew(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox.json", store="s", trials={"a": "1"}, writing=["b"])
    outbox.save()
    again = Outbox.load(outbox.path)
    assert (again.trials, again.writing, again.is_new) == ({"a": "1"}, ["b"], False)
    outbox.path.write_text(outbox.path.read_text()[:20])
    assert Outbox.load(outbox.path).is_new


def test_example_has_a_filled_row_and_one_without_the_optional_values() -> None:
    def column(role: str, stored: str, *categories: str, **facts: Any) -> dict[str, Any]:
        name = f"{role} {stored} {facts}"
        known = {"role": role, "stored": stored, "categories": categories}
        return {"name": name, **known, "reading": None, "date_origin": 31.0, **facts}

    columns = [
        column("numeric", "number"),
        column("numeric", "number", value_type="integer", is_optional=False),
        column("numeric", "text"),
        column("nominal", "number", "3", "4"),
        column("nominal", "boolean", "False", "True", is_optional=False),
        column("nominal", "text", "red"),
        column("date", "date", reading=Reading(DateForm()).to_json()),
        column("date", "text", reading=Reading(DateForm("%d.%m.%Y")).to_json()),
        column("numeric", "text", reading=Reading(TimeForm()).to_json()),
    ]
    filled, missing = input_example({"schema": {"columns": columns}})
    values = [0.0, 0, "0", 3.0, False, "red", "1970-02-01", "01.02.1970", "00:00"]
    assert list(filled.values()) == values
    assert list(missing.values()) == [None, 0, None, None, False, *[None] * 4]


def test_the_drivers_side_loads_no_mlflow() -> None:
    modules = "mirror_process, problem_experiment, links, outbox, layout"
    code = f"import sys; from automl.tracking import {modules}; assert 'mlflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_links_of_a_run_that_was_never_mirrored_are_empty(runs: Any) -> None:
    assert links(runs.make(1)) == {}
