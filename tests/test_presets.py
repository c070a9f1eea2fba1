"""What a preset stands for."""

import pytest

from automl.bandits.registry import ALLOCATORS, get_allocator
from automl.optimizers.registry import get_optimizer
from automl.settings import PER_TURN, PRESETS, resolve_settings

TABLE = {"table": "sklearn:iris", "target": "target"}


@pytest.mark.parametrize("preset", PRESETS)
def test_with_trials_no_preset_reads_the_clock(preset):
    timed = resolve_settings({**TABLE, "preset": preset}, environment={})
    counted = resolve_settings({**TABLE, "preset": preset, "trials": 5}, environment={})
    assert not get_allocator(counted.allocator).reads_clock
    assert counted.allocator == PER_TURN.get(timed.allocator, timed.allocator)
    assert get_optimizer(timed.optimizer) is get_optimizer(counted.optimizer)


def test_each_turn_has_a_twin_that_reads_the_clock():
    assert all(ALLOCATORS[name].reads_clock for name in PER_TURN)
    assert not any(ALLOCATORS[name].reads_clock for name in PER_TURN.values())


@pytest.mark.parametrize("given", [{"allocator": "expected_gain_seconds"}, {"cost_aware": True}])
def test_who_asks_for_the_clock_gets_it(given):
    settings = resolve_settings({**TABLE, "trials": 5, **given}, environment={})
    assert settings.allocator == "expected_gain_seconds"


def test_the_environment_counts_as_given():
    settings = resolve_settings(TABLE, environment={"AUTOML_TRIALS": "5"})
    assert settings.allocator == "expected_gain"
