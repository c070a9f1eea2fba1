"""The store of experience: whole entries only, whoever writes, whatever lies in its folder."""

import contextlib
import gzip
import json
import math
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.content_digests import content_digest
from automl.errors import AutoMLWarning, ServiceError, SettingsError
from automl.experience import entries
from automl.experience.cleaning import cleaned, spaces_for
from automl.experience.data_set import SCHEMA, DataSetFacts, Experience, KnownTrial
from automl.experience.entries import EntryError, digest_of, pack, packed_trials, unpack
from automl.experience.store import ExperienceStore, read_export, take_in, write_export
from automl.records import Configuration, Fidelity, Task, TrialStatus

FACTS = DataSetFacts("beans", "f" * 32, "e" * 32, Task.BINARY, 90, 4, 2, {"rows": 4.5})


def trial_of(index, **given):
    configuration = Configuration("ridge", {"alpha": float(index), "prep": "no"}, ("prep=no",))
    return KnownTrial(
        **{
            "configuration": configuration,
            "status": TrialStatus.COMPLETE,
            "score": index / 10,
            "seconds": 0.5,
            "folds": 3,
            **given,
        }
    )


def experience_of(identity="20260101-000000-aaaa", n_trials=4, **given):
    trials = tuple(trial_of(index) for index in range(n_trials))
    return Experience(
        **{"id": identity, "data": FACTS, "metric": "index", "trials": trials, **given}
    )


@pytest.fixture
def store(tmp_path):
    return ExperienceStore(tmp_path / "experience")


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)
)
known_trials = st.builds(
    KnownTrial,
    configuration=st.builds(
        Configuration,
        st.sampled_from(["ridge", "knn"]),
        st.dictionaries(st.text(max_size=4), scalars, max_size=4),
        st.lists(st.text(max_size=4), max_size=2).map(tuple),
    ),
    status=st.sampled_from(list(TrialStatus)),
    score=st.one_of(st.none(), st.floats(allow_nan=False)),
    seconds=st.floats(0, 1e9),
    folds=st.integers(0, 50),
    fidelity=st.builds(Fidelity, st.one_of(st.none(), st.integers(1, 9)), st.floats(0.01, 1)),
    fold_scores=st.lists(st.floats(allow_nan=False), max_size=3).map(tuple),
)


@given(st.lists(known_trials, max_size=5).map(tuple))
def test_an_entry_says_what_was_put_in(trials):
    experience = experience_of(trials=trials, created="2026-01-01T00:00:00+00:00", training_rows=60)
    data = pack(experience)
    again, end = unpack(data)
    assert (again, end) == (experience, len(data))
    assert pack(again) == pack(experience)
    assert digest_of(again) == digest_of(experience)
    assert pickle.loads(pickle.dumps(again)) == experience


def test_values_keep_their_types():
    values = {"a": 1, "b": 1.0, "c": True, "d": None, "e": "1"}
    trial = trial_of(0, configuration=Configuration("ridge", values))
    again, _ = unpack(pack(experience_of(trials=(trial,))))
    found = again.trials[0].configuration
    assert [type(v) for v in found.values.values()] == [type(v) for v in values.values()]
    assert found.id == trial.configuration.id


def test_an_entry_without_fold_scores_is_written_as_it_was_before_there_were_any():
    line = b'{"kinds":[["ridge",["prep=no"],["alpha","prep"]]],"rows":[[0,[0.0,"no"],"complete",0.0,0.5,3,null]]}\n'
    trials = packed_trials(experience_of(n_trials=1))
    assert gzip.decompress(trials.packed) == line
    assert [trial.fold_scores for trial in trials] == [()]


def test_the_digest_is_of_what_can_be_learned():
    experience = experience_of()
    same = experience_of("another", origin="imported", created="2027-01-01")
    assert digest_of(same) == digest_of(experience)
    for other in (experience_of(n_trials=3), experience_of(metric="auc")):
        assert digest_of(other) != digest_of(experience)


def test_a_run_has_one_entry_however_often_it_ends(store):
    assert store.add(experience_of(n_trials=3))
    assert not store.add(experience_of(n_trials=3))
    assert store.add(experience_of(n_trials=5))
    (found,) = store.read().experiences
    assert found == experience_of(n_trials=5)
    assert len(list(store.folder.iterdir())) == 1


def test_an_empty_store_is_no_folder(store):
    assert store.read().experiences == store.read().notes == ()
    assert not store.folder.exists()
    assert store.read_one("x") is None


@pytest.mark.parametrize(
    "identity", ["../../etc/passwd", "a/b", "ä", ".hidden", "x" * 300, "\ud800"]
)
def test_no_id_leaves_the_folder(store, identity):
    store.add(experience_of(identity))
    assert store.read_one(identity).id == identity
    assert [path.parent for path in store.folder.iterdir()] == [store.folder]


_WRITER = """
import sys
from pathlib import Path
from automl.experience.entries import unpack
from automl.experience.store import ExperienceStore

store = ExperienceStore(Path(sys.argv[1]))
experiences = [unpack(file.read_bytes())[0] for file in sorted(Path(sys.argv[2]).iterdir())]
print("ready", flush=True)
sys.stdin.readline()
for experience in experiences:
    store.add(experience)
"""


def _writer(folder, given, number):
    """A process that adds its entries as soon as it is told to."""
    given.mkdir()
    for index in range(10):
        own = experience_of(f"run-{number}-{index}", n_trials=50)
        shared = experience_of("shared", n_trials=10 * number + index + 1)
        (given / f"{index} own").write_bytes(pack(own))
        (given / f"{index} shared").write_bytes(pack(shared))
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(folder), str(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_write_at_once_never_meet(store, tmp_path):
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(_writer(store.folder, tmp_path / f"given {n}", n)) for n in range(4)
        ]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        while any(process.poll() is None for process in processes):
            assert store.read().notes == ()
        errors = [process.communicate()[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0, 0], errors
    reading = store.read()
    assert len(reading.experiences) == 41
    assert reading.notes == ()
    assert all(len(tuple(e.trials)) == len(e.trials) for e in reading.experiences)


def test_what_is_torn_or_foreign_is_left_out_with_a_note(store):
    store.add(experience_of("good"))
    whole = pack(experience_of("torn"))
    for number, size in enumerate((0, 1, 10, 40, len(whole) // 2, len(whole) - 1)):
        (store.folder / f"torn-{number}.json.gz").write_bytes(whole[:size])
    flipped = bytearray(whole)
    flipped[-20] ^= 1
    (store.folder / "flipped.json.gz").write_bytes(flipped)
    (store.folder / "longer.json.gz").write_bytes(whole + b"more")
    (store.folder / "text.json.gz").write_text("hello")
    (store.folder / "list.json.gz").write_bytes(gzip.compress(b"[1]\n") * 2)
    (store.folder / "deep.json.gz").write_bytes(gzip.compress(b"[" * 100_000) * 2)
    (store.folder / "bomb.json.gz").write_bytes(gzip.compress(bytes(2**20)) * 2)
    (store.folder / "copy.json.gz").write_bytes(pack(experience_of("good")))
    (store.folder / "folder.json.gz").mkdir()
    (store.folder / ".draft.json.gz-1").write_bytes(whole[:30])
    (store.folder / "README").write_text("not ours")
    reading = store.read()
    assert [e.id for e in reading.experiences] == ["good"]
    n_others = len([p for p in store.folder.iterdir() if p.name.endswith(".gz")]) - 1
    assert len(reading.notes) == n_others
    assert all(str(store.folder) in note for note in reading.notes)


def test_a_member_that_is_too_large_is_no_entry(monkeypatch):
    monkeypatch.setattr(entries, "MOST_BYTES", 2**20)
    with pytest.raises(EntryError, match="more than 1 MiB"):
        unpack(gzip.compress(bytes(2**22)) * 2)


def changed(experience, **given):
    """An entry whose head says something else."""
    data = pack(experience)
    line, middle = entries._member(data)
    return entries._compressed(entries._line({**json.loads(line), **given})) + data[middle:]


@pytest.mark.parametrize(
    "given",
    [
        {"data": None},
        {"data": {**FACTS.to_json(), "rows": -1}},
        {"data": {**FACTS.to_json(), "rows": math.inf}},
        {"data": {**FACTS.to_json(), "task": "ranking"}},
        {"data": {**FACTS.to_json(), "meta_features": {"rows": "many"}}},
        {"data": {**FACTS.to_json(), "fingerprint": 7}},
        {"id": ""},
        {"id": ["a"]},
        {"trials": "x"},
        {"trials": -1},
        {"trials": 10**30},
        {"metric": None},
        {"trials_digest": "0"},
        {"format": "other"},
        {"schema": "1"},
    ],
)
def test_a_head_that_makes_no_sense_is_no_entry(given):
    with pytest.raises(EntryError):
        unpack(changed(experience_of(), **given))


def test_a_newer_schema_is_left_out(store):
    store.add(experience_of())
    path = store.path_of("later")
    path.write_bytes(changed(experience_of("later"), schema=SCHEMA + 1))
    (note,) = store.read().notes
    assert "newer version" in note


def test_an_older_schema_is_brought_up_to_date_or_left_out(store, monkeypatch):
    store.add(experience_of())
    store.path_of("old").write_bytes(changed(experience_of("old"), schema=SCHEMA - 1, metric="??"))
    (note,) = store.read().notes
    assert "old version" in note

    def migrate(head, body):
        return {**head, "metric": "index"}, body

    monkeypatch.setitem(entries.MIGRATIONS, SCHEMA - 1, migrate)
    reading = store.read()
    assert reading.notes == ()
    assert [e.metric for e in reading.experiences] == ["index", "index"]

    def fail(head, body):
        raise KeyError("metric")

    monkeypatch.setitem(entries.MIGRATIONS, SCHEMA - 1, fail)
    (note,) = store.read().notes
    assert "cannot be brought up to date" in note


@pytest.mark.parametrize(
    ("rows", "n_left"),
    [
        ([[0, [1.0, [2]], "complete", 0.1, 1.0, 3, None]], 0),
        ([[9, [1.0, "no"], "complete", 0.1, 1.0, 3, None]], 0),
        ([[0, [1.0], "complete", 0.1, 1.0, 3, None]], 0),
        ([[0, [1.0, "no"], "excellent", 0.1, 1.0, 3, None]], 0),
        ([[0, [1.0, "no"], "complete", "high", 1.0, 3, None]], 0),
        ([[0, [1.0, "no"], "complete", 0.1, 1.0, 3, [1]]], 0),
        (["row", None, 7], 0),
        ("rows", 0),
        ([[0, [1.0, "no"], "complete", 0.1, 1.0, 3, None], 5], 1),
    ],
)
def test_trials_that_are_none_are_left_out_when_somebody_looks(rows, n_left):
    body = entries._line({"kinds": [["ridge", ["prep=no"], ["alpha", "prep"]]], "rows": rows})
    trials = entries.PackedTrials(entries._compressed(body), content_digest(body), len(rows))
    again, _ = unpack(pack(experience_of(trials=trials)))
    with pytest.warns(AutoMLWarning, match=f"trials of experience {again.id} of .* cannot be read"):
        assert len(tuple(again.trials)) == n_left
    assert len(again.trials) == n_left


def test_what_was_never_measured_or_is_not_legal_any_more_is_not_learned_from():
    spaces = spaces_for(Task.BINARY)
    legal = [trial_of(0, configuration=space.default()) for space in spaces.values()]
    values = dict(spaces["ridge"].default().values)
    name = next(key for key, value in values.items() if isinstance(value, float))
    path = spaces["ridge"].default().path
    bad = [
        trial_of(1, configuration=legal[0].configuration, score=math.nan),
        trial_of(1, configuration=legal[0].configuration, score=math.inf),
        trial_of(1, configuration=legal[0].configuration, score=None),
        trial_of(1, configuration=legal[0].configuration, seconds=math.nan),
        trial_of(1, configuration=legal[0].configuration, seconds=-1.0),
        trial_of(1, configuration=Configuration("perpetuum", {})),
        trial_of(1, configuration=Configuration("ridge", {**values, name: 1e300}, path)),
        trial_of(1, configuration=Configuration("ridge", {**values, name: "high"}, path)),
        trial_of(1, configuration=Configuration("ridge", {**values, name: None}, path)),
        trial_of(1, configuration=Configuration("ridge", {**values, "more": 1}, path)),
        trial_of(1, configuration=Configuration("ridge", values, ("no=path",))),
    ]
    failed = trial_of(
        2, configuration=legal[1].configuration, status=TrialStatus.FAILED, score=None
    )
    facts = DataSetFacts("b", "f", "l", Task.BINARY, 9, 1, 2, {"a": 1.0, "b": math.nan})
    found = cleaned(experience_of(data=facts, trials=(*bad, *legal, failed)), spaces)
    assert found.trials == (*legal, failed)
    assert found.data.meta_features == {"a": 1.0}
    assert cleaned(found, spaces) == found


def test_export_and_import(tmp_path, store):
    known = [experience_of(f"run-{i}", n_trials=i) for i in range(5)]
    for experience in known:
        store.add(experience)
    path = tmp_path / "team.jsonl.gz"
    write_export(path, store.read().experiences)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert [json.loads(line).get("id") for line in lines[::2]] == [e.id for e in known]

    other = ExperienceStore(tmp_path / "other")
    other.add(known[2])
    reading = read_export(path)
    assert take_in(other, reading.experiences, origin="imported") == [
        e.id for e in known if e.id != "run-2"
    ]
    assert take_in(other, reading.experiences, origin="imported") == []
    found = {e.id: e for e in other.read().experiences}
    assert {e.id: digest_of(e) for e in known} == {i: digest_of(e) for i, e in found.items()}
    grown = [experience_of("run-1", n_trials=9), experience_of("run-2", n_trials=9)]
    assert take_in(other, grown, origin="imported") == ["run-1"]
    assert [e.origin for e in found.values()] == ["imported"] * 2 + ["run"] + ["imported"] * 2


def test_the_whole_part_of_a_torn_export_is_taken(tmp_path):
    path = tmp_path / "team.jsonl.gz"
    write_export(path, [experience_of(f"run-{i}") for i in range(3)])
    path.write_bytes(path.read_bytes()[:-5])
    reading = read_export(path)
    assert [e.id for e in reading.experiences] == ["run-0", "run-1"]
    assert len(reading.notes) == 1


@pytest.mark.parametrize("content", [b"x,y\n1,2\n", gzip.compress(b"{}", mtime=0)])
def test_a_foreign_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(
        SettingsError, match=r"table\.csv is not a file of `automl experience export`"
    ):
        read_export(path)
    with pytest.raises(SettingsError, match=r"none\.gz cannot be read"):
        read_export(tmp_path / "none.gz")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not a file of experience: it is empty"),
        (gzip.compress(b"", mtime=0), "not experience of this program"),
        (gzip.compress(b"x,y\n1,2\n", mtime=0), "not experience of this program"),
        (gzip.compress(b'{"format": "automl-experience"}', mtime=0)[:-9], "its end is missing"),
    ],
)
def test_the_reason_of_a_refusal_is_the_true_one(tmp_path, content, reason):
    path = tmp_path / "team.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=reason):
        read_export(path)


def test_what_cannot_be_written_is_one_error(tmp_path):
    (tmp_path / "experience").write_text("a file")
    with pytest.raises(ServiceError, match="cannot be written"):
        ExperienceStore(tmp_path / "experience").add(experience_of())
    with pytest.raises(ServiceError, match="cannot be written"):
        write_export(tmp_path / "none" / "team.gz", [])


def test_what_is_forgotten_is_gone(store):
    store.add(experience_of("a"))
    assert store.forget("a")
    assert not store.forget("a")
    assert store.read().experiences == ()
    assert store.is_forgotten("a")
    store.add(experience_of("a"))
    assert not store.is_forgotten("a")
    assert len(store.read().experiences) == 1


def test_an_entry_that_was_copied_under_another_name_can_be_forgotten(store):
    store.add(experience_of("a"))
    path = store.path_of("a")
    path.rename(path.with_name("from-bob.json.gz"))
    assert store.forget("a")
    assert store.read().experiences == ()


def test_a_folder_that_cannot_be_listed_is_a_note(store, monkeypatch):
    store.add(experience_of("a"))

    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    reading = store.read()
    assert reading.experiences == ()
    assert reading.notes == (f"{store.folder} is left out of the experience: Permission denied",)
