"""Trials on fewer rows, iterations or folds, and what later trials take over from them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.splits import share_of_rows
from automl.evaluation import fitting
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.trial import evaluate, search_payload
from automl.families.registry import families, get_family
from automl.home import RunFolder
from automl.records import FoldResult
from automl.run.preparation import prepare
from automl.settings import Settings

N = 400


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    signal = frame["a"] + rng.normal(0, 0.3, N)
    frame["kind"] = np.select([signal < -1.6, signal < 0.5], ["rare", "low"], "high")
    settings = Settings(table="frame", target="kind", folds=3, seed=3)
    prepare(RunFolder(path), settings, frame=frame)
    fitting.open_run.cache_clear()
    return EvaluationPlan(path)


def run(plan, family, values=None, **options):
    configuration = get_family(family).space("multiclass").complete(values or {})
    payload = search_payload(plan, configuration, **options)
    return list(evaluate(str(plan.folder), payload))


def scores(results):
    return [result.score for result in results if isinstance(result, FoldResult)]


# --- rows -----------------------------------------------------------------------------------------

CODES = st.lists(st.integers(0, 3), min_size=4, max_size=80)


@given(CODES, st.floats(0.02, 1.0), st.floats(0.02, 1.0), st.integers(0, 2**32 - 1))
def test_shares_are_nested_and_hold_every_class_in_proportion(codes, one, other, seed):
    y = np.array(codes)
    small, large = (
        share_of_rows(len(y), share, y=y, rng=np.random.default_rng(seed))
        for share in sorted((one, other))
    )
    assert set(small) <= set(large)
    assert (np.diff(small) > 0).all()
    n_classes = len(np.unique(y))
    assert len(large) == max(2, round(max(one, other) * len(y)), n_classes)
    assert len(np.unique(y[small])) == n_classes
    for code in np.unique(y):
        expected = len(small) * np.mean(y == code)
        assert abs(np.sum(y[small] == code) - expected) < n_classes + 1


def test_without_classes_any_rows_are_taken_and_another_stream_takes_others():
    rows = [share_of_rows(100, 0.25, rng=np.random.default_rng(i)) for i in (0, 0, 1)]
    assert len(rows[0]) == 25
    assert rows[0].tolist() == rows[1].tolist() != rows[2].tolist()


def test_a_share_of_the_rows_gives_the_same_scores_again_and_others_than_all_rows(plan):
    part, again, whole = (run(plan, "knn", row_share=share) for share in (0.2, 0.2, 1.0))
    assert scores(part) == scores(again) != scores(whole)
    assert [r.rows for r in part[:3]] == [r.rows for r in whole[:3]]


# --- iterations -----------------------------------------------------------------------------------


def iterative():
    return [
        name
        for name, family in families("multiclass").items()
        if family.capabilities.iterations and not family.unavailable
    ]


def test_families_that_train_by_iterations_say_so():
    assert {"lightgbm", "random_forest", "adaboost", "mlp", "hist_gradient_boosting"} <= set(
        iterative()
    )


@pytest.mark.parametrize("name", iterative())
@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_a_share_of_the_iterations_reaches_the_estimator(name, task):
    family = get_family(name)
    configuration = family.space(task).default()
    parameter = family.capabilities.iterations

    def planned(share):
        estimator = family.build(configuration, task=task, iteration_share=share)
        values = estimator.get_params()
        key = next(k for k in values if k == parameter or k.endswith(f"__{parameter}"))
        return getattr(estimator, "planned_iterations", None) or values[key]

    full = planned(1.0)
    assert planned(1 / 3) == pytest.approx(full / 3, abs=1)
    assert planned(1e-6) == 1


def test_a_family_without_iterations_is_built_as_a_whole():
    family = get_family("svm")
    configuration = family.space("binary").default()
    full, part = (
        family.build(configuration, task="binary", iteration_share=share) for share in (1.0, 0.1)
    )
    assert full.get_params() == part.get_params()


def test_fewer_boosting_rounds_are_deterministic_and_worse_than_all(plan):
    values = {"learning_rate": 0.01}
    part, again, whole = (
        run(plan, "lightgbm", values, iteration_share=share) for share in (0.02, 0.02, 1.0)
    )
    assert scores(part) == scores(again)
    assert np.mean(scores(part)) < np.mean(scores(whole))


# --- folds ----------------------------------------------------------------------------------------


def test_results_of_the_first_folds_are_taken_over_and_change_nothing(plan, monkeypatch):
    jobs = list(plan.stage("search").jobs)
    *first, _ = run(plan, "knn", jobs=jobs[:1], save_as="run-s00011")
    earlier = {"trial": "run-s00011", "folds": [result.to_json() for result in first]}
    whole = run(plan, "knn", save_as="run-s00012")
    fitted = []
    original = fitting.fit_estimator
    monkeypatch.setattr(
        fitting, "fit_estimator", lambda *a, **k: fitted.append(a[4]) or original(*a, **k)
    )
    found = run(plan, "knn", save_as="run-s00013", earlier=earlier)
    assert fitted == [(0, 1), (0, 2)]
    assert found[0] == first[0]
    assert scores(found) == scores(whole)
    assert found[-1] == whole[-1]
    store = PredictionStore(plan.folder / "predictions", 100)
    np.testing.assert_array_equal(store.load("run-s00013"), store.load("run-s00012"))


def test_folds_whose_predictions_are_gone_are_fitted_again(plan):
    earlier = {"trial": "run-s00099", "folds": [FoldResult(0, 0, 0.9, 1, 0, 0).to_json()]}
    assert scores(run(plan, "knn", earlier=earlier)) == scores(run(plan, "knn"))


def test_a_trial_races_the_same_whether_or_not_earlier_predictions_are_there(plan):
    jobs = list(plan.stage("search").jobs)
    *first, _ = run(plan, "knn", jobs=jobs[:2], save_as="run-s00021")
    folds = [result.to_json() for result in first]
    kept, gone = (
        run(plan, "knn", earlier={"trial": trial, "folds": folds}, incumbent=(2.0, 2.0, 2.0))
        for trial in ("run-s00021", "run-s00099")
    )
    assert scores(gone) == scores(kept)
    assert gone[-1] == kept[-1]
