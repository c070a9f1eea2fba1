"""Candidates that cannot be scored on fresh folds never stop a run."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stage_json import choose_candidates, score_candidates, select_champion
from stage_json import record as record_of

from automl.evaluation.journal import read
from automl.families.registry import WITHOUT_MODEL
from automl.home import Home
from automl.records import Trial, TrialStatus
from automl.run.beginning import begin
from automl.search.runner import TrialRunner
from automl.selection.checker import check
from automl.selection.preselection import common_number
from automl.settings import Settings
from automl.stages import candidate_plan
from automl.stages import candidates as candidates_module
from automl.stages.candidate_plan import CandidatePlan
from automl.stages.fresh_folds import FreshFolds
from automl.stages.line import Line


@pytest.fixture
def line(tmp_path, request):
    """A searched run of three trials, or of as many as a test asks for."""
    settings = Settings(
        table="sklearn:iris",
        target="target",
        trials=getattr(request, "param", 3),
        workers=1,
        families=["gaussian_nb", "knn"],
    )
    session = begin(settings, Home(tmp_path / "home"))
    try:
        made = Line(session)
        made.search.run()
        yield made
    finally:
        session.close()


@pytest.mark.parametrize("n_candidates", [1, 2])
def test_without_one_score_on_fresh_folds_the_best_of_the_search_is_the_champion(
    line, monkeypatch, n_candidates
):
    scored = TrialRunner.run_folds

    def too_late(self, *arguments, **options):
        trial = scored(self, *arguments, **options)
        return dataclasses.replace(trial, status=TrialStatus.TIMED_OUT, score=None, folds=())

    monkeypatch.setattr(TrialRunner, "run_folds", too_late)
    candidates = choose_candidates(line.session, line.trials)
    chosen = candidates["trial_ids"][:n_candidates]
    found = score_candidates(line.session, line.trials, chosen)
    assert [entry["trial_id"] for entry in found["candidates"]] == chosen[:1]
    record = select_champion(line.session, line.trials, {**candidates, **found})
    assert record["champion"] == chosen[0]
    assert len([t for t in line.session.given_up if "could not be scored" in t]) == n_candidates


def test_the_end_of_the_time_in_a_repeat_does_not_cost_the_repeats_before_it(line, monkeypatch):
    scored = FreshFolds._score

    def cut_short(self, pair):
        position, repeat = pair
        return scored(self, pair) if repeat == 0 or position == 0 else None

    monkeypatch.setattr(FreshFolds, "_score", cut_short)
    candidates = choose_candidates(line.session, line.trials)
    chosen = candidates["trial_ids"]
    assert len(chosen) > 2
    found = score_candidates(line.session, line.trials, chosen)
    assert [entry["trial_id"] for entry in found["candidates"]] == chosen
    assert {len(entry["scores"]) for entry in found["candidates"]} == {5}
    assert "1 of 2 planned repeats of the fresh folds" in line.session.given_up
    record = select_champion(line.session, line.trials, {**candidates, **found})
    assert not check(json.loads(json.dumps(record)))


@pytest.fixture
def cheap(monkeypatch):
    """Further repeats cost next to nothing beside the search."""
    monkeypatch.setattr(candidate_plan, "FURTHER_OF_SEARCH", 1e6)


def test_cheap_candidates_have_thirty_scores_and_predictions_of_the_first_ten(line, cheap):
    session = line.session
    candidates = choose_candidates(session, line.trials)
    found = score_candidates(session, line.trials, candidates["trial_ids"])
    assert {len(entry["scores"]) for entry in found["candidates"]} == {30}
    assert (found["scoring"]["repeats"], found["scoring"]["further_repeats"]) == (2, 4)
    record = select_champion(session, line.trials, {**candidates, **found})
    assert not check(json.loads(json.dumps(record)))
    fresh = [r["trial"] for r in read(session.folder.journal) if r.get("type") == "trial"]
    kept = {
        Trial.from_json(trial).folds[0].repeat
        for trial in fresh
        if trial["stage"] == "candidates"
        and (session.folder.predictions / f"{Trial.from_json(trial).id}.npy").exists()
    }
    assert kept == {0, 1}
    session.earlier = [Trial.from_json(trial) for trial in fresh]
    n_before = len(read(session.folder.journal))
    assert score_candidates(session, line.trials, candidates["trial_ids"]) == found
    assert len(read(session.folder.journal)) == n_before


def test_a_further_repeat_that_fails_costs_no_candidate(line, cheap, monkeypatch):
    scored = FreshFolds._score
    monkeypatch.setattr(
        FreshFolds, "_score", lambda self, pair: None if pair == (1, 3) else scored(self, pair)
    )
    candidates = choose_candidates(line.session, line.trials)
    chosen = candidates["trial_ids"]
    found = score_candidates(line.session, line.trials, chosen)
    assert [entry["trial_id"] for entry in found["candidates"]] == chosen
    assert {len(entry["scores"]) for entry in found["candidates"]} == {15}
    assert "3 of 6 planned repeats of the fresh folds" in line.session.given_up
    record = select_champion(line.session, line.trials, {**candidates, **found})
    assert not check(json.loads(json.dumps(record)))
    record["candidates"][0]["scores"].pop()
    assert check(json.loads(json.dumps(record)))


def test_without_a_clock_further_repeats_follow_from_the_work_of_the_search(line):
    session, trials = line.session, line.trials
    work, capacity = candidate_plan.expected_work(session, trials, trials)
    folds = [len(trial.folds) for trial in trials]
    assert capacity == pytest.approx(0.5 * sum(n * w for n, w in zip(folds, work, strict=True)))
    assert capacity < candidate_plan.FURTHER_SECONDS
    slow = [dataclasses.replace(trial, seconds=1e6 * trial.seconds) for trial in trials]
    assert candidate_plan.expected_work(session, slow, slow) == (work, capacity)


def test_stand_ins_are_compared_where_the_best_is_too_slow(line, monkeypatch):
    candidates = choose_candidates(line.session, line.trials)
    best, *others = chosen = candidates["trial_ids"]
    trials = [
        dataclasses.replace(
            trial, seconds=1e4 if trial.id == best else (0.01 + 0.001 * trial.index)
        )
        for trial in line.trials
    ]
    monkeypatch.setattr(line.session.ledger, "left_for", lambda *_: 100.0)
    monkeypatch.setattr(candidate_plan, "stand_ins", lambda scores, **_: list(range(len(scores))))
    begun = []
    scored = FreshFolds._score
    monkeypatch.setattr(
        FreshFolds, "_score", lambda self, pair: begun.append(pair) or scored(self, pair)
    )
    found = score_candidates(line.session, trials, chosen)
    assert [entry["trial_id"] for entry in found["candidates"]] == others
    assert f"{best}, the best of the search, is too slow" in line.session.given_up[-1]
    seconds = {trial.id: trial.seconds for trial in trials}
    order = [seconds[others[position]] for position, repeat in begun if repeat == 0]
    assert order == sorted(order)
    record = select_champion(line.session, trials, {**candidates, **found})
    assert not check(json.loads(json.dumps(record)))
    assert record["champion"] in others


@pytest.mark.parametrize("line", [6], indirect=True)
def test_without_fresh_folds_there_is_an_ensemble_all_the_same(line, monkeypatch):
    monkeypatch.setattr(FreshFolds, "_score", lambda *_: None)
    record = record_of(line, "ensemble")
    scoring = record_of(line, "candidates")["scoring"]
    assert scoring["source"] == "search folds"
    models = [t for t in line.trials if t.configuration.family not in WITHOUT_MODEL]
    assert record["n_library"] == sum(trial.is_complete for trial in models) > 1
    assert len(record["evidence"]["ensemble_scores"]) == 5
    assert record["learned"]


def test_what_cannot_end_in_time_is_not_begun(line, monkeypatch):
    chosen = choose_candidates(line.session, line.trials)["trial_ids"]
    plan = CandidatePlan(tuple(range(len(chosen))), 2)
    monkeypatch.setattr(candidates_module, "afford", lambda *_: (plan, []))
    trials = [
        dataclasses.replace(trial, seconds=50.0 if trial.id == chosen[1] else 0.01)
        for trial in line.trials
    ]
    monkeypatch.setattr(line.session.ledger, "left_for", lambda *_: 20.0)
    found = score_candidates(line.session, trials, chosen)
    assert [e["trial_id"] for e in found["candidates"]] == [i for i in chosen if i != chosen[1]]
    fresh = [r["trial"] for r in read(line.session.folder.journal) if r.get("type") == "trial"]
    assert chosen[1] not in {t["origin"] for t in fresh if t["stage"] == "candidates"}


@given(st.lists(st.integers(0, 4), max_size=9))
def test_more_than_half_have_the_common_number_and_no_greater_one(numbers):
    found = common_number(numbers)
    some = [number for number in numbers if number]
    assert (found == 0) == (not some)
    assert not some or 2 * sum(number >= found for number in some) > len(some)
    assert 2 * sum(number > found for number in some) <= len(some)


def test_every_setting_of_the_tests_reaches_the_decisions(line):
    given = {
        "selection_test": "mcb",
        "normality": "lilliefors",
        "alpha": {"leaf": 0.01, "root": 0.2},
        "alpha_split": "level",
    }
    line.session.settings = line.session.settings.model_copy(update=given)
    candidates = choose_candidates(line.session, line.trials)
    found = score_candidates(line.session, line.trials, candidates["trial_ids"])
    record = select_champion(line.session, line.trials, {**candidates, **found})
    how = record["settings"]["comparison"]
    assert [how[key] for key in ("procedure", "normality", "alpha_split")] == [
        "mcb",
        "lilliefors",
        "level",
    ]
    expected = {"leaf": 0.01, "category": 0.05, "family": 0.05, "root": 0.2}
    assert record["settings"]["alpha"] == expected
    assert all(decision["alpha"] == expected[decision["level"]] for decision in record["decisions"])


def test_a_resumed_run_that_affords_other_candidates_writes_over_no_earlier_one(line, monkeypatch):
    chosen = choose_candidates(line.session, line.trials)["trial_ids"]
    assert len(chosen) > 2
    for positions in ((0, 1), (0, 2)):
        plan = CandidatePlan(positions, 1)
        monkeypatch.setattr(candidates_module, "afford", lambda *_, plan=plan: (plan, []))
        score_candidates(line.session, line.trials, chosen)
    records = [r["trial"] for r in read(line.session.folder.journal) if r.get("type") == "trial"]
    fresh = [Trial.from_json(trial) for trial in records if trial["stage"] == "candidates"]
    origins: dict[str, set[str]] = {}
    for trial in fresh:
        origins.setdefault(trial.id, set()).add(trial.origin)
    assert {len(names) for names in origins.values()} == {1}
    assert {trial.origin for trial in fresh} == set(chosen[:3])


def test_the_limit_of_time_counts_the_fold_models_of_the_champion(line):
    one = min(trial.predict_milliseconds for trial in line.trials if trial.is_complete)
    line.session.settings = line.session.settings.model_copy(update={"max_predict_ms": 2 * one})
    assert len(choose_candidates(line.session, line.trials)["trial_ids"]) == 1
    assert "no trial met the limit of the time to predict" in line.session.warnings[0]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1.0, {0, 1, 2}), (0.3, {0, 1}), (0.05, {0, 1}), (0.001, {1})],
)
def test_a_limit_that_only_useless_models_meet_lets_the_fastest_useful_one_in(
    session_of, trial_of, limit, expected
):
    session = session_of(max_predict_ms=limit, final="refit")
    session.warnings = []
    speeds, scores = (0.01, 0.2, 0.5), (-0.01, 0.4, 0.6)
    trials = [
        dataclasses.replace(
            trial_of(i, score=score),
            folds=tuple(
                dataclasses.replace(fold, predict_seconds=speed * 40 / 1000)
                for fold in trial_of(i).folds
            ),
        )
        for i, (speed, score) in enumerate(zip(speeds, scores, strict=True))
    ]
    groups = choose_candidates(session, trials)["clusters"]
    found = {trial_id for group in groups for trial_id in group["trial_ids"]}
    assert found == {trials[i].id for i in expected}
    met = any(speed <= limit and score > 0 for speed, score in zip(speeds, scores, strict=True))
    assert [("no trial met the limit" in text) for text in session.warnings] == [True] * (not met)
