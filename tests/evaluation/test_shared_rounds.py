"""The rounds of boosting that the first folds of a trial find are those of its other folds."""

import numpy as np
import pandas as pd
import pytest

from automl.estimators.allowance import Allowance, fitting_within
from automl.evaluation import fitting
from automl.evaluation import trial as module
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import SharedRounds, fit_fold, rounds_on_all_rows
from automl.evaluation.fold_models import load_models
from automl.evaluation.model_jobs import fit_folds, refit
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.trial import evaluate, folds_of, search_payload
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.records import (
    TOLD_SHARE,
    TOLD_SHARE_OF_NUMBERS,
    FoldResult,
    Task,
    Trial,
    TrialStatus,
)
from automl.run.preparation import prepare
from automl.settings import Settings

N = fitting.LEAST_SHARING_ROWS


def make_plan(path, n=N, **options):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] * frame["b"] + rng.normal(0, 0.5, n) > 0, "yes", "no")
    frame["hour"] = np.arange(n)
    given = {"table": "frame", "target": "kind", "folds": 3, "seed": 3, **options}
    settings = Settings(**given)
    frame = frame if settings.time else frame.drop(columns="hour")
    prepare(RunFolder(path), settings, frame=frame)
    fitting.open_run.cache_clear()
    return EvaluationPlan(path)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return make_plan(tmp_path_factory.mktemp("run"))


def boosted(family="lightgbm"):
    return get_family(family).space("binary").default()


def run(plan, configuration, **options):
    payload = search_payload(plan, configuration, **options)
    return folds_of(list(evaluate(str(plan.folder), payload)))


def test_the_first_folds_of_catboost_find_theirs_too(plan):
    pytest.importorskip("catboost")
    folds = run(plan, boosted("catboost"))
    assert [fold.found_rounds is None for fold in folds] == [False, False, True]


@pytest.mark.parametrize("family", ["lightgbm", "xgboost"])
def test_the_first_folds_find_the_rounds_of_all(plan, family):
    pytest.importorskip(family)
    folds = run(plan, boosted(family), save_as="run-s00000", keep_models_above=-1.0)
    assert [fold.found_rounds is None for fold in folds] == [False, False, True]
    models = load_models(plan.folder, "run-s00000")
    *own, told = (models[0, fold].estimator.best_iteration_ for fold in range(3))
    assert own == [fold.found_rounds for fold in folds[:2]]
    assert told == round((own[0] * own[1]) ** 0.5)


def test_a_fold_that_is_told_its_rounds_is_expected_to_take_a_share_greater_for_numbers():
    told, looked = (FoldResult(0, 0, 0.5, 40, 2.0, 0.1, found_rounds=n) for n in (None, 30))
    seconds = [looked.told_fit_seconds(task) for task in (Task.BINARY, Task.REGRESSION)]
    assert seconds == sorted({2.0 * TOLD_SHARE, 2.0 * TOLD_SHARE_OF_NUMBERS})
    for task, expected in zip((Task.BINARY, Task.REGRESSION), seconds, strict=True):
        assert told.told_fit_seconds(task) == 2.0
        extra = looked.predict_seconds + looked.scoring_seconds
        assert looked.further_seconds(task) == expected + extra


def test_a_family_that_looks_for_none_finds_none(plan):
    assert [fold.found_rounds for fold in run(plan, boosted("hist_gradient_boosting"))] == [
        None
    ] * 3


def test_models_that_are_fitted_again_are_those_that_were_judged(plan):
    run(plan, boosted(), save_as="run-s00001")
    fit_folds(str(plan.folder), {"configuration": boosted().to_json(), "save_as": "again"})
    stored, table = plan.predictions.load("run-s00001"), plan.table
    for (repeat, fold), model in load_models(plan.folder, "again").items():
        _, rows = plan.rows_of("search", repeat, fold)
        predicted = model.predict(
            table.frame.iloc[plan.stage("search").rows[rows]], table.n_classes
        )
        np.testing.assert_array_equal(predicted, stored[rows])


def test_a_trial_that_goes_on_takes_the_rounds_of_its_first_folds(plan):
    whole = run(plan, boosted())
    first = run(plan, boosted(), jobs=plan.stage("search").jobs[:1], save_as="run-s00002")
    earlier = {"trial": "run-s00002", "folds": [fold.to_json() for fold in first]}
    continued = run(plan, boosted(), earlier=earlier)
    assert [fold.score for fold in continued] == [fold.score for fold in whole]
    assert [fold.found_rounds for fold in continued] == [fold.found_rounds for fold in whole]


def test_on_a_small_table_each_fold_finds_its_own(tmp_path):
    folds = run(make_plan(tmp_path, N - 1), boosted())
    assert None not in [fold.found_rounds for fold in folds]


def test_in_time_order_each_fold_finds_its_own(tmp_path):
    folds = run(make_plan(tmp_path, time="hour", folds=2), boosted())
    found = [fold.found_rounds for fold in folds if fold.rows]
    assert None not in found[1:]  # the first one may have too few rows to hold any out


def test_rounds_that_are_given_are_not_looked_for(plan):
    folds = run(plan, boosted(), most_rounds=4)
    assert [fold.found_rounds for fold in folds] == [None] * 3


def test_the_first_two_numbers_count_unless_the_folds_are_in_time_order():
    rounds, ordered = SharedRounds(None, is_shared=True), SharedRounds(None, is_shared=False)
    known = []
    for found in (None, 8, 18, 99):
        rounds.learn(found)
        ordered.learn(found)
        known.append(rounds.known)
    assert known == [None, None, 12, 12]
    assert ordered.known is None
    assert SharedRounds(4, is_shared=True).known == 4


def test_rounds_that_time_cut_short_are_not_found_ones(plan):
    with fitting_within(Allowance(seconds=0.0)) as allowance:
        fit_fold(plan, FoldCache(0), boosted(), stage="search", repeat=0, fold=0)
    assert (allowance.found, allowance.kept) == (None, 1)


@pytest.mark.parametrize(("family", "expected"), [("lightgbm", [5, 3, 1]), ("ridge", [3, 2, 1])])
def test_a_fold_that_looks_has_time_for_two_fits(plan, family, expected, monkeypatch):
    parts = []
    monkeypatch.setattr(module, "_fold_seconds", lambda *given: parts.append(given[2]))
    run(plan, boosted(family))
    assert parts == expected


@pytest.mark.parametrize(
    ("given", "found", "kept", "expected"),
    [
        ({}, [10, 40, None], None, 20),
        ({}, [10, 40, None], 7, 7),
        ({}, [None, None, None], None, None),
        ({"time": "hour"}, [10, 40, None], None, None),
    ],
)
def test_a_fit_on_all_rows_takes_the_rounds_that_the_folds_found(
    tmp_path, given, found, kept, expected
):
    plan = make_plan(tmp_path, folds=2, **given)
    folds = tuple(
        FoldResult(0, fold, 0.5, 40, 1.0, 0.1, rounds=kept, found_rounds=rounds)
        for fold, rounds in enumerate(found)
    )
    trial = Trial("run", 0, boosted(), TrialStatus.COMPLETE, 0.5, folds=folds)
    assert rounds_on_all_rows(plan, trial) == expected


def test_a_fit_on_all_rows_is_told_its_rounds(plan):
    refit(
        str(plan.folder),
        {"configuration": boosted().to_json(), "save_as": "r", "most_rounds": 11},
    )
    assert load_models(plan.folder, "r")[0, 0].estimator.best_iteration_ == 11
