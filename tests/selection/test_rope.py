"""Selection by posteriors with a region of practical equivalence."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.records import Configuration
from automl.selection.checker import check_tree
from automl.selection.clusters import Candidate
from automl.selection.levels import select
from automl.selection.selection_records import SelectionRecord


def made(means, noise=0.002, n=10):
    rng = np.random.default_rng(0)
    return [
        Candidate(name, Configuration("a", {"id": name}), tuple(mean + noise * rng.normal(size=n)))
        for name, mean in means.items()
    ]


MEANS = {"best": 0.9, "alike": 0.895, "worse": 0.85}


def choose(candidates, **options):
    return select(candidates, test="bayesian", test_train_ratio=0.25, **options)


def test_only_what_is_worse_by_more_than_the_rope_is_dropped():
    by_rope = {
        rope: {i for i, d in choose(made(MEANS), rope=rope).dispositions.items() if d.status == "worse"}
        for rope in (0.0, 0.01, 0.1)
    }  # fmt: skip
    assert by_rope == {0.0: {"alike", "worse"}, 0.01: {"worse"}, 0.1: set()}
    with pytest.raises(SettingsError, match="rope must be >= 0"):
        choose(made(MEANS), rope=-1.0)


def test_on_few_folds_a_constant_lead_is_no_certainty():
    constant = made(MEANS, noise=0.0, n=4)
    assert len(choose(constant).decisions[-1].promoted) == 3
    assert len(choose(made(MEANS, noise=0.0, n=5)).decisions[-1].promoted) == 2


def test_the_record_tells_probabilities_and_no_pvalue():
    record = choose(made(MEANS))
    plain = json.loads(json.dumps(record.to_json(), allow_nan=False))
    assert SelectionRecord.from_json(plain) == record
    assert check_tree(plain) == []
    worse = record.dispositions["worse"]
    assert (worse.pvalue, worse.statistic, worse.against) == (None, None, "best")
    assert worse.probability > 0.95
    assert worse.reason.startswith("worse at a: correlated t posterior against best, P(worse) = ")
    assert worse.reason.endswith("> 0.95")
    assert worse.label == "worse at a, P(worse) = 1"
    assert record.dispositions["alike"].evidence.endswith("P(worse) = 0.0262")
    changed = copy.deepcopy(plain)
    changed["decisions"][0]["members"][-1]["posterior"]["greater"] = 0.9
    assert any("posterior" in problem for problem in check_tree(changed))
