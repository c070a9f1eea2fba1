"""What every stage scores are the labels that the deployed rule gives on rows that it has not learned from."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import stage_json
from sklearn.metrics import fbeta_score

from automl.data.table import Table
from automl.evaluation.journal import read as read_journal
from automl.evaluation.predictions import PredictionStore
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.inference.calibration import calibrated
from automl.inference.combining import combined
from automl.inference.decision import DecisionRule
from automl.metrics.decisions import OutOfFold
from automl.records import Trial
from automl.reports.judged import calibration_of, judged_rows
from automl.reports.run_choices import choices_of
from automl.run.beginning import begin
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.settings import Settings
from automl.stages.choice_evidence import chosen_from
from automl.stages.line import Line
from automl.stages.recipes import recipe_of, weighted

COSTS = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]


def rare(rng, n_classes, n):
    """A table whose last class is rare and hard to tell."""
    shares = [0.85, 0.15] if n_classes == 2 else [0.5, 0.42, 0.08]
    y = rng.choice(n_classes, n, p=shares)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + 0.7 * y[:, None], columns=list("abc"))
    return frame.assign(target=np.array(["x", "y", "z"])[y])


class Run:
    """A run of a few trials whose folds, candidates, ensemble and model are looked at."""

    def __init__(self, folder, n_classes, **given):
        rng = np.random.default_rng(n_classes)
        rare(rng, n_classes, 360).to_csv(folder / "table.csv", index=False)
        self.settings = Settings(
            table=str(folder / "table.csv"),
            target="target",
            test_share=0.4,
            trials=6,
            workers=1,
            families=("lda", "gaussian_nb", "knn"),
            experience=False,
            ensemble="bagged_greedy",
            ensemble_alpha=0.5,
            folds=3,
            adapt_folds=False,
            **given,
        )
        self.session = begin(self.settings, Home(folder / "home"))
        self.line = Line(self.session)
        self.line.search.run()
        self.final = stage_json.record(self.line, "final")
        self.plan = self.session.plan
        self.store = PredictionStore(self.session.folder.predictions)

    def score(self, y, prediction, labels):
        """The metric of the run from labels alone, by other software, homogenized."""
        baseline = self.plan.index.baselines[self.settings.metric]
        if self.settings.metric == "cost":
            value = float(np.asarray(self.settings.cost_matrix)[y, labels].mean())
            return (value - baseline) / (0.0 - baseline)
        value = fbeta_score(y, labels, beta=1.0, average="macro")
        return (value - baseline) / (1.0 - baseline)

    def out_of_fold(self, stage, prediction, repeat=0):
        rows = self.plan.stage(stage)
        return OutOfFold(
            self.plan.index, self.plan.table.y[rows.rows], prediction, rows.folds[repeat]
        )


UNCALIBRATED = {
    "threshold": (2, {"metric": "f_beta"}),
    "costs": (3, {"metric": "cost", "cost_matrix": COSTS}),
    "costs of two": (2, {"metric": "cost", "cost_matrix": [[0, 1], [8, 0]]}),
}
CALIBRATED = {"calibrated": (2, {"metric": "f_beta", "seed": 1})}
RUNS = {**UNCALIBRATED, **CALIBRATED}


@pytest.fixture(scope="module", params=RUNS.values(), ids=RUNS)
def run(request, tmp_path_factory):
    made = Run(tmp_path_factory.mktemp("run"), request.param[0], **request.param[1])
    try:
        yield made
    finally:
        made.session.close()
        made.session.release()


def trials_of(run, stage):
    records = [r for r in read_journal(run.session.folder.journal) if r.get("type") == "trial"]
    trials = [Trial.from_json(record["trial"]) for record in records]
    return [trial for trial in trials if trial.stage == stage and trial.is_complete]


@pytest.mark.parametrize("stage", ["search", "candidates"])
def test_each_fold_of_each_trial(run, stage):
    trials = trials_of(run, stage)
    assert trials
    for trial in trials:
        found = run.out_of_fold(stage, run.store.load(trial.id), trial.folds[0].repeat)
        labels = found.labels()
        for fold in trial.folds:
            inside = found.folds == fold.fold
            expected = run.score(found.y[inside], None, labels[inside])
            assert fold.score == pytest.approx(expected)


def test_the_model_that_is_chosen(run):
    members = run.final["members"]
    weights = np.array([member["weight"] for member in members])
    predictions = [run.store.load(member["trial_id"]) for member in members]
    ensemble = run.line.record(EnsembleRecord)
    blend = combined(predictions, weights, ensemble.combine)
    found = run.out_of_fold("search", calibrated(blend, ensemble.calibration))
    assert run.final["score"] == pytest.approx(run.score(found.y, None, found.labels()))
    rule = found.rule()
    assert stage_json.record(run.line, "ensemble")["rule"] == json.loads(json.dumps(rule.to_json()))
    assert load_bundle(run.final["bundle"]).rule_ == rule


def test_pages_judge_the_decision_that_is_deployed(run):
    found = judged_rows(choices_of(run.session.folder), run.plan, run.session.folder)
    assert run.final["score"] == pytest.approx(run.score(found.y, None, found.labels))
    model = load_bundle(run.final["bundle"])
    assert model.calibration == run.line.record(EnsembleRecord).calibration
    assert calibration_of(choices_of(run.session.folder), {"another": 1.0}) is None


def test_a_repeated_choice_and_a_recipe_calibrate_where_the_run_does(run):
    line, ensemble = run.line, run.line.record(EnsembleRecord)
    records = line.record(ChampionRecord), ensemble
    evidence = chosen_from(run.session, line.trials, *records).evidence(run.plan)
    counts = np.ones((1, len(evidence.rows.y)), dtype=np.float32)
    again = evidence.choose(counts, np.random.default_rng(0))[0]["ensemble"]
    assert (again.calibration is None) == (ensemble.calibration is None)
    recipe = recipe_of(run.session.folder)
    refitted = weighted(run.session, line.trials, recipe)
    assert refitted.calibration == ensemble.calibration
    assert refitted.score == pytest.approx(run.final["score"])
    others = [t for t in line.trials if t.configuration.id != recipe.configurations[0].id]
    rest = weighted(run.session, others, recipe)
    assert rest is None or rest.calibration is None


@pytest.mark.parametrize("run", CALIBRATED.values(), ids=CALIBRATED, indirect=True)
def test_one_of_these_runs_has_a_calibration(run):
    assert run.line.record(EnsembleRecord).calibration is not None


def test_the_honest_score_begins_with_the_labels_of_the_deployed_rule(run):
    line = run.line
    record = stage_json.record(line, "honest")
    records = line.record(ChampionRecord), line.record(EnsembleRecord)
    evidence = chosen_from(run.session, line.trials, *records).evidence(run.session.plan)
    choice = evidence.final[record["chosen"]]
    if record["chosen"] == "ensemble":
        assert choice.rule == DecisionRule.from_json(stage_json.record(line, "ensemble")["rule"])
    labels = choice.rule.codes(evidence.rows.blends(choice)[0])
    expected = run.score(evidence.rows.y, None, labels)
    assert record[record["chosen"]]["naive"] == pytest.approx(expected)


def test_the_test_rows(run):
    test = Table.load(run.session.folder.test)
    model = load_bundle(run.final["bundle"])
    codes = {label: code for code, label in enumerate(model.classes_)}
    labels = np.array([codes[label] for label in model.predict(test.frame)])
    assert run.final["test"]["score"] == pytest.approx(run.score(test.y, None, labels))


@pytest.mark.parametrize("run", UNCALIBRATED.values(), ids=UNCALIBRATED, indirect=True)
def test_the_rule_is_worth_something_on_rows_that_no_one_has_seen(run):
    test = Table.load(run.session.folder.test)
    model = load_bundle(run.final["bundle"])
    probabilities = model.predict_proba(test.frame)
    most_probable = run.score(test.y, None, probabilities.argmax(axis=1))
    assert run.final["test"]["score"] > most_probable
