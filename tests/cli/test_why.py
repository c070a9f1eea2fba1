"""Why a run chose its model, and what became of each of its trials."""

from __future__ import annotations

import dataclasses
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from run_records import ensemble_of, final_of, honest_of, result_of, write
from stage_json import select_champion

from automl.evaluation.journal import Journal
from automl.home import RunFolder
from automl.origins import INITIAL_DESIGN, RESERVED
from automl.record_files import StageRecords
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.search import SearchRecord
from automl.selection.clusters import kmeans_clusters
from automl.selection.defaults import DefaultTrial
from automl.selection.preselection import ScoringRecord, SignatureClusters
from automl.settings import Settings
from automl.stages.candidates import _screened

RUN_ID = "20260105-000000-eeee"
SEARCH_SCORES = [0.80, 0.79, 0.785, 0.60, 0.795, 0.78, 0.775]
FRESH_SCORES = {0: 0.802, 4: 0.800, 1: 0.798, 2: 0.70}


def make_trial(index: int) -> Trial:
    """Complete trials of ridge and knn, then one of each other kind."""
    rng = np.random.default_rng(index)
    values = SEARCH_SCORES[index] + rng.normal(0, 0.01, 5) if index < 7 else []
    folds = tuple(FoldResult(0, i, float(score), 20, 0.1, 0.01) for i, score in enumerate(values))
    family = "knn" if index in (4, 5) else "ridge"
    known = Configuration(family, {"alpha": float(index), "prep.scaling": "standard"})
    score = float(np.mean(values)) if folds else None
    trial = Trial(RUN_ID, index, known, TrialStatus.COMPLETE, score, folds, origin="tpe")
    if index == 7:
        return dataclasses.replace(trial, status=TrialStatus.TIMED_OUT, reason="over 3 s")
    if index == 8:
        few = Fidelity(folds=2, row_share=0.5)
        return dataclasses.replace(trial, status=TrialStatus.PARTIAL, fidelity=few)
    return trial


def id_of(index: int) -> str:
    return f"{RUN_ID}-s{index:05d}"


def fresh(index: int) -> tuple[float, ...]:
    rng = np.random.default_rng(100 + index)
    noise = rng.normal(0, 0.004, 10)
    return tuple(map(float, FRESH_SCORES[index] + noise - noise.mean()))


def session() -> Any:
    """As much of one as the selection needs: a hundred rows, one in five of them validated."""
    return SimpleNamespace(
        settings=Settings(table="t", target="y", trials=9, candidate_limit=5),
        plan=SimpleNamespace(test_train_ratio=lambda _: 20 / 80),
    )


def candidates() -> dict[str, Any]:
    """Trial 6 shares the cluster of 1, 3 is screened out, and 5 could not be afforded."""
    groups = []
    for signature, members, points in (
        ("ridge", (0, 1, 2, 3, 6), (0.0, 1.0, 2.0, 3.0, 1.0)),
        ("knn", (4, 5), (4.0, 5.0)),
    ):
        trials = [make_trial(index) for index in members]
        matrix = np.array(points)[:, None]
        found = kmeans_clusters(matrix, [trial.score for trial in trials], seed=0)
        rows = tuple((point,) for point in points)
        best = tuple(trials[i].id for i in found.leaders)
        ids = tuple(trial.id for trial in trials)
        groups.append(SignatureClusters(signature, ("alpha",), ids, rows, found.numbers, best))
    leaders = [make_trial(i) for i in range(7) if any(id_of(i) in g.best for g in groups)]
    screening = _screened(session(), leaders)
    scored = {id_of(i): fresh(i) for i in FRESH_SCORES}
    planned = tuple(trial_id for trial_id in screening.kept if trial_id in scored)
    scoring = ScoringRecord(planned, 2, 0, 5, scored, (), planned)
    entries = [{"trial_id": i, "scores": list(scored[i]), "seconds": 0.1} for i in planned]
    return {
        "trial_ids": list(screening.kept),
        "clusters": [group.to_json() for group in groups],
        "screening": screening.to_json(),
        "scoring": scoring.to_json(),
        "candidates": entries,
        "stage_given_up": ["4 of 5 candidates were scored on fresh folds"],
    }


@pytest.fixture
def begun(own_home):
    """A run that is interrupted after its search."""
    folder = RunFolder(own_home.runs / RUN_ID)
    data = {
        "rows": 100, "columns": 3, "task": "binary", "classes": ["no", "yes"], "target": "y",
        "metric": "accuracy", "folds": 5,
    }  # fmt: skip
    facts = {"run_id": RUN_ID, "status": "running", "data": data}
    folder.write_facts({**facts, "settings": {"table": "t.csv", "target": "y"}})
    trials = [make_trial(index) for index in range(9)]
    scorer = dataclasses.replace(
        trials[4],
        index=3,
        stage="candidates",
        origin=id_of(4),
        configuration=trials[4].configuration,
    )
    with Journal(folder.journal) as journal:
        for trial in (*trials, scorer):
            journal.append({"type": "trial", "trial": trial.to_json(), "decision": {}})
    return folder


@pytest.fixture
def selected(begun):
    """The run with the records of its candidates and of its selection."""
    records, found = StageRecords(begun.stages), candidates()
    records.write("candidates", found)
    records.write("selection", select_champion(session(), [make_trial(i) for i in range(9)], found))
    return begun


@pytest.fixture
def finished(selected):
    """The run with an ensemble that replaced its champion, and with an honest score."""
    weights = {id_of(1): 0.7, id_of(6): 0.3}
    given_up = ("4 of 5 candidates were scored on fresh folds",)
    write(
        selected,
        ensemble_of(weights),
        honest_of(),
        final_of(weights),
        result_of(id_of(0), given_up=given_up),
    )
    selected.write_facts({**selected.read_facts(), "status": "finished"})
    return selected


FATES = [
    (0, ["champion", "first of 3"]),
    (1, ["member of the ensemble, with weight 0.7", "number 3 of 3", "p = "]),
    (2, ["A test dropped it at the leaf ridge", "worse than s00000", "corrected t", "below 0.05"]),
    (3, ["screening", "clearly worse than s00000", "statistic ", "below 0.00167"]),
    (5, ["no time left", "no test has judged it"]),
    (6, ["s00001 scored better", "number 2, 2 trials", "weight 0.3"]),
    (7, ["ran out of time", "over 3 s", "no score"]),
    (8, ["a partial trial", "2 folds, 50% of the rows"]),
]


def is_plain(text: str) -> bool:
    """Whether each sentence begins with a capital, a digit or an id, and has 20 words beside its lists and numbers."""
    plain = re.sub(r"\([^()]*\)|:[^.]*(\.\d[^.]*)*", "", text).rstrip().removesuffix(".")
    return text.rstrip().endswith(".") and all(
        len(sentence.split()) <= 20
        and re.match(r"[A-Z\d]|[slc]\d{5}|\w+ (proposed|chose)", sentence)
        for sentence in plain.split(". ")
    )


@pytest.mark.parametrize(("index", "words"), FATES)
def test_a_few_sentences_tell_what_became_of_a_trial(automl, finished, index, words):
    outcome = automl("why", RUN_ID[:8], f"s{index:05d}")
    assert outcome.code == 0
    assert [word for word in words if word not in outcome.out] == []
    assert is_plain(outcome.out)
    assert RUN_ID not in outcome.out
    told = automl("why", RUN_ID, id_of(index), "--json").json
    assert told["text"] + "\n" == outcome.out
    assert told["disposition"]["reason"]


def test_the_numbers_behind_the_sentences_are_in_the_json(automl, finished):
    told = automl("why", RUN_ID, "2", "--json").json
    disposition = told["disposition"]
    assert (disposition["status"], disposition["node"], disposition["level"]) == (
        "worse",
        "ridge",
        "leaf",
    )
    assert disposition["test"].startswith("corrected t")
    assert disposition["pvalue"] < 0.05 < disposition["statistic"]
    assert (disposition["cluster"], disposition["cluster_size"]) == (3, 1)
    configuration = automl("why", RUN_ID, "0", "--json").json["configuration"]
    assert configuration == {"alpha": 0, "prep.scaling": "standard"}
    assert automl("why", RUN_ID, "6", "--json").json["role"] == "ensemble member"
    assert automl("why", RUN_ID, "0", "--json").json["role"] == "champion"
    assert len(automl("why", RUN_ID, "4", "--json").json["fresh_scores"]) == 10


def test_a_trial_on_fresh_folds_is_told_of_its_candidate(automl, finished):
    text = automl("why", RUN_ID, "c00003").out
    assert text.startswith("Trial c00003 is candidate s00004 on repeat 1 of the fresh folds")
    assert "The candidate: It reached the root" in text


@pytest.mark.parametrize("name", ["s00099", "77", "x", "20260101-000000-aaaa-s00001"])
def test_an_unknown_trial_is_one_sentence_with_near_ones(automl, finished, name):
    outcome = automl("why", RUN_ID, name)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert f"no trial {name!r}; near ones are " in outcome.err


def test_the_story_of_a_finished_run(automl, finished):
    story = automl("why", RUN_ID, "--json").json["story"]
    assert list(story) == [
        *("data", "search", "failures", "clusters", "screening", "fresh folds", "leaves", "root"),
        *("champion", "how sure", "ensemble", "honest score", "given up"),
    ]
    words = {
        "search": ["9 configurations of 2 families", "ridge 7 (best 0.80"],
        "failures": ["7 trials were completed", "1 timed out", "1 partial", "over 3 s (1)"],
        "clusters": ["7 complete trials of 2 signatures fell into 6 clusters"],
        "screening": ["1 of 6 is clearly worse than s00000", "The best 5 of the other 5"],
        "fresh folds": ["4 candidates have 10 scores each", "never saw"],
        "leaves": ["Tests found worse than the best: s00002 at ridge (p = "],
        "champion": ["s00000 is ridge (alpha 0)"],
        "how sure": ["s00004 (knn)", "s00001 (ridge)"],
        "ensemble": ["An ensemble of 2 replaced the champion", "p = 0.02"],
        "honest score": [
            "0.7700, with a 95 % interval from 0.7000 to 0.8300",
            "among 7 trials",
            "0.8000",
        ],
        "given up": ["4 of 5 candidates"],
    }
    assert [w for about, each in words.items() for w in each if w not in story[about]] == []
    assert [about for about, told in story.items() if not is_plain(told)] == []
    text = automl("why", RUN_ID).out
    assert all(line in text for line in story.values())
    assert len(text.splitlines()) == len(story) + 1


def test_without_fresh_folds_no_score_on_them_is_told(automl, finished):
    champion = automl("why", RUN_ID, "--json").json["story"]["champion"]
    assert "On the folds that compared the candidates" in champion
    records = StageRecords(finished.stages)
    found = records.read("candidates")
    records.write("candidates", {**found, "scoring": {**found["scoring"], "source": "search"}})
    assert "On the folds" not in automl("why", RUN_ID, "--json").json["story"]["champion"]


def test_a_run_that_is_not_finished_tells_what_is_known(automl, begun):
    story = automl("why", RUN_ID, "--json").json["story"]
    assert list(story) == ["data", "search", "failures", "next"]
    assert "interrupted" in story["next"]
    assert "Still to come: candidates" in story["next"]
    assert "Nothing is decided about it yet" in automl("why", RUN_ID, "0").out
    outcome = automl("why", RUN_ID, "--check")
    assert (outcome.code, "no record of a selection yet" in outcome.err) == (2, True)
    StageRecords(begun.stages).write("candidates", candidates())
    assert "no test has judged it yet" in automl("why", RUN_ID, "0").out
    assert "It did not become a candidate" in automl("why", RUN_ID, "6").out


def test_a_run_before_its_first_trial_has_a_story(automl, own_home):
    folder = own_home.create_run()
    assert automl("why", folder.run_id).code == 0
    outcome = automl("why", folder.run_id, "1")
    assert (outcome.code, "nor any other yet" in outcome.err) == (2, True)


def test_the_check_says_that_the_record_adds_up_or_what_does_not(automl, selected):
    file = selected.stages / "selection.json"
    record = json.loads(file.read_text())
    outcome = automl("why", RUN_ID, "--check")
    assert outcome.code == 0
    assert "9 trials with one disposition each, 3 decisions, champion s00000" in outcome.out
    assert automl("why", RUN_ID, "--check", "--json").json["adds_up"] is True
    record["winner"] = record["champion"] = id_of(2)
    file.write_text(json.dumps(record))
    told = automl("why", RUN_ID, "--check", "--json")
    assert told.code == 1
    assert told.json["adds_up"] is False
    assert any("winner is" in problem for problem in told.json["problems"])


@pytest.mark.parametrize("content", ["", '{"winner": ', "[]", "{}"])
def test_a_record_that_cannot_be_read_does_not_add_up(automl, selected, content):
    file = selected.stages / "selection.json"
    file.write_text(content)
    outcome = automl("why", RUN_ID, "--check")
    assert (outcome.code, len(outcome.err.splitlines())) == (1, 1)
    assert f"cannot be read: {file}" in outcome.err
    assert automl("why", RUN_ID, "--picture", file.with_suffix(".png")).code == 1


@pytest.mark.parametrize("arguments", [(), ("0",), ("--json",)])
def test_a_record_that_cannot_be_read_has_no_story(automl, finished, arguments):
    file = finished.stages / "selection.json"
    file.write_text(file.read_text()[:100])
    outcome = automl("why", RUN_ID, *arguments)
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (1, "", 1)
    assert f"cannot be read: {file}" in outcome.err


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of the parts of a record, the first of each list, itself not included."""
    items = value.items() if isinstance(value, dict) else []
    items = list(enumerate(value[:1])) if isinstance(value, list) else items
    return [found for key, inner in items for found in [(*path, key), *paths(inner, (*path, key))]]


def test_a_record_that_lacks_something_has_a_story_or_one_sentence(automl, finished):
    for name in ("selection", "ensemble", "honest", "candidates"):
        file = finished.stages / f"{name}.json"
        text = file.read_text()
        for path in (p for p in paths(json.loads(text)) if len(p) < 4):
            record = inner = json.loads(text)
            for part in path[:-1]:
                inner = inner[part]
            del inner[path[-1]]
            file.write_text(json.dumps(record))
            for arguments in ((), ("0",)):
                outcome = automl("why", RUN_ID, *arguments)
                assert outcome.code in (0, 1), (name, path)
                assert "internal error" not in outcome.err, (name, path)
                assert len(outcome.err.splitlines()) == outcome.code, (name, path)
        file.write_text(text)


def test_a_record_without_decisions_has_one_sentence(automl, selected):
    file = selected.stages / "selection.json"
    record = json.loads(file.read_text())
    del record["decisions"]
    file.write_text(json.dumps(record))
    outcome = automl("why", RUN_ID)
    assert (outcome.code, outcome.out, len(outcome.err.splitlines())) == (1, "", 1)
    assert f"{selected.stages} are damaged or incomplete" in outcome.err
    assert "damaged or incomplete (KeyError 'decisions')" in outcome.err


@pytest.mark.parametrize("key", ["winner", "decisions", "trials", "dispositions"])
def test_a_record_that_lacks_something_does_not_add_up(automl, selected, key):
    file = selected.stages / "selection.json"
    record = json.loads(file.read_text())
    del record[key]
    file.write_text(json.dumps(record))
    outcome = automl("why", RUN_ID, "--check")
    assert (outcome.code, outcome.err) == (1, "")
    assert key in outcome.out


def test_the_picture_is_drawn_where_it_is_wanted(automl, selected, tmp_path):
    outcome = automl("why", RUN_ID, "--picture", tmp_path / "tree.png")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    wrong = automl("why", RUN_ID, "--picture", tmp_path / "tree.txt")
    assert (wrong.code, "tree.txt" in wrong.err) == (2, True)
    assert automl("why", RUN_ID, "0", "--picture", tmp_path / "a.png").code == 2


def test_the_families_are_drawn_beside_their_defaults(automl, selected, tmp_path):
    outcome = automl("why", RUN_ID, "--families", tmp_path / "families.svg")
    assert outcome.code == 0
    assert outcome.out == ""  # no family began with its default
    assert "ridge" in (tmp_path / "families.svg").read_text()
    trial = dataclasses.replace(make_trial(3), index=9, origin="default")
    with Journal(selected.journal) as journal:
        journal.append({"type": "trial", "trial": trial.to_json(), "decision": {}})
    known = DefaultTrial(trial.id, trial.score)
    write(selected, SearchRecord(trials=10, complete=8, defaults={"ridge": known}))
    told = automl("why", RUN_ID, "--families", tmp_path / "families.png", "--json").json
    assert (told["family"], told["best default"]) == ("ridge", "ridge")
    assert float(told["default best"]) < float(told["score"])
    assert automl("why", RUN_ID, "0", "--families", tmp_path / "a.png").code == 2


@pytest.mark.parametrize(
    ("search", "of_trial", "of_run"),
    [
        (None, "tpe proposed it.", ""),
        (("", False), "tpe proposed it.", ""),
        (
            ("leaders", False),
            "leaders chose its family and tpe its values.",
            "The allocator leaders",
        ),
        (("cash", True), "tpe chose its family and its values.", "The optimizer chose"),
    ],
)
def test_it_says_what_chose_the_family_where_the_run_kept_it(
    automl, selected, search, of_trial, of_run
):
    if search is not None:
        allocator, is_joined = search
        record = SearchRecord(trials=9, complete=7, allocator=allocator, joined_families=is_joined)
        write(selected, record)
    outcome = automl("why", RUN_ID, "0")
    assert of_trial in outcome.out
    assert is_plain(outcome.out)
    told = automl("why", RUN_ID).out
    assert ("chose the families of" in told) is bool(of_run)
    assert of_run in told


@pytest.mark.parametrize("origin", RESERVED)
def test_what_no_optimizer_proposed_is_told_by_where_it_comes_from(automl, selected, origin):
    write(selected, SearchRecord(trials=1, complete=1, allocator="leaders"))
    for segment in selected.journal.iterdir():
        segment.unlink()
    trial = dataclasses.replace(make_trial(0), origin=origin)
    with Journal(selected.journal) as journal:
        journal.append({"type": "trial", "trial": trial.to_json(), "decision": {}})
    told = automl("why", RUN_ID, "0").out
    is_design = origin == INITIAL_DESIGN
    assert ("leaders chose its family." in told) is is_design
    assert f"{origin} proposed" not in told
    assert is_plain(told)
    assert ("The allocator leaders chose" in automl("why", RUN_ID).out) is is_design


def test_the_bootstraps_are_those_of_the_models_score(automl, finished):
    honest = honest_of()
    few = dataclasses.replace(honest.ensemble, n_bootstraps=40)
    write(finished, dataclasses.replace(honest, ensemble=few))
    assert "(40 bootstraps)" in automl("why", RUN_ID).out


def test_a_run_that_follows_another_chose_nothing(automl, finished):
    recipe = "20260101-000000-aaaa"
    record = EnsembleRecord.read(finished)
    write(finished, dataclasses.replace(record, evidence=None, recipe=recipe))
    told = automl("why", RUN_ID).out
    members = "The members (s00001 0.70, s00006 0.30) and their weights"
    assert f"Nothing was chosen. {members} are those of run {recipe}." in told
    text = automl("why", RUN_ID, "1").out
    followed = f"its model is that of run {recipe} on other rows."
    assert f"{followed} It is a member of the ensemble, with weight 0.7" in text
    assert is_plain(text)


def test_a_record_of_an_earlier_version_is_no_error(automl, selected):
    file = selected.stages / "selection.json"
    record = json.loads(file.read_text())
    old = {"worse": {"status": "worse", "node": "root", "pvalue": 0.1, "reason": "worse at root"}}
    file.write_text(json.dumps({**record, "dispositions": {id_of(0): old["worse"]}}))
    assert "earlier version" in automl("why", RUN_ID, "0").out
    assert automl("why", RUN_ID).code == 0
