"""The rung is that of the greatest change, and more drift never asks for a lower one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.inference.reference import ColumnReference
from automl.metrics.building import build_index
from automl.monitoring.drift import movement
from automl.monitoring.drift_report import (
    DriftReport,
    SchemaChange,
    ScoreShift,
    Shift,
    Tried,
    score_shift,
    shifts,
)
from automl.monitoring.ladder import RUNGS, choose_rung
from automl.records import Task

CHANCE = st.floats(0, 1)
PVALUES = st.sampled_from([0.0, 0.001, 0.5]) | CHANCE
SHIFTS = st.builds(
    Shift,
    st.sampled_from("abc"),
    st.floats(0, 5),
    st.just(0.1),
    st.sampled_from(["same", "some", "large"]),
    st.sampled_from(["ks", "bins"]),
    PVALUES,
)
SCORES = st.builds(ScoreShift, st.floats(-1, 1), CHANCE, st.floats(-1, 1), CHANCE, PVALUES)
NAMES = st.sampled_from([(), (), (), ("x",), ("x", "y")])
REPORTS = st.builds(
    DriftReport,
    st.just("p/1"),
    training_rows=st.just(1000),
    fresh_rows=st.sampled_from([0, 100, 199]) | st.integers(0, 2000),
    schema=st.builds(SchemaChange, NAMES, NAMES, NAMES, NAMES),
    columns=st.lists(SHIFTS, max_size=4).map(tuple),
    label=st.none() | SHIFTS,
    score=st.none() | SCORES,
    tried=st.none() | st.builds(Tried, st.just("r"), st.just(1000), st.integers(0, 400)),
)
QUIET = DriftReport("p/1", training_rows=100, fresh_rows=10)
MOVED = Shift("a", 0.5, 0.1, "large", "ks", 0.001)
LOST = ScoreShift(0.5, 0.01, 0.7, 0.01, 1e-6)


def height(report):
    return RUNGS.index(choose_rung(report).rung)


def worse(report, how, by):
    """The report with more drift of one kind."""
    score, label = report.score, report.label
    if how == "rows":
        return replace(report, fresh_rows=report.fresh_rows + 1000)
    if how == "schema":
        return replace(report, schema=replace(report.schema, missing=("w",)))
    if how == "columns":
        return replace(report, columns=(*report.columns, MOVED))
    if how == "shift":
        grown = [replace(c, pvalue=c.pvalue * by, verdict="large") for c in report.columns]
        return replace(report, columns=tuple(grown))
    if how == "label" and label is not None:
        return replace(report, label=replace(label, pvalue=label.pvalue * by, verdict="large"))
    if how == "score" and score is not None:
        lower = replace(score, score=score.score - by, pvalue=score.pvalue * by)
        return replace(report, score=lower)
    return replace(report, obstacle="it cannot be read")


@given(REPORTS, st.sampled_from(["rows", "schema", "columns", "shift", "label", "score"]), CHANCE)
def test_more_drift_never_asks_for_a_lower_rung(report, how, by):
    assert height(worse(report, how, by)) >= height(report)


@given(REPORTS)
def test_a_rung_has_a_sentence_and_a_report_reads_itself(report):
    choice = choose_rung(report)
    assert choice.rung in choice.reason.split(":")[0]
    assert DriftReport.from_json(report.to_json()) == report


def test_each_rung_and_its_reason():
    cases = {
        "keep": QUIET,
        "refit": replace(QUIET, label=MOVED),
        "warm": replace(QUIET, score=LOST, columns=(MOVED,)),
        "search": replace(QUIET, score=replace(LOST, score=0.3)),
    }
    assert {rung: choose_rung(report).rung for rung, report in cases.items()} == dict(
        zip(cases, cases, strict=True)
    )
    many = choose_rung(replace(QUIET, fresh_rows=20))
    assert (many.rung, "20%" in many.reason) == ("refit", True)
    changed = choose_rung(replace(QUIET, schema=SchemaChange(new=("z",))))
    assert (changed.rung, "new columns: 'z'" in changed.reason) == ("search", True)
    assert choose_rung(replace(QUIET, score=replace(LOST, pvalue=0.02))).rung == "keep"


def test_a_refit_that_did_not_take_the_alias_is_not_asked_for_again_at_once():
    many, few = Tried("r1", 100, 25), Tried("r1", 100, 5)
    for report in (replace(QUIET, fresh_rows=30), replace(QUIET, columns=(MOVED,))):
        assert choose_rung(replace(report, tried=many)).rung == "refit"
        choice = choose_rung(replace(report, tried=few))
        assert choice.rung == "keep"
        assert (
            "run r1 did not take the alias, and 5 rows are new since, 5% of the 100"
            in choice.reason
        )
    assert choose_rung(replace(QUIET, score=LOST, tried=few)).rung == "warm"


def shifts_of(training, fresh, *, knows_rows=True):
    known = {name: ColumnReference.of_numbers(v.to_numpy()) for name, v in training.items()}
    moved = [movement(name, known[name], values, 1000) for name, values in fresh.items()]
    return shifts(moved, known, fresh, training if knows_rows else {}, 1000)


def columns(rng, n_rows, moved=0.0):
    return {f"x{i}": pd.Series(rng.normal(moved * (i == 0), size=n_rows)) for i in range(8)}


def test_what_has_moved_is_found_with_the_rows_and_with_their_bins():
    rng = np.random.default_rng(3)
    training, fresh = columns(rng, 1000), columns(rng, 300, moved=0.8)
    for knows_rows, test in ((True, "ks"), (False, "bins")):
        found = shifts_of(training, fresh, knows_rows=knows_rows)
        assert {shift.test for shift in found} == {test}
        assert [shift.name for shift in found if shift.has_moved] == ["x0"]


def test_the_columns_share_one_error():
    rng = np.random.default_rng(3)
    training, fresh = columns(rng, 1000), columns(rng, 300)
    found = {shift.name: shift.pvalue for shift in shifts_of(training, fresh)}
    alone = {
        name: shifts_of({name: training[name]}, {name: fresh[name]})[0].pvalue for name in training
    }
    least = min(alone, key=lambda name: alone[name])
    assert found[least] == pytest.approx(min(1.0, len(alone) * alone[least]))


def test_what_has_become_missing_has_moved():
    rng = np.random.default_rng(4)
    training, fresh = columns(rng, 1000), columns(rng, 300)
    fresh["x3"] = fresh["x3"].where(rng.random(300) < 0.5)
    assert [shift.name for shift in shifts_of(training, fresh) if shift.has_moved] == ["x3"]


def test_rows_like_the_training_rows_move_a_column_in_at_most_the_levels_share():
    rng = np.random.default_rng(5)
    pairs = [(columns(rng, 1000), columns(rng, 300)) for _ in range(100)]
    assert sum(any(s.has_moved for s in shifts_of(*pair)) for pair in pairs) <= 5


def loss(rng, accuracy, expected):
    y = rng.integers(0, 2, 400)
    codes = np.where(rng.random(400) < accuracy, y, 1 - y)
    index = build_index("accuracy", task=Task.BINARY, y_all=y, n_classes=2)
    prediction = np.eye(2)[codes]
    found = score_shift(
        index,
        y,
        prediction,
        codes,
        np.arange(400) // 4,
        expected=expected,
        expected_standard_error=None,
        n_training=2000,
    )
    assert found is not None
    return found


def test_a_loss_is_proven_where_there_is_one():
    rng = np.random.default_rng(6)
    assert loss(rng, 0.75, expected=0.8).is_proven
    share = np.mean([loss(rng, 0.9, expected=0.8).is_proven for _ in range(60)])
    assert share <= 0.1
    one = loss(rng, 0.9, expected=0.8)
    # an accuracy is a mean: 2 sqrt(0.9 * 0.1 / 400) on the scale of the index
    assert 0.02 <= one.standard_error <= 0.04


def test_too_few_blocks_prove_nothing():
    y = np.array([0, 1, 0, 1])
    index = build_index("accuracy", task=Task.BINARY, y_all=y, n_classes=2)
    arguments = {"expected": 0.9, "expected_standard_error": None, "n_training": 10}
    assert score_shift(index, y, np.eye(2)[y], y, np.arange(4), **arguments) is None
