"""Targets: increasing, about standardized, and blind to what should not count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.surrogates.score_targets import TARGETS, winsorized

scores = st.lists(st.integers(-1000, 1000), min_size=1, max_size=30).map(
    lambda numbers: np.array(numbers) / 100.0
)


@pytest.fixture(params=TARGETS, scope="module")
def target(request):
    return TARGETS[request.param]


@given(values=scores)
def test_the_order_is_kept(target, values):
    mapped = target(values)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(mapped[order]) >= -1e-9)
    assert np.all(mapped[values == values.max()] == mapped.max())


@given(values=scores)
def test_mean_and_deviation_are_standard(target, values):
    mapped = target(values)
    if np.ptp(values) == 0.0:
        assert not mapped.any()
    else:
        assert mapped.mean() == pytest.approx(0.0, abs=1e-9)
        assert mapped.std() == pytest.approx(1.0, rel=1e-9)


@given(values=scores, shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
def test_units_and_origin_of_the_scores_do_not_matter(target, values, shift, scale):
    if 0.0 < np.ptp(values) < 0.02:
        return
    np.testing.assert_allclose(target(shift + scale * values), target(values), atol=1e-5)


def test_a_disaster_leaves_the_others_their_spread():
    values = np.array([0.5, 0.6, 0.7, 0.8, 0.9, -1e6])
    assert np.ptp(winsorized(values)[:5]) > 0.3
