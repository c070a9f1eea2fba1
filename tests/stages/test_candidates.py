"""Candidates that cannot be scored on fresh folds never stop a run."""

from __future__ import annotations

import dataclasses

import pytest

from automl.home import Home
from automl.records import TrialStatus
from automl.search.runner import TrialRunner
from automl.settings import Settings
from automl.stages.candidates import choose_candidates, score_candidates
from automl.stages.champion import select_champion
from automl.stages.line import Line
from automl.stages.session import begin


@pytest.fixture
def line(tmp_path):
    settings = Settings(
        table="sklearn:iris", target="target", trials=3, workers=1, families=["gaussian_nb", "knn"]
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
