"""What a package gets wrong is one sentence that names it."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

from automl import extensions
from automl.bandits.registry import AllocatorEntry
from automl.bandits.uniform import Uniform
from automl.errors import SettingsError
from automl.extensions import Registry
from automl.families import registry as families
from automl.metrics.built_in import BUILT_IN
from automl.metrics.metric import Metric
from automl.metrics.registry import METRICS

GROUP = "automl.allocators"
OURS = {"uniform": AllocatorEntry(Uniform, "equal turns", "ours")}
MODULE = """
from automl.bandits.registry import AllocatorEntry
from automl.bandits.uniform import Uniform
from automl.metrics.registry import METRICS
from dataclasses import replace

TURNS = AllocatorEntry(Uniform, "equal turns", "test")
NO_ENTRY = 7
GAIN = replace(METRICS["accuracy"], name="gain", aliases=("f1",))
"""


class Package(Distribution):
    """A distribution that has a name alone."""

    def __init__(self, name):
        self._name = name

    @property
    def metadata(self):
        return {"Name": self._name}

    def read_text(self, filename):
        return None

    def locate_file(self, path):
        return Path(path)


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "package_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("package_of_a_test", None)
    families.families_of_packages.cache_clear()


def install(monkeypatch, *points):
    """Entry points as (package, group, name, value)."""
    made = [
        EntryPoint(name, value, group)._for(Package(package))
        for package, group, name, value in points
    ]
    monkeypatch.setattr(extensions, "installed", lambda: tuple(made))


def allocators(**options):
    return Registry(GROUP, AllocatorEntry, OURS, **options)


def test_an_entry_is_there_after_ours(monkeypatch):
    install(monkeypatch, ("acme", GROUP, "turns", "package_of_a_test:TURNS"))
    registry = allocators()
    assert list(registry) == ["uniform", "turns"]
    assert registry["turns"].source == "test"
    assert len(registry) == 2


def test_entries_of_other_groups_are_not_even_imported(monkeypatch):
    install(monkeypatch, ("acme", "automl.optimizers", "turns", "package_of_a_test:TURNS"))
    assert list(allocators()) == ["uniform"]
    assert "package_of_a_test" not in sys.modules


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("turns", "no_such_module:TURNS", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("turns", "package_of_a_test:TURNZ", "no attribute 'TURNZ'"),
        ("turns", "package_of_a_test:NO_ENTRY", "must be a .*AllocatorEntry; got a int"),
        ("uniform", "package_of_a_test:TURNS", "the name 'uniform' is already taken by automl"),
        ("auto", "package_of_a_test:TURNS", "the name 'auto' is already taken by automl"),
        ("my:turns", "package_of_a_test:TURNS", "'my:turns' must be lower-case letters"),
    ],
)
def test_what_is_wrong_is_said_every_time(monkeypatch, name, value, said):
    install(monkeypatch, ("acme", GROUP, name, value))
    registry = allocators(reserved=("auto",))
    for _ in range(2):
        with pytest.raises(SettingsError, match=said) as caught:
            registry["uniform"]
        assert caught.value.message.startswith(f"package acme: {GROUP}: {name}: ")
        assert caught.value.message.endswith("; fix the package, or uninstall it")


def test_two_packages_cannot_share_a_name(monkeypatch):
    places = [(package, GROUP, "turns", "package_of_a_test:TURNS") for package in ("acme", "other")]
    install(monkeypatch, *places)
    with pytest.raises(SettingsError, match=r"^package other: .* already taken by acme;"):
        len(allocators())


@pytest.mark.parametrize(
    ("name", "said"),
    [("gain", "the name 'f1' is already taken"), ("win", "must be called as its entry point is")],
)
def test_names_of_a_metric_are_its_own(monkeypatch, name, said):
    install(monkeypatch, ("acme", "automl.metrics", name, "package_of_a_test:GAIN"))
    ours = {metric.name: metric for metric in BUILT_IN}
    registry = Registry("automl.metrics", Metric, ours, others=lambda metric: metric.aliases)
    with pytest.raises(SettingsError, match=said):
        len(registry)


def test_what_registers_itself_while_it_is_imported_is_taken_once(monkeypatch):
    mine = replace(METRICS["accuracy"], name="mine", aliases=())

    class Loads(EntryPoint):
        def load(self):
            registry.entries["mine"] = mine
            return mine

    point = Loads("mine", "acme:mine", "automl.metrics")._for(Package("acme"))
    monkeypatch.setattr(extensions, "installed", lambda: (point,))
    registry = Registry("automl.metrics", Metric, {})
    assert dict(registry) == {"mine": mine}


FAMILY = """
name: {name}
title: Mine
estimators: {{classification: "sklearn.linear_model:LogisticRegression"}}
simplicity: 0.5
interpretability: 0.5
tree: {{}}
"""


def test_families_of_a_package(monkeypatch, tmp_path):
    install(monkeypatch, ("acme", "automl.families", "acme", "folder_of_a_test"))
    folder = tmp_path / "folder_of_a_test"
    folder.mkdir()
    for text, said in (
        ("", "must be a package that holds family files"),
        (FAMILY.format(name="lda"), "the name 'lda' is already taken by automl"),
        (FAMILY.format(name="mine") + "trees: 3\n", "mine.yaml: trees: "),
    ):
        if text:
            (folder / "mine.yaml").write_text(text)
        families.families_of_packages.cache_clear()
        with pytest.raises(SettingsError, match=rf"^package acme: automl.families: acme: .*{said}"):
            families.families()
    (folder / "mine.yaml").write_text(FAMILY.format(name="mine"))
    assert families.families()["mine"] is families.get_family("mine")
    assert families.is_from_outside("mine")
    assert not families.is_from_outside("lda")
    sys.modules.pop("folder_of_a_test", None)


def test_a_folder_of_the_users_own_replaces_a_family_of_a_package(monkeypatch, tmp_path):
    install(monkeypatch, ("acme", "automl.families", "acme", "other_folder_of_a_test"))
    for name in ("other_folder_of_a_test", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.yaml").write_text(FAMILY.format(name="mine"))
    assert families.get_family("mine").text.path.parent.name == "other_folder_of_a_test"
    families.load_families(tmp_path / "own")
    assert families.get_family("mine").text.path.parent.name == "own"
    families.forget_families()
