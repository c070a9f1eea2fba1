"""Areas under many weightings at once against their definition, pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.metrics import classification
from automl.metrics.classification import area, areas


@given(st.integers(2, 25), st.integers(1, 5), st.integers(0, 1000), st.booleans())
def test_each_is_the_share_of_pairs_in_the_right_order(n, n_weightings, seed, has_ties):
    rng = np.random.default_rng(seed)
    is_positive, score = rng.random(n) < 0.5, rng.random(n).astype(np.float32)
    score = np.round(score, 1) if has_ties else score
    weights = rng.integers(0, 3, (n_weightings, n)).astype(np.float32)
    order = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    for found, weight in zip(areas(is_positive, score, weights), weights, strict=True):
        pairs = np.outer(weight * is_positive, weight * ~is_positive)
        if pairs.sum() == 0:
            assert np.isnan(found)
        else:
            assert found == pytest.approx((pairs * order).sum() / pairs.sum())


@pytest.mark.parametrize("cells", [1, 100, 1 << 15])
def test_a_weighting_has_the_same_area_to_the_last_bit_whatever_the_others_are(cells, monkeypatch):
    monkeypatch.setattr(classification, "AREA_CELLS", cells)
    rng = np.random.default_rng(0)
    for score in (rng.random(300), np.round(rng.random(300), 1)):
        is_positive, weights = rng.random(300) < 0.4, rng.random((7, 300))
        alone = [area(is_positive, score, weight) for weight in weights]
        assert areas(is_positive, score, weights).tolist() == alone
    assert np.isnan(areas(np.ones(3, dtype=bool), np.arange(3.0))).all()
    assert areas(is_positive[:0], score[:0], weights[:, :0]).shape == (7,)
