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
    for name in ("bins", "giving_up", "learning_curves", "shared_rounds", "kept_lines"):
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


def curve_line(table: str, family: str, *log_errors: float) -> dict[str, object]:
    scores = [1.0 - float(np.exp(error)) for error in log_errors]
    return {"table": table, "kind": "classes", "rows": 900, "family": family, "scores": scores}


def test_a_curve_that_goes_on_as_on_other_tables_is_foreseen_exactly(module) -> None:
    curves = module("learning_curves")

    def alike(table: str, start: float, step: float) -> dict[str, object]:
        return curve_line(
            table, "svm", start, start - step, start - 2 * step, start - 3 * step - 0.2
        )

    others = [alike("a", -0.1 * i, 0.05 + 0.1 * i) for i in range(5)]
    own = [alike("b", -0.3, 0.12), alike("b", -0.1, 0.4)]
    expected = [-0.3 - 3 * 0.12 - 0.2, -0.1 - 3 * 0.4 - 0.2]
    np.testing.assert_allclose(curves.by_curve(others, own), expected)
    np.testing.assert_allclose(curves.by_both(others, own), expected)
    np.testing.assert_allclose(curves.by_score(others, own), [-0.42, -0.5])


def test_what_a_family_gains_is_drawn_to_what_all_gain(module) -> None:
    curves = module("learning_curves")
    others = [curve_line("a", "svm", -0.1, -0.2, -0.3, -0.8)] * 4
    others += [curve_line("a", "knn", -0.1, -0.2, -0.3, -0.4)] * 4
    own = [curve_line("b", family, -0.1, -0.5, -0.6, -0.7) for family in ("svm", "knn", "lda")]
    # four of each beside a prior of four: half of the way from -0.4 to -0.6 and to -0.2
    np.testing.assert_allclose(curves.by_family(others, own), [-1.0, -0.8, -0.9])


def test_the_best_of_a_third_and_of_two_are_beside_the_best_of_all(module) -> None:
    curves = module("learning_curves")
    scores = np.array([0.5, 0.6, 0.9, 0.1, 0.2, 0.3, 0.4, 0.0, 0.7])
    correlation, third, two = curves.judged(-scores, scores)
    assert (correlation, third, two) == (1.0, 0.0, 0.0)
    forecast = np.arange(9.0)
    _, third, two = curves.judged(forecast, scores)
    assert third == 0.0
    assert two == pytest.approx(0.3)
