"""The second layer of a run, from trials of the search to the stored model."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from stage_json import build_final

from automl.evaluation.fold_models import load_models
from automl.evaluation.journal import read
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.home import Home, RunFolder
from automl.inference.bundle import load_bundle
from automl.records import TrialStatus
from automl.run.beginning import begin, reopen
from automl.run.preparation import prepare
from automl.run_records.ensemble import EnsembleRecord, Share
from automl.run_records.final import FinalMember, FinalRecord
from automl.settings import Settings
from automl.stages import finishing, stacking
from automl.stages.finishing import wanted_parts
from automl.stages.line import Line
from automl.stages.result import disposition_texts
from automl.stages.stacking import (
    HOLDOUT_PARTS,
    likely_seconds,
    meta_configurations,
    second_layer_folds,
    stack_trials,
)

FAMILIES = ("gaussian_nb", "logistic_regression", "extra_trees", "ridge")
TABLES = {"classification": "sklearn:iris", "regression": "sklearn:diabetes"}
KINDS = tuple(TABLES)


def settings_of(kind="classification", **given):
    return Settings(
        **{
            "table": TABLES[kind],
            "target": "target",
            "trials": 4,
            "workers": 2,
            "folds": 3,
            "families": FAMILIES,
            "optimizer": "random",
            "layers": 2,
            **given,
        }
    )


class Run:
    """Search of a small table, and its second layer."""

    def __init__(self, home, settings):
        self.session = begin(settings, Home(home))
        self.line = Line(self.session)
        self.line.search.run()
        complete = [trial for trial in self.line.trials if trial.is_complete]
        self.base = sorted(complete, key=lambda trial: -trial.score)[:3]

    def stack(self):
        return stack_trials(self.session, self.base)

    def final(self, stack, weights, monkeypatch, **record):
        """Record of the final model, and the model in memory."""
        written = []
        write = finishing.write_bundle

        def kept(model, *arguments, **keywords):
            written.append(model)
            return write(model, *arguments, **keywords)

        monkeypatch.setattr(finishing, "write_bundle", kept)
        everything = [*self.base, *stack]
        members = [
            {"trial_id": trial.id, "weight": weight}
            for trial, weight in zip(everything, weights, strict=True)
            if weight
        ]
        ensemble = {
            "members": members,
            "rule": {"threshold": 0.5, "costs": None},
            "score": 0.5,
            "metrics": {},
            "stack": [trial.to_json() for trial in stack],
            "base": [trial.id for trial in self.base],
            **record,
        }
        made = build_final(self.session, self.line.trials, ensemble)
        return made, written[-1]

    def close(self):
        self.session.close()
        self.session.release()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One run of each kind of target."""
    found = {}
    for kind in KINDS:
        found[kind] = Run(tmp_path_factory.mktemp(kind), settings_of(kind))
    yield found
    for run in found.values():
        run.close()


@pytest.fixture(params=KINDS)
def run(request, runs):
    return runs[request.param]


def facts_of(trials):
    return [
        (t.id.rpartition("-")[2], t.configuration.id, t.fold_scores, dict(t.metrics))
        for t in trials
    ]


def test_two_layers_become_fold_models_and_models_of_all_rows(run, monkeypatch):
    stack = run.stack()
    families = [trial.configuration.family for trial in stack]
    linear = "logistic_regression" if run.session.plan.table.n_classes else "ridge"
    assert families == [linear, "extra_trees"]
    assert [trial.id[-6:] for trial in stack] == ["l00000", "l00001"]
    assert {trial.stage for trial in stack} == {"stack"}
    made, model = run.final(stack, [0.0, 0.5, 0.0, 0.25, 0.25], monkeypatch)
    assert made["kind"] == "bag_and_refit"
    assert [m["models"] for m in made["members"]] == [4] * 5
    assert sorted(m["weight"] for m in made["members"]) == [0.0, 0.0, 0.25, 0.25, 0.5]
    base = [trial.id for trial in run.base]
    assert [m["inputs"] for m in made["members"] if m["inputs"]] == [base, base]
    frame, n_classes = run.session.plan.table.frame, run.session.plan.table.n_classes or None
    again = load_bundle(made["bundle"])
    np.testing.assert_array_equal(again.raw_typed(frame), model.raw_typed(frame))

    def bag(trial, inputs=()):
        pipelines = [
            pipeline
            for name in (trial.id, f"{trial.id}-refit")
            for pipeline in load_models(run.session.folder.path, name).values()
        ]
        parts = [pipeline.predict(frame, n_classes, inputs=inputs) for pipeline in pipelines]
        return np.mean(parts, axis=0, dtype=float)

    first = [bag(trial) for trial in run.base]
    second = [bag(trial, first) for trial in stack]
    expected = 0.5 * first[1] + 0.25 * second[0] + 0.25 * second[1]
    np.testing.assert_allclose(again.raw_typed(frame), expected, rtol=1e-4, atol=1e-5)


def test_two_layers_can_be_refitted_with_the_features(run, monkeypatch):
    given = run.session.settings.model_copy(update={"final": "refit", "stack_features": True})
    monkeypatch.setattr(run.session, "settings", given)
    made, model = run.final(run.stack(), [0.0, 0.0, 0.0, 0.5, 0.5], monkeypatch)
    assert made["kind"] == "refit"
    assert [m["models"] for m in made["members"]] == [1] * 5
    table = run.session.plan.table
    again = load_bundle(made["bundle"])
    np.testing.assert_array_equal(again.raw_typed(table.frame), model.raw_typed(table.frame))
    tops = [m for m in again.members if m.inputs]
    assert all(m.pipelines[0].preprocessor is not None for m in tops)
    assert again.score(table.frame, table.y if table.class_labels is None else _labels(table)) > 0.4


def _labels(table):
    return np.asarray(table.class_labels)[table.y]


def test_predictions_are_kept_for_every_row(run):
    store = PredictionStore(run.session.folder.predictions)
    index, y = run.session.plan.index, run.session.plan.table.y
    for trial in run.stack():
        prediction = np.asarray(store.load(trial.id))
        assert np.isfinite(prediction).all()
        assert trial.metrics == index.metrics(y, prediction)


def test_a_resumed_run_takes_over_what_is_finished_and_workers_change_nothing(runs, tmp_path):
    run = Run(tmp_path, settings_of(workers=1))
    stack = run.stack()
    assert facts_of(stack) == facts_of(runs["classification"].stack())
    run.close()
    session = reopen(run.session.run_id, Home(tmp_path))
    try:
        assert stack_trials(session, run.base) == stack
        other = stack_trials(session, run.base[:2])
        assert [trial.id[-6:] for trial in other] == ["l00002", "l00003"]
        records = [r["trial"]["stage"] for r in read(session.folder.journal)]
        assert records.count("stack") == 4
    finally:
        session.close()
        session.release()


def test_what_was_under_way_when_a_run_ended_gets_the_same_id_again(tmp_path, monkeypatch):
    run = Run(tmp_path, settings_of())
    stack = run.stack()
    run.close()

    def without_first(folder):
        return [r for r in read(folder) if r["trial"]["stage"] != "stack" or r["trial"]["index"]]

    session = reopen(run.session.run_id, Home(tmp_path))
    monkeypatch.setattr(stacking, "read_journal", without_first)
    try:
        again = stack_trials(session, run.base)
        assert [trial.id for trial in again] == [trial.id for trial in stack]
        assert facts_of(again) == facts_of(stack)
    finally:
        session.close()
        session.release()


def test_members_that_lack_an_input_are_left_out(runs, monkeypatch):
    run = runs["classification"]
    stack = run.stack()
    fit = finishing.fitted

    def fails(session, job, left):
        return run.base[0].id not in str(job.payload["save_as"]) and fit(session, job, left)

    monkeypatch.setattr(finishing, "fitted", fails)
    for name in (run.base[0].id, f"{run.base[0].id}-refit"):
        (run.session.folder.path / "models" / f"{name}.pickle").unlink(missing_ok=True)
    made, _ = run.final(stack, [0.0, 0.5, 0.0, 0.5, 0.0], monkeypatch)
    assert [m["trial_id"] for m in made["members"]] == [run.base[1].id]
    missing = [text for text in run.session.given_up if "left out" in text]
    assert f"member {stack[0].id} is left out: it needs {run.base[0].id}" in missing
    made, _ = run.final(stack, [0.0, 0.0, 0.0, 0.5, 0.5], monkeypatch)
    assert [(m["trial_id"], m["weight"]) for m in made["members"]] == [(run.base[1].id, 1.0)]


def test_the_combination_reaches_the_model(runs, monkeypatch):
    run = runs["regression"]
    made, model = run.final([], [0.5, 0.25, 0.25], monkeypatch, combine="median")
    assert model.combine == "median"
    assert load_bundle(made["bundle"]).combine == "median"


def test_after_one_holdout_the_second_layer_learns_from_its_parts(tmp_path, monkeypatch):
    run = Run(tmp_path, settings_of(holdout_above_rows=100, layers=2))
    try:
        (first, second) = run.stack()
        assert [f.fold for f in first.folds] == list(range(HOLDOUT_PARTS))
        weights = [0.0] * len(run.base)
        made, model = run.final([first, second], [*weights, 0.5, 0.5], monkeypatch)
        assert made["kind"] == "refit"
        assert {m["models"] for m in made["members"]} == {1}
        frame = run.session.plan.table.frame
        again = load_bundle(made["bundle"])
        np.testing.assert_array_equal(again.raw_typed(frame), model.raw_typed(frame))
    finally:
        run.close()


# --- when there is no second layer -----------------------------------------------------------------


def test_one_model_is_no_layer(session_of, trial_of):
    session = session_of()
    assert stack_trials(session, [trial_of(0)]) == []
    assert session.given_up == ["no second layer: it needs 2 models to learn from; there is 1"]


def test_families_that_do_not_take_part_are_not_in_the_second_layer(session_of, trial_of):
    session = session_of(families=("knn", "gaussian_nb"))
    assert stack_trials(session, [trial_of(0), trial_of(1)]) == []
    assert "none of logistic_regression, extra_trees takes part" in session.given_up[0]
    kept = meta_configurations(Settings(table="t", target="y"), session.plan, 2)
    assert [c.family for c in kept] == ["logistic_regression", "extra_trees"]
    with_features = Settings(table="t", target="y", stack_features=True)
    kept = meta_configurations(with_features, session.plan, 2)
    assert [c.family for c in kept] == ["logistic_regression", "extra_trees", "lightgbm"]


def test_the_second_layer_is_expected_to_take_what_its_families_took(session_of, trial_of):
    trials = [trial_of(0, 3.0), trial_of(1, 4.0)]  # ridge
    assert likely_seconds(session_of(), trials) == 0.0
    session = session_of(layers=2, families=("logistic_regression", "extra_trees"))
    assert likely_seconds(session, trials) == pytest.approx(1.0)


# --- folds -----------------------------------------------------------------------------------------


def plan_of(path, **given):
    rng = np.random.default_rng(1)
    n = 300
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "hour": rng.permutation(n),
            "house": rng.integers(0, 60, n),
            "y": rng.choice(["a", "b"], n, p=[0.8, 0.2]),
        }
    )
    frame = frame.drop(columns={"hour", "house"} - {*given.values()})
    settings = Settings(**{"table": "t", "target": "y", "folds": 3, **given})
    prepare(RunFolder(path), settings, frame=frame)
    return EvaluationPlan(path)


def test_folds_of_the_search_are_taken(tmp_path):
    plan = plan_of(tmp_path)
    np.testing.assert_array_equal(second_layer_folds(plan), plan.stage("search").folds[0])


def test_one_holdout_is_divided_by_class(tmp_path):
    plan = plan_of(tmp_path, holdout_above_rows=100)
    folds, known = second_layer_folds(plan), plan.stage("search").folds[0]
    np.testing.assert_array_equal(folds >= 0, known >= 0)
    rare = [(plan.table.y[folds == part] == 1).sum() for part in range(HOLDOUT_PARTS)]
    assert max(rare) - min(rare) <= 1


def test_parts_of_a_holdout_keep_groups_together(tmp_path):
    plan = plan_of(tmp_path, holdout_above_rows=100, groups="house")
    folds = second_layer_folds(plan)
    parts = {g: set(folds[plan.table.groups == g]) for g in np.unique(plan.table.groups)}
    assert all(len(found) == 1 for found in parts.values())
    assert set(folds) == {-1, *range(HOLDOUT_PARTS)}


def test_parts_of_a_holdout_are_consecutive_in_time(tmp_path):
    plan = plan_of(tmp_path, holdout_above_rows=100, time="hour")
    folds, time = second_layer_folds(plan), plan.table.time
    np.testing.assert_array_equal(folds >= 0, plan.stage("search").folds[0] >= 0)
    assert set(folds) == {-1, *range(HOLDOUT_PARTS)}
    for part in range(1, HOLDOUT_PARTS):
        assert time[folds == part - 1].max() < time[folds == part].min()


# --- words -----------------------------------------------------------------------------------------


def test_what_became_of_inputs_and_of_the_second_layer_is_said(trial_of):
    first = [trial_of(index) for index in range(2)]
    top = SimpleNamespace(id="run-l00000", stage="stack")
    final = FinalRecord((FinalMember(first[0].id, 0.0), FinalMember(top.id, 1.0)))
    selection = SimpleNamespace(dispositions={}, champion=first[0].id)
    texts = disposition_texts([top], selection, final)
    assert texts == {top.id: "second layer: ensemble member"}
    other = SimpleNamespace(id="run-l00001", stage="stack")
    assert disposition_texts([other], selection, final) == {other.id: "second layer: not taken"}


def test_parts_without_a_second_layer_are_the_members(trial_of):
    trials = [trial_of(index) for index in range(3)]
    members = (Share(trials[2].id, 0.75), Share(trials[0].id, 1))
    parts = wanted_parts(trials, EnsembleRecord(members))
    assert [(part.trial.index, part.weight, part.base) for part in parts] == [
        (2, 0.75, ()),
        (0, 1, ()),
    ]
    assert {part.trial.status for part in parts} == {TrialStatus.COMPLETE}
