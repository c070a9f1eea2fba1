"""What a bad history costs a run, in replay on what the package ships."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from automl.experience.knowledge import shipped

FOLDER = Path(__file__).parents[2] / "benchmarks" / "knowledge"
N_DATA_SETS, N_SEEDS = 44, 20
AFTER = slice(1, None)
"""From 25 trials on; the first ten of a wrong history have been tried by then."""


@pytest.fixture(scope="module")
def guard():
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("guard")
    sys.path.remove(str(FOLDER))
    sys.modules.pop("guard", None)


@pytest.fixture(scope="module")
def found(guard):
    """Curves by history of every second data set."""
    problems = list(guard.problems(shipped()))
    chosen = problems[:: len(problems) // N_DATA_SETS][:N_DATA_SETS]
    return [guard.curves(problem, "adaptive", N_SEEDS) for problem in chosen]


BAD = ("inverted", "shuffled", "half", "praised", "past", "scaled")


@pytest.mark.parametrize("history", BAD)
def test_no_bad_history_makes_a_run_worse_by_a_hundredth(guard, found, history):
    assert len(found) == N_DATA_SETS
    for of_mark in guard.losses(found, history).T[AFTER]:
        assert guard.interval(of_mark)[1] < 0.01


def test_what_is_known_helps(guard, found):
    assert guard.losses(found, "true").mean(axis=0)[1] < 0.0


def test_the_replay_sees_what_a_bad_history_costs_where_nothing_is_given_up(guard, monkeypatch):
    monkeypatch.setattr("automl.search.opening.is_misled", lambda *_: False)
    problems = list(guard.problems(shipped()))[::8]
    bare = [guard.curves(problem, "portfolio", 1) for problem in problems]
    assert guard.losses(bare, "inverted").mean(axis=0)[0] > 0.02
