"""Contract: whatever a family's space can produce loads in a fresh process without any trust, and predicts alike.

The models are those of `benchmarks/loading`, which tries many more of them.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from automl.families.registry import families
from automl.records import Task

LOADING = Path(__file__).parents[2] / "benchmarks" / "loading"
CASES = [(task, name) for task in Task for name in families(task)]


@pytest.fixture(scope="module")
def matrix():
    """Module that fits, writes and asks."""
    before = set(sys.modules)
    sys.path.insert(0, str(LOADING))
    yield importlib.import_module("load_matrix")
    sys.path.remove(str(LOADING))
    for name in set(sys.modules) - before:
        if str(LOADING) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def models(matrix):
    return matrix.Models(60, iteration_share=0.1)


@pytest.fixture(scope="module")
def frames(matrix, models):
    return [models.raw, matrix.strange_rows(models.raw)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where every bundle is written, so that its code, which is the same, is compiled once."""
    return tmp_path_factory.mktemp("bundle") / "model"


@pytest.fixture(scope="module")
def process(matrix, frames, tmp_path_factory):
    """One clean process for all; every bundle is loaded in a child that has not seen another."""
    process = matrix.FreshProcess(tmp_path_factory.mktemp("fresh"), frames)
    yield process
    process.close()


def found_in_fresh_process(matrix, model, folder, process, frames):
    found = matrix.outcome(model, folder, process, frames)
    return found["outcome"], "cloudpickle" in found.get("storage", ""), found["problem"]


@pytest.mark.parametrize(("task", "name"), CASES)
def test_a_random_configuration_loads_without_trust(
    task, name, matrix, models, process, frames, place
):
    family = families(task)[name]
    if family.unavailable:
        pytest.skip(family.unavailable)
    model = models.single(family, task, np.random.default_rng(7))
    found = found_in_fresh_process(matrix, model, place, process, frames)
    assert found == ("equal", False, "")


@pytest.mark.parametrize("task", list(Task))
def test_blends_votes_bags_and_second_layers_load_without_trust(
    task, matrix, models, process, frames, place
):
    seen = set()
    for number in range(4):
        model = models.blend(task, np.random.default_rng([8, number]))
        seen |= {model.combine, *(bool(member.inputs) for member in model.members)}
        found = found_in_fresh_process(matrix, model, place, process, frames)
        assert found == ("equal", False, "")
    assert len(seen) == 4, "both ways to combine and both layers are tried"


def test_the_fresh_process_refuses_pickles_and_says_so(matrix, models, process, frames, place):
    model = models.single(
        families(Task.REGRESSION)["ridge"], Task.REGRESSION, np.random.default_rng(1)
    )
    for member in model.members:
        for pipeline in member.pipelines:
            pipeline.estimator = Unreviewed(pipeline.estimator)
    outcome, is_pickled, problem = found_in_fresh_process(matrix, model, place, process, frames)
    assert (outcome, is_pickled) == ("refused", True)
    assert "is a pickle" in problem


class Unreviewed:
    """An estimator that is no family's."""

    def __init__(self, estimator):
        self.estimator = estimator

    def predict(self, X):
        return self.estimator.predict(X)
