"""The file of knowledge: whole or refused, and the same bytes for the same knowledge."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from automl.errors import SettingsError
from automl.experience import knowledge as module
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.records import Configuration, Task, TrialStatus


@pytest.fixture
def knowledge():
    def entry(name):
        facts = DataSetFacts(name, "1f" * 16, "2a" * 16, Task.REGRESSION, 90, 3, 0, {"rows": 90.0})
        trials = (
            KnownTrial(Configuration("ridge", {"alpha": 0.1}), TrialStatus.COMPLETE, 0.5, 0.01, 5),
            KnownTrial(Configuration("svm", {}), TrialStatus.TIMED_OUT, None, 9.0, 1),
        )
        return Experience(f"learned-{name}", facts, "index", trials, origin="learned")

    experiences = (entry("b"), entry("a"))
    return module.Knowledge(
        "automl learn experience tables", "2026-01-02", experiences, {"seed": 0}
    )


def test_what_is_written_is_read(knowledge, tmp_path):
    path = tmp_path / "tables.jsonl.gz"
    module.write_knowledge(path, knowledge)
    found = module.read_knowledge(path)
    assert found == knowledge
    assert found.data_sets == ("b", "a")
    content = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert '"command": "automl learn experience tables"' in content[0]
    assert '"data_sets": ["b", "a"]' in content[0]
    first = path.read_bytes()
    module.write_knowledge(path, knowledge)
    assert path.read_bytes() == first


def test_a_damaged_file_is_refused(knowledge, tmp_path):
    path = tmp_path / "tables.jsonl.gz"
    module.write_knowledge(path, knowledge)
    data = path.read_bytes()
    heads = [gzip.compress(text) for text in (b"[1, 2]", b"3", b"null", b"[" * 99_999)]
    for wrong in (data[:-9], data[40:], b"", b"{}", data[:200] + b"\0" + data[201:], *heads):
        path.write_bytes(wrong)
        with pytest.raises(SettingsError, match="not a complete file of knowledge"):
            module.read_knowledge(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        module.read_knowledge(tmp_path / "none.jsonl.gz")


def test_what_is_shipped_is_every_file_of_the_folder(knowledge, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FOLDER", tmp_path / "none")
    assert module.shipped() == ()
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    module.write_knowledge(tmp_path / "one.jsonl.gz", knowledge)
    found = module.shipped()
    assert [e.origin for e in found] == ["shipped", "shipped"]
    assert [replace(e, origin="learned") for e in found] == list(knowledge.experiences)
    assert module.shipped() is found


def test_what_the_package_ships_can_be_read():
    for experience in module.shipped():
        assert experience.trials
        assert experience.data.fingerprint
