"""What a run knows is settled at its start; what it tried is known when it ends."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from automl.durable import write_whole
from automl.errors import AutoMLWarning
from automl.evaluation.journal import Journal
from automl.experience import knowledge
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.experience.fingerprints import fingerprint, layout
from automl.experience.knowledge import Knowledge, write_knowledge
from automl.experience.store import ExperienceStore
from automl.families.registry import get_family
from automl.home import Home
from automl.preprocessing.matrix_facts import matrix_facts
from automl.records import Configuration, FoldResult, Task, Trial, TrialStatus
from automl.run import beginning as module
from automl.run import memory as stage
from automl.run.beginning import begin, reopen
from automl.run.search_spaces import space_of
from automl.run_records.result import KnownBefore
from automl.settings import Settings
from automl.stages.result import known_before


@pytest.fixture
def home(tmp_path, monkeypatch):
    pool = SimpleNamespace(n_slots=1, close=lambda: None)
    monkeypatch.setattr("automl.run.local_slots.WorkerPool", lambda *_, **__: pool)
    monkeypatch.setattr(module, "describe_table", lambda _: None)
    monkeypatch.setattr(knowledge, "FOLDER", tmp_path / "knowledge")
    return Home(tmp_path / "home")


@pytest.fixture
def store(home):
    return ExperienceStore(home.experience)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=60), "y": rng.choice(["no", "yes"], 60)})


def known(identity, *, name="peas", digits="a", n_trials=3, origin="run"):
    facts = DataSetFacts(name, digits * 32, digits.upper().lower() * 32, Task.BINARY, 90, 4, 2)
    trials = tuple(
        KnownTrial(Configuration("ridge", {"alpha": 1.0 + i}), TrialStatus.COMPLETE, 0.1, 1.0, 5)
        for i in range(n_trials)
    )
    return Experience(identity, facts, "index", trials, origin)


def settings(**given):
    return Settings(**{"table": "beans.csv", "target": "y", "workers": 1, "trials": 9, **given})


def ended(session):
    session.close()
    session.release()


def journal(folder, numbers, *, stage="search", run_id="r"):
    statuses = list(TrialStatus)
    with Journal(folder.journal) as written:
        for index in numbers:
            trial = Trial(
                run_id,
                index,
                Configuration("ridge", {"alpha": 1.0 + index}),
                statuses[index % len(statuses)],
                0.5,
                (FoldResult(0, 0, 0.5, 30, 0.1, 0.01),),
                seconds=2.0,
                stage=stage,
            )
            written.append({"type": "trial", "trial": trial.to_json(), "decision": {}})


def ids(session):
    return [experience.id for experience in session.experience]


def test_the_first_run_knows_nothing(home, frame):
    session = begin(settings(), home, frame=frame)
    assert session.experience == ()
    assert known_before(session) == KnownBefore()
    assert not session.folder.experience.exists()
    assert session.folder.read_facts()["experience"] == ""
    ended(session)
    assert not home.experience.exists()  # there was no trial


def test_a_resumed_run_knows_what_it_knew_though_the_store_has_changed(home, store, frame):
    for identity in ("a", "b"):
        store.add(known(identity))
    session = begin(settings(), home, frame=frame)
    before, digest = session.experience, session.records.read("experience")["digest"]
    assert ids(session) == ["a", "b"]
    assert session.folder.read_facts()["experience"] == digest
    ended(session)
    store.add(known("a", n_trials=7))
    store.add(known("c"))
    store.forget("b")
    again = reopen(session.run_id, home)
    assert again.experience == before
    assert known_before(again) == KnownBefore(digest, 2, 6)
    assert again.is_reproducible
    assert again.warnings == []
    ended(again)
    other = begin(settings(), home, frame=frame)
    assert ids(other) == ["a", "c"]
    assert other.records.read("experience")["digest"] != digest
    ended(other)


def test_a_run_killed_between_its_experience_and_its_facts_knows_what_it_knew(
    home, store, frame, killed_in
):
    store.add(known("a"))
    table = home.path.parent / "beans.csv"
    frame.to_csv(table, index=False)
    on_file = settings().model_copy(update={"table": str(table)})
    folder = killed_in("keep_own_priors", on_file, home)
    again = reopen(folder.run_id, home)
    assert ids(again) == ["a"]
    ended(again)


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_a_resumed_run_says_that_it_lost_what_it_knew(home, store, frame, damage):
    for identity in ("a", "b"):
        store.add(known(identity))
    session = begin(settings(), home, frame=frame)
    ended(session)
    path = session.folder.experience
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-4])
    again = reopen(session.run_id, home)
    assert ids(again) == ([] if damage == "missing" else ["a"])
    assert not again.is_reproducible
    assert "is incomplete in" in again.warnings[0]
    ended(again)


def test_a_run_of_an_earlier_version_goes_on_without_experience(home, store, frame):
    session = begin(settings(), home, frame=frame)
    (session.folder.stages / "experience.json").unlink()
    ended(session)
    store.add(known("a"))
    again = reopen(session.run_id, home)
    assert again.experience == ()
    ended(again)
    assert reopen(session.run_id, home).experience == ()


@pytest.mark.parametrize(
    ("given", "left", "n_warnings"),
    [
        ({}, ["a", "b", "s"], 0),
        ({"experience": False}, [], 0),
        ({"exclude_experience": "peas"}, ["b", "s"], 0),
        ({"exclude_experience": "peas,corn"}, ["s"], 0),
        ({"exclude_experience": "bbbbbb"}, ["a", "s"], 0),
        ({"exclude_experience": "BBBBBBBB"}, ["a", "s"], 0),
        ({"exclude_experience": "bbbbb"}, ["a", "b", "s"], 1),
        ({"exclude_experience": "a"}, ["b", "s"], 0),
        ({"exclude_experience": "shipped"}, ["a", "b"], 0),
        ({"exclude_experience": "wheat,rice,peas"}, ["b", "s"], 2),
    ],
)
def test_what_is_not_wanted_is_left_out(home, store, frame, given, left, n_warnings):
    store.add(known("a"))
    store.add(known("b", name="corn", digits="b"))
    shipped = known("s", name="oats", digits="c")
    knowledge.FOLDER.mkdir()
    write_knowledge(knowledge.FOLDER / "x.jsonl.gz", Knowledge("c", "2026-01-01", (shipped,), {}))
    session = begin(settings(**given), home, frame=frame)
    assert ids(session) == left
    assert len(session.warnings) == n_warnings
    record = session.records.read("experience")
    assert sorted([*record["left_out"], *left]) == (["a", "b", "s"] if left else [])
    ended(session)


def test_own_entries_count_before_shipped_ones_of_the_same_id(home, store, frame):
    store.add(known("a", n_trials=5))
    knowledge.FOLDER.mkdir()
    write_knowledge(
        knowledge.FOLDER / "x.jsonl.gz", Knowledge("c", "2026-01-01", (known("a"),), {})
    )
    session = begin(settings(), home, frame=frame)
    assert [(e.origin, len(e.trials)) for e in session.experience] == [("run", 5)]
    ended(session)


def test_equal_experience_has_an_equal_digest_in_every_home(home, frame, tmp_path):
    digests = []
    for number in range(2):
        own = Home(tmp_path / str(number))
        for identity in ("a", "b") if number else ("b", "a"):
            ExperienceStore(own.experience).add(known(identity))
        session = begin(settings(), own, frame=frame)
        digests.append(session.records.read("experience")["digest"])
        ended(session)
    assert digests[0] == digests[1] != ""


def test_what_is_broken_is_a_warning_of_the_run(home, store, frame):
    store.add(known("a"))
    write_whole(home.experience / "b.json.gz", [b"not an entry"], "the experience")
    session = begin(settings(), home, frame=frame)
    assert ids(session) == ["a"]
    assert "b.json.gz is left out" in session.warnings[0]
    ended(session)
    again = reopen(session.run_id, home)
    assert "b.json.gz is left out" in again.warnings[0]  # it still says what it said
    ended(again)


def test_a_run_is_remembered_however_it_ends_and_grows_when_it_is_resumed(home, store, frame):
    session = begin(settings(name="beans", experience=False), home, frame=frame)
    table = session.plan.table
    n_trials = len(TrialStatus) + 1
    journal(session.folder, range(n_trials))
    journal(session.folder, range(3), stage="candidates")
    ended(session)
    (found,) = store.read().experiences
    assert found.id == session.run_id
    assert found.data == DataSetFacts(
        "beans",
        fingerprint(table),
        layout(table),
        Task.BINARY,
        60,
        1,
        2,
        {},
        matrix_facts(table.frame),
    )
    assert [trial.status for trial in found.trials] == [*TrialStatus, TrialStatus.COMPLETE]
    assert [t.score is None for t in found.trials] == [
        t.status is not TrialStatus.COMPLETE for t in found.trials
    ]
    assert found.training_rows == 48
    assert found.created
    again = reopen(session.run_id, home)
    assert again.experience == ()
    journal(again.folder, range(n_trials, 12))
    ended(again)
    (found,) = store.read().experiences
    assert len(found.trials) == 12


def test_the_table_before_test_rows_are_taken_away_is_what_is_known(home, store, frame):
    prints = []
    for seed in (0, 1):
        session = begin(settings(test_share=0.3, seed=seed), home, frame=frame)
        prints.append(session.folder.read_facts()["data"]["fingerprint"])
        assert session.folder.read_facts()["data"]["rows"] == 42
        ended(session)
    assert prints[0] == prints[1]


def test_a_killed_run_is_known_to_the_next_one(home, store, frame):
    session = begin(settings(), home, frame=frame)
    journal(session.folder, range(4))
    session.release()  # as by a kill: nothing was closed
    other = begin(settings(), home, frame=frame)
    assert ids(other) == [session.run_id]
    ended(other)


def test_only_the_newest_runs_are_looked_through_at_a_start(home, store, frame, monkeypatch):
    monkeypatch.setattr(stage, "MOST_RUNS", 2)  # this run is one of them
    names = (f"20260101-00000{number}-aaaa" for number in range(3))
    monkeypatch.setattr("automl.home.new_run_id", names.__next__)
    killed = []
    for _ in range(2):
        session = begin(settings(experience=False), home, frame=frame)
        journal(session.folder, range(2))
        session.release()
        killed.append(session.run_id)
    session = begin(settings(), home, frame=frame)
    assert ids(session) == killed[1:]
    ended(session)


def test_a_finished_run_needs_its_copy_no_more(home, store, frame):
    store.add(known("a"))
    session = begin(settings(), home, frame=frame)
    journal(session.folder, range(2))
    assert session.folder.experience.exists()
    session.end("finished")
    ended(session)
    assert not session.folder.experience.exists()
    assert len(store.read().experiences) == 2


def test_a_store_that_cannot_be_written_costs_a_warning_alone(home, frame):
    session = begin(settings(), home, frame=frame)
    journal(session.folder, range(2))
    write_whole(home.experience, [b"a file in its place"], "the file")
    with pytest.warns(AutoMLWarning, match="is not remembered"):
        session.close()
    session.release()
    other = begin(settings(), home, frame=frame)
    assert other.experience == ()
    assert "could not be remembered" in other.warnings[0]
    other.release()


def legal(one):
    space = get_family("ridge").space(Task.BINARY)
    whole = (space.complete(dict(trial.configuration.values)) for trial in one.trials)
    pairs = zip(one.trials, whole, strict=True)
    return replace(one, trials=tuple(replace(trial, configuration=c) for trial, c in pairs))


@pytest.mark.parametrize(("n_known", "is_learned"), [(3, True), (2, False)])
def test_priors_are_learned_from_what_a_run_knows_and_stay_with_it(
    home, store, frame, n_known, is_learned
):
    for digits in "abc"[:n_known]:
        store.add(legal(known(digits, name=digits, digits=digits, n_trials=5)))
    session = begin(settings(priors="learned"), home, frame=frame)
    assert session.folder.priors.exists() is is_learned
    text = f"setting priors: {n_known} runs on classification tables are known, too few"
    assert any(text in warning for warning in session.warnings) is not is_learned
    space = space_of(session.plan, get_family("ridge"), session.settings)
    assert bool(space.priors) is is_learned
    ended(session)
