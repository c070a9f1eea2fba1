"""Tables in short runs: what is recorded, what is continued, what is refused."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from automl.errors import DataError, InterruptedRunError, SettingsError
from automl.evaluation.slots import JobOutcome
from automl.evaluation.trial import evaluate
from automl.experience.fingerprints import fingerprint
from automl.experience.knowledge import read_knowledge
from automl.experience.store import ExperienceStore
from automl.families.registry import get_family
from automl.home import Home
from automl.records import TrialStatus
from automl.table_studies import one_table as module
from automl.table_studies.conditions import Conditions
from automl.table_studies.knowledge_file import make_knowledge, refresh_facts, take_over
from automl.table_studies.learned_folder import LearnedFolder
from automl.table_studies.one_table import Request, check_measures, in_turn, learn_table

MEASURE = Conditions(most_rows=100).measure()


class OneSlot:
    """A slot in this process: the same jobs, without limits and without the start of processes."""

    n_slots = 1

    def __init__(self, *_, context, **__):
        self.context = context

    def acquire(self):
        return 0

    def release(self, slot):
        pass

    def close(self):
        pass

    def run(self, slot, job, *, limit_seconds=None, is_over=None):
        started = time.perf_counter()
        results = list(evaluate(self.context, job.payload))
        return JobOutcome(TrialStatus.COMPLETE, results, "", time.perf_counter() - started, 1.0)


@pytest.fixture
def one_slot(monkeypatch):
    monkeypatch.setattr("automl.run.local_slots.WorkerPool", OneSlot)


@pytest.fixture
def folder(tmp_path):
    return LearnedFolder(Home(tmp_path / "home"))


@pytest.fixture(autouse=True)
def short_list(monkeypatch):
    """Two configurations, and as many further ones as there are draws."""

    def design(kind, *, draws, seed, only=()):
        assert seed == 0
        values = [{"n_neighbors": 5 + j} for j in range(1 + draws)]
        knn = [get_family("knn").space(kind).complete(own) for own in values]
        every = [get_family("decision_tree").space(kind).default(), *knn]
        return [c for c in every if not only or c.family in only]

    monkeypatch.setattr(module, "design", design)


@pytest.fixture
def request_of(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    frame["y"] = np.where(frame["a"] + 0.3 * frame["b"] > 0, "yes", "no")
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)

    def make(**given):
        conditions = Conditions(**{"draws": 0, "workers": 1, "most_rows": 100, **given})
        return Request("data", {"table": str(path), "target": "y"}, conditions)

    return make


def test_a_table_is_tried_once_and_more_draws_add_to_it(folder, request_of):
    outcome = learn_table(folder, request_of())
    learned = outcome.learned
    trials = learned.experience.trials
    assert outcome.n_new == len(trials) == 2
    assert [t.configuration.family for t in trials] == ["decision_tree", "knn"]
    assert all(t.score is not None and t.folds == 5 and t.seconds > 0 for t in trials)
    facts = learned.experience.data
    assert (facts.name, facts.rows, facts.columns, facts.classes) == ("data", 100, 2, 2)
    assert learned.rows == 150
    assert facts.meta_features
    assert not folder.run_home("data").path.exists()
    stored = ExperienceStore(folder.home.experience).read_one(learned.experience.id)
    assert stored == learned.experience
    assert json.loads((folder.path / "data.json").read_text())["format"] == 1
    again = learn_table(folder, request_of())
    assert (again.n_new, again.learned) == (0, folder.read("data"))
    more = learn_table(folder, request_of(draws=2))
    assert more.n_new == 2
    assert list(more.learned.experience.trials[:2]) == list(trials)
    assert more.summary()["trials"] == 4


@pytest.mark.usefixtures("one_slot")
def test_what_there_was_no_time_for_is_tried_when_there_is(folder, request_of):
    late = learn_table(folder, request_of(table_seconds=1e-9)).learned
    assert len(late.experience.trials) + len(late.left_out) == 2
    assert late.left_out
    assert learn_table(folder, request_of(table_seconds=1e-9)).n_new == 0
    whole = learn_table(folder, request_of())
    assert whole.n_new == len(late.left_out)
    assert not whole.learned.left_out
    assert len(whole.learned.experience.trials) == 2


@pytest.mark.usefixtures("one_slot")
def test_a_run_that_was_interrupted_goes_on(folder, request_of, monkeypatch):
    commit = module.Session.commit

    def interrupted(session, trial, **decision):
        commit(session, trial, **decision)
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Session, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn_table(folder, request_of(draws=1))
    assert folder.read("data") is None
    assert len(folder.run_home("data").run_folders()) == 1
    run: list[int] = []

    def counted(session, trial, **decision):
        run.append(trial.index)
        commit(session, trial, **decision)

    monkeypatch.setattr(module.Session, "commit", counted)
    outcome = learn_table(folder, request_of(draws=1))
    assert run == [1, 2]
    assert outcome.n_new == 3


@pytest.mark.usefixtures("one_slot")
def test_an_ordinary_search_may_follow(folder, request_of):
    found = learn_table(folder, request_of(search_trials=2)).learned
    assert (len(found.experience.trials), found.searched) == (4, 2)
    assert learn_table(folder, request_of(search_trials=2)).n_new == 0


@pytest.mark.usefixtures("one_slot")
def test_a_table_whose_time_is_spent_is_not_searched_again(folder, request_of, monkeypatch):
    found = learn_table(folder, request_of()).learned
    seconds = sum(trial.seconds for trial in found.experience.trials)
    monkeypatch.setattr(module, "_run", None)
    again = learn_table(folder, request_of(search_trials=50, table_seconds=0.9 * seconds))
    assert again.n_new == 0


@pytest.mark.usefixtures("one_slot")
def test_only_some_families_are_tried_in_the_list_and_in_the_search(folder, request_of):
    learn_table(folder, request_of())
    more = learn_table(folder, request_of(families=["knn"], draws=1, search_trials=3))
    families = [trial.configuration.family for trial in more.learned.experience.trials]
    assert families[:2] == ["decision_tree", "knn"]
    assert families[2:] == ["knn"] * 4
    assert more.n_new == 4


@pytest.mark.usefixtures("one_slot")
def test_what_is_known_of_all_tables_guides_the_search(folder, request_of, monkeypatch):
    seen = []
    run_search = module.run_search

    def watched(search, **options):
        seen.append(len(search.session.learnable))
        run_search(search, **options)

    monkeypatch.setattr(module, "run_search", watched)
    learn_table(folder, request_of())
    learn_table(folder, request_of(families=["knn"], search_trials=1))
    assert seen[0] == 0
    assert seen[1] >= 50


@pytest.mark.usefixtures("one_slot")
def test_scores_of_another_measure_are_not_set_beside(folder, request_of):
    learn_table(folder, request_of())
    with pytest.raises(
        SettingsError, match=r"data scores were measured with most_rows 100.*now it is 90"
    ):
        learn_table(folder, request_of(most_rows=90))


@pytest.mark.usefixtures("one_slot")
def test_a_table_that_cannot_be_used_leaves_no_run(folder, request_of, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("x,y\n1,a\n2,a\n", encoding="utf-8")
    request = replace(request_of(), data={"table": str(bad), "target": "y"})
    with pytest.raises(DataError):
        learn_table(folder, request)
    assert not folder.run_home("data").path.exists()


@pytest.mark.usefixtures("one_slot")
def test_facts_can_be_computed_anew(folder, request_of, tmp_path):
    learned = learn_table(folder, request_of()).learned
    blank = replace(learned.experience.data, fingerprint="", layout="", meta_features={})
    folder.write(replace(learned, experience=replace(learned.experience, data=blank)))
    renewed = refresh_facts(folder, "data")
    assert renewed == learned == folder.read("data")
    assert refresh_facts(folder, "other") is None
    from automl.data.table import prepare_table

    whole = prepare_table(str(tmp_path / "data.csv"), target="y")
    assert renewed.experience.data.fingerprint == fingerprint(whole)


@pytest.mark.usefixtures("one_slot")
def test_knowledge_is_what_is_learned_of_the_named_tables(folder, request_of, tmp_path):
    with pytest.raises(DataError, match="none of these tables is learned"):
        make_knowledge(folder, ["data"], tmp_path / "k.jsonl.gz", measure=MEASURE, command="c")
    learned = learn_table(folder, request_of()).learned
    made = make_knowledge(
        folder, ["data", "other"], tmp_path / "k.jsonl.gz", measure=MEASURE, command="c"
    )
    assert made.data_sets == ("data",)
    assert made.conditions == learned.measure
    kept, known = made.experiences[0].trials, learned.experience.trials
    assert [t.configuration for t in kept] == [t.configuration for t in known]
    assert [t.score for t in kept] == pytest.approx([t.score for t in known], abs=1e-6)


@pytest.mark.usefixtures("one_slot")
def test_a_file_of_knowledge_is_gone_on_with_in_another_home(folder, request_of, tmp_path):
    path = tmp_path / "k.jsonl.gz"
    learn_table(folder, request_of())
    before = (
        make_knowledge(folder, ["data"], path, measure=MEASURE, command="c").experiences[0].trials
    )
    other = LearnedFolder(Home(tmp_path / "other"))
    request = request_of(draws=1)
    assert take_over(other, {"unknown": request.data}, path, measure=MEASURE) == []
    assert take_over(other, {"data": request.data}, path, measure=MEASURE) == ["data"]
    assert take_over(other, {"data": request.data}, path, measure=MEASURE) == []
    outcome = learn_table(other, request)
    assert outcome.n_new == 1
    after = (
        make_knowledge(other, ["data"], path, measure=MEASURE, command="c").experiences[0].trials
    )
    assert after[:-1] == before
    with pytest.raises(SettingsError, match="most_rows 100"):
        learn_table(other, request_of(draws=2, most_rows=120))


@pytest.mark.usefixtures("one_slot")
def test_what_a_file_says_was_spent_counts_against_the_time_of_a_table(
    folder, request_of, tmp_path
):
    path = tmp_path / "k.jsonl.gz"
    learn_table(folder, request_of())
    spent = sum(
        trial.seconds
        for trial in make_knowledge(folder, ["data"], path, measure=MEASURE, command="c")
        .experiences[0]
        .trials
    )
    other = LearnedFolder(Home(tmp_path / "other"))
    take_over(other, {"data": request_of().data}, path, measure=MEASURE)
    late = learn_table(other, request_of(draws=2, table_seconds=spent / 2))
    assert (late.n_new, len(late.learned.left_out)) == (0, 2)
    assert learn_table(other, request_of(draws=2, table_seconds=spent + 100)).n_new == 2


@pytest.mark.usefixtures("one_slot")
def test_a_file_of_knowledge_keeps_what_other_commands_wrote(folder, request_of, tmp_path):
    path = tmp_path / "k.jsonl.gz"
    learn_table(folder, request_of())
    make_knowledge(folder, ["data"], path, measure=MEASURE, command="c")
    other = LearnedFolder(Home(tmp_path / "other"))
    learn_table(other, replace(request_of(), name="a (1)"))
    made = make_knowledge(other, ["a (1)"], path, measure=MEASURE, command="d")
    assert made.data_sets == ("a (1)", "data")
    assert read_knowledge(path).data_sets == made.data_sets
    elsewhere = {**MEASURE, "seed": 1}
    with pytest.raises(SettingsError, match="measured with seed 0, now it is 1"):
        take_over(other, {}, path, measure=elsewhere)
    with pytest.raises(DataError, match="none of these tables is learned"):
        make_knowledge(other, ["a (1)"], tmp_path / "n.gz", measure=elsewhere, command="d")


@pytest.mark.usefixtures("one_slot")
def test_a_table_may_have_any_name(folder, request_of):
    learn_table(folder, replace(request_of(), name="iris (1) + ö"))
    assert folder.names() == ["iris (1) + ö"]
    assert folder.read("iris (1) + ö") is not None
    assert learn_table(folder, replace(request_of(), name="iris (1) + ö")).n_new == 0


@pytest.mark.usefixtures("one_slot")
def test_tables_of_one_name_are_told_apart_by_their_content(folder, request_of, tmp_path):
    first = learn_table(folder, request_of()).learned.experience
    path = request_of().data["table"]
    pd.read_csv(path).iloc[5:].to_csv(path, index=False)
    second = learn_table(LearnedFolder(Home(tmp_path / "other")), request_of()).learned.experience
    assert first.data.name == second.data.name
    assert first.id != second.id


@pytest.fixture
def interrupted(folder, request_of, monkeypatch):
    """A run on a table that was interrupted after its first trial."""

    def search(session, *_):
        found = module.Search(session, keeps_models=False)
        module.run_search(found, until=lambda: bool(found.turns.trials))
        raise InterruptedRunError("stopped")

    with monkeypatch.context() as context:
        context.setattr(module, "_search", search)
        with pytest.raises(InterruptedRunError):
            learn_table(folder, request_of())


@pytest.mark.usefixtures("one_slot", "interrupted")
def test_an_interrupted_run_that_had_less_to_do_is_followed_by_another(folder, request_of):
    outcome = learn_table(folder, request_of(draws=2))
    assert len(outcome.learned.experience.trials) == outcome.n_new == 4
    assert len(outcome.learned.asked) == 4
    assert not outcome.learned.left_out


@pytest.mark.usefixtures("one_slot", "interrupted")
def test_an_interrupted_run_is_not_continued_under_another_measure(folder, request_of):
    with pytest.raises(SettingsError, match=r"measured with most_rows 100, now it is 90"):
        learn_table(folder, request_of(most_rows=90))
    assert len(learn_table(folder, request_of()).learned.experience.trials) == 2


@pytest.mark.usefixtures("one_slot")
def test_a_run_that_was_killed_before_it_began_is_begun_anew(folder, request_of):
    (folder.run_home("data").path / "runs" / "20260101-000000-aaaa").mkdir(parents=True)
    assert learn_table(folder, request_of()).n_new == 2


@pytest.mark.usefixtures("one_slot")
def test_what_is_left_out_stays_so_when_less_is_asked_for(folder, request_of):
    late = learn_table(folder, request_of(draws=4, table_seconds=1e-9)).learned
    fewer = learn_table(folder, request_of(table_seconds=100.0)).learned
    assert fewer.left_out < late.left_out
    whole = learn_table(folder, request_of(draws=4, table_seconds=100.0)).learned
    assert len(whole.experience.trials) == 6
    assert not whole.left_out


@pytest.mark.usefixtures("one_slot")
def test_another_table_under_the_same_name_is_refused(folder, request_of):
    request = request_of()
    learn_table(folder, request)
    path = request.data["table"]
    pd.read_csv(path).iloc[5:].to_csv(path, index=False)
    with pytest.raises(DataError, match=r"data\.csv has changed since it was learned as data"):
        learn_table(folder, request_of(draws=1))
    assert not folder.run_home("data").path.exists()


@pytest.mark.usefixtures("one_slot")
def test_what_a_file_holds_of_a_changed_table_is_neither_used_nor_remembered(
    folder, request_of, tmp_path
):
    path, request = tmp_path / "k.jsonl.gz", request_of()
    learn_table(folder, request)
    make_knowledge(folder, ["data"], path, measure=MEASURE, command="c")
    table = request.data["table"]
    pd.read_csv(table).iloc[5:].to_csv(table, index=False)
    other = LearnedFolder(Home(tmp_path / "other"))
    take_over(other, {"data": request.data}, path, measure=MEASURE)
    with pytest.raises(DataError, match=r"has changed .* another file for --into"):
        learn_table(other, request)
    assert ExperienceStore(other.home.experience).read().experiences == ()
    assert learn_table(other, request).n_new == 2


@pytest.mark.usefixtures("one_slot")
@pytest.mark.parametrize("is_damaged", [False, True])
def test_what_the_experience_has_lost_of_a_learned_table_is_written_again(
    folder, request_of, is_damaged
):
    known = learn_table(folder, request_of()).learned.experience
    store = ExperienceStore(folder.home.experience)
    entry = store.path_of(known.id)
    entry.write_bytes(entry.read_bytes()[:200]) if is_damaged else entry.unlink()
    assert learn_table(folder, request_of()).n_new == 0
    assert store.read_one(known.id) == known


@pytest.mark.usefixtures("one_slot")
def test_a_table_that_is_forgotten_is_learned_from_the_start(folder, request_of):
    known = learn_table(folder, request_of()).learned.experience
    folder.forget(["another"])
    assert folder.names() == ["data"]
    folder.forget([known.id])
    assert folder.names() == []
    assert learn_table(folder, request_of()).n_new == 2


@pytest.mark.usefixtures("one_slot")
def test_another_measure_is_refused_before_anything_runs(folder, request_of):
    request = request_of()
    learn_table(folder, request)
    check_measures(folder, {"data": request.data, "other": request.data}, request.conditions)
    with pytest.raises(SettingsError, match="most_rows 100, now it is 120; use another --home"):
        check_measures(folder, {"data": request.data}, request_of(most_rows=120).conditions)


def test_tables_come_in_an_order_of_their_own():
    names = [f"table{i}" for i in range(30)]
    found = in_turn(names, 0)
    assert sorted(found) == sorted(names) != found
    assert found == in_turn(reversed(names), 0) != in_turn(names, 1)
