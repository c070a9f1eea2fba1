"""Timings of the other runs of an installation."""

import math

import pytest

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.forecasts import earlier_runs as module
from automl.forecasts.earlier_runs import earlier_timings as timings_for
from automl.forecasts.timings import Workload
from automl.records import Configuration, Fidelity, Task, TrialStatus


def earlier_timings(known):
    return timings_for(known, Workload(80, 7, 2))


def trial(index, **given):
    configuration = Configuration("ridge", {"alpha": float(index)})
    return KnownTrial(
        **{
            "configuration": configuration,
            "status": TrialStatus.COMPLETE,
            "score": 0.5,
            "seconds": 3.0,
            "folds": 2,
            **given,
        }
    )


def experience(identity, trials, *, task=Task.BINARY, **given):
    classes = 2 if task.is_classification else 0
    facts = DataSetFacts("d", "f", "l", task, 100, 7, classes)
    return Experience(
        **{
            "id": identity,
            "data": facts,
            "metric": "index",
            "trials": tuple(trials),
            "training_rows": 80,
            **given,
        }
    )


def test_a_run_tells_of_its_trials_and_its_data():
    known = experience("a", [trial(0), trial(1, status=TrialStatus.FAILED)])
    ((run, (timing,)),) = earlier_timings([known]).items()
    assert run == "a"
    assert timing.seconds == 1.5
    assert timing.workload == Workload(rows=80, columns=7, classes=2)
    assert not timing.is_censored


def test_a_killed_trial_is_a_lower_bound():
    killed = trial(0, status=TrialStatus.TIMED_OUT, folds=0, seconds=9.0)
    ((timing,),) = earlier_timings([experience("a", [killed])]).values()
    assert (timing.seconds, timing.is_censored) == (9.0, True)


def test_less_of_the_data_is_another_workload():
    partial = trial(0, fidelity=Fidelity(1, 0.5, 0.25), folds=1)
    ((timing,),) = earlier_timings([experience("a", [partial])]).values()
    assert timing.workload == Workload(40, 7, 2, 0.25)


@pytest.mark.parametrize(
    "known",
    [
        experience("a", []),
        experience("a", [trial(0)], training_rows=0),
        experience("a", [trial(0)], origin="imported"),
        experience("a", [trial(0, folds=0)]),
        experience("a", [trial(0, seconds=math.nan)]),
    ],
)
def test_runs_that_cannot_tell_are_passed_over(known):
    assert earlier_timings([known]) == {}


def test_regression_has_no_classes():
    known = experience("a", [trial(0)], task=Task.REGRESSION)
    ((timing,),) = earlier_timings([known]).values()
    assert timing.workload.classes == 0


def test_the_newest_runs_and_their_first_trials_are_enough(monkeypatch):
    monkeypatch.setattr(module, "MOST_RUNS", 2)
    monkeypatch.setattr(module, "MOST_PER_FAMILY", 3)
    known = [experience(name, [trial(i) for i in range(5)]) for name in "badc"]
    found = earlier_timings([experience("e", []), *known])
    assert list(found) == ["d", "c"]
    assert [[t.configuration.values["alpha"] for t in ts] for ts in found.values()] == [
        [0.0, 1.0, 2.0]
    ] * 2


def test_shipped_tables_nearest_in_size_stand_in_for_missing_runs(monkeypatch):
    monkeypatch.setattr(module, "MOST_RUNS", 3)
    near = experience("near", [trial(0)], origin="shipped", training_rows=100)
    far = experience("far", [trial(0)], origin="shipped", training_rows=9_000)
    further = experience("further", [trial(0)], origin="shipped", training_rows=90_000)
    own = experience("own", [trial(0)], training_rows=50_000)
    assert list(earlier_timings([further, far, near, own])) == ["own", "near", "far"]
    several = [experience(name, [trial(0)]) for name in "abc"]
    assert list(earlier_timings([near, *several])) == ["c", "b", "a"]
