"""What a trial tells of the seconds of a fit."""

from dataclasses import replace

import pytest

from automl.forecasts.timings import Workload, timing_of
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus

WORKLOAD = Workload(rows=800, columns=12, classes=3)


def trial(status, seconds, n_folds=0, fidelity=None):
    folds = tuple(FoldResult(0, fold, 0.5, 200, 0.1, 0.01) for fold in range(n_folds))
    configuration = Configuration("ridge", {"alpha": 1.0})
    score = 0.5 if n_folds else None
    return Trial(
        "run", 0, configuration, status, score, folds, fidelity or Fidelity(), seconds=seconds
    )


@pytest.mark.parametrize("status", [TrialStatus.COMPLETE, TrialStatus.RACED])
def test_a_finished_trial_tells_the_mean_of_its_folds(status):
    timing = timing_of(trial(status, 6.0, 3), WORKLOAD)
    assert (timing.seconds, timing.is_censored, timing.workload) == (2.0, False, WORKLOAD)


@pytest.mark.parametrize(
    "status",
    [TrialStatus.TIMED_OUT, TrialStatus.OUT_OF_MEMORY, TrialStatus.CRASHED, TrialStatus.KILLED],
)
def test_a_killed_trial_tells_a_lower_bound_of_the_folds_begun(status):
    timing = timing_of(trial(status, 6.0, 2), WORKLOAD)
    assert (timing.seconds, timing.is_censored) == (2.0, True)
    assert timing_of(trial(status, 6.0), WORKLOAD).seconds == 6.0


def test_the_folds_that_a_killed_trial_had_ended_are_timings_where_they_say_more():
    slow = tuple(FoldResult(0, fold, 0.5, 200, 2.5, 0.5) for fold in range(2))
    given_up = replace(trial(TrialStatus.TIMED_OUT, 6.5), folds=slow)
    timing = timing_of(given_up, WORKLOAD)
    assert (timing.seconds, timing.is_censored) == (3.0, False)
    timing = timing_of(replace(given_up, seconds=12.0), WORKLOAD)
    assert (timing.seconds, timing.is_censored) == (4.0, True)


def test_a_trial_that_failed_tells_nothing():
    assert timing_of(trial(TrialStatus.FAILED, 0.3), WORKLOAD) is None


def test_seconds_are_positive_even_where_the_clock_saw_none():
    assert timing_of(trial(TrialStatus.COMPLETE, 0.0, 1), WORKLOAD).seconds > 0.0


def test_a_partial_trial_tells_of_its_share_of_rows_and_iterations():
    fidelity = Fidelity(folds=1, row_share=0.25, iteration_share=0.5)
    timing = timing_of(trial(TrialStatus.PARTIAL, 1.0, 1, fidelity), WORKLOAD)
    assert timing.workload == Workload(rows=200, columns=12, classes=3, iteration_share=0.5)
