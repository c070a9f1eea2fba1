"""What the trials of a run are expected to take."""

import pytest

from automl.families.registry import get_family
from automl.forecasts.forecast import Forecast
from automl.forecasts.timings import KnownTimings, Timing, Workload
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus

NAMES = ("lightgbm", "svm", "ridge")
SPACES = {name: get_family(name).space("classification") for name in NAMES}
WORKLOAD = Workload(rows=2000, columns=10)


def trial(family, seconds, n_folds=5, status=TrialStatus.COMPLETE):
    folds = tuple(FoldResult(0, fold, 0.5, 100, 0.1, 0.01) for fold in range(n_folds))
    configuration = SPACES[family].default() if family in SPACES else Configuration(family)
    return Trial("run", 0, configuration, status, 0.5 if folds else None, folds, seconds=seconds)


def forecast(*trials, earlier=()):
    made = Forecast(SPACES, KnownTimings(WORKLOAD, tuple(earlier)), n_folds=5)
    for one in trials:
        made.add(one)
    return made


def default(name):
    return SPACES[name].default()


def test_while_nothing_is_known_nothing_is_said():
    made = forecast()
    assert made.seconds(default("svm")) is None
    assert made.usual_seconds() is None


def test_a_trial_takes_what_its_family_has_taken_for_each_of_its_folds():
    made = forecast(trial("svm", 10.0))
    assert made.seconds(default("svm")) == pytest.approx(10.0)
    assert made.seconds(default("svm"), Fidelity(folds=2)) == pytest.approx(4.0)
    assert made.seconds(default("svm"), Fidelity(row_share=0.25)) < 5.0


def test_folds_that_are_taken_over_are_not_run_again():
    made, partial = forecast(trial("svm", 10.0)), trial("svm", 3.0, 1, TrialStatus.PARTIAL)
    assert made.seconds(default("svm"), earlier=partial) == pytest.approx(12.0)
    assert made.seconds(default("svm"), Fidelity(folds=3), partial) == pytest.approx(6.0)


def test_an_untried_family_is_scaled_from_those_that_were_tried():
    quick, slow = (forecast(trial("lightgbm", s)).seconds(default("svm")) for s in (1.0, 7.0))
    assert slow == pytest.approx(7.0 * quick)


def test_an_untried_family_is_expected_to_be_as_slow_as_others_are_against_earlier_runs():
    earlier = [Timing(default(name), WORKLOAD, 2.0) for name in NAMES for _ in range(9)]
    assert forecast(earlier=earlier).seconds(default("svm")) == pytest.approx(10.0, rel=0.05)
    slow = forecast(trial("lightgbm", 30.0), earlier=earlier).seconds(default("svm"))
    assert slow == pytest.approx(30.0, rel=0.05)


def test_a_family_without_earlier_runs_is_scaled_from_the_others():
    earlier = [Timing(default("lightgbm"), WORKLOAD, 2.0) for _ in range(9)]
    assert forecast(earlier=earlier).seconds(default("ridge")) > 0.0


def test_after_a_kill_the_family_is_expected_to_take_longer_than_that():
    made = forecast(trial("svm", 8.0, 0, TrialStatus.TIMED_OUT))
    assert made.seconds(default("svm")) > 5 * 8.0


def test_what_takes_no_part_tells_nothing():
    assert forecast(trial("constant", 1.0)).seconds(default("svm")) is None
    assert forecast(trial("svm", 1.0)).seconds(Configuration("constant")) is None


def test_what_is_usual_lies_between_the_families():
    made = forecast(*(trial(name, s) for name, s in zip(NAMES, (1.0, 50.0, 4.0), strict=True)))
    assert made.usual_seconds() == pytest.approx(4.0)
