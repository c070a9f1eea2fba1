"""Many weightings of the rows at once score as one after another, by every metric of the registry."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.metrics.building import build_index
from automl.metrics.registry import get_metric, metric_names
from automl.records import Task
from automl.selection import scored_rows
from automl.selection.scored_rows import ScoredRows, draw

N_ROWS = 30


def rows_of(metric, task, **options):
    """Few rows, the last class of which has a single one: some drawings have none."""
    rng = np.random.default_rng(len(metric))
    needed = {}
    if task is Task.REGRESSION:
        y = np.abs(rng.normal(size=N_ROWS)) + 0.1
        versions = [[y + np.abs(rng.normal(size=N_ROWS))] for _ in range(2)]
    else:
        k = 2 if task is Task.BINARY else 3
        y = np.append(rng.integers(k - 1, size=N_ROWS - 1), k - 1)
        versions = [[rng.dirichlet(np.ones(k), N_ROWS).astype(np.float32)] for _ in range(2)]
        needed = {"n_classes": k, "positive": 0, "cost_matrix": 1.0 - np.eye(k)}
    index = build_index(metric, task=task, y_all=y, **needed)
    rows = ScoredRows(
        versions,
        y,
        index.score,
        takes_weights=index.takes_weights,
        scores=index.scores,
        **options,
    )
    return rows, [version[0] for version in versions], index.rule


def serves(metric, task):
    try:
        get_metric(metric, task)
    except SettingsError:
        return False
    return True


@pytest.mark.parametrize(
    ("metric", "task"), [each for each in product(metric_names(), Task) if serves(*each)]
)
def test_weightings_at_once_score_as_one_after_another(metric, task, monkeypatch):
    rows, predictions, rule = rows_of(metric, task)
    counts = draw(N_ROWS, 60, rng=np.random.default_rng(0))
    alone = np.array([rows.score_under(predictions, drawn, rule) for drawn in counts])
    for weight in (None, np.linspace(0.5, 2.0, N_ROWS)):
        weighted = replace(rows, sample_weight=weight)
        expected = replace(weighted, scores=None).scores_under(predictions, counts, rule)
        if weight is None:
            np.testing.assert_array_equal(expected, alone)
        for cells in (scored_rows.BLOCK_CELLS, 7 * predictions[0].size):
            monkeypatch.setattr(scored_rows, "BLOCK_CELLS", cells)
            found = weighted.scores_under(predictions, counts, rule)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_weightings_are_scored_at_once_where_all_are_defined():
    rows, predictions, rule = rows_of("rmse", Task.REGRESSION)

    def never(*_, **__):
        raise AssertionError("one after another")

    counts = draw(N_ROWS, 20, rng=np.random.default_rng(1))
    assert np.isfinite(replace(rows, score=never).scores_under(predictions, counts, rule)).all()
