"""What giving up would have saved in recorded runs, and how pairs of fits are summed up."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from automl.records import Configuration, FoldResult, Trial, TrialStatus

SECONDS = Path(__file__).parents[2] / "benchmarks" / "seconds"


@pytest.fixture(scope="module")
def module() -> Iterator[Callable[[str], ModuleType]]:
    sys.path.insert(0, str(SECONDS))
    yield importlib.import_module
    sys.path.remove(str(SECONDS))
    for name in ("bins", "giving_up"):
        sys.modules.pop(name, None)


def trial(fold_seconds: list[float], *, seconds: float, status: TrialStatus) -> Trial:
    folds = tuple(FoldResult(0, i, 0.5, 10, took, 0.0) for i, took in enumerate(fold_seconds))
    configuration = Configuration("svm", {"C": seconds})
    return Trial("r", int(10 * seconds), configuration, status, None, folds, seconds=seconds)


def test_what_ran_after_it_was_plain_that_a_trial_is_late_is_saved(module) -> None:
    giving_up = module("giving_up")
    complete = trial([1.0, 2.0, 1.0], seconds=4.0, status=TrialStatus.COMPLETE)
    late = trial([4.0, 3.0], seconds=8.0, status=TrialStatus.TIMED_OUT)
    unlucky = trial([1.0, 2.0], seconds=9.0, status=TrialStatus.TIMED_OUT)
    saving = giving_up.saving_of([complete, late, unlucky])
    assert (saving.seconds, saving.timed_out) == (21.0, 17.0)
    assert saving.saved == 4.0  # after one fold 4 s are left for two that take 4 s each
    twice = saving + saving
    assert (twice.seconds, twice.saved) == (42.0, 8.0)


def test_the_price_falls_with_the_room_that_a_limit_leaves(module) -> None:
    giving_up = module("giving_up")
    slow_start = trial([2.0, 1.0, 1.0], seconds=4.0, status=TrialStatus.COMPLETE)
    found = list(giving_up.prices([[slow_start]]))
    assert len(found) == len(giving_up.MULTIPLES)
    assert found[0].endswith("1 of 1 are lost")
    assert found[-1].endswith("0 of 1 are lost")


def test_ratios_are_of_useful_to_all_bins_by_family_and_over_all(module) -> None:
    def line(table: str, kind: str, **numbers: float) -> dict[str, object]:
        return {"table": table, "family": "lightgbm", "kind": kind, **numbers}

    lines = [
        line("a", "all", loss=2.0, score=0.5, seconds=4.0),
        line("a", "useful", loss=1.0, score=0.6, seconds=1.0),
        line("b", "all", loss=1.0, score=0.5, seconds=4.0),
        line("b", "useful", loss=1.0, score=0.5, seconds=4.0),
        line("c", "all", loss=1.0, score=0.5, seconds=4.0),
    ]
    first, total = module("bins").report(lines)
    assert first.split()[:3] == ["lightgbm", "2", "tables:"]
    assert f"loss x {np.sqrt(0.5):.3f}" in first
    assert f"seconds x {0.5:.3f}" in first
    assert first.endswith("index +0.0500")
    assert total.split()[1:] == first.split()[1:]
