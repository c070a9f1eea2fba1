"""A comparison whose method names a cluster finds what it finds on one machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from automl.comparison.cells import run_cell
from automl.comparison.folder import ComparisonFolder
from automl.comparison.plan import Cell, ComparisonPlan
from automl_tasks.run_slots import run_slots

from .conftest import Cluster

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
METHOD = {"trials": 5, "families": ["decision_tree", "gaussian_nb"], "folds": 3, "preset": "fast"}
TIMES = {"seconds": 0.0, "trial_seconds": (), "predict_ms": 0.0, "facts": {}}
"""What no two runs have in common; the facts name the run."""


def test_a_method_with_a_cluster_scores_as_one_without(cluster: Cluster, tmp_path: Path) -> None:
    methods = {"here": METHOD, "there": {**METHOD, "cluster": cluster.address}}
    plan = ComparisonPlan(methods, {"wine": {"table": "sklearn:wine", "target": "target"}})
    folder = ComparisonFolder(tmp_path)
    here, there = (
        run_cell(folder, plan, Cell(method, "wine", 0), make_slots=run_slots) for method in methods
    )
    assert there.status == "finished", there.reason
    assert there.facts["settings"]["cluster"] == cluster.address
    assert replace(there, cell=here.cell, **TIMES) == replace(here, **TIMES)
    rows = [folder.read_rows(record.cell) for record in (here, there)]
    np.testing.assert_array_equal(rows[0].prediction, rows[1].prediction)
    np.testing.assert_array_equal(rows[0].step_predictions, rows[1].step_predictions)
