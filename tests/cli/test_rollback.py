"""`automl rollback` with a stand-in for the registry, and in a home without one."""

from __future__ import annotations

import pytest

from automl.tracking import model_registry as registry
from automl.tracking.model_registry import RegisteredVersion


def version(number, *aliases):
    return RegisteredVersion(
        "beans", number, aliases, f"run-{number}", 0.0, "", False, {"score": 0.5}
    )


@pytest.fixture
def moves(monkeypatch):
    asked = []

    def rollback(name, home, *, version):
        asked.append((name, version))
        return "3", version or "1"

    versions = [version("3", "previous"), version("1", "champion")]
    monkeypatch.setattr(registry, "rollback", rollback)
    monkeypatch.setattr(registry, "list_versions", lambda *_: versions)
    return asked


def test_the_alias_goes_back_and_both_versions_are_named(automl, moves):
    outcome = automl("rollback", "beans")
    assert (outcome.code, moves) == (0, [("beans", "")])
    assert outcome.err == "champion of beans: version 1; before: version 3\n"
    assert [line.split()[:3] for line in outcome.out.splitlines()[1:]] == [
        ["3", "previous", "run-3"],
        ["1", "champion", "run-1"],
    ]


def test_a_version_can_be_named(automl, moves):
    found = automl("rollback", "beans", "--to", 3, "--json").json
    assert moves == [("beans", "3")]
    assert (found["before"], found["champion"]) == ("3", "3")
    assert [entry["version"] for entry in found["versions"]] == ["3", "1"]
    assert (
        automl("rollback", "beans", "--to", 3).err == "version 3 of beans is the champion already\n"
    )


def test_a_home_without_models_is_left_as_it_is(automl, own_home):
    outcome = automl("rollback", "beans")
    assert (outcome.code, outcome.out) == (2, "")
    assert "no such model" in outcome.err
    assert not own_home.path.exists()
