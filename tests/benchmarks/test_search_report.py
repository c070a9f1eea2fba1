"""Numbers of the report on replays, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def report(benchmark_module: Callable[[str], ModuleType]) -> ModuleType:
    return benchmark_module("report")


def row(optimizer: str, table: str, scores: list[float], ranks: list[float]) -> dict[str, Any]:
    return {
        "source": "svm",
        "table": table,
        "seed": 0,
        "optimizer": optimizer,
        "definition": optimizer,
        "best": 0.9,
        "scale": 0.2,
        "scores": scores,
        "ranks": ranks,
    }


ROWS = [
    row("smac", "one", [0.5, 0.8, 0.9], [9, 3, 1]),
    row("smac", "two", [0.7, 0.7, 0.6], [4, 4, 5]),
    row("optuna_tpe", "one", [0.5, 0.7, 0.8], [9, 5, 3]),
    row("optuna_tpe", "two", [0.6, 0.9, 0.8], [5, 1, 2]),
]


def test_measures_are_means_over_tables_of_the_best_so_far(report: ModuleType) -> None:
    found = report.compare(report.cells_of(ROWS))
    mean = {key: found.interval(key).mean for key in report.MEASURES}
    assert found.names == ["smac", "optuna_tpe"]
    np.testing.assert_allclose(mean["regret"][0], [0.3, 0.15, 0.1])
    np.testing.assert_allclose(mean["scaled_regret"][1], [1.75, 0.5, 0.25])
    np.testing.assert_allclose(mean["share_of_optimum"][0], [12 / 18, 15 / 18, 16 / 18])
    np.testing.assert_allclose(mean["optima"], [[0, 0, 0.5], [0, 0.5, 0.5]])
    np.testing.assert_allclose(mean["rank"], [[1.25, 1.5, 1.5], [1.75, 1.5, 1.5]])
    np.testing.assert_allclose(mean["hyperparameter_rank"], [[6.5, 3.5, 2.5], [7, 3, 2]])


def test_the_interval_of_two_tables_reaches_from_one_to_the_other(report: ModuleType) -> None:
    found = report.compare(report.cells_of(ROWS)).interval("regret")
    np.testing.assert_allclose([found.low[0, 2], found.high[0, 2]], [0.0, 0.2], atol=1e-12)


def test_tables_of_one_data_set_are_drawn_together(report: ModuleType) -> None:
    values = np.array([[[0.0], [0.0], [1.0]]])
    apart = report.interval(values, pd.Index(["a", "b", "c"]))
    together = report.interval(values, pd.Index(["a", "a", "a"]))
    assert apart.low.item() < together.low.item() == pytest.approx(1 / 3)


def test_the_difference_is_paired_by_table_at_each_own_number_of_trials(report: ModuleType) -> None:
    found = report.difference(report.cells_of(ROWS), "smac", "optuna_tpe", at=(2, 3))
    # table one: (0.1 - 0.1) / 0.2; table two: (0.2 - 0.0) / 0.2
    assert found["difference"] == pytest.approx(0.5)
    assert (found["low"], found["high"]) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert (found["our_regret"], found["their_regret"]) == pytest.approx((0.75, 0.25))


def test_only_what_all_have_is_compared_and_the_rest_is_told(report: ModuleType) -> None:
    cells = report.cells_of([*ROWS, row("hebo", "two", [0.7, 0.8, 0.8], [4, 3, 3])])
    assert list(report.compare(cells).data_sets) == ["two"]
    told = report.what_is_left_out(cells)
    assert "1 of 2 tables" in told
    assert "hebo lacks 1" in told


def test_a_name_with_two_compositions_is_refused(report: ModuleType) -> None:
    other = {**ROWS[0], "table": "two", "definition": {"base": "smac"}}
    with pytest.raises(SystemExit, match="two compositions"):
        report.cells_of([ROWS[0], other])


def test_the_default_of_the_statement_is_one_of_ours(report: ModuleType) -> None:
    cells = report.cells_of(ROWS)
    assert report.default_of(cells, None) == "smac"
    with pytest.raises(SystemExit, match="was not replayed"):
        report.default_of(cells, "gbqr")
