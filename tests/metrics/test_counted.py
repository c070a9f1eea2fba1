"""Label metrics of many confusion matrices are those of one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from automl.metrics.counted import COUNTED, label_metric
from automl.metrics.index import PerformanceIndex
from automl.metrics.metrics import METRICS
from automl.metrics.outcomes import ClassificationOutcome
from automl.records import Task

COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 5.0, 0.0]])


def index_of(name: str, *, with_costs: bool) -> PerformanceIndex:
    return PerformanceIndex.build(
        name,
        task=Task.MULTICLASS,
        y_all=[0, 1, 2, 2],
        beta=2.0,
        positive=1,
        cost_matrix=COSTS if with_costs or name == "cost" else None,
    )


def test_every_label_metric_has_a_form_for_many():
    assert set(COUNTED) == {name for name, metric in METRICS.items() if metric.needs == "labels"}


@pytest.mark.parametrize("with_costs", [False, True])
@pytest.mark.parametrize("name", sorted(COUNTED))
@given(
    counts=arrays.arrays(np.int64, (4, 3, 3), elements=st.integers(0, 3)).filter(
        lambda counts: (counts.sum(axis=(1, 2)) > 0).all()
    )
)
def test_many_at_once_are_one_at_a_time(name, with_costs, counts):
    index = index_of(name, with_costs=with_costs)
    expected = [
        METRICS[name].function(
            ClassificationOutcome.of_counts(
                matrix.astype(float),
                error_weights=index.error_weights,
                beta=index.beta,
                positive=index.positive,
                costs=index.costs,
            )
        )
        for matrix in counts
    ]
    found = label_metric(name, index, counts.astype(float))
    assert found == pytest.approx(expected, abs=1e-12)
