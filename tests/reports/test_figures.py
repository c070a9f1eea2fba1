"""Figures show what the records say: a mark for everything, and its numbers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from automl.inference.reference import ColumnReference
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.reports.boxplots import FamilyScores
from automl.reports.columns import ColumnImportance, Importances
from automl.reports.curves import ConfusionTable, calibration, class_curves, residual_bins
from automl.reports.figure import Figure, Scale, number, place, shortened, tick_text
from automl.reports.figures.boxes import Box, default_against_optimized
from automl.reports.figures.columns import distribution, importance
from automl.reports.figures.judging import (
    confusion,
    precision_recall,
    reliability,
    residual_histogram,
    residuals_by_prediction,
    roc,
    true_and_predicted,
)
from automl.reports.figures.members import weights
from automl.reports.figures.progress import planned_and_used, seconds_by_family, trials_over_time
from automl.reports.judged import JudgedRows
from automl.reports.members import MemberWorth
from automl.reports.seconds import seconds_report
from automl.reports.slices import weak_slices

SVG = "{http://www.w3.org/2000/svg}"
FINITE = st.floats(-1e6, 1e6)


def elements(figure: Figure, kind: str) -> list[ET.Element]:
    return list(ET.fromstring(figure.svg).iter(f"{SVG}{kind}"))


def titles(figure: Figure) -> list[str]:
    return [element.text or "" for element in elements(figure, "title")]


@st.composite
def trials(draw: st.DrawFn) -> list[Trial]:
    found = []
    for index in range(draw(st.integers(1, 40))):
        status = draw(st.sampled_from(list(TrialStatus)))
        has_score = status is TrialStatus.COMPLETE
        score = draw(st.floats(-5, 1)) if has_score else None
        folds = (FoldResult(0, 0, score, 10, 0.1, 0.01),) if score is not None else ()
        family = draw(st.sampled_from(["ridge", "knn", "a & b <c>"]))
        known = Configuration(family, {"alpha": float(index)})
        found.append(Trial("20260101-000000-aaaa", index, known, status, score, folds, seconds=0.5))
    return found


@given(trials())
def test_every_trial_has_a_mark_that_says_what_it_is(made: list[Trial]) -> None:
    figure = trials_over_time(made, began=0.0)
    assert len(elements(figure, "circle")) == len(made)
    for trial in made:
        said = [title for title in titles(figure) if title.startswith(trial.id.rsplit("-")[-1])]
        assert len(said) == 1
        assert (trial.score is None) == ("score" not in said[0])


@given(trials())
def test_every_family_has_its_seconds_and_trials(made: list[Trial]) -> None:
    families = seconds_report(made).families
    figure = seconds_by_family(families)
    assert figure.table is not None
    assert {row[0]: row[1] for row in figure.table.rows} == {
        entry.family: entry.spent.trials for entry in families
    }


def test_planned_seconds_of_a_family_are_beside_those_it_used() -> None:
    def trial(index: int, family: str, expected: float | None) -> Trial:
        known = Configuration(family, {"alpha": float(index)})
        status = TrialStatus.COMPLETE
        return Trial("r", index, known, status, 0.5, seconds=2.0, expected_seconds=expected)

    made = [trial(0, "ridge", None), trial(1, "ridge", 1.5), trial(2, "knn", 4.0)]
    figure = seconds_by_family(seconds_report(made).families, unplanned="Never.")
    assert figure.table is not None
    assert figure.table.columns[5:8] == ("with a plan", "planned s", "used s")
    assert [row[5:8] for row in figure.table.rows] == [(1, 1.5, 4.0), (1, 4.0, 2.0)]
    assert {"ridge, planned: 1.5 s, 1 of 2 trials", "knn, planned: 4 s"} <= set(titles(figure))
    assert "Never." not in figure.description
    figure = seconds_by_family(seconds_report(made[:1]).families, unplanned="Never.")
    assert figure.table is not None
    assert "planned s" not in figure.table.columns
    assert figure.description.endswith("Never.")


def test_planned_and_used_seconds_of_every_stage_are_shown() -> None:
    ledger = {"search": {"planned": 10.0, "used": 9.5}, "final": {"planned": None, "used": 2.0}}
    figure = planned_and_used({**ledger, "search ridge": {"used": 1.0}})
    assert figure.table is not None
    assert figure.table.rows == (("search", 10.0, 9.5), ("final", None, 2.0))
    assert {"search, planned: 10 s", "search, used: 9.5 s", "final, used: 2 s"} <= set(
        titles(figure)
    )


@given(FINITE, st.floats(1e-6, 1e6))
@example(0.000389574071999257, 1e-6)
@example(123_456.0, 2.0)
def test_ticks_are_round_and_inside_and_can_be_told_apart(low: float, span: float) -> None:
    scale = Scale(low, low + max(span, 1e-6 * abs(low)), 0.0, 100.0)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 7
    assert all(after > before for before, after in pairwise(ticks))
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)
    assert len({tick_text(tick, ticks) for tick in ticks}) == len(ticks)


def test_an_axis_of_numbers_whose_distance_is_no_float_has_ticks() -> None:
    scale = Scale.over([-1e308, 0.0, 1.5e308], 0.0, 100.0)
    assert np.isfinite(scale.ticks()).all()
    assert [scale(value) for value in (-1e308, 0.0, 1.5e308)] == [0.0, 50.0, 100.0]


@given(st.one_of(st.floats(-1e300, 1e300), st.sampled_from([np.nan, np.inf])))
def test_a_number_is_short_and_close(value: float) -> None:
    text = number(value)
    if not np.isfinite(value):
        assert text == "\u2013"
        return
    plain = float(text.replace("\u202f", "").replace("\u2212", "-"))
    assert plain == pytest.approx(value, rel=1e-3, abs=1e-200)


@given(st.text(max_size=60), st.floats(10, 400))
def test_a_label_is_shortened_to_its_room(text: str, room: float) -> None:
    shown = shortened(text, room)
    assert shown == text or (shown.endswith("…") and len(shown) < len(text))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_a_box_holds_the_quartiles_and_every_score(scores: list[float]) -> None:
    box = Box.of(scores)
    assert box.low <= box.first <= box.median <= box.third <= box.high
    assert (box.first, box.third) == tuple(np.percentile(scores, [25, 75]))
    assert all(box.low <= s <= box.high or s in box.beyond for s in scores)


def test_families_are_in_the_picture_of_defaults() -> None:
    rows = [
        FamilyScores("ridge", (0.5, 0.6), (0.7, 0.8), None, is_equal=True),
        FamilyScores("knn", (), (0.3, 0.2), 0.01),
        FamilyScores("svm", (0.1, 0.2), ()),
    ]
    figure = default_against_optimized(rows, alpha=0.05)
    assert figure.table is not None
    assert figure.table.rows == (
        ("ridge", pytest.approx(0.55), 0.75, "best"),
        ("knn", None, 0.25, "p = 0.01"),
        ("svm", pytest.approx(0.15), None, ""),
    )
    assert titles(figure)[-1] == (
        "svm, default: median 0.1500, middle half 0.1250 to 0.1750, mean 0.1500, 2 scores"
    )


def rows_of(y: np.ndarray, prediction: np.ndarray, n_classes: int = 0) -> JudgedRows:
    labels = prediction.argmax(axis=1) if n_classes else None
    frame = pd.DataFrame({"x": np.arange(len(y), dtype=float)})
    classes = tuple(f"class {code}" for code in range(n_classes))
    return JudgedRows("", y, prediction, labels, classes, 1, frame, None)


@st.composite
def judged(draw: st.DrawFn) -> JudgedRows:
    n_classes, n_rows = draw(st.sampled_from([2, 3, 26, 40])), draw(st.integers(1, 90))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    prediction = rng.dirichlet(np.ones(n_classes), n_rows)
    return rows_of(rng.integers(0, n_classes, n_rows), prediction, n_classes)


@settings(max_examples=30)
@given(judged())
def test_a_confusion_matrix_has_every_row_once(rows: JudgedRows) -> None:
    found = ConfusionTable.of(rows)
    assert found.counts.sum() == len(rows)
    figure = confusion(found)
    told = [
        int(match[1]) for title in titles(figure) if (match := re.search(r": (\d+) rows", title))
    ]
    assert sum(told) == len(rows)
    assert figure.table is not None
    assert sum(int(str(row[1])) for row in figure.table.rows) == len(rows)


@settings(max_examples=30)
@given(judged())
def test_curves_and_calibration_are_of_all_rows(rows: JudgedRows) -> None:
    from sklearn.metrics import roc_auc_score

    curves = class_curves(rows)
    for curve in curves.roc:
        code = rows.classes.index(curve.name)
        assert curve.area == roc_auc_score(rows.y == code, rows.prediction[:, code])
        assert (curve.xs[0], curve.ys[0]) == (0.0, 0.0)
        assert (curve.xs[-1], curve.ys[-1]) == (1.0, 1.0)
        drawn = float(np.trapezoid(curve.ys, curve.xs))
        assert drawn == pytest.approx(curve.area, abs=0.03)
        scores, truth = rows.prediction[:, code], rows.y == code
        for found, least in zip(curve.ys, curve.thresholds, strict=True):
            assert found == pytest.approx(float(np.mean(scores[truth] >= least)))
    for curve in curves.precision_recall:
        code = rows.classes.index(curve.name)
        scores, truth = rows.prediction[:, code], rows.y == code
        for right, least in zip(curve.ys[1:], curve.thresholds[1:], strict=True):
            assert right == pytest.approx(float(np.mean(truth[scores >= least])))
    for figure in (roc(curves), precision_recall(curves)):
        assert len(elements(figure, "path")) >= len(curves.roc)
        spots = [element for element in elements(figure, "circle") if len(element)]
        assert 2 * len(curves.roc) <= len(spots) <= 300 + 2 * len(curves.roc)
        assert all("found " in title for title in titles(figure) if "from probability" in title)
    found = calibration(rows)
    assert sum(each.rows for each in found.bins) == len(rows)
    assert all(each.low <= each.observed <= each.high for each in found.bins)
    assert len(elements(reliability(found), "circle")) == len(found.bins)


@settings(max_examples=30)
@given(st.integers(1, 900), st.floats(0, 3))
def test_residuals_are_of_all_rows(n_rows: int, noise: float) -> None:
    rng = np.random.default_rng(n_rows)
    truth = rng.normal(size=n_rows)
    rows = rows_of(truth, truth + noise * rng.normal(size=n_rows))
    bins = residual_bins(rows)
    assert sum(each.rows for each in bins) == n_rows
    assert len(elements(residuals_by_prediction(bins), "circle")) == len(bins)
    counts = [int(title.split()[-2]) for title in titles(residual_histogram(rows))]
    assert sum(counts) == n_rows
    assert len(elements(true_and_predicted(rows), "circle")) == min(n_rows, 600)


def test_a_weak_slice_that_was_planted_is_found_and_no_other(binary) -> None:
    from automl.reports.judged import plan_of

    plan, _ = plan_of(binary)
    assert plan is not None
    rng, schema = np.random.default_rng(0), plan.table.schema
    frame = pd.concat([plan.table.frame] * 10, ignore_index=True)
    y = rng.integers(0, 2, len(frame))
    is_blue = np.asarray(frame["kind"] == "blue")
    labels = np.where(rng.random(len(y)) < np.where(is_blue, 0.4, 0.1), 1 - y, y)
    rows = JudgedRows("", y, np.eye(2)[labels], labels, ("a", "b"), 1, frame, None)
    found = weak_slices(rows, schema)
    assert (found.found[0].column, found.found[0].words) == ("kind", "blue")
    assert found.found[0].error == pytest.approx(float((labels != y)[is_blue].mean()))
    even = JudgedRows("", y, np.eye(2)[y], np.asarray(y), ("a", "b"), 1, frame, None)
    assert weak_slices(even, schema).found == ()


def test_importances_and_weights_are_told_in_numbers() -> None:
    columns = tuple(ColumnImportance(f"column {i}", 1 / (i + 1), 0.01) for i in range(20))
    figure = importance(Importances(columns, 0.8, 500))
    assert figure.table is not None
    assert len(figure.table.rows) == 20
    assert "column 1: mean loss 0.5000, standard deviation 0.0100" in titles(figure)
    members = (
        MemberWorth("r-s00001", "ridge", 0.75, 0.8, 0.02),
        MemberWorth("r-l00001", "knn", 0.25, None, None, ("r-s00001",)),
    )
    figure = weights(members)
    assert figure.table is not None
    assert figure.table.rows[1] == ("l00001 knn", 0.25, None, None, "s00001")
    assert any("+0.0200" in (element.text or "") for element in elements(figure, "text"))
    assert titles(figure)[0] == "s00001 ridge: weight 0.750, alone 0.8, adds +0.0200"
    assert titles(figure)[1] == "l00001 knn: weight 0.250, alone \u2013"


@given(st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(float("nan"))), max_size=60))
def test_a_distribution_stays_inside_its_box(values: list[float]) -> None:
    figure = distribution("x", ColumnReference.of_numbers(np.array(values, dtype=float)))
    for element in elements(figure, "rect"):
        top, height = float(element.attrib["y"]), float(element.attrib["height"])
        assert top >= -0.1
        assert top + height <= figure.height + 0.1
    assert len(titles(figure)) == len(elements(figure, "rect"))


def test_the_bars_of_a_distribution_say_what_they_hold() -> None:
    numbers = ColumnReference.of_numbers(np.arange(20.0))
    shown = titles(distribution("x", numbers, unit="days after the first"))
    assert len(shown) == 10
    assert shown[0] == "0 to 1 days after the first: 10.0%"
    texts = ColumnReference.of_texts(pd.Series(["a", "a", "b", None]))
    assert titles(distribution("kind", texts)) == ["a: 50.0%", "b: 25.0%", "all others: 0.0%"]


def test_a_figure_shows_itself_in_a_notebook() -> None:
    made = Figure("A <b>", "What it is.", 10, 10, "")
    shown = made._repr_html_()
    assert "A &lt;b&gt;" in shown
    assert "<style>" in shown
    assert place(3.04) == "3"
