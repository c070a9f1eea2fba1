"""Decisions on the way to the final model."""

import weakref
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from stage_json import build_final
from threadpoolctl import threadpool_info, threadpool_limits

from automl.data.table import prepare_table
from automl.evaluation.fold_models import remove_all_models
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.run.beginning import begin
from automl.run.ledger import Ledger
from automl.run_records.ensemble import BlendScores, EnsembleRecord, Share
from automl.settings import Settings
from automl.stages import finishing
from automl.stages.finishing import assembled
from automl.stages.line import Line


def test_the_final_model_is_timed_with_the_threads_of_a_trial_and_told_when_too_slow(
    tmp_path, monkeypatch
):
    counts = []

    def counted(model, typed):
        counts.extend(pool["num_threads"] for pool in threadpool_info())
        return raw_typed(model, typed)

    raw_typed = TableModel.raw_typed
    monkeypatch.setattr(TableModel, "raw_typed", counted)
    families = ("gaussian_nb", "knn")
    settings = Settings(
        table="sklearn:iris",
        target="target",
        trials=3,
        workers=1,
        families=families,
        max_predict_ms=1e-6,
    )
    session = begin(settings, Home(tmp_path / "home"))
    try:
        line = Line(session)
        line.search.run()
        members = [{"trial_id": trial.id, "weight": 0.5} for trial in line.trials[:2]]
        with threadpool_limits(2):
            made = build_final(session, line.trials, ensemble_of(members))
    finally:
        session.close()
    assert counts
    assert set(counts) == {1}
    assert made["predict_ms"] > 0
    assert "ms, over the limit of 1e-06 ms" in session.warnings[-1]
    assert [m["models"] for m in made["members"]] == [6, 6]
    assert made["kind"] == "bag_and_refit"
    assert [m.trial for m in load_bundle(made["bundle"]).members] == [t.id for t in line.trials[:2]]


def test_the_model_reads_a_target_as_its_run_did():
    frame = pd.DataFrame({"x": np.sin(range(60)), "y": [f"{i},5" for i in range(60)]})
    table = prepare_table(frame, target="y")
    mean = FittedPipeline(None, DummyRegressor().fit([[0.0]], [1.0]))
    session = SimpleNamespace(plan=SimpleNamespace(table=table))
    model = assembled(session, [Member(1.0, [mean])], None)
    assert model.target_reading == table.target_reading
    assert model.score(frame[["x"]], frame["y"]) < 0


@pytest.mark.parametrize(("left", "kind", "models"), [(100.0, "bag_and_refit", 6), (0.0, "bag", 5)])
def test_fold_models_are_the_model_alone_where_no_time_is_left(
    tmp_path, monkeypatch, left, kind, models
):
    settings = Settings(table="sklearn:iris", target="target", trials=2, families=("gaussian_nb",))
    session = begin(settings, Home(tmp_path / "home"))
    try:
        line = Line(session)
        line.search.run()
        session.is_reproducible = True
        monkeypatch.setattr(session.ledger, "left_for", lambda *_: left)
        best = max(line.trials, key=lambda trial: trial.score)
        made = build_final(session, line.trials, ensemble_of([{"trial_id": best.id, "weight": 1}]))
    finally:
        session.close()
    assert made["kind"] == kind
    assert [member["models"] for member in made["members"]] == [models]
    assert session.is_reproducible is (left > 0)
    assert session.given_up == []
    model = weakref.ref(session.model)
    session.drop_model()
    assert model() is None


def ensemble_of(members):
    rule = {"threshold": 0.5, "costs": None}
    return {"members": members, "rule": rule, "score": 0.5, "metrics": {}}


@pytest.mark.parametrize("halves", [{}, {"data_mode": "halves", "ensemble": "none"}])
def test_a_run_without_time_for_its_final_model_still_has_one(tmp_path, monkeypatch, halves):
    settings = Settings(
        table="sklearn:iris",
        target="target",
        trials=3,
        workers=1,
        families=("gaussian_nb", "knn"),
        final="refit",
        **halves,
    )
    session = begin(settings, Home(tmp_path / "home"))
    try:
        line = Line(session)
        line.search.run()
        remove_all_models(session.folder.path)
        monkeypatch.setattr(session.ledger, "left_for", lambda *_: 0.0)
        monkeypatch.setattr(Ledger, "left", property(lambda _: 0.0))
        members = [{"trial_id": line.trials[0].id, "weight": 1.0}]
        made = build_final(session, line.trials, ensemble_of(members))
    finally:
        session.close()
    best = max(line.trials, key=lambda trial: trial.score)
    assert [member["trial_id"] for member in made["members"]] == [best.id]
    assert any("no time for more" in text for text in session.given_up)
    assert not session.is_reproducible
    assert len(load_bundle(made["bundle"]).members) == 1


def test_a_model_that_lost_members_is_described_by_the_weights_it_has(monkeypatch):
    asked = []

    def described(plan, shares, combine):
        asked.append(shares)
        return BlendScores(None, 0.5, {})

    monkeypatch.setattr(finishing, "describe_blend", described)
    session = SimpleNamespace(plan=None, warnings=[])
    members = [SimpleNamespace(trial=name, weight=0.3) for name in ("a", "b")]
    whole = EnsembleRecord(
        members=tuple(Share(n, w) for n, w in (("a", 0.3), ("b", 0.3), ("c", 0.4)))
    )
    found = finishing._validated(session, members, "mean", whole)
    assert found.score == 0.5
    assert asked == [{"a": 0.5, "b": 0.5}]
    assert session.warnings == [
        "the final model lacks members: the honest score is that of the whole ensemble"
    ]
