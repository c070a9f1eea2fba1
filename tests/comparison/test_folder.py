"""Records of cells on disk: whole or not there, never changed, found by the next program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from automl.comparison.folder import CellRecord, ComparisonFolder
from automl.comparison.plan import Cell
from automl.errors import AutoMLWarning, DataError, SettingsError

CELL = Cell("good", "a", 1)


def test_a_record_and_its_rows_come_back(filled):
    record, rows = filled.read(CELL), filled.read_rows(CELL)
    assert record.cell == CELL
    assert record.risk == pytest.approx(1.0 - record.score)
    assert record.trial_risks[0] is None
    assert rows.prediction.shape == (80, 2)
    assert rows.step_predictions.shape == (3, 80, 2)
    assert rows.weights is None
    assert filled.read(Cell("other", "a", 1)) is None


def test_a_failure_has_a_reason_an_infinite_risk_and_no_rows(filled):
    record = filled.read(Cell("fails", "a", 0))
    assert (record.status, record.reason, record.risk) == ("failed", "no memory", np.inf)
    with pytest.raises(DataError, match="cannot be read"):
        filled.read_rows(record.cell)


@pytest.mark.parametrize("harm", ["short", "changed", "missing"])
def test_rows_that_were_harmed_make_the_cell_one_that_was_not_run(filled, harm):
    path = filled.path / "cells" / "good" / "a" / "seed-1.npz"
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-10] if harm == "short" else content[:-1] + b"x")
    with pytest.warns(AutoMLWarning, match="missing or damaged"):
        assert filled.read(CELL) is None


def test_a_record_that_was_cut_short_is_none(filled):
    path = filled.path / "cells" / "good" / "a" / "seed-1.json"
    path.write_text(path.read_text()[:-20])
    with pytest.warns(AutoMLWarning, match="damaged"):
        assert filled.read(CELL) is None


def test_rows_without_a_record_do_not_count_and_are_replaced(filled, tmp_path):
    record, rows = filled.read(CELL), filled.read_rows(CELL)
    (filled.path / "cells" / "good" / "a" / "seed-1.json").unlink()
    assert filled.read(CELL) is None
    filled.write(replace(record, seconds=9.0), rows)
    assert filled.read(CELL).seconds == 9.0
    filled.remove(CELL)
    assert filled.read(CELL) is None


def test_a_finished_cell_needs_rows(tmp_path):
    with pytest.raises(ValueError, match="needs its test rows"):
        ComparisonFolder(tmp_path).write(CellRecord(CELL, "finished", score=0.5))


def test_a_plan_grows_but_keeps_its_meaning(filled, plan):
    known = filled.read_plan()
    assert known == plan
    more = replace(plan, methods={"new": {"trials": 3}}, n_seeds=3)
    grown = known.joined(more, "out")
    assert list(grown.methods) == ["good", "bad", "fails", "new"]
    assert grown.n_seeds == 3
    for changed, what in (
        (replace(plan, methods={"good": {"optimizer": "smac"}}), "method good"),
        (replace(plan, test_share=0.5), "test_share"),
        (replace(plan, metric="mcc"), "metric"),
    ):
        with pytest.raises(SettingsError, match=f"{what} differs from that in out"):
            known.joined(changed, "out")


def test_another_table_under_a_known_name_is_refused(plan):
    known = replace(plan, digests={"a": "1"})
    with pytest.raises(SettingsError, match="table of data set a"):
        known.joined(replace(plan, digests={"a": "2"}), "out")


@pytest.mark.parametrize(
    "text", ["{}", "nonsense", '{"format": 9, "methods": {}, "data_sets": {}}']
)
def test_a_damaged_plan_is_refused(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(SettingsError, match=r"plan\.json"):
        ComparisonFolder(tmp_path).read_plan()
    assert ComparisonFolder(tmp_path / "none").read_plan() is None
