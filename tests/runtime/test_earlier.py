"""Timings of the other runs of a home."""

import pytest

from automl.evaluation.journal import Journal
from automl.home import Home
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.runtime import earlier as module
from automl.runtime.earlier import earlier_timings, timings_again
from automl.runtime.timings import Workload

DATA = {"rows": 100, "training_rows": 80, "columns": 7, "classes": ["a", "b"]}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def trial(index, *, stage="search", status=TrialStatus.COMPLETE):
    folds = tuple(FoldResult(0, fold, 0.5, 20, 0.1, 0.01) for fold in range(2))
    configuration = Configuration("ridge", {"alpha": float(index)})
    return Trial("r", index, configuration, status, 0.5, folds, seconds=3.0, stage=stage)


def add_run(home, trials, data=None):
    folder = home.create_run()
    folder.write_facts({"data": DATA if data is None else data})
    with Journal(folder.journal) as journal:
        for one in trials:
            journal.append({"type": "trial", "trial": one.to_json(), "decision": {}})
    return folder


def test_a_run_tells_of_its_trials_and_its_data(home):
    folder = add_run(home, [trial(0), trial(1, status=TrialStatus.FAILED)])
    ((timing,),) = earlier_timings(home).values()
    assert list(earlier_timings(home)) == [folder.run_id]
    assert timing.seconds == 1.5
    assert timing.workload == Workload(rows=80, columns=7, classes=2)


def test_without_other_runs_there_is_nothing(home):
    own = add_run(home, [trial(0)])
    assert earlier_timings(home, besides=[own.run_id]) == {}


def test_runs_that_cannot_tell_are_passed_over(home):
    home.create_run()  # killed before its first line
    add_run(home, [])
    add_run(home, [trial(0, stage="candidates")])
    add_run(home, [trial(0)], data={"rows": 100})
    assert earlier_timings(home) == {}


def test_regression_has_no_classes(home):
    add_run(home, [trial(0)], data={**DATA, "classes": None})
    ((timing,),) = earlier_timings(home).values()
    assert timing.workload.classes == 0


def test_the_newest_runs_and_their_first_trials_are_enough(home, monkeypatch):
    monkeypatch.setattr(module, "MOST_RUNS", 2)
    monkeypatch.setattr(module, "MOST_PER_FAMILY", 3)
    for _ in range(4):
        add_run(home, [trial(i) for i in range(5)])
    found = earlier_timings(home)
    newest = sorted((f.run_id for f in home.run_folders()), reverse=True)[:2]
    assert list(found) == newest
    assert [[t.configuration.values["alpha"] for t in ts] for ts in found.values()] == [
        [0.0, 1.0, 2.0]
    ] * 2


def test_a_second_look_sees_the_same_though_runs_go_on_or_go(home):
    one, other = (add_run(home, [trial(0), trial(1)]) for _ in range(2))
    first = earlier_timings(home)
    with Journal(one.journal) as journal:
        journal.append({"type": "trial", "trial": trial(2).to_json(), "decision": {}})
    add_run(home, [trial(5)])
    counts = {run: len(timings) for run, timings in first.items()}
    assert timings_again(home, counts) == first
    other.facts_file.unlink()
    assert timings_again(home, counts)[other.run_id] == []
