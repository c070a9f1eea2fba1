"""What a preset stands for."""

import pytest

from automl.bandits.registry import get_allocator
from automl.errors import SettingsError
from automl.optimizers.registry import get_optimizer
from automl.run.choices import check_choices, reads_clock
from automl.settings import Settings
from automl.settings.presets import PRESETS
from automl.settings.sources import resolve_settings

TABLE = {"table": "sklearn:iris", "target": "target"}


@pytest.mark.parametrize("preset", PRESETS)
def test_with_trials_no_preset_reads_the_clock(preset):
    settings = resolve_settings({**TABLE, "preset": preset, "trials": 5}, environment={})
    assert not get_allocator(settings.chosen_allocator).reads_clock
    assert not get_optimizer(settings.optimizer).reads_clock


@pytest.mark.parametrize("given", [{}, {"budget_seconds": 60}, {"trials": 5, "cost_aware": True}])
def test_auto_reads_the_clock_where_it_may(given):
    settings = Settings(**TABLE, allocator="auto", **given)
    assert settings.chosen_allocator == "expected_gain_seconds"


@pytest.mark.parametrize("optimizer", ["gp_prior", {"base": "gp_prior", "interleaving": 4}, "tpe"])
def test_auto_counts_turns_where_trials_count(optimizer):
    settings = Settings(**TABLE, allocator="auto", trials=5, optimizer=optimizer)
    assert settings.chosen_allocator == "expected_gain"


@pytest.mark.parametrize("optimizer", ["tpe", "gbqr", {"base": "smac", "acquisition": "q"}])
def test_what_cannot_divide_by_seconds_is_refused_with_all_families_in_one(optimizer):
    given = {**TABLE, "allocator": "cash_seconds", "optimizer": optimizer}
    with pytest.raises(SettingsError, match="cash_seconds needs an optimizer with acquisition ei"):
        check_choices(resolve_settings(given, environment={}))


@pytest.mark.parametrize("given", [{}, {"trials": 5}])
def test_an_allocator_that_is_named_is_taken(given):
    assert Settings(**TABLE, allocator="leaders", **given).chosen_allocator == "leaders"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"trials": 5, "preset": "thesis"}, False),
        ({"trials": 5, "max_predict_ms": 1.0}, True),
        ({"trials": 5, "cost_aware": True, "allocator": "leaders", "preset": "thesis"}, True),
    ],
)
def test_a_limit_of_the_time_to_predict_and_ranks_by_speed_read_the_clock(given, expected):
    assert reads_clock(resolve_settings({**TABLE, **given}, environment={})) == expected


@pytest.mark.parametrize("setting", ["blend", "trials", "seed", "memory_mib", "workers"])
def test_a_number_is_no_truth_value(setting):
    with pytest.raises(SettingsError, match=f"setting {setting}: must be a number; got True"):
        resolve_settings({**TABLE, setting: True}, environment={})


def test_a_preset_with_two_layers_can_do_without_an_ensemble():
    settings = resolve_settings({**TABLE, "preset": "best", "ensemble": "none"}, environment={})
    assert not settings.has_second_layer
    assert resolve_settings({**TABLE, "preset": "best"}, environment={}).has_second_layer


@pytest.mark.parametrize("text", ["60s", "60", "1m", "1min", "1 min"])
def test_a_budget_is_spelled_alike_in_every_source(text, tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text(f"budget: {text}\n")
    for sources in (
        {"file": file, "environment": {}},
        {"environment": {"AUTOML_BUDGET": text}},
        {"environment": {"AUTOML_BUDGET_SECONDS": text}},
    ):
        assert resolve_settings(TABLE, **sources).seconds == 60.0
    assert resolve_settings({**TABLE, "budget": text}, environment={}).seconds == 60.0


def test_the_budget_of_a_nearer_source_counts_whatever_its_name(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("budget: 5min\n")
    environment = {"AUTOML_BUDGET": "2m"}
    assert resolve_settings(TABLE, file=file, environment={}).seconds == 300.0
    assert resolve_settings(TABLE, file=file, environment=environment).seconds == 120.0
    given = {**TABLE, "budget_seconds": "30s"}
    assert resolve_settings(given, file=file, environment=environment).seconds == 30.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("budget: 60s\nbudget_seconds: 60\n", "budget and budget_seconds are one setting"),
        ("budget: soon\n", "a duration must look like"),
        ("budget: 1s\n", "must be at least 10"),
    ],
)
def test_a_budget_that_is_none_is_refused_in_a_file(tmp_path, text, words):
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=words):
        resolve_settings(TABLE, file=file, environment={})
