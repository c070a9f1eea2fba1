"""One trial inside a worker, without the worker: folds, cache, racing, predictions."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score

from automl.errors import SettingsError
from automl.evaluation import fitting
from automl.evaluation import trial as module
from automl.evaluation.cache import FoldCache, PreprocessedFold
from automl.evaluation.fitting import fit_fold
from automl.evaluation.fold_models import load_models, save_models
from automl.evaluation.lateness import lateness
from automl.evaluation.model_jobs import fit_folds, refit
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.racing import is_far_behind, why_raced
from automl.evaluation.trial import TrialSummary, evaluate, folds_of, search_payload
from automl.families.registry import forget_families, get_family
from automl.home import RunFolder
from automl.metrics.bootstraps import bootstrap_multiplicities
from automl.metrics.decisions import OutOfFold
from automl.metrics.index import PerformanceIndex
from automl.randomness import Purpose, stream
from automl.records import FoldResult, TrialStatus
from automl.run.preparation import prepare
from automl.run.search_spaces import space_of
from automl.settings import Settings

N = 90


def raw_frame():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
            "color": rng.choice(["red", "green", "blue"], N),
            "weight": rng.random(N) + 0.5,
        }
    )
    signal = frame["size"].fillna(0) + (frame["color"] == "red")
    frame["kind"] = np.where(signal + rng.normal(0, 0.3, N) > 0.3, "yes", "no")
    frame["price"] = signal + rng.normal(0, 0.3, N)
    frame["hour"] = np.arange(N)
    return frame


OWN_FAMILY = """
name: own
title: A family of mine
estimators: {classification: "own_grown_estimators:Grown"}
simplicity: 0.5
interpretability: 0.5
tree: {}
"""
OWN_MODULE = """
from sklearn.linear_model import LogisticRegression

class Part:
    pass

class Grown(LogisticRegression):
    __module__ = LogisticRegression.__module__
    __qualname__ = "LogisticRegression"

    def fit(self, X, y):
        self.part_ = Part()  # known only once it is fitted
        return super().fit(X, y)
"""


def make_plan(path, **options):
    settings = Settings(**{"table": "frame", "target": "kind", "folds": 3, "seed": 3, **options})
    folder = RunFolder(path)
    frame = raw_frame()
    for name in {"kind", "price", "weight", "hour"} - {
        settings.target,
        settings.weights,
        settings.time,
    }:
        frame = frame.drop(columns=name)
    prepare(folder, settings, frame=frame)
    fitting.open_run.cache_clear()
    return EvaluationPlan(path)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return make_plan(tmp_path_factory.mktemp("run"))


def configuration_of(family, task="binary", **values):
    return get_family(family).space(task).complete(values)


def run(plan, configuration, **options):
    return list(evaluate(str(plan.folder), search_payload(plan, configuration, **options)))


# --- the cache ------------------------------------------------------------------------------------


def fold_of(n_bytes):
    half = np.zeros(n_bytes // 2, dtype=np.uint8)
    return PreprocessedFold(None, half, half)


def test_the_least_recently_used_fold_goes_first():
    cache = FoldCache(300)
    for key in "abc":
        cache.put(key, fold_of(100))
    assert cache.get("a") is not None
    cache.put("d", fold_of(100))
    assert cache.get("b") is None
    assert all(cache.get(key) is not None for key in "acd")


def test_a_fold_that_is_larger_than_the_cache_is_not_kept_and_drops_nothing():
    cache = FoldCache(300)
    cache.put("a", fold_of(200))
    cache.put("b", fold_of(302))
    assert cache.get("b") is None
    assert cache.get("a") is not None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 200)), max_size=40))
def test_the_cache_never_holds_more_than_its_capacity(puts):
    cache, latest = FoldCache(400), {}
    for key, half in puts:
        latest[key] = fold_of(2 * half)
        cache.put(key, latest[key])
        kept = {k: cache.get(k) for k in latest}
        assert sum(fold.size_bytes for fold in kept.values() if fold is not None) <= 400
        assert all(fold is None or fold is latest[k] for k, fold in kept.items())
        assert kept[key] is not None


def test_frames_with_categories_have_a_size():
    frame = pd.DataFrame({"a": np.zeros(10, np.float32), "b": pd.Categorical(["x"] * 10)})
    assert PreprocessedFold(None, frame, frame).size_bytes >= 2 * 10 * 5


# --- racing ---------------------------------------------------------------------------------------

SCORES = st.lists(st.floats(-1, 1), min_size=5, max_size=5)


@given(SCORES, SCORES, st.integers(0, 5))
def test_no_trial_is_hopeless_without_an_incumbent_before_a_fold_or_after_the_last(
    scores, incumbent, n
):
    assert why_raced(scores, None, 10) == ""
    assert why_raced([], incumbent, 5) == ""
    assert why_raced(scores, incumbent, 5) == ""


@given(SCORES, st.floats(0, 1))
def test_a_trial_that_is_not_behind_is_never_hopeless(incumbent, lead):
    scores = [score + lead for score in incumbent[:3]]
    assert why_raced(scores, incumbent, 5) == ""


def test_a_trial_far_behind_is_hopeless_and_says_how_far():
    incumbent = [0.80, 0.81, 0.79, 0.80, 0.82]
    assert (
        why_raced([0.1, 0.11], incumbent, 5) == "behind the incumbent by 0.7000 after 2 of 5 folds"
    )


def test_a_family_is_far_behind_by_many_errors_and_a_twentieth_of_the_score():
    incumbent = (0.80, 0.81, 0.79, 0.80, 0.80)
    assert is_far_behind([s - 0.05 for s in incumbent], incumbent)
    assert not is_far_behind([s - 0.03 for s in incumbent], incumbent)
    assert not is_far_behind([0.55, 0.95, 0.6, 0.9, 0.7], incumbent)
    assert is_far_behind([0.7], [0.8])
    assert not is_far_behind([0.78], [0.8])


def test_a_small_or_an_uncertain_gap_is_not_hopeless():
    incumbent = [0.80, 0.81, 0.79, 0.80, 0.82]
    assert why_raced([0.74, 0.75], incumbent, 5) == ""
    assert why_raced([0.1, 0.78], incumbent, 5) == ""


def test_the_first_fold_alone_tells_only_what_is_further_behind():
    incumbent = [0.80, 0.81, 0.79, 0.80, 0.82]
    assert why_raced([0.69], incumbent, 5) == ""
    assert why_raced([0.67], incumbent, 5) == "behind the incumbent by 0.1300 after 1 of 5 folds"
    uneven = [0.80, 0.95, 0.65, 0.80, 0.80]
    assert why_raced([0.55], uneven, 5) == ""


# --- lateness -------------------------------------------------------------------------------------

FOLD_SECONDS = st.lists(st.floats(0.01, 10), min_size=1, max_size=5)


@given(FOLD_SECONDS, st.floats(0, 60))
def test_a_trial_is_late_where_not_even_its_fastest_fold_repeated_ends_in_time(seconds, left):
    needed = (5 - len(seconds)) * min(seconds)
    assert bool(lateness(seconds, 5, left)) == (needed > left)


def test_nothing_is_late_without_a_limit_before_the_first_fold_or_after_the_last():
    assert lateness([9.0], 5, None) == ""
    assert lateness([], 5, 0.1) == ""
    assert lateness([9.0] * 5, 5, -1.0) == ""


def test_a_late_trial_says_what_it_lacks():
    reason = lateness([2.0, 3.0], 5, 4.5)
    assert reason == (
        "given up after 2 of 5 folds: the others take at least 6 s, and 4.5 s of its time limit "
        "are left"
    )


def test_a_trial_that_cannot_end_in_time_is_given_up_after_its_first_fold(plan, monkeypatch):
    original = fitting.fit_estimator

    def slow(*given, **named):
        time.sleep(0.2)
        return original(*given, **named)

    monkeypatch.setattr(fitting, "fit_estimator", slow)
    found = run(plan, configuration_of("gaussian_nb"), limit_seconds=0.5)
    assert [type(part) for part in found] == [FoldResult, TrialSummary]
    assert found[-1].status is TrialStatus.TIMED_OUT
    *folds, summary = run(plan, configuration_of("gaussian_nb"), limit_seconds=60.0)
    assert (len(folds), summary.status) == (3, TrialStatus.COMPLETE)


@pytest.mark.parametrize("family", ["lightgbm", "hist_gradient_boosting", "gradient_boosting"])
def test_a_boosted_model_whose_time_is_over_keeps_its_rounds_in_every_fold(plan, family):
    configuration = configuration_of(family)
    *folds, summary = run(plan, configuration, keeps_within=0.0)
    assert summary.status is TrialStatus.COMPLETE
    assert summary.metrics["accuracy"] > 0
    assert all(fold.rounds >= 1 for fold in folds)
    *whole, _ = run(plan, configuration, keeps_within=1e6)
    *unlimited, _ = run(plan, configuration)
    assert [fold.rounds for fold in (*whole, *unlimited)] == [None] * 6
    assert [fold.score for fold in whole] == [fold.score for fold in unlimited]
    assert [fold.score for fold in folds] != [fold.score for fold in whole]


def test_a_family_that_cannot_stop_in_between_takes_the_time_that_it_takes(plan):
    *folds, summary = run(plan, configuration_of("ridge"), keeps_within=0.0)
    assert summary.status is TrialStatus.COMPLETE
    assert [fold.rounds for fold in folds] == [None] * 3


def test_what_is_fitted_again_takes_the_rounds_that_were_judged(plan):
    configuration = configuration_of("lightgbm")
    payload = {"configuration": configuration.to_json(), "save_as": "t", "most_rounds": 4}
    for job in (fit_folds, refit):
        job(str(plan.folder), payload)
        models = load_models(plan.folder, "t").values()
        assert {model.estimator.best_iteration_ for model in models} == {4}


def test_the_folds_share_the_time_that_is_left():
    assert module._fold_seconds({}, 1.0, 5) is None
    assert module._fold_seconds({"keeps_within": 10.0}, 0.0, 5) == pytest.approx(8.5 / 5)
    assert module._fold_seconds({"keeps_within": 10.0}, 6.5, 1) == pytest.approx(2.0)
    assert module._fold_seconds({"keeps_within": 10.0}, 9.0, 1) == 0.0


# --- folds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["lightgbm", "extra_trees", "logistic_regression", "svm"])
def test_equal_arguments_give_equal_pipelines(plan, family):
    frame, configuration = plan.table.frame, configuration_of(family)
    predictions = []
    for _ in range(2):
        pipeline, _ = fit_fold(plan, FoldCache(0), configuration, stage="search", repeat=0, fold=1)
        predictions.append(pipeline.predict(frame, plan.table.n_classes))
    np.testing.assert_array_equal(*predictions)


def test_a_cached_fold_gives_the_same_pipeline(plan):
    cache, configuration = FoldCache(1e9), configuration_of("extra_trees")
    pipelines = [
        fit_fold(plan, cache, configuration, stage="search", repeat=0, fold=0)[0] for _ in range(2)
    ]
    assert pipelines[0].preprocessor is pipelines[1].preprocessor
    frame = plan.table.frame
    np.testing.assert_array_equal(*[p.predict(frame, 2) for p in pipelines])


def test_a_fold_does_not_see_its_validation_rows(plan, monkeypatch):
    configuration = configuration_of("ridge", task="binary")
    before, _ = fit_fold(plan, FoldCache(0), configuration, stage="search", repeat=0, fold=0)
    _, validation = plan.rows_of("search", 0, 0)
    y = plan.table.y.copy()
    y[validation] = 1 - y[validation]
    other = EvaluationPlan(plan.folder)
    object.__setattr__(other.table, "y", y)
    after, _ = fit_fold(other, FoldCache(0), configuration, stage="search", repeat=0, fold=0)
    frame = plan.table.frame
    np.testing.assert_array_equal(before.predict(frame, 2), after.predict(frame, 2))


def test_a_share_of_the_rows_is_a_part_of_the_training_rows(plan):
    few = fitting.FoldData("search", 0, 1, row_share=0.3)
    whole, _ = fitting.training_rows(plan, fitting.FoldData("search", 0, 1))
    part, validation = fitting.training_rows(plan, few)
    assert set(part) < set(whole)
    assert len(part) == round(0.3 * len(whole))
    assert not set(part) & set(validation)
    np.testing.assert_array_equal(part, fitting.training_rows(plan, few)[0])
    other, _ = fitting.training_rows(plan, replace(few, fold=2))
    assert set(other) != set(part)


def test_shares_of_the_rows_are_cached_apart(plan):
    cache, configuration = FoldCache(1e9), configuration_of("gaussian_nb")
    for share in (1.0, 0.5):
        fit_fold(plan, cache, configuration, stage="search", repeat=0, fold=0, row_share=share)
    assert len(cache._folds) == 2


def test_the_seconds_of_a_fold_are_told_apart(plan, monkeypatch):
    make, score = fitting.build_preprocessor, type(plan.index).score

    def late(seconds, function):
        def run(*given, **named):
            time.sleep(seconds)
            return function(*given, **named)

        return run

    monkeypatch.setattr(fitting, "build_preprocessor", late(0.5, make))
    monkeypatch.setattr(type(plan.index), "score", late(0.03, score))
    fitting.open_run.cache_clear()
    configuration = configuration_of("gaussian_nb")
    first, again = (run(plan, configuration)[0] for _ in range(2))
    assert first.fit_seconds >= first.preprocessing_seconds >= 0.5
    assert first.scoring_seconds >= 0.03
    assert again.preprocessing_seconds < 0.5  # the preprocessed rows are at hand
    assert again.fit_seconds > again.preprocessing_seconds


# --- trials ---------------------------------------------------------------------------------------


def out_of_fold(plan, saved):
    stage = plan.stage("search")
    return OutOfFold(plan.index, plan.table.y[stage.rows], saved, stage.folds[0])


def test_predictions_of_a_trial_are_complete_out_of_fold_and_scored(plan):
    configuration = configuration_of("logistic_regression")
    *folds, summary = run(plan, configuration, save_as="run-s00001", keep_models_above=-1.0)
    assert [type(fold) for fold in folds] == [FoldResult] * 3
    saved = PredictionStore(plan.folder / "predictions", 100).load("run-s00001")
    assert saved.shape == (N, 2)
    assert np.isfinite(saved).all()
    np.testing.assert_allclose(saved.sum(axis=1), 1.0, atol=1e-5)
    models = load_models(plan.folder, "run-s00001")
    for fold in folds:
        _, within = plan.rows_of("search", 0, fold.fold)
        assert fold.rows == len(within)
        again = models[0, fold.fold].predict(plan.table.frame.iloc[within], 2)
        np.testing.assert_allclose(again, saved[within], atol=1e-6)
    found = out_of_fold(plan, saved)
    assert summary.fold_scores == pytest.approx(tuple(found.scores()))
    assert [fold.score for fold in folds_of([*folds, summary])] == list(summary.fold_scores)
    assert folds[-1].score == summary.fold_scores[-1]
    assert summary.metrics == plan.index.metrics(plan.table.y, saved, labels=found.labels())


def test_a_trial_s_score_is_of_all_repeats_and_what_is_kept_of_the_first(tmp_path, plan):
    configuration = configuration_of("logistic_regression")
    single, _ = run(plan, configuration)[:3], run(plan, configuration, save_as="run-s00002")
    repeated = make_plan(tmp_path, search_repeats=2)
    options = {"save_as": "run-s00001", "keep_models_above": -1.0}
    *folds, summary = run(repeated, configuration, **options)
    assert [(fold.repeat, fold.fold) for fold in folds] == [
        (r, f) for r in (0, 1) for f in range(3)
    ]
    assert [fold.score for fold in folds[:3]] == [fold.score for fold in single]
    assert [fold.score for fold in folds[3:]] != [fold.score for fold in single]
    scores, rows = [fold.score for fold in folds], [fold.rows for fold in folds]
    assert repeated.index.aggregate(scores, rows) == pytest.approx(np.mean(scores), abs=0.01)
    saved = PredictionStore(tmp_path / "predictions", 100).load("run-s00001")
    alone = PredictionStore(plan.folder / "predictions", 100).load("run-s00002")
    np.testing.assert_array_equal(saved, alone)
    labels = out_of_fold(repeated, saved).labels()
    assert summary.metrics == repeated.index.metrics(repeated.table.y, saved, labels=labels)
    assert sorted(load_models(tmp_path, "run-s00001")) == [(0, 0), (0, 1), (0, 2)]
    fit_folds(str(tmp_path), {"configuration": configuration.to_json(), "save_as": "later"})
    assert sorted(load_models(tmp_path, "later")) == [(0, 0), (0, 1), (0, 2)]
    earlier = {"trial": "run-s00001", "folds": [fold.to_json() for fold in folds[:4]]}
    continued = run(repeated, configuration, save_as="run-s00003", earlier=earlier)
    # of the fourth there are no predictions that the rules of the last two could be learned from
    assert [fold.score for fold in continued[:4]] == scores[:4]
    assert [fold.score for fold in continued[4:-1]] == pytest.approx(scores[4:], abs=0.2)
    assert continued[-1].fold_scores[:3] == summary.fold_scores[:3]
    again = PredictionStore(tmp_path / "predictions", 100).load("run-s00003")
    np.testing.assert_array_equal(saved, again)


REQUESTS = [
    ("ridge", {"variance": 0.2, "variance_raw": True}),
    ("ridge", {"variance": 0.2}),
    ("knn", {"nominal_imputer": "null"}),
    ("knn", {"nominal_imputer": ["most_frequent", "category"]}),
    ("svm", {"reducer_share": 0.3}),
    ("lightgbm", {"variance": 0.2, "variance_raw": True, "nominal_imputer": "most_frequent"}),
]


@pytest.mark.parametrize(("family", "request_"), REQUESTS, ids=str)
def test_a_trial_prepares_its_rows_as_the_settings_request(tmp_path, family, request_):
    plan = make_plan(tmp_path, preprocessing=request_, target="price", task="regression")
    settings = Settings(table="t", target="y", preprocessing=request_)
    space = space_of(plan, get_family(family), settings)
    values = {"prep.reducer": "pca"} if family == "svm" else {}
    configuration = space.complete(values)
    asked = {f"prep.{name}": v[0] if isinstance(v, list) else v for name, v in request_.items()}
    assert asked.items() <= dict(configuration.values).items()
    pipeline, _ = fit_fold(plan, FoldCache(0), configuration, stage="search", repeat=0, fold=0)
    steps = pipeline.preprocessor
    found = {
        "prep.variance": steps.variance_filter.threshold,
        "prep.variance_raw": steps.variance_filter.raw,
        "prep.nominal_imputer": steps.encoder.missing,
        "prep.reducer_share": steps.reducer.share,
    }
    assert asked.items() <= found.items()
    *folds, _ = run(plan, configuration)
    assert len(folds) == 3
    assert np.isfinite([fold.score for fold in folds]).all()


def test_the_printed_variance_filter_drops_by_the_unit_of_measurement(tmp_path):
    frame, request_ = raw_frame(), {"variance": 0.05, "variance_raw": True}
    frame["size"] = frame["size"] / 100.0
    prepare(
        RunFolder(tmp_path),
        Settings(table="t", target="kind", folds=3, preprocessing=request_),
        frame=frame[["size", "weight", "color", "kind"]],
    )
    fitting.open_run.cache_clear()
    plan, settings = (
        EvaluationPlan(tmp_path),
        Settings(table="t", target="y", preprocessing=request_),
    )
    configuration = space_of(plan, get_family("ridge"), settings).default()
    pipeline, _ = fit_fold(plan, FoldCache(0), configuration, stage="search", repeat=0, fold=0)
    names = list(pipeline.preprocessor.get_feature_names_out())
    assert "size" not in names
    assert "weight" in names


def test_scores_and_metrics_follow_beta_wherever_a_trial_is_scored(tmp_path):
    plan = make_plan(tmp_path / "beta", beta=3.0, metric="f_beta")
    configuration = configuration_of("logistic_regression")
    *folds, summary = run(plan, configuration, save_as="run-s00001")
    saved = PredictionStore(plan.folder / "predictions", 100).load("run-s00001")
    labels, baseline = out_of_fold(plan, saved).labels(), plan.index.baselines["f_beta"]
    expected = fbeta_score(plan.table.y, labels, beta=3.0, average="macro")
    assert summary.metrics["f_beta"] == pytest.approx(expected)
    assert expected != pytest.approx(fbeta_score(plan.table.y, labels, beta=1.0, average="macro"))
    for fold in folds_of([*folds, summary]):
        _, within = plan.rows_of("search", 0, fold.fold)
        found = fbeta_score(plan.table.y[within], labels[within], beta=3.0, average="macro")
        assert fold.score == pytest.approx((found - baseline) / (1.0 - baseline))
    assert PerformanceIndex.from_json(plan.index.to_json()).beta == 3.0
    with pytest.raises(
        SettingsError, match=r"setting beta: 3 needs classes, .* 'price' is numeric"
    ):
        make_plan(tmp_path / "numbers", beta=3.0, target="price")


def test_scores_by_another_beta_have_another_name(tmp_path):
    names = set()
    for i, options in enumerate([{}, {"beta": 2.0}, {"beta": 2.0, "metric": "accuracy"}]):
        settings = Settings(table="frame", target="kind", folds=3, **options)
        frame = raw_frame().drop(columns=["price", "weight", "hour"])
        names.add(prepare(RunFolder(tmp_path / str(i)), settings, frame=frame)["metric"])
    assert len(names) == 3
    assert "accuracy" in names


def test_candidates_meet_fresh_folds_after_all_repeats_of_the_search(tmp_path):
    for mode in (
        {"data_mode": "all"},
        {"data_mode": "halves", "halves": "all", "ensemble": "none"},
    ):
        plan = make_plan(tmp_path, search_repeats=3, **mode)
        search, candidates = plan.stage("search"), plan.stage("candidates")
        assert len(search.folds) == 3
        together = np.concatenate([search.folds, candidates.folds])
        assert len(np.unique(together, axis=0)) == len(together)


def test_folds_of_a_numeric_target_hold_equal_shares_of_its_bins(tmp_path):
    options = {"target": "price", "folds": 5}
    spread = []
    for bins in (0, 9):
        plan = make_plan(tmp_path, target_bins=bins, **options)
        edges = np.quantile(plan.table.y, np.linspace(0, 1, 10)[1:-1])
        strata = np.searchsorted(edges, plan.table.y)
        counts = [
            np.bincount(strata[folds == fold], minlength=9)
            for name in ("search", "candidates")
            for folds in plan.stage(name).folds
            for fold in range(5)
        ]
        spread.append(int(np.ptp(counts, axis=0).max()))
    assert spread[0] > spread[1] == 0
    with pytest.raises(
        SettingsError, match=r"target_bins: 4 bins need a numeric target; .* 'kind'"
    ):
        make_plan(tmp_path, target_bins=4)


def test_a_trial_is_scored_on_the_bootstraps_that_its_optimizer_wants(tmp_path):
    plan = make_plan(tmp_path, optimizer={"base": "esmbo", "n_histories": 4}, weights="weight")
    configuration = configuration_of("logistic_regression")
    *_, summary = run(plan, configuration, save_as="run-s00001")
    saved = PredictionStore(plan.folder / "predictions", 100).load("run-s00001")
    rng = stream(plan.settings.seed, Purpose.BOOTSTRAP)
    weights = bootstrap_multiplicities(N, 4, rng) * plan.row_weights(np.arange(N))
    expected = [plan.index.learned_score(plan.table.y, saved, row) for row in weights]
    assert summary.bootstrap_scores == pytest.approx(expected)
    assert len(set(summary.bootstrap_scores)) > 1
    assert run(plan, configuration)[-1] == summary
    fresh = list(plan.stage("candidates").jobs)
    assert run(plan, configuration, stage="candidates", jobs=fresh)[-1].bootstrap_scores == ()
    raced = run(plan, configuration_of("constant"), incumbent=[0.9] * 3)[-1]
    assert raced.status is TrialStatus.RACED
    assert raced.bootstrap_scores == ()


def test_models_are_kept_of_good_trials_only(plan):
    save_models(plan.folder, "run-s00002", {})  # of an attempt that was killed
    run(plan, configuration_of("ridge"), save_as="run-s00002", keep_models_above=2.0)
    assert load_models(plan.folder, "run-s00002") is None


def test_a_hopeless_trial_ends_early_and_keeps_nothing(plan):
    found = run(plan, configuration_of("constant"), save_as="run-s00003", incumbent=[0.9] * 3)
    assert len(found) == 2
    assert found[-1].status is TrialStatus.RACED
    assert found[-1].metrics == {}
    assert not PredictionStore(plan.folder / "predictions", 100).has("run-s00003")


def test_fewer_folds_give_metrics_of_their_rows_alone(plan):
    jobs = plan.stage("search").jobs[:2]
    *folds, summary = run(plan, configuration_of("gaussian_nb"), jobs=jobs)
    assert len(folds) == 2
    assert 0 <= summary.metrics["accuracy"] <= 1


def test_a_prediction_that_is_not_finite_fails_the_trial(plan, monkeypatch):
    def broken(*arguments):
        raise ValueError("Broken predicted missing or infinite values")

    monkeypatch.setattr(module, "raw_prediction", broken)
    with pytest.raises(ValueError, match="missing or infinite"):
        run(plan, configuration_of("constant"))


def test_regression_trials_keep_one_number_per_row(tmp_path):
    plan = make_plan(tmp_path, target="price")
    configuration = configuration_of("elastic_net", "regression")
    *folds, summary = run(plan, configuration, save_as="run-s00000")
    saved = PredictionStore(plan.folder / "predictions", 100).load("run-s00000")
    assert saved.shape == (N,)
    assert plan.index.aggregate([f.score for f in folds], [f.rows for f in folds]) == pytest.approx(
        plan.index.score(plan.table.y, saved), abs=0.05
    )
    assert "r2" in summary.metrics


def test_in_time_order_the_first_rows_only_train(tmp_path):
    plan = make_plan(tmp_path, time="hour", target="price")
    run(plan, configuration_of("ridge", "regression"), save_as="run-s00000")
    saved = PredictionStore(plan.folder / "predictions", 100).load("run-s00000")
    folds = plan.stage("search").folds[0]
    np.testing.assert_array_equal(np.isnan(saved), folds < 0)
    for repeat, fold in plan.stage("search").jobs:
        training, validation = plan.rows_of("search", repeat, fold)
        assert plan.table.time[training].max() < plan.table.time[validation].min()


def test_fold_models_that_are_fitted_later_equal_those_of_the_trial(plan):
    configuration = configuration_of("lightgbm")
    run(plan, configuration, save_as="run-s00004", keep_models_above=-9.0)
    kept = load_models(plan.folder, "run-s00004")
    seconds = fit_folds(
        str(plan.folder), {"configuration": configuration.to_json(), "save_as": "run-s00005"}
    )
    assert seconds > 0
    fitted = load_models(plan.folder, "run-s00005")
    assert kept.keys() == fitted.keys()
    for key, pipeline in kept.items():
        np.testing.assert_array_equal(
            pipeline.predict(plan.table.frame, 2), fitted[key].predict(plan.table.frame, 2)
        )


def test_a_refit_learns_from_all_rows(plan):
    configuration = configuration_of("decision_tree")
    refit(str(plan.folder), {"configuration": configuration.to_json(), "save_as": "final"})
    ((key, pipeline),) = load_models(plan.folder, "final").items()
    assert key == (0, 0)
    assert pipeline.estimator.tree_.n_node_samples[0] == N


# --- the plan -------------------------------------------------------------------------------------


def test_jobs_are_every_fold_of_every_repeat_in_order(plan):
    stage = plan.stage("candidates")
    expected = [(r, f) for r in range(len(stage.folds)) for f in range(3)]
    assert list(stage.jobs) == expected
    assert stage.jobs_per_repeat == 3


def test_candidates_meet_folds_that_the_search_never_saw(plan):
    search, candidates = plan.stage("search"), plan.stage("candidates")
    for folds in candidates.folds:
        assert (folds != search.folds[0]).any()


def test_every_row_is_validated_once_per_repeat(plan):
    for name in ("search", "candidates"):
        stage = plan.stage(name)
        for repeat in range(len(stage.folds)):
            rows = [plan.rows_of(name, repeat, fold)[1] for fold in range(3)]
            np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(N))


def test_balanced_class_weights_make_the_classes_equal(tmp_path):
    plan = make_plan(tmp_path, class_weight="balanced", weights="weight")
    sums = np.bincount(plan.table.y, weights=plan.weights)
    assert sums[0] == pytest.approx(sums[1])
    np.testing.assert_array_equal(plan.row_weights(np.arange(N)), plan.table.weights)


def test_without_weights_there_are_none(plan):
    assert plan.weights is None
    assert plan.row_weights(np.arange(3)) is None


@pytest.mark.parametrize("trust", [False, True])
def test_a_model_that_only_a_pickle_holds_is_no_trial_without_trust(tmp_path, monkeypatch, trust):
    families = tmp_path / "families"
    families.mkdir()
    (families / "own.yaml").write_text(OWN_FAMILY)
    (families / "own_grown_estimators.py").write_text(OWN_MODULE)
    monkeypatch.syspath_prepend(str(families))
    plan = make_plan(tmp_path / "run", family_folder=str(families), trust=trust)
    try:
        configuration = get_family("own").space("classification").default()
        payload = search_payload(plan, configuration, jobs=[(0, 0), (0, 1)])
        results = evaluate(str(tmp_path / "run"), payload)
        if trust:
            assert len(list(results)) == 3
        else:
            with pytest.raises(SettingsError, match=r"family own: .* only as a pickle"):
                next(results)
    finally:
        forget_families()
