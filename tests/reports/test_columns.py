"""What the deployed model makes of its columns, on runs whose columns are known to matter or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from automl.data.table import Table
from automl.errors import AutoMLError
from automl.home import RunFolder
from automl.inference.bundle import load_bundle
from automl.installation import read_key
from automl.reports.columns import MOST_DEPENDENCES, LookedAt, dependences, importances
from automl.reports.figures.columns import dependence, dependence_bounds
from automl.reports.judged import judged_rows, plan_of
from automl.reports.members import members_of
from automl.reports.page import Paragraph
from automl.reports.run_choices import choices_of
from automl.reports.sections.behavior import NOT_LOOKED_AT, behavior, could_look_longer
from automl.run_records.final import FinalRecord
from automl.run_records.report import LOOK_SECONDS, PATIENT_SECONDS

SECONDS = 5.0


def looked_at(folder: RunFolder) -> LookedAt:
    plan, reason = plan_of(folder)
    assert plan is not None, reason
    model = load_bundle(folder.bundle, key=read_key(), run=folder.run_id)
    return LookedAt.of(model, plan.index, plan.table)


def test_columns_that_matter_come_first(binary: RunFolder) -> None:
    found = importances(looked_at(binary), SECONDS)
    assert found is not None
    assert {entry.column for entry in found.columns} == {"x", "kind", "day", "gaps", "note"}
    assert {entry.column for entry in found.columns[:2]} == {"x", "kind"}
    assert found.columns[0].drop > 0.1


def test_two_hundred_columns_are_shuffled_in_time(regression: RunFolder) -> None:
    found = importances(looked_at(regression), 10 * SECONDS)  # also on a machine that is busy
    assert found is not None
    assert len(found.columns) == 200
    assert {"x", "kind"} & {entry.column for entry in found.columns[:3]}


def test_a_model_without_time_is_not_looked_at(binary: RunFolder) -> None:
    assert importances(looked_at(binary), 0.0) is None


def test_the_dependence_is_the_mean_of_real_predictions(binary: RunFolder) -> None:
    rows = looked_at(binary)
    found = importances(rows, SECONDS)
    assert found is not None
    drawn = dependences(rows, found, ("class 0", "class 1"), SECONDS)
    assert 1 <= len(drawn) <= MOST_DEPENDENCES
    by_name = {each.column: each for each in drawn}
    x = by_name["x"]
    assert x.places is not None
    assert np.all(np.diff(x.places) > 0)
    assert x.means[-1, 1] > x.means[0, 1]
    frame = rows.frame.copy()
    frame["x"] = x.places[0]
    expected = rows.model.raw_typed(frame).mean(axis=0)
    assert len(rows.y) == x.rows
    assert x.means[0] == pytest.approx(expected, abs=1e-5)
    bounds = dependence_bounds(drawn)
    for each in drawn:
        figure = dependence(each, bounds)
        assert figure.table is not None
        assert [row[0] for row in figure.table.rows] == list(each.words)


def test_dates_keep_their_parts_together(binary: RunFolder) -> None:
    rows = looked_at(binary)
    found = importances(rows, SECONDS)
    assert found is not None
    of_day = dataclasses.replace(
        found,
        columns=tuple(dataclasses.replace(e, drop=1.0) for e in found.columns if e.column == "day"),
    )
    (day,) = dependences(rows, of_day, ("class 0", "class 1"), SECONDS)
    assert all(word.startswith("202") for word in day.words)
    assert "2025-" in dependence(day).svg


def test_judged_rows_are_those_of_the_folds(multiclass: RunFolder, interrupted: RunFolder) -> None:
    for folder in (multiclass, interrupted):
        plan, _ = plan_of(folder)
        assert plan is not None
        choices = choices_of(folder)
        rows = judged_rows(choices, plan, folder)
        assert rows is not None
        assert len(rows) == len(plan.table)
        assert rows.prediction.shape == (len(rows), plan.table.n_classes)
        if choices.result is not None:
            assert rows.labels is not None
            accuracy = float((rows.labels == rows.y).mean())
            assert accuracy == pytest.approx(choices.result.metrics["accuracy"])


def test_members_of_an_ensemble_add_what_they_take_away(
    multiclass: RunFolder, binary: RunFolder, interrupted: RunFolder
) -> None:
    for folder in (multiclass, binary):
        plan, _ = plan_of(folder)
        members, final = members_of(choices_of(folder), plan, folder), FinalRecord.read(folder)
        assert final is not None
        assert {m.trial_id: m.weight for m in members} == {
            m.trial_id: m.weight for m in final.members
        }
        assert all((m.adds is not None) == (len(members) > 1) for m in members)
    assert members_of(choices_of(interrupted), None, interrupted) == ()


def test_a_sample_of_a_large_table_is_drawn_once(binary: RunFolder) -> None:
    table = Table.load(binary.table)
    large = table.subset(np.tile(np.arange(len(table)), 40))
    rows = looked_at(binary)
    sample = LookedAt.of(rows.model, rows.index, large)
    again = LookedAt.of(rows.model, rows.index, large)
    assert len(sample.y) == 3000
    assert sample.frame.equals(again.frame)
    assert len(sample.part(0, 70).y) == 70


def test_a_slow_model_is_looked_at_on_request(
    binary: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _ = plan_of(binary)

    def page(seconds: float) -> str:
        made = behavior(choices_of(binary), binary, plan, reason="", seconds=seconds)
        return "\n".join(part.text for part in made.parts if isinstance(part, Paragraph))

    monkeypatch.setattr(LookedAt, "row_seconds", 0.015)  # 4 columns: 6 s for the fewest rows
    assert (
        "could not be looked at in 4.0 seconds: it predicts many rows in 15 ms each and has"
        in page(LOOK_SECONDS)
    )
    assert f"automl report {binary.run_id} --home" in page(LOOK_SECONDS)
    assert "The deployed model, looked at on 40 test rows" in page(PATIENT_SECONDS)
    monkeypatch.setattr(LookedAt, "row_seconds", 1.0)
    assert "--seconds 1200" in page(PATIENT_SECONDS)


def test_a_run_looks_at_the_model_that_it_has_built_and_reads_no_bundle(
    make: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AutoMLError("the bundle is read")

    monkeypatch.setattr("automl.reports.sections.behavior.load_bundle", refuse)
    x = np.random.default_rng(0).normal(size=100)
    folder = make(pd.DataFrame({"x": x, "y": np.where(x > 0, "a", "b")}), trials=4)
    page = folder.report.read_text(encoding="utf-8")
    assert "The deployed model, looked at on" in page
    assert "the bundle is read" not in page
    plan, _ = plan_of(folder)
    later = behavior(choices_of(folder), folder, plan, reason="", seconds=SECONDS)
    assert "the bundle is read" in "".join(p.text for p in later.parts if isinstance(p, Paragraph))


def test_a_page_tells_whether_more_seconds_would_help() -> None:
    page = f"<p>{NOT_LOOKED_AT.format('4.0')}: it takes 3.5 ms"
    assert could_look_longer(page, PATIENT_SECONDS)
    assert not could_look_longer(page, 4.0)
    assert not could_look_longer("<p>looked at on 300 rows", PATIENT_SECONDS)
