"""What is reported of live runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def live_report(benchmark_module: Callable[[str], ModuleType]) -> ModuleType:
    return benchmark_module("live_report")


def record(
    entry: str, seed: int, scores: dict[float, float], *, table: str = "iris", **settings: Any
) -> dict[str, Any]:
    """A run whose complete trials ended after these seconds; a partial one is better than all."""
    kinds = [("complete", "search"), ("partial", "search"), ("complete", "candidates")]
    trials = [
        {"ended": ended, "score": score, "status": status, "stage": stage}
        for (status, stage), found in zip(kinds, [scores, {1.0: 0.99}, {1.0: 0.98}], strict=True)
        for ended, score in found.items()
    ]
    return {
        "table": table,
        "entry": entry,
        "seed": seed,
        "settings": {"budget_seconds": 60.0, "preset": "fast", "optimizer": entry, **settings},
        "result": {"test": {"score": 0.5}, "trials": 3, "complete_trials": 1},
        "trials": trials,
        "folds": 5,
        "process_seconds": 61.0,
    }


def test_the_best_score_is_of_complete_trials_of_the_search_that_ended_in_time(
    live_report: ModuleType,
) -> None:
    run = record("smac", 0, {10.0: 0.7, 20.0: 0.6, 40.0: 0.8})
    assert [live_report.best_within(run, s) for s in (10, 39, 40)] == [0.7, 0.7, 0.8]
    assert live_report.best_within(run) == 0.8
    assert math.isnan(live_report.best_within(run, 9.0))


def test_a_mean_over_seeds_waits_for_the_first_score_of_every_seed(
    live_report: ModuleType,
) -> None:
    runs = [record("smac", 0, {10.0: 0.7}), record("smac", 1, {50.0: 0.9})]
    means = live_report.summarize(live_report.lines(runs)).iloc[0]
    assert math.isnan(means["at 30 s"])
    assert means["at 60 s"] == pytest.approx(0.8)
    assert means["seeds"] == 2


def test_ranks_are_over_the_tables_that_all_entries_have(live_report: ModuleType) -> None:
    runs = [
        record("smac", 0, {10.0: 0.7}),
        record("tpe", 0, {40.0: 0.9}),
        record("tpe", 0, {10.0: 0.9}, table="wine"),
    ]
    ranks = live_report.mean_ranks(live_report.summarize(live_report.lines(runs)))
    assert ranks["tables"].to_list() == [1, 1]
    assert ranks["at 30 s"].to_dict() == {"tpe": 2.0, "smac": 1.0}
    assert ranks["at 60 s"].to_dict() == {"tpe": 1.0, "smac": 2.0}


@pytest.mark.parametrize(
    "differing", [{"budget_seconds": 300.0}, {"preset": "best"}, {"portfolio": True}]
)
def test_runs_of_one_table_with_other_settings_are_refused(
    live_report: ModuleType, tmp_path: Path, differing: dict[str, Any]
) -> None:
    runs = [record("smac", 0, {1.0: 0.5}), record("tpe", 1, {1.0: 0.5}, **differing)]
    paths = [tmp_path / f"{number}.json" for number in range(2)]
    for path, run in zip(paths, runs, strict=True):
        path.write_text(json.dumps(run))
    with pytest.raises(SystemExit, match=f"iris differ in {next(iter(differing))}"):
        live_report.report(paths, tmp_path)


def test_entries_seeds_and_other_tables_may_differ(live_report: ModuleType) -> None:
    elsewhere = record("tpe", 0, {}, table="wine", preset="best")
    live_report.check_comparable([record("smac", 0, {}), record("tpe", 1, {}), elsewhere])
