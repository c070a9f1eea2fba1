"""Calibration of a blend: what it does, and that it is found again (Guo et al. 2017, section 4.2)."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.ensembles import calibrating
from automl.ensembles.calibrating import learn_calibration
from automl.inference.calibration import Calibration, calibrated

NONE = Calibration(1.0, (0.0, 0.0, 0.0))


def probabilities(n=4000, n_classes=3, seed=0):
    """True probabilities, and classes that are drawn from them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes), n).astype(np.float32)
    y = (rng.random(n)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
    return shares, y


def log_loss(probability, y):
    return -np.log(probability[np.arange(len(y)), y]).mean()


@given(st.floats(0.2, 5.0), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@settings(max_examples=25, deadline=None)
def test_calibrated_rows_are_probabilities_and_plain_json_keeps_it(power, biases):
    calibration = Calibration(power, tuple(biases))
    shares, _ = probabilities(n=20)
    shares[0] = [1.0, 0.0, 0.0]
    found = calibration.apply(shares)
    assert found.dtype == np.float32
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration


def test_power_one_without_biases_changes_nothing():
    shares, _ = probabilities(n=50)
    np.testing.assert_allclose(NONE.apply(shares), shares, rtol=1e-5, atol=1e-6)
    assert calibrated(shares, None) is shares


def test_what_was_done_to_true_probabilities_is_undone():
    shares, y = probabilities()
    blurred = Calibration(0.5, (0.4, 0.0, -0.4)).apply(shares)
    learned = learn_calibration(blurred, y)
    assert learned.power == pytest.approx(2.0, rel=0.1)
    np.testing.assert_allclose(np.diff(learned.biases), [0.8, 0.8], atol=0.15)
    assert log_loss(learned.apply(blurred), y) < log_loss(blurred, y) - 0.1
    assert learn_calibration(shares, y).power == pytest.approx(1.0, rel=0.1)


def test_few_rows_move_little():
    shares, y = probabilities(n=6)
    learned = learn_calibration(shares, y)
    assert 0.7 < learned.power < 1.4
    assert max(map(abs, learned.biases)) < 0.5


def test_weights_are_repetitions_and_rows_beyond_the_most_are_thinned(monkeypatch):
    shares, y = probabilities(n=300)
    counts = np.random.default_rng(1).multinomial(300, np.full(300, 1 / 300))
    repeated = np.repeat(np.arange(300), counts)
    weighted = learn_calibration(shares, y, counts.astype(float))
    again = learn_calibration(shares[repeated], y[repeated])
    assert weighted.power == pytest.approx(again.power, rel=1e-3)
    monkeypatch.setattr(calibrating, "MOST_ROWS", 100)
    thinned = np.linspace(0, 299, 100).astype(int)
    assert learn_calibration(shares, y) == learn_calibration(shares[thinned], y[thinned])
