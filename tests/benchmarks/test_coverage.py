"""The benchmarks of the honest score: which runs are made, how they are reported, and that they go on."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

EVIDENCE = Path(__file__).parents[2] / "benchmarks" / "evidence"


@pytest.fixture(scope="module")
def evidence():
    before = set(sys.modules)
    sys.path.insert(0, str(EVIDENCE))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(EVIDENCE))
        for name in set(sys.modules) - before:
            if str(EVIDENCE) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


@pytest.fixture
def data(tmp_path):
    """A data folder with one small and three larger tables."""
    columns = {"x": "numeric", "y": "numeric"}
    rows = {"little": 500, "first": 2_000, "second": 3_000, "third": 20_000}
    catalog = [(name, f"{name}.csv", "regression", n, 1, "y") for name, n in rows.items()]
    frame = pd.DataFrame(catalog, columns=["name", "file", "task", "rows", "features", "target"])
    frame.assign(classes=np.nan, min_class_count=np.nan).to_csv(
        tmp_path / "catalog.csv", index=False
    )
    schema = {name: {"columns": columns} for name in rows}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    return tmp_path


def options(data, **given):
    blank = {"set": "small", "trials": None, "seconds": None, "seeds": 1, "first_seed": 0}
    return argparse.Namespace(data=data, out=data / "out", tables=[], **{**blank, **given})


def test_larger_tables_are_every_second_one_and_leave_all_but_5000_rows_untouched(evidence, data):
    sets = evidence("coverage_sets")
    runs = {name: settings for settings, name in sets.runs_of(options(data, set="larger"))}
    assert list(runs) == ["first-0", "third-0"]
    assert runs["first-0"].test_share == 0.5
    assert runs["third-0"].test_share == 0.75
    assert runs["third-0"].trials == 10


def test_the_budget_is_the_trials_by_seed_or_the_seconds(evidence, data):
    sets = evidence("coverage_sets")
    by_trials = sets.runs_of(options(data, trials=[10, 50], seeds=3))
    assert [settings.trials for settings, _ in by_trials] == [10, 50, 10]
    ((settings, _),) = sets.runs_of(options(data, seconds=60.0))
    assert (settings.trials, settings.budget_seconds, settings.families) == (None, 60.0, ())


def test_a_table_that_is_not_in_the_set_is_refused(evidence, data):
    asked = options(data)
    asked.tables = ["first"]
    with pytest.raises(SystemExit, match="the set small has no table 'first'"):
        list(evidence("coverage_sets").runs_of(asked))


def test_heavy_tables_are_written_once_with_eight_untouched_rows_for_each(evidence, data):
    sets, heavy = evidence("coverage_sets"), evidence("heavy_tables")
    asked = options(data, set="heavy")
    asked.tables = ["pareto-600"]
    ((settings, name),) = sets.runs_of(asked)
    frame = pd.read_csv(settings.table)
    assert name == "pareto-600-0"
    assert frame.shape == (9 * 600, heavy.N_COLUMNS + 1)
    assert settings.test_share == pytest.approx(8 / 9)
    written = Path(settings.table).stat().st_mtime_ns
    list(sets.runs_of(asked))
    assert Path(settings.table).stat().st_mtime_ns == written


def run_of(name, score, test, budget, **given):
    entry = {"score": score, "low": score - 0.1, "high": score + 0.1}
    found = None if score is None else {**entry, **{f"naive_{k}": v for k, v in entry.items()}}
    if found:
        found |= {"naive": score, "gain": 0.0}
    tested = {"score": test, "error": 0.0}
    honest = {"single": found, "ensemble": None, "chosen": "single"}
    return {
        "name": name,
        "table": name[0],
        "budget": budget,
        "honest": honest,
        "single": tested,
        "ensemble": tested,
        "fold_models": test,
        "honest_seconds": 1.0,
        **given,
    }


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "coverage.jsonl"
    runs = [run_of("a-0", 0.5, 0.55, "10 trials"), run_of("b-0", 0.5, 0.9, "50 trials")]
    runs.append(run_of("c-0", 0.1, 0.2, "50 trials"))
    runs[-1]["honest"]["single"] = None
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    return path


def test_runs_without_an_estimate_are_counted_and_not_covered(evidence, lines):
    text = evidence("coverage_report").text(lines)
    assert "single: no estimate in 1 of 3 runs" in text
    assert "single: 2 runs on 2 tables\n  coverage                             0.5000" in text


def test_budgets_are_reported_apart_and_beside_another_file(evidence, lines, tmp_path):
    report = evidence("coverage_report")
    text = report.text(lines, by="budget")
    assert "--- budget 10 trials\nsingle: 1 runs" in text
    other = tmp_path / "other.jsonl"
    other.write_text(lines.read_text().splitlines()[0] + "\n")
    assert "single: 1 runs on 1 tables" in report.text(lines, beside=other)


def test_made_up_runs_are_made_once_and_diverging_models_do_not_count(
    evidence, tmp_path, monkeypatch, capsys
):
    module = evidence("heavy_tails")
    arguments = [str(tmp_path), "--runs", "1", "--rows", "200", "--models", "5"]
    arguments += ["--worlds", "normal,normal diverging"]
    monkeypatch.setattr(sys, "argv", ["heavy_tails.py", *arguments])
    module.main()
    made = (tmp_path / "heavy_tails.jsonl").read_text()
    module.main()
    assert (tmp_path / "heavy_tails.jsonl").read_text() == made
    plain, diverging = map(json.loads, made.splitlines())
    assert diverging["bbc"]["bias"] > 0.2 > 0.05 > abs(diverging["honest"]["bias"])
    assert plain["honest"]["bias"] == pytest.approx(plain["bbc"]["bias"], abs=0.01)
    assert "normal diverging       200 believed    1 runs" in capsys.readouterr().out
