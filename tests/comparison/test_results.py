"""From records to statements, tables and pictures."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from automl.comparison.folder import CellRecord, CellRows
from automl.comparison.plan import Cell
from automl.comparison.results import compare, curves
from automl.comparison.tables import frequency_rows
from automl.errors import DataError, SettingsError
from automl.reports.boost_tables import markdown
from automl.reports.comparison import over_time, panel_of, performance
from automl.reports.comparison_report import make_report, read_records


@pytest.fixture
def records(filled, plan):
    return read_records(filled, plan)


def test_the_better_method_is_found_and_failures_are_last(filled, records):
    found = compare(filled, records, n_draws=100)
    assert [found.methods[k] for k in found.order] == ["good", "fails", "bad"]
    assert found.ranks.expected == pytest.approx([1.0, 2 + 2 / 3, 2 + 1 / 3])
    assert found.wins.frequency[0, 1] == 1.0
    test = found.poisson_binomial(0, 1)
    assert test.probability > 0.99
    assert found.poisson_binomial(1, 0).probability == pytest.approx(1 - test.probability)
    assert (found.sign_test(0, 1).n_wins, found.sign_test(0, 1).pvalue) == (3, 0.25)
    assert np.isnan(found.scores[2, 0])
    assert found.probabilities[0, 2, 0] == 1.0
    assert len(found.failures) == 2


def test_places_that_a_method_lacks_are_left_out_and_said(filled, records):
    del records[Cell("bad", "bb", 1)]
    found = compare(filled, records, n_draws=10)
    assert found.left_out == [("bb", 1)]
    assert len(found.places) == 5


def test_the_draws_of_a_place_do_not_depend_on_what_else_is_compared(filled, records):
    every = compare(filled, records, n_draws=50)
    two = {cell: record for cell, record in records.items() if cell.method != "fails"}
    one = {cell: record for cell, record in two.items() if cell.data_set == "ccc"}
    small = compare(filled, one, n_draws=50)
    assert (small.probabilities[0, 1] == every.probabilities[0, 1, [2, 5]]).all()


def test_one_method_or_other_test_rows_cannot_be_compared(filled, records):
    alone = {cell: record for cell, record in records.items() if cell.method == "good"}
    with pytest.raises(DataError, match="at least two methods"):
        compare(filled, alone)
    cell = Cell("bad", "ccc", 0)
    rows = filled.read_rows(cell)
    filled.write(records[cell], CellRows(1 - rows.y, rows.prediction))
    with pytest.raises(DataError, match="bad on ccc, seed 0: its test rows"):
        compare(filled, records, n_draws=5)


def test_curves_are_of_validated_scores_and_of_test_rows(filled, records):
    found = compare(filled, records, n_draws=20)
    validation, seconds, test = curves(filled, records, found, n_draws=20)
    # trial 1 is not complete; every method gets better by 0.1 a trial
    assert validation.steps.tolist() == [2, 3, 4, 5, 6, 7]
    assert validation.rank.mean[:, -1].tolist() == [1.0, 3.0, 2.0]
    assert validation.to_best.mean[1] == pytest.approx(0.6 + 0.1 * np.arange(5, -1, -1))
    assert validation.hyperparameter_rank.mean[0, -1] == 1.0
    # one trial a second, the first, not complete one after 0 s
    assert (seconds.unit, seconds.steps[0] >= 1.0, seconds.steps[-1]) == ("seconds", True, 6.0)
    assert seconds.to_best.mean[0, [0, -1]] == pytest.approx([0.5, 0.0])
    assert test.steps.tolist() == [1, 3, 6, 7]
    assert test.probability[0, 1, -1] > 0.99
    assert test.probability[0, 1] + test.probability[1, 0] == pytest.approx(np.ones(4))
    assert test.rank.mean.sum(axis=0) == pytest.approx(6.0)
    assert test.to_best.mean[0, -1] < test.to_best.mean[0, 0]


def test_a_method_that_fails_everywhere_spares_the_others_their_curves(filled, plan):
    def failing(name):
        for cell in plan.cells():
            if cell.method == name:
                filled.remove(cell)
                filled.write(CellRecord(cell, "failed", "no memory"))
        return make_report(filled, plan)

    made = failing("fails")
    assert {row["method"] for row in made["curves"]} == {"good", "bad"}
    assert len(made["pictures"]) == 4
    assert failing("bad")["curves"] == []
    assert not list(filled.pictures.iterdir())
    assert not list(filled.tables.glob("curves_*"))


def test_the_last_answer_on_test_rows_is_the_final_one_here(filled, records):
    found = compare(filled, records, n_draws=200)
    test = curves(filled, records, found, n_draws=200)[-1]
    shown = [p for p, place in enumerate(found.places) if place[0] != "a"]
    expected = found.probabilities[1, 2, shown].mean()
    by_data_set = test.probability[1, 2, -1]
    assert by_data_set == pytest.approx(0.0 if expected < 0.5 else 1.0, abs=0.05)


def test_the_table_of_the_document_has_both_marks(filled, records):
    rows = frequency_rows(compare(filled, records, n_draws=100))
    assert [row[""] for row in rows] == ["good", "fails", "bad"]
    assert rows[0]["bad"] == "1.00 ++/."
    assert rows[0]["good"] == "0.50"
    assert rows[2]["expected rank"] == "2.67"


def test_the_report_writes_tables_and_pictures(filled, plan):
    (filled.path / "cells" / "good" / "bb" / "seed-1.json").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = make_report(filled, plan)
    assert result["missing"] == 1
    page = Path(result["page"]).read_text(encoding="utf-8")
    assert "good has the best expected rank, 1 of 3." in page
    assert "Rank over seconds, validated scores" in page
    assert "no memory" in page
    assert "bb, seed 1" in page
    assert result["left_out"] == ["bb, seed 1"]
    assert json.loads((filled.path / "result.json").read_text())["methods"][0]["method"] == "good"
    with (filled.tables / "cells.csv").open() as file:
        cells = list(csv.DictReader(file))
    assert len(cells) == 17
    assert {row["reason"] for row in cells} == {"", "no memory"}
    assert {path.name for path in filled.pictures.iterdir()} == {
        "over_time.png",
        "performance_test.png",
        "performance_validation.png",
        "performance_validation_seconds.png",
    }


def test_the_report_has_table_5_1_of_every_method(filled, plan):
    result = make_report(filled, plan)
    assert [row["data set"] for row in result["boosts"]["good"]] == ["a", "bb", "ccc"]
    assert [row["data set"] for row in result["boosts"]["fails"]] == ["bb", "ccc"]
    assert result["boosts"]["good"][0] == {
        "data set": "a",
        "default worst": "0.0500",
        "worst default": "knn",
        "default best": "0.4000",
        "best default": "lda",
        "score": "0.8000",
        "boost": "100.00%",
        "family": "knn",
        "no default score": "qda",
    }
    text = (filled.tables / "boost_good.md").read_text()
    assert text == markdown(result["boosts"]["good"])
    with (filled.tables / "boost_good.csv").open() as file:
        assert list(csv.DictReader(file)) == result["boosts"]["good"]
    for path in (filled.path / "cells" / "bad").rglob("*.json"):
        path.unlink()
    assert "bad" not in make_report(filled, plan)["boosts"]
    assert not (filled.tables / "boost_bad.md").exists()


def test_pictures_say_what_they_show(filled, records):
    found = compare(filled, records, n_draws=10)
    validation, seconds, test = curves(filled, records, found, n_draws=10)
    figure = over_time([panel_of(test, "trees"), panel_of(test, "networks")])
    assert len(figure.axes) == 4
    assert figure.axes[0].get_title(loc="left") == "trees"
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["good > bad", "good > fails"]
    assert len(performance(validation).axes) == 3
    assert len(performance(test).axes) == 2
    assert performance(seconds).axes[0].get_xlabel() == "seconds"
    with pytest.raises(DataError, match="probabilities"):
        panel_of(validation, "")
    with pytest.raises(DataError, match="at least one panel"):
        over_time([])


def test_a_scorer_of_the_user_is_judged_on_bootstraps_of_the_rows(filled, records, tmp_path):
    scorer = tmp_path / "own.py"
    scorer.write_text("def hits(y, p):\n    return float((p.argmax(axis=1) == y).mean())\n")
    index = {"weights": {f"{scorer}:hits": 1.0}}
    judged = {
        cell: record if record.index is None else replace(record, index={**record.index, **index})
        for cell, record in records.items()
    }
    found = compare(filled, judged, n_draws=50)
    assert found.probabilities[0, 1].mean() > 0.9
    assert len(np.unique(found.probabilities)) > 3


def test_records_of_a_later_format_are_refused(filled, plan):
    path = filled.path / "cells" / "good" / "a" / "seed-0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(SettingsError, match="format 2"):
        read_records(filled, plan)


def test_an_empty_comparison_says_so(filled, plan):
    with pytest.raises(DataError, match="at least two methods"):
        make_report(filled, replace(plan, methods={"x": {}, "y": {}}))
