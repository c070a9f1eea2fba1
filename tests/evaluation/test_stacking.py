"""The second layer inside a worker, without the worker, against scikit-learn's own stacking."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from automl.evaluation import fitting, second_layer
from automl.evaluation.fold_models import load_models
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.second_layer import evaluate_stack, fit_stack_folds, refit_stack
from automl.evaluation.trial import TrialSummary, evaluate, search_payload
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.metrics.decisions import OutOfFold
from automl.preprocessing.pipeline import build_preprocessor
from automl.records import FoldResult
from automl.run.preparation import prepare
from automl.settings import Settings

N = 120
BASE = {"binary": ("logistic_regression", "gaussian_nb"), "regression": ("ridge", "knn")}
TOP = {"binary": ("logistic_regression", {"C": 0.3}), "regression": ("ridge", {"alpha": 3.0})}


def make_plan(path, task="binary", **options):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
    value = frame["a"] + frame["b"] ** 2 + rng.normal(0, 0.5, N)
    frame["y"] = np.where(value > 1, "yes", "no") if task == "binary" else value
    frame["weight"] = rng.random(N) + 0.5
    frame["hour"] = np.arange(N)
    for name in {"weight", "hour"} - {options.get("weights"), options.get("time")}:
        frame = frame.drop(columns=name)
    settings = Settings(table="frame", target="y", folds=4, seed=3, **options)
    prepare(RunFolder(path), settings, frame=frame)
    fitting.open_run.cache_clear()
    second_layer._open.cache_clear()
    return EvaluationPlan(path)


def configuration_of(plan, family, **values):
    return get_family(family).space(plan.table.task).complete(values)


def evaluate_base(plan):
    """Ids of evaluated trials of the search."""
    found = []
    for index, family in enumerate(BASE[str(plan.table.task)]):
        payload = search_payload(plan, configuration_of(plan, family), save_as=f"run-s{index:05d}")
        list(evaluate(str(plan.folder), payload))
        found.append(payload["save_as"])
    return found


def payload_of(plan, base, **options):
    family, values = TOP[str(plan.table.task)]
    return {
        "configuration": configuration_of(plan, family, **values).to_json(),
        "base": base,
        "takes_features": False,
        "folds": plan.stage("search").folds[0],
        "save_as": "run-l00000",
        **options,
    }


def run(plan, base, **options):
    *folds, summary = evaluate_stack(str(plan.folder), payload_of(plan, base, **options))
    assert all(isinstance(result, FoldResult) for result in folds)
    assert isinstance(summary, TrialSummary)
    return folds, summary


def saved(plan, name="run-l00000"):
    return PredictionStore(plan.folder / "predictions", 100).load(name)


@pytest.fixture(scope="module", params=["binary", "regression"])
def plan(request, tmp_path_factory):
    return make_plan(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def base(plan):
    return evaluate_base(plan)


def oracle(plan):
    """scikit-learn's estimator of the second layer, fitted on the table."""
    table, task = plan.table, str(plan.table.task)
    members = []
    for family in BASE[task]:
        configuration = configuration_of(plan, family)
        estimator = get_family(family).build(configuration, task=task, seed=0)
        preprocessor = build_preprocessor(configuration.values, seed=0)
        members.append((family, make_pipeline(preprocessor, estimator)))
    cv = PredefinedSplit(plan.stage("search").folds[0])
    if task == "binary":
        top = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=500))
        stack = StackingClassifier(members, top, cv=cv, stack_method="predict_proba")
    else:
        stack = StackingRegressor(members, make_pipeline(StandardScaler(), Ridge(alpha=3.0)), cv=cv)
    return stack.fit(table.frame, table.y)


def out_of_fold(plan, base):
    parts = [np.asarray(saved(plan, name)) for name in base]
    return np.column_stack([part[:, 1] if part.ndim == 2 else part for part in parts])


def test_the_refitted_second_layer_is_that_of_scikit_learn(plan, base):
    refit_stack(str(plan.folder), payload_of(plan, base, save_as="again"))
    ((_, pipeline),) = load_models(plan.folder, "again").items()
    stack = oracle(plan)
    rows = plan.table.frame
    is_binary = str(plan.table.task) == "binary"
    method, n_classes = ("predict_proba", 2) if is_binary else ("predict", None)
    inputs = [getattr(member, method)(rows).astype(np.float32) for member in stack.estimators_]
    expected = getattr(stack, method)(rows)
    found = pipeline.predict(rows, n_classes, inputs=inputs)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_out_of_fold_predictions_are_those_of_scikit_learn(plan, base):
    run(plan, base)
    inputs, y = out_of_fold(plan, base), plan.table.y
    cv = PredefinedSplit(plan.stage("search").folds[0])
    if str(plan.table.task) == "binary":
        top = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=500))
        expected = cross_val_predict(top, inputs, y, cv=cv, method="predict_proba")
    else:
        top = make_pipeline(StandardScaler(), Ridge(alpha=3.0))
        expected = cross_val_predict(top, inputs, y, cv=cv)
    np.testing.assert_allclose(saved(plan), expected, atol=1e-3)


def test_scores_and_metrics_are_those_of_the_kept_predictions(plan, base):
    folds, summary = run(plan, base)
    y, prediction, stage = plan.table.y, np.asarray(saved(plan)), plan.stage("search")
    found = OutOfFold(plan.index, y, prediction, stage.folds[0])
    labels = found.labels()
    for result, score in zip(folds, summary.fold_scores, strict=True):
        inside = stage.folds[0] == result.fold
        assert result.rows == inside.sum()
        own = None if labels is None else labels[inside]
        assert score == plan.index.score(y[inside], prediction[inside], labels=own)
    assert summary.metrics == plan.index.metrics(y, prediction, labels=labels)


@pytest.mark.parametrize("takes_features", [False, True])
def test_fold_models_have_not_seen_their_fold_and_can_be_fitted_again(plan, base, takes_features):
    run(plan, base, takes_features=takes_features)
    kept = load_models(plan.folder, "run-l00000")
    fit_stack_folds(
        str(plan.folder), payload_of(plan, base, takes_features=takes_features, save_as="again")
    )
    again = load_models(plan.folder, "again")
    folds, n_classes = plan.stage("search").folds[0], plan.table.n_classes or None
    assert list(kept) == list(again) == [(0, fold) for fold in range(4)]
    for (_, fold), pipeline in kept.items():
        assert (pipeline.preprocessor is not None) == takes_features
        inside = np.flatnonzero(folds == fold)
        inputs = [np.asarray(saved(plan, name))[inside] for name in base]
        rows = plan.table.frame.iloc[inside]
        expected = saved(plan)[inside]
        for each in (pipeline, again[0, fold]):
            np.testing.assert_array_equal(each.predict(rows, n_classes, inputs=inputs), expected)


def test_features_matter_where_they_are_taken(plan, base):
    run(plan, base)
    without = np.array(saved(plan))
    run(plan, base, takes_features=True)
    assert not np.allclose(without, saved(plan))


def test_row_and_class_weights_reach_the_second_layer(tmp_path):
    plan = make_plan(tmp_path, weights="weight", class_weight="balanced")
    base = evaluate_base(plan)
    refit_stack(str(plan.folder), payload_of(plan, base, save_as="again"))
    ((_, pipeline),) = load_models(plan.folder, "again").items()
    inputs = out_of_fold(plan, base)
    scaled = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    expected = LogisticRegression(C=0.3, max_iter=500).fit(
        scaled, plan.table.y, sample_weight=plan.weights
    )
    np.testing.assert_allclose(pipeline.estimator.coef_, expected.coef_, atol=1e-3)


def test_in_time_order_the_second_layer_learns_from_earlier_folds(tmp_path):
    plan = make_plan(tmp_path, time="hour")
    base = evaluate_base(plan)
    results, _ = run(plan, base)
    folds, prediction = plan.stage("search").folds[0], np.asarray(saved(plan))
    assert [result.fold for result in results] == [0, 1, 2, 3]
    assert np.isnan(prediction[folds < 0]).all()
    assert np.isfinite(prediction[folds >= 0]).all()
    inputs = [np.asarray(saved(plan, name)) for name in base]
    first = folds == 0
    np.testing.assert_allclose(
        prediction[first], np.mean([part[first] for part in inputs], axis=0), rtol=1e-6
    )
    models = load_models(plan.folder, "run-l00000")
    assert list(models) == [(0, 1), (0, 2), (0, 3)]
    earlier = np.flatnonzero((folds >= 0) & (folds < 2))
    center = out_of_fold(plan, base)[earlier].mean(axis=0)
    np.testing.assert_allclose(models[0, 2].stack.center, center, rtol=1e-4)


def test_predictions_that_are_gone_fail_the_job(plan):
    with pytest.raises(KeyError, match="no predictions of trial"):
        run(plan, ["run-s99999"])
