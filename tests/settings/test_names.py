"""Names that settings take are those that are registered, whoever registered them."""

from dataclasses import replace

import pytest

from automl.bandits.registry import ALLOCATORS
from automl.ensembles.registry import ENSEMBLES
from automl.errors import SettingsError
from automl.families.registry import forget_families, get_family, load_families
from automl.metrics import registry
from automl.optimizers.registry import OPTIMIZERS
from automl.settings.sources import resolve_settings

TABLE = {"table": "t.csv", "target": "y"}


def resolved(**given):
    return resolve_settings({**TABLE, **given}, environment={})


@pytest.mark.parametrize(
    ("setting", "registry", "like"),
    [
        ("optimizer", OPTIMIZERS, "tpe"),
        ("allocator", ALLOCATORS, "halving"),
        ("ensemble", ENSEMBLES, "greedy"),
    ],
)
def test_what_somebody_registers_is_accepted(setting, registry, like, monkeypatch):
    with pytest.raises(SettingsError, match=f"^setting {setting}: must be one of "):
        resolved(**{setting: "mine"})
    monkeypatch.setitem(registry.entries, "mine", registry[like])
    assert getattr(resolved(**{setting: "mine"}), setting) == "mine"


def test_a_metric_that_somebody_registers_is_accepted(monkeypatch):
    with pytest.raises(SettingsError, match=r"^setting metric: must be one of index, "):
        resolved(metric="mine")
    mine = replace(registry.METRICS["accuracy"], name="mine", aliases=())
    monkeypatch.setitem(registry.METRICS.entries, "mine", mine)
    assert resolved(metric="mine=2,auc=1").metric == {"mine": 2.0, "auc": 1.0}


def test_a_family_that_somebody_registers_is_accepted(tmp_path):
    with pytest.raises(SettingsError, match="there is no family 'mine'"):
        resolved(families="mine")
    text = get_family("lda").text.path.read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("name: lda", "name: mine"))
    load_families(tmp_path)
    try:
        assert resolved(families="mine").families == ("mine",)
    finally:
        forget_families()


def test_families_of_a_folder_are_known_once_it_is_read(tmp_path):
    assert resolved(families="mine", family_folder=str(tmp_path)).families == ("mine",)


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ({"optimizer": "hypercub"}, "hypercube"),
        ({"allocator": "unifrom"}, "uniform"),
        ({"ensemble": "staking"}, "stacking"),
        ({"metric": "acuracy"}, "accuracy"),
        ({"metric": {"roc_auk": 1}}, "roc_auc"),
        ({"warm_start": "nearst"}, "nearest"),
        ({"families": ["lightgmb"]}, "lightgbm"),
        ({"preset": "balancd"}, "balanced"),
    ],
)
def test_the_nearest_name_is_proposed(given, near):
    with pytest.raises(SettingsError, match=f"did you mean '{near}'"):
        resolved(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"allocator": "only:svm"},
        {"allocator": "auto"},
        {"ensemble": "none"},
        {"metric": "mine.py:score"},
        {"metric": {"a=b/mine.py:score": 1.0}},
        {"optimizer": {"base": "smac"}},
    ],
)
def test_what_is_no_name_of_a_registry_is_let_through(given):
    resolved(**given)


def test_an_ensemble_of_the_second_layer_is_known_by_its_entry(monkeypatch):
    monkeypatch.setitem(ENSEMBLES.entries, "mine", ENSEMBLES["stacking"])
    assert resolved(ensemble="mine").has_second_layer
    with pytest.raises(SettingsError, match=r"^setting layers: 2 has no effect"):
        resolved(ensemble="mine", layers=2)


def test_the_entry_to_compare_others_with_is_not_offered():
    with pytest.raises(SettingsError, match="got 'single'"):
        resolved(ensemble="single")
