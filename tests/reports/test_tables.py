"""Rows of default worst and best, score, boost and family, against the thesis' own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.errors import DataError
from automl.records import Configuration, Trial, TrialStatus
from automl.reports.boost_tables import boost_table, markdown
from automl.selection.defaults import ROUNDING, boost_row, boost_row_of_run, default_trials

# B14, table 5.1: worst, best, score, printed boost in percent
PRINTED = [
    (0.0961, 0.7452, 0.8385, 12.52),
    (0.0553, 0.2760, 0.3307, 19.80),
    (-0.0599, 0.1523, 0.2746, 80.37),
    (-0.0582, 0.4449, 0.4454, 0.11),
    (0.1243, 0.6708, 0.8250, 22.98),
]


@pytest.mark.parametrize(("worst", "best", "score", "percent"), PRINTED)
def test_the_boost_is_that_of_the_thesis(
    worst: float, best: float, score: float, percent: float
) -> None:
    defaults = {"knn": (worst + best) / 2, "lda": best, "sgd": worst}
    row = boost_row("table", defaults, score=score, family="knn")
    assert (row.worst, row.best, row.best_default) == (worst, best, "lda")
    assert row.boost is not None
    # the printed scores have four digits
    assert 100 * row.boost == pytest.approx(percent, abs=100 * 1.1e-4 / best)
    assert row.is_above


def test_families_without_a_score_are_listed_and_left_out_of_worst() -> None:
    row = boost_row("table", {"knn": 0.4, "qda": None, "lda": 0.2}, score=0.5, family="knn")
    assert row.missing == ("qda",)
    assert row.worst == 0.2


def test_a_default_at_or_below_the_baseline_has_no_boost() -> None:
    row = boost_row("table", {"knn": -0.1}, score=0.5, family="knn")
    assert row.boost is None
    assert row.is_above


def test_a_data_set_whose_defaults_all_fail_has_empty_cells() -> None:
    row = boost_row("table", {"knn": None}, score=0.5, family="svm")
    cells = boost_table([row])[0]
    assert (cells["default worst"], cells["default best"], cells["boost"]) == ("", "", "")
    assert cells["score"] == "0.5000"


def test_no_families_is_an_error() -> None:
    with pytest.raises(DataError, match="at least one family"):
        boost_row("table", {}, score=0.5, family="knn")


@given(st.dictionaries(st.text("abc", min_size=1), st.floats(-2, 1), min_size=1), st.floats(-2, 1))
def test_worst_and_best_enclose_every_default(defaults: dict[str, float], score: float) -> None:
    row = boost_row("table", defaults, score=score, family="knn")
    assert row.worst is not None
    assert row.best is not None
    assert all(row.worst <= value <= row.best for value in defaults.values())
    assert defaults[row.best_default] == row.best
    assert row.is_above == (score > row.best + ROUNDING)


def trial(index: int, family: str, score: float | None, origin: str, x: int = 0) -> Trial:
    status = TrialStatus.FAILED if score is None else TrialStatus.COMPLETE
    configuration = Configuration(family, {"x": x})
    return Trial("run", index, configuration, status, score, origin=origin, reason="no memory")


def test_the_row_of_a_run_has_its_defaults_beside_the_champion_whatever_they_were_tried_for() -> (
    None
):
    trials = [
        trial(0, "constant", 0.0, "floor"),
        trial(1, "knn", 0.3, "knowledge"),
        trial(2, "lda", 0.5, "default"),
        trial(3, "qda", None, "default"),
        trial(4, "knn", 0.6, "hypercube", x=1),
    ]
    families = ("knn", "lda", "qda", "stump")
    known = default_trials(
        trials, {name: Configuration(name, {"x": 0}) for name in families}, {"stump": "no time"}
    )
    assert {name: found.reason for name, found in known.items() if found.score is None} == {
        "qda": "no memory",
        "stump": "no time",
    }
    assert known["stump"].trial_id is None
    row = boost_row_of_run("wine", known, trials[4])
    assert (row.worst, row.worst_default, row.best, row.best_default) == (0.3, "knn", 0.5, "lda")
    assert (row.score, row.family, row.missing) == (0.6, "knn", ("qda", "stump"))
    assert row.n_defaults == 2
    assert row.boost == pytest.approx(0.2)


def test_a_default_that_was_cut_short_and_then_run_in_full_has_its_full_score() -> None:
    raced = replace(trial(0, "knn", 0.2, "default"), status=TrialStatus.RACED)
    trials = [raced, trial(1, "knn", 0.3, "default"), replace(raced, index=2)]
    found = default_trials(trials, {"knn": raced.configuration}, {})["knn"]
    assert (found.score, found.trial_id) == (0.3, trials[1].id)


def test_cells_are_printed_with_the_digits_of_the_thesis() -> None:
    row = boost_row("wine", {"knn": 0.3, "lda": 0.5}, score=0.6, family="knn")
    text = markdown(boost_table([row])).splitlines()
    assert text[0].startswith("| data set | default worst | worst default | default best |")
    assert text[2] == "| wine | 0.3000 | knn | 0.5000 | lda | 0.6000 | 20.00% | knn |  |"
    with pytest.raises(DataError, match="at least one row"):
        markdown([])


def test_the_same_configuration_summed_in_another_order_is_not_above():
    row = boost_row("t", {"a": 0.3, "b": 0.1}, score=0.3 + 1e-16, family="a")
    assert not row.is_above
