"""The simulation of many slots against what can be worked out by hand."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

SCALE = Path(__file__).parents[2] / "benchmarks" / "scale"


@pytest.fixture(scope="module")
def simulate():
    sys.path.insert(0, str(SCALE))
    yield importlib.import_module("simulate")
    sys.path.remove(str(SCALE))
    sys.modules.pop("simulate", None)


@pytest.fixture
def costs(simulate):
    return simulate.Costs.read(SCALE / "costs.json")


def test_few_slots_are_always_busy_and_many_make_what_one_driver_can_decide(simulate, costs):
    few = simulate.Cluster(costs, 4, 10.0, 600.0, True, True, drawn=[10.0]).run()
    assert few["trials_per_second"] == pytest.approx(0.4, rel=0.05)
    assert few["utilization"] > 0.98
    many = simulate.Cluster(costs, 2000, 10.0, 60.0, False, True, drawn=[10.0]).run()
    assert many["first"] == "decisions"
    assert many["busy"] == pytest.approx(1.0, abs=0.01)
    assert many["trials_per_second"] < 1 / min(costs.ask.seconds)


def test_rounds_lift_what_many_slots_make(simulate, costs):
    before, after = (
        simulate.Cluster(costs, 1000, 10.0, 300.0, rounds, True).run() for rounds in (False, True)
    )
    assert after["trials_per_second"] > 4 * before["trials_per_second"]


def test_a_cost_is_straight_between_measured_points_on_logarithmic_axes(simulate):
    curve = simulate.Curve.of({"10": 1.0, "1000": 100.0})
    counts = [1, 10, 100, 1000, 10_000]
    np.testing.assert_allclose([curve.at(n) for n in counts], [1.0, 1.0, 10.0, 100.0, 1000.0])
