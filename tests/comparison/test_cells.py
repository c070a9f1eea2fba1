"""Cells without an orchestrator: what they leave behind when they cannot run."""

from __future__ import annotations

import pytest

from automl.comparison.cells import run_cell
from automl.comparison.folder import ComparisonFolder
from automl.comparison.incumbents import incumbents
from automl.comparison.plan import Cell, ComparisonPlan
from automl.errors import ServiceError
from automl.home import Home
from automl.records import Configuration, Trial, TrialStatus


def trial(index, score, status=TrialStatus.COMPLETE):
    return Trial("r", index, Configuration("knn"), status, score)


def test_incumbents_are_complete_trials_better_than_all_before():
    raced = trial(3, 0.9, TrialStatus.RACED)
    trials = [trial(0, None, TrialStatus.FAILED), trial(2, -0.1), trial(1, -0.2), raced]
    found = incumbents([*trials, trial(4, -0.1), trial(5, 0.3)])
    assert [(n, t.index) for n, t in found] == [(2, 1), (3, 2), (6, 5)]


def test_a_table_that_went_away_is_a_failed_cell(tmp_path):
    plan = ComparisonPlan({"a": {"trials": 2}}, {"t": {"table": "none.csv", "target": "y"}})
    folder = ComparisonFolder(tmp_path)
    cell = Cell("a", "t", 0)
    record = run_cell(folder, plan, cell)
    assert (record.status, record.score) == ("failed", None)
    assert "there is no file none.csv" in record.reason
    assert folder.read(cell) == record
    assert run_cell(folder, plan, cell) == record


def test_a_run_that_another_process_drives_leaves_no_record(tmp_path):
    plan = ComparisonPlan({"a": {"trials": 2}}, {"t": {"table": "none.csv", "target": "y"}})
    folder = ComparisonFolder(tmp_path)
    cell = Cell("a", "t", 0)
    run = Home(folder.run_home(cell)).create_run()
    with run.lock(), pytest.raises(ServiceError, match="another process"):
        run_cell(folder, plan, cell)
    assert folder.read(cell) is None
