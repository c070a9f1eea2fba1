"""Searches at several fidelities with real fits, and the stages that live on their trials."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from stage_json import (
    build_ensemble,
    choose_candidates,
    leaderboard,
    score_candidates,
    select_champion,
)

from automl.evaluation import fitting
from automl.evaluation import trial as evaluation
from automl.evaluation.journal import Journal, read
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.slots import JobOutcome
from automl.home import Home
from automl.record_files import StageRecords
from automl.records import Fidelity, Trial, TrialStatus
from automl.run.ledger import Ledger
from automl.run.preparation import prepare
from automl.run.session import Session
from automl.search.turns import Turns
from automl.settings import Settings
from automl.stages.searching import Search, run_search
from automl.tracking.layout import incumbents, trial_content

FEW = {"low": 9, "high": 18, "default": 18}
SPACES = {"adaboost": {"n_estimators": FEW, "max_depth": {"low": 1, "high": 2}}}
FAMILIES = ("adaboost", "decision_tree")
N_TRIALS = 36
THIRD_OF_ROWS = Fidelity(row_share=1 / 3)
ITERATIONS = tuple(Fidelity(iteration_share=share) for share in (1 / 9, 1 / 3))
RUNS = {
    ("successive_halving", "folds"): {"adaboost": {Fidelity(folds=1)}},
    ("hyperband", "rows"): {"adaboost": {THIRD_OF_ROWS}},
    ("bohb", "iterations"): {"adaboost": set(ITERATIONS), "decision_tree": {THIRD_OF_ROWS}},
    ("bohb", "auto"): {"decision_tree": {Fidelity(folds=1)}},
}


class OneSlot:
    """A slot in this process: the same jobs, without limits."""

    n_slots = 1

    def __init__(self, context):
        self.context = str(context)

    def acquire(self):
        return 0

    def release(self, slot):
        pass

    def run(self, slot, job, *, limit_seconds=None, is_over=None):
        assert job.target == "automl.evaluation.trial:evaluate"
        started = time.perf_counter()
        results = list(evaluation.evaluate(self.context, job.payload))
        return JobOutcome(TrialStatus.COMPLETE, results, "", time.perf_counter() - started, 1.0)


def session_of(folder, home, settings, *, earlier=()):
    pool, journal = OneSlot(folder.path), Journal(folder.journal)
    ledger, records = Ledger(None, 0.2, 0.0), StageRecords(folder.path / "stages")
    return Session(settings, home, folder, ledger, pool, journal, records, list(earlier))


def searched(path, *, trials=N_TRIALS, families=FAMILIES, spaces=SPACES, **options):
    """A finished search: its session, its trials and its summary."""
    home = Home(path)
    folder = home.create_run()
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(960, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] * frame["b"] + rng.normal(0, 0.3, 960) > 0, "yes", "no")
    settings = Settings(
        table="frame",
        target="kind",
        trials=trials,
        folds=3,
        seed=3,
        families=families,
        spaces=spaces,
        portfolio=False,
        racing=False,
        candidate_repeats=1,
        candidate_limit=2,
        **options,
    )
    facts = {"run_id": folder.run_id, "settings": settings.model_dump(mode="json")}
    folder.write_facts({**facts, "data": prepare(folder, settings, frame=frame)})
    fitting.open_run.cache_clear()
    session = session_of(folder, home, settings)
    search = Search(session)
    run_search(search)
    session.journal.close()
    return SimpleNamespace(
        session=session, trials=search.turns.trials, summary=search.conclude().to_json()
    )


@pytest.fixture(scope="module", params=RUNS, ids="-".join)
def ran(request, tmp_path_factory):
    """A finished search, with the levels that its families climb."""
    optimizer, fidelity = request.param
    found = searched(tmp_path_factory.mktemp("home"), optimizer=optimizer, fidelity=fidelity)
    found.levels = RUNS[request.param]
    return found


def test_a_search_names_the_families_that_it_had_no_priors_for(tmp_path):
    bell = {"type": "lognormal", "mean": 2.0, "sd": 0.5, "low": 1, "high": 50, "integer": True}
    spaces = {"knn": {"n_neighbors": bell}}
    families = ("knn", "decision_tree")
    found = searched(tmp_path, trials=8, families=families, spaces=spaces, optimizer="parametric")
    said = "optimizer parametric drew at random, without priors: decision_tree"
    assert said in found.session.warnings


def partial(trials):
    return [trial for trial in trials if trial.status is TrialStatus.PARTIAL]


def complete(trials):
    return [trial for trial in trials if trial.is_complete]


def test_trials_are_of_the_ladder_and_the_best_climb_it(ran):
    assert len(ran.trials) == N_TRIALS
    assert {trial.status for trial in ran.trials} == {TrialStatus.PARTIAL, TrialStatus.COMPLETE}
    for family, levels in ran.levels.items():
        own = [trial for trial in ran.trials if trial.configuration.family == family]
        assert {trial.fidelity for trial in partial(own)} == levels
        assert all(trial.fidelity.is_full for trial in complete(own))
    began = {trial.configuration.id for trial in partial(ran.trials)}
    assert began & {trial.configuration.id for trial in complete(ran.trials)}


def test_folds_of_a_trial_that_goes_on_are_taken_over_and_paid_for_once(ran):
    by_fidelity = {(t.configuration.id, t.fidelity): t for t in ran.trials}
    n_taken_over = 0
    for trial in complete(ran.trials):
        earlier = by_fidelity.get((trial.configuration.id, Fidelity(folds=1)))
        if earlier is None:
            assert trial.reused_seconds == 0.0
            continue
        n_taken_over += 1
        # more folds settle the decision rule of the first one
        assert replace(trial.folds[0], score=earlier.folds[0].score) == earlier.folds[0]
        assert trial.reused_seconds == earlier.seconds < trial.seconds
    assert (n_taken_over > 0) == (Fidelity(folds=1) in set().union(*ran.levels.values()))
    spent = sum(trial.seconds - trial.reused_seconds for trial in ran.trials)
    in_summary = sum(found["seconds"] for found in ran.summary["families"].values())
    assert in_summary == pytest.approx(spent)


def test_partial_results_are_kept_and_say_what_they_are(ran):
    kept = [Trial.from_json(record["trial"]) for record in read(ran.session.folder.journal)]
    assert sorted(kept, key=lambda trial: trial.index) == ran.trials
    facts = ran.session.folder.read_facts()
    for trial in partial(ran.trials):
        content = trial_content(facts, trial, decision={}, family_run="f", extra_tags={})
        assert content.tags["automl.fidelity"] == trial.fidelity.text
        assert content.metrics["partial_score"] == pytest.approx(trial.score)
        assert "score" not in content.metrics
        assert trial.metrics == {}


def test_only_predictions_that_go_on_are_kept(ran):
    session = ran.session
    store = PredictionStore(session.folder.predictions, session.settings.predictions_quota_mib)
    full = {trial.configuration.id for trial in complete(ran.trials)}
    for trial in ran.trials:
        waits = trial.fidelity.has_full_fits and trial.configuration.id not in full
        assert store.has(trial.id) == (trial.is_complete or waits)


def test_the_stages_behind_the_search_look_at_complete_trials_alone(ran, monkeypatch):
    session, trials = ran.session, ran.trials
    journal = Journal(session.folder.journal)
    monkeypatch.setattr(session, "journal", journal)
    whole = {trial.id for trial in complete(trials)}
    for name, found in ran.summary["families"].items():
        own = [t for t in trials if t.configuration.family == name]
        assert found["complete"] == len(complete(own))
        assert found["best_score"] == max((t.score for t in complete(own)), default=None)
    candidates = choose_candidates(session, trials)
    assert {i for group in candidates["clusters"] for i in group["trial_ids"]} == whole
    scored = score_candidates(session, trials, candidates["trial_ids"])
    selection = select_champion(session, trials, {**candidates, **scored})
    assert set(selection["dispositions"]) == {trial.id for trial in trials}
    ensemble = build_ensemble(session, trials, selection["champion"])
    journal.close()
    members = {member["trial_id"] for member in ensemble["members"]}
    assert {selection["champion"], *members} <= whole
    assert ensemble["n_library"] <= len(whole)
    rows = leaderboard(trials, selection, ensemble["members"])
    assert {row["trial_id"] for row in rows[: len(whole)]} == whole
    assert all(row["status"].startswith("partial: ") for row in rows[len(whole) :])
    curve = incumbents(trials)
    assert {index for index, _ in curve} <= {trial.index for trial in complete(trials)}


def test_a_decision_compares_with_complete_trials_and_a_resumed_run_goes_on_the_same(
    ran, monkeypatch
):
    given, give = [], Turns._give
    monkeypatch.setattr(Turns, "_give", lambda turns, turn: (given.append(turn), give(turns, turn)))
    session, cut = ran.session, N_TRIALS - 2
    again = session_of(session.folder, session.home, session.settings, earlier=ran.trials[:cut])
    search = Search(again)
    run_search(search)
    again.journal.close()
    turns = search.turns
    asked = [(t.index, t.configuration, t.fidelity, t.score) for t in turns.trials]
    assert asked == [(t.index, t.configuration, t.fidelity, t.score) for t in ran.trials]
    scores = {trial.fold_scores for trial in complete(ran.trials)}
    assert len(given) == N_TRIALS
    assert {turn.incumbent for turn in given if turn.incumbent is not None} <= scores
    assert all(turn.incumbent is None or len(turn.incumbent) == 3 for turn in given)
