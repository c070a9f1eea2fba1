"""``automl experience`` on run folders: what is known is listed, moved and forgotten, never lost."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from automl.experience import knowledge
from automl.experience.harvest import collect, harvest
from automl.experience.store import ExperienceStore
from automl.home import Home

DATA = {
    "rows": 60, "training_rows": 40, "columns": 2, "task": "binary", "classes": ["no", "yes"],
    "target": "y", "notes": [], "test_rows": 0, "metric": "index",
}  # fmt: skip
FIRST, SECOND = "a1" * 16, "b2" * 16


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(knowledge, "FOLDER", tmp_path / "no knowledge")


@pytest.fixture
def known(runs):
    """The runs have data sets: two runs on the first, a run on the second."""
    for folder, fingerprint in zip(runs, (FIRST, FIRST, SECOND), strict=True):
        facts = folder.read_facts()
        data = {**DATA, "fingerprint": fingerprint, "layout": "c3" * 16}
        name = "beans" if fingerprint == FIRST else "peas"
        settings = {**facts["settings"], "name": name}
        folder.write_facts({**facts, "data": data, "settings": settings})
    return runs


def entries(home: Home) -> list[str]:
    return [known.id for known in ExperienceStore(home.experience).read().experiences]


def test_without_runs_there_is_no_experience(automl, own_home):
    outcome = automl("experience", "list")
    assert (outcome.code, outcome.out) == (0, "")
    assert "no experience" in outcome.err
    assert automl("experience", "export", "team.gz").code == 2
    assert not own_home.path.exists()


def test_data_sets_are_listed_with_all_their_runs(automl, known):
    first, second = sorted(automl("experience", "list", "--json").json, key=lambda k: k["names"])
    assert (first["names"], first["runs"], first["trials"]) == (
        ["beans"],
        [known[0].run_id, known[1].run_id],
        6,
    )
    assert (second["names"], second["best"], second["rows"]) == (["peas"], 0.2, 60)
    text = automl("experience", "list").out
    assert len(text.splitlines()) == 3
    assert FIRST[:12] in text


def test_a_run_that_was_killed_is_known_and_grows(automl, known, own_home, finish):
    automl("experience", "list")
    assert entries(own_home) == [folder.run_id for folder in known]
    assert collect(own_home) == []
    segment = next(known[0].journal.iterdir())
    lines = segment.read_bytes().splitlines(keepends=True)
    other = known[0].journal / "segment-2.jsonl"
    other.write_bytes(lines[-1])
    again = ExperienceStore(own_home.experience).path_of(known[0].run_id).stat().st_mtime_ns
    assert other.stat().st_mtime_ns >= again
    assert collect(own_home) == []  # the repeated trial changes nothing


def test_a_damaged_entry_is_named_and_the_rest_is_there(automl, known, own_home):
    automl("experience", "list")
    path = ExperienceStore(own_home.experience).path_of(known[1].run_id)
    path.write_bytes(path.read_bytes()[:-9])
    path.touch()
    outcome = automl("experience", "list", "--json")
    assert outcome.code == 0
    assert str(path) in outcome.err
    assert sum(len(entry["runs"]) for entry in outcome.json) == 2
    findings = {finding["check"]: finding for finding in automl("doctor", "--json").json}
    assert findings["experience"]["level"] == "warn"
    assert str(path) in findings["experience"]["found"]


def test_a_file_carries_everything_to_another_home(automl, known, own_home, tmp_path):
    file = tmp_path / "team.jsonl.gz"
    assert automl("experience", "export", file, "--json").json == {
        "file": str(file),
        "runs": 3,
        "trials": 9,
    }
    heads = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()[::2]]
    assert [head["id"] for head in heads] == [folder.run_id for folder in known]
    other = tmp_path / "other"
    added = automl("experience", "import", file, "--home", other, "--json").json
    assert (added["added"], added["known"], added["trials"]) == (3, 0, 9)
    added = automl("experience", "import", file, "--home", other, "--json").json
    assert (added["added"], added["known"], added["trials"]) == (0, 3, 0)
    listed = automl("experience", "list", "--home", other, "--json").json
    own = automl("experience", "list", "--json").json
    assert {entry["fingerprint"] for entry in listed} == {FIRST, SECOND}
    assert [e["trials"] for e in listed] == [e["trials"] for e in own]
    assert {origin for entry in listed for origin in entry["origins"]} == {"imported"}


def test_a_file_of_knowledge_can_be_imported(automl, known, own_home, tmp_path):
    automl("experience", "list")
    experiences = ExperienceStore(own_home.experience).read().experiences
    file = tmp_path / "tables.jsonl.gz"
    knowledge.write_knowledge(file, knowledge.Knowledge("learn", "2026-01-01", experiences, {}))
    other = Home(tmp_path / "other")
    automl("experience", "import", file, "--home", other.path)
    assert entries(other) == entries(own_home)
    file.write_bytes(file.read_bytes()[:-20])
    outcome = automl("experience", "import", file, "--home", other.path)
    assert outcome.code == 2
    assert "is not a complete file of knowledge: its end is missing" in outcome.err


def test_what_the_package_brings_is_not_imported_once_more(automl, known, own_home, monkeypatch):
    automl("experience", "list")
    experiences = ExperienceStore(own_home.experience).read().experiences
    brought = own_home.path / "brought"
    brought.mkdir()
    content = knowledge.Knowledge("learn", "2026-01-01", experiences[:2], {})
    knowledge.write_knowledge(brought / "tables.jsonl.gz", content)
    monkeypatch.setattr(knowledge, "FOLDER", brought)
    file = own_home.path / "all.jsonl.gz"
    knowledge.write_knowledge(file, replace(content, experiences=experiences))
    other = Home(own_home.path / "other")
    taken = automl("experience", "import", file, "--home", other.path, "--json").json
    assert (taken["added"], taken["known"]) == (1, 2)
    assert entries(other) == [experiences[2].id]


def test_what_is_forgotten_stays_forgotten_though_the_run_is_there(automl, known, own_home):
    outcome = automl("experience", "forget", "beans")
    assert outcome.code == 2
    assert "--yes" in outcome.err
    done = automl("experience", "forget", "beans", SECOND[:8], "--yes", "--json")
    assert done.json["forgotten"] == [folder.run_id for folder in known]
    automl("experience", "list")
    assert entries(own_home) == []
    assert all(folder.path.exists() for folder in known)


def test_one_run_can_be_forgotten(automl, known, own_home):
    automl("experience", "forget", known[0].run_id, "--yes")
    assert entries(own_home) == [known[1].run_id, known[2].run_id]


def test_forgetting_what_nobody_knows_is_an_error(automl, known):
    outcome = automl("experience", "forget", "baens", "--yes")
    assert outcome.code == 2
    assert "did you mean 'beans'?" in outcome.err


def test_clean_keeps_what_the_runs_have_tried(automl, known, own_home):
    ids = [folder.run_id for folder in known]
    automl("clean", "--keep", 0, "--yes")
    assert not any(folder.path.exists() for folder in known)
    assert entries(own_home) == ids


def test_clean_forgets_where_it_is_asked_to(automl, known, own_home):
    automl("experience", "list")
    automl("clean", known[0].run_id, "--experience", "--yes")
    assert entries(own_home) == [known[1].run_id, known[2].run_id]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["import"], "got nothing"),
        (["import", "x.gz", "--mlflow", "sqlite:///x.db"], "got both"),
        (["import", "x.gz"], "x.gz cannot be read"),
        (["import", "TABLE"], "is not a file of `automl experience export`"),
        (["import", "--mlflow", "sqlite:///none.db"], "none.db"),
        (["import", "--mlflow", "http://127.0.0.1:9"], "127.0.0.1:9"),
        (["forget"], "NAME"),
        (["export", "."], "is a folder"),
        (["export", "missing/team.gz"], "cannot be written"),
    ],
)
def test_errors_are_one_sentence(automl, known, table, arguments, named):
    outcome = automl("experience", *(a.replace("TABLE", str(table)) for a in arguments))
    assert outcome.code in (2, 4)
    lines = outcome.err.strip().splitlines()
    assert lines[-1].startswith("error: ")
    assert named in lines[-1]


def test_a_folder_that_is_no_run_is_no_experience(known, own_home, tmp_path):
    broken = own_home.create_run()
    assert harvest(broken) is None
    broken.write_facts({"data": {"task": "binary"}, "settings": []})
    assert harvest(broken) is None
    known[0].write_facts({**known[0].read_facts(), "data": "none"})
    assert harvest(known[0]) is None
    assert known[0].run_id not in collect(own_home)


def test_a_run_of_an_earlier_version_gets_its_fingerprint(own_home, known):
    import numpy as np
    import pandas as pd

    from automl.data.table import prepare_table
    from automl.experience.fingerprints import fingerprint

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.choice(["no", "yes"], 60)})
    table = prepare_table(frame, target="y")
    facts = known[0].read_facts()
    del facts["data"]["fingerprint"]
    known[0].write_facts(facts)
    assert harvest(known[0]) is None  # there is no table
    table.write(known[0].table)
    assert harvest(known[0], reads_table=False) is None
    found = harvest(known[0])
    assert found is not None
    assert found.data.fingerprint == fingerprint(table)


def test_settings_of_the_command_line(automl, table, tmp_path):
    outcome = automl(
        "train", table, "--target", "y", "--exclude-experience", "a,b", "--dry-run", "--json",
    )  # fmt: skip
    assert outcome.code == 0
    assert list(outcome.json["settings"]["exclude_experience"]) == ["a", "b"]
    assert ["'a'" in text for text in outcome.json["warnings"]] == [True, False]
    outcome = automl("train", table, "--target", "y", "--no-experience", "--dry-run", "--json")
    assert outcome.json["settings"]["experience"] is False
