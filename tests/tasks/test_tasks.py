"""The reusable tasks, as plain functions: ``task.fn`` needs no Prefect server."""

import inspect
import warnings
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from prefect import Task
from prefect.cache_policies import NO_CACHE
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference.bundle import write_bundle
from automl.inference.columns import with_table_names
from automl.inference.forms import NumberForm
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.readings import Reading
from automl.settings import Settings
from automl.significance import Procedure
from automl_tasks import data, models, preprocessing, stages
from automl_tasks.standalone import EVALUATION_SETTINGS

N = 120


@pytest.fixture(scope="module")
def frame():
    """Raw rows with an index of their own, gaps, categories, a date and a target."""
    rng = np.random.default_rng(1)
    size = np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N))
    color = rng.choice(["red", "green", "blue"], N)
    signal = np.nan_to_num(size) + (color == "red") + rng.normal(0, 0.3, N)
    return pd.DataFrame(
        {
            "size": size,
            "color": pd.Series(color, dtype="str").where(rng.random(N) > 0.1),
            "day": pd.date_range("2026-01-01", periods=N).strftime("%Y-%m-%d"),
            "constant": 1.0,
            "price": signal,
            "kind": np.where(signal > 0.4, "yes", "no"),
        },
        index=np.arange(N) * 3 + 7,
    )


@pytest.fixture(scope="module")
def features(frame):
    return frame[["size", "color", "constant"]]


def all_tasks():
    modules = (data, preprocessing, models, stages)
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Task)
    }


@pytest.mark.parametrize("name", all_tasks())
def test_a_task_caches_nothing_persists_nothing_and_is_documented(name):
    task = all_tasks()[name]
    assert task.cache_policy is NO_CACHE or task.cache_policy == NO_CACHE
    assert task.persist_result is False
    assert inspect.getdoc(task.fn)


# --- data -----------------------------------------------------------------------------------------


def test_a_table_is_read_from_any_source(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert len(data.read_table.fn(tmp_path / "a.csv")) == N
    assert list(data.read_table.fn("sklearn:iris", ["target"]).columns) == ["target"]


def test_columns_are_typed_alike_in_training_rows_and_later_ones(frame):
    roles = data.detect_roles.fn(frame.drop(columns="kind"), {"price": "ignored"})
    assert roles["color"] == "nominal"
    assert roles["day"] == "date"
    schema = data.fit_schema.fn(frame, roles)
    typed = data.type_columns.fn(frame, schema)
    later = data.type_columns.fn(frame.head(3).assign(color=["pink", None, "red"]), schema)
    assert list(typed.dtypes) == list(later.dtypes)
    assert "day.month" in typed.columns
    assert "kind" not in typed.columns


def test_test_rows_are_stratified_and_keep_their_index(frame):
    training, test = data.split_test.fn(frame, "kind", 0.25)
    assert sorted([*training.index, *test.index]) == list(frame.index)
    assert len(test) == N // 4
    shares = [(part["kind"] == "yes").mean() for part in (frame, training, test)]
    assert max(shares) - min(shares) < 0.03
    again = data.split_test.fn(frame, "kind", 0.25)[1]
    pd.testing.assert_frame_equal(test, again)


def test_folds_have_the_index_of_the_frame_and_keep_groups_whole(frame):
    folds = data.make_folds.fn(frame, "kind", 4)
    assert folds.index.equals(frame.index)
    assert set(folds) == {0, 1, 2, 3}
    grouped = frame.assign(group=np.arange(N) // 5)
    found = data.make_folds.fn(grouped, "price", 4, groups="group")
    assert found.groupby(grouped["group"]).nunique().max() == 1
    in_time = data.make_folds.fn(frame, "price", 4, time="day")
    assert in_time.is_monotonic_increasing
    assert in_time.iloc[0] == -1


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"target": "knid"}, "did you mean 'kind'"),
        ({"kind": None}, {}, "holds no target in any of its 120 rows"),
        ({"kind": "yes"}, {}, "kind"),
        ({}, {"groups": "gruop"}, "there is no groups column"),
    ],
)
def test_unusable_columns_are_named(frame, change, options, message):
    with pytest.raises(DataError, match=message):
        data.split_test.fn(frame.assign(**change), **{"target": "kind", **options})


def test_rows_without_a_target_are_left_out_of_tests_and_folds(frame):
    gappy = frame.assign(kind=frame["kind"].where(np.arange(N) >= 8))
    with pytest.warns(
        AutoMLWarning, match="8 of 120 rows are dropped: target column 'kind'"
    ) as told:
        parts = data.split_test.fn(gappy, "kind")
    assert len(told) == 1
    assert set().union(*(part.index for part in parts)) == set(frame.index[8:])
    with pytest.warns(AutoMLWarning, match="8 of 120 rows") as told:
        folds = data.make_folds.fn(gappy, "kind", 4)
    assert len(told) == 1
    assert folds.index.equals(frame.index[8:])
    words = frame.assign(price=frame["price"].astype(object).where(np.arange(N) >= 1, "unknown"))
    with pytest.warns(AutoMLWarning, match="1 of 120 rows is dropped"):
        assert len(data.make_folds.fn(words, "price", 4)) == N - 1


def test_groups_and_time_are_not_combined(frame):
    with pytest.raises(SettingsError, match="cannot be combined"):
        data.make_folds.fn(frame, "price", groups="color", time="day")


# --- preprocessing --------------------------------------------------------------------------------


def test_missing_values_are_filled(features):
    filled = preprocessing.impute.fn(features, "median", nominal="most_frequent")
    assert not filled.isna().any().any()
    assert filled.index.equals(features.index)
    gaps = features["size"].isna()
    assert (filled.loc[gaps, "size"] == features["size"].median()).all()


STEPS = {
    "imputer": (preprocessing.impute, preprocessing.fit_imputer, {"method": "median"}),
    "encoder": (preprocessing.encode, preprocessing.fit_encoder, {"method": "onehot"}),
    "filter": (
        preprocessing.filter_variance,
        preprocessing.fit_variance_filter,
        {"threshold": 0.01},
    ),
    "counts": (preprocessing.count_values, preprocessing.fit_value_counts, {}),
    "scaler": (preprocessing.scale, preprocessing.fit_scaler, {"method": "robust"}),
    "reducer": (preprocessing.reduce, preprocessing.fit_reducer, {"method": "pca", "share": 0.8}),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_alone_is_its_fit_applied_to_the_same_rows(features, name):
    step, fit, options = STEPS[name]
    rows = features.assign(size=features["size"].fillna(0)) if name == "reducer" else features
    transformer = fit.fn(rows, **options)
    pd.testing.assert_frame_equal(
        preprocessing.apply.fn(transformer, rows), step.fn(rows, **options)
    )


def test_other_rows_are_treated_by_what_the_training_rows_said(features):
    training, other = features.head(80), features.tail(40)
    scaler = preprocessing.fit_scaler.fn(training, "standard")
    scaled = preprocessing.apply.fn(scaler, other)["size"]
    expected = (other["size"] - training["size"].mean()) / training["size"].std(ddof=0)
    np.testing.assert_allclose(scaled, expected)


def test_encoding_by_the_target_does_not_see_the_own_row(frame, features):
    y = (frame["kind"] == "yes").astype(int).to_numpy()
    encoded = preprocessing.encode.fn(features, y, "target")
    applied = preprocessing.apply.fn(preprocessing.fit_encoder.fn(features, y, "target"), features)
    assert not np.allclose(encoded["color"], applied["color"])


def test_a_preprocessor_does_all_steps(frame, features):
    schema = data.fit_schema.fn(features, data.detect_roles.fn(features))
    typed = data.type_columns.fn(features, schema)
    y = (frame["kind"] == "yes").astype(int).to_numpy()
    choices = {"prep.encoder": "ordinal", "prep.scaler": "standard"}
    preprocessor = preprocessing.fit_preprocessor.fn(typed, y, choices)
    matrix = preprocessing.apply_preprocessor.fn(preprocessor, typed.head(5))
    assert matrix.shape == (5, 2)
    assert list(preprocessor.get_feature_names_out()) == ["size", "color"]


def test_an_unknown_choice_is_refused(features):
    with pytest.raises(SettingsError, match="sclaer"):
        preprocessing.fit_preprocessor.fn(features, choices={"prep.sclaer": "standard"})


# --- models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evaluations(frame):
    values = {"logistic_regression": {"C": 0.5}, "gaussian_nb": {}, "constant": {}}
    return {
        family: models.evaluate_configuration.fn(
            frame.drop(columns="price"), "kind", family, chosen, folds=4
        )
        for family, chosen in values.items()
    }


def test_a_configuration_is_evaluated_on_all_rows(evaluations, frame):
    found = evaluations["logistic_regression"]
    assert found.score > 0.2
    assert abs(evaluations["constant"].score) < 0.1
    assert len(found.fold_scores) == 4
    assert found.predictions.shape == (N, 2)
    assert list(found.classes) == ["no", "yes"]
    assert list(found.labels) == list(frame["kind"])
    is_class = found.labels[:, None] == found.classes
    distances = ((found.predictions - is_class) ** 2).sum(axis=1)
    assert distances.mean() == pytest.approx(found.trial.metrics["brier"])
    assert found.trial.configuration.values["C"] == 0.5


def test_a_regression_is_evaluated_from_a_file(tmp_path, frame):
    frame.drop(columns="kind").to_csv(tmp_path / "a.csv", index=False)
    found = models.evaluate_configuration.fn(
        tmp_path / "a.csv", "price", "ridge", folds=3, metric="r2"
    )
    assert found.classes is None
    assert found.predictions.shape == (N,)
    assert 0.3 < found.score < 1


def test_a_configuration_that_cannot_be_meant_is_refused(frame):
    rows = frame.drop(columns="price")
    for arguments, options in (
        (("kind", "no_such_family"), {}),
        (("kind", "svm", {"no_such_value": 1}), {}),
        (("kind", "elastic_net"), {}),
        (("kind", "svm"), {"fodls": 3}),
    ):
        with pytest.raises(SettingsError):
            models.evaluate_configuration.fn(rows, *arguments, **options)


@pytest.mark.parametrize(
    ("name", "value"), [("trials", 5), ("optimizer", "random"), ("test_share", 0.2)]
)
def test_a_setting_without_effect_on_one_configuration_is_refused(frame, name, value):
    with pytest.raises(SettingsError, match=rf"setting {name}: .* has no effect: one config"):
        models.evaluate_configuration.fn(frame, "kind", "svm", **{name: value})


def test_every_setting_of_an_evaluation_is_one_of_a_run():
    assert set(EVALUATION_SETTINGS) <= Settings.model_fields.keys()


def test_models_are_selected_by_their_scores(evaluations):
    scores = {name: found.fold_scores for name, found in evaluations.items()}
    record = models.select_models.fn(scores)
    assert record.winner == max(scores, key=lambda name: np.mean(scores[name]))
    by_family = models.select_models.fn(scores, {"constant": "floor"}, top_n=1)
    assert {decision.node for decision in by_family.decisions} == {"all", "floor", "root"}
    for wrong in ({}, {"a": [1.0, 2.0], "b": [1.0]}, {"a": [np.nan], "b": [1.0]}):
        with pytest.raises(DataError):
            models.select_models.fn(wrong)


def test_every_setting_of_the_selection_is_an_argument():
    rng = np.random.default_rng(0)
    scores = {name: list(rng.normal(i, 0.1, 30)) for i, name in enumerate("abc")}
    for test in get_args(Procedure):
        record = models.select_models.fn(
            scores,
            test=test,
            normality="lilliefors",
            alpha={"leaf": 0.01},
            top_n={"leaf": 1},
            test_train_ratio=1 / 9,
        )
        assert record.winner == "c"
        how = record.settings.comparison
        assert (how.procedure, how.normality, how.test_train_ratio) == (test, "lilliefors", 1 / 9)
        assert record.dispositions["a"].status == "worse"
        assert how.alpha_split == "level"
        assert record.settings.top_n == {"leaf": 1, "category": 3, "family": 3, "root": 3}
    split = models.select_models.fn(scores).settings
    assert (split.comparison.alpha_split, split.alpha["root"]) == ("tree", 0.05)
    for wrong in ({"alpha": "x"}, {"alpha": {"twig": 0.1}}, {"test": "coin"}, {"alpha_split": "x"}):
        with pytest.raises(SettingsError):
            models.select_models.fn(scores, **wrong)


@pytest.mark.parametrize("combine", ["mean", "vote"])
@pytest.mark.parametrize("method", ["greedy", "agnostic_bayes", "single"])
def test_an_ensemble_has_weights_by_name(evaluations, method, combine):
    predictions = {name: found.predictions for name, found in evaluations.items()}
    labels = evaluations["constant"].labels
    weights = models.weigh_models.fn(
        predictions, labels, method=method, combine=combine, metric="log_loss"
    )
    assert set(weights) == set(evaluations)
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["constant"] < 0.5


def test_an_ensemble_says_what_it_cannot_use(evaluations):
    predictions = {name: found.predictions for name, found in evaluations.items()}
    labels = evaluations["constant"].labels
    for given, said in (
        ({"method": "stacking"}, "second layer"),
        ({"method": "greed"}, "did you mean 'greedy'"),
        ({"combine": "median"}, "a median needs values"),
    ):
        with pytest.raises(SettingsError, match=said):
            models.weigh_models.fn(predictions, labels, **given)
    with pytest.raises(DataError, match=r"'a' must have predictions of shape \(120, 2\)"):
        models.weigh_models.fn({"a": np.zeros(3)}, labels)
    with pytest.raises(DataError, match="at least one model"):
        models.weigh_models.fn({}, labels)


def test_rows_that_were_never_validated_do_not_count_in_an_ensemble(evaluations):
    predictions = evaluations["gaussian_nb"].predictions.copy()
    predictions[:50] = np.nan
    weights = models.weigh_models.fn({"a": predictions}, evaluations["constant"].labels)
    assert weights == {"a": 1.0}


@pytest.fixture(scope="module")
def bundle(frame, features, tmp_path_factory):
    schema = data.fit_schema.fn(features, data.detect_roles.fn(features))
    typed = data.type_columns.fn(features, schema)
    y = (frame["kind"] == "yes").astype(int).to_numpy()
    preprocessor = preprocessing.fit_preprocessor.fn(typed, y)
    matrix = preprocessing.apply_preprocessor.fn(preprocessor, typed)
    pipeline = FittedPipeline(preprocessor, LogisticRegression().fit(matrix, y))
    model = TableModel(
        schema, [Member(1.0, [pipeline])], task="binary", target="kind", classes=["no", "yes"]
    )
    folder = tmp_path_factory.mktemp("model") / "bundle"
    write_bundle(model, folder)
    return folder


def test_a_model_is_loaded_used_and_scored(bundle, frame, features):
    model = models.load_model.fn(bundle)
    predicted = models.predict.fn(model, features)
    assert predicted.index.equals(frame.index)
    assert set(predicted["prediction"]) == {"no", "yes"}
    shares = models.predict.fn(model, features, proba=True)
    assert list(shares.columns) == ["no", "yes"]
    rows = frame[["size", "color", "constant", "kind"]]
    found = models.score.fn(model, rows, metric="accuracy")
    assert found["accuracy"] == pytest.approx((predicted["prediction"] == frame["kind"]).mean())
    assert 0 < found["score"] < 1
    both = models.score.fn(model, rows, metric="auc=2,accuracy=1")
    parts = {
        name: models.score.fn(model, rows, metric=name)["score"] for name in ("auc", "accuracy")
    }
    assert both["score"] == pytest.approx((2 * parts["auc"] + parts["accuracy"]) / 3)
    weighted = models.score.fn(model, rows.assign(w=1.0), weights="w")
    assert weighted["accuracy"] == pytest.approx(found["accuracy"])


@pytest.mark.parametrize("names", [["x", "x"], [" x", "z "], ["x", " "]])
def test_a_model_takes_the_very_names_it_was_trained_with(names):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 2))
    rows = pd.DataFrame(values, columns=names)
    table = with_table_names(rows)
    schema = data.fit_schema.fn(table, data.detect_roles.fn(table))
    typed = data.type_columns.fn(table, schema)
    y = values @ [1.0, 5.0]
    preprocessor = preprocessing.fit_preprocessor.fn(typed, y)
    matrix = preprocessing.apply_preprocessor.fn(preprocessor, typed)
    pipeline = FittedPipeline(preprocessor, LinearRegression().fit(matrix, y))
    model = TableModel(schema, [Member(1.0, [pipeline])], task="regression", target="y")
    assert model.predict(rows) == pytest.approx(y, abs=1e-4)
    assert model.deviations(rows).filled == ()


def test_a_score_reads_the_target_as_the_model_knows_it(features):
    rows = features[["size"]].assign(y=["1.000", "2.000", "3.000", "6.000"] * (N // 4))
    mean = DummyRegressor().fit(np.zeros((1, 1)), [3000.0])
    members = [Member(1.0, [FittedPipeline(None, mean)])]
    schema = data.fit_schema.fn(rows[["size"]], {"size": "numeric"})
    model = TableModel(schema, members, task="regression", target="y")
    model.target_reading = Reading(NumberForm(decimal=",", thousands="."))
    assert models.score.fn(model, rows)["mae"] == pytest.approx(1500.0)


def test_weights_that_are_not_there_are_named(bundle, frame):
    model = models.load_model.fn(bundle)
    with pytest.raises(DataError, match="there is no weights column 'nope'"):
        models.score.fn(model, frame, weights="nope")


def test_numbers_beyond_all_types_are_infinite_or_categories(bundle, features):
    model = models.load_model.fn(bundle)
    rows = features.head(3).astype(object)
    rows.loc[rows.index[0], "color"] = 10**30
    rows.loc[rows.index[1], "size"] = 10**400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AutoMLWarning)
        assert len(model.predict(rows)) == 3


def test_rows_without_a_target_are_left_out_of_a_score(bundle, frame):
    model = models.load_model.fn(bundle)
    frame = frame[["size", "color", "constant", "kind"]]
    kept = models.score.fn(model, frame[8:], metric="accuracy")
    gappy = frame.assign(kind=frame["kind"].where(np.arange(N) >= 8))
    for weights, rows in ((None, gappy), ("w", gappy.assign(w=1.0))):
        with pytest.warns(AutoMLWarning, match="8 of 120 rows are dropped") as told:
            found = models.score.fn(model, rows, metric="accuracy", weights=weights)
        assert len(told) == 1
        assert found == pytest.approx(kept)
    with pytest.raises(DataError, match="no target in any of its 120 rows"):
        models.score.fn(model, frame.assign(kind=None))


def test_rows_without_a_target_are_left_out_of_an_evaluation(frame):
    gappy = frame.assign(kind=frame["kind"].where(np.arange(N) >= 8))
    with pytest.warns(AutoMLWarning, match="8 of 120 rows are dropped"):
        found = models.evaluate_configuration.fn(gappy, "kind", "gaussian_nb", folds=2)
    assert len(found.labels) == N - 8
    with pytest.raises(DataError, match="holds no target in 8 of 120 rows"):
        models.evaluate_configuration.fn(gappy, "kind", "gaussian_nb", folds=2, strict=True)


def test_given_labels_have_no_gap(evaluations):
    found = evaluations["gaussian_nb"]
    labels = found.labels.astype(object)
    labels[0] = None
    with pytest.raises(DataError, match="'labels' is empty in 1 row; drop them first"):
        models.weigh_models.fn({"a": found.predictions}, labels)


def test_rows_that_cannot_be_scored_are_refused(bundle, frame, features):
    model = models.load_model.fn(bundle)
    with pytest.raises(DataError, match="no target column 'kind'"):
        models.score.fn(model, features)
    with pytest.raises(DataError, match="labels that the model lacks: 'perhaps'"):
        models.score.fn(model, features.assign(kind="perhaps"))


def test_a_model_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(SettingsError, match="20260101-000000-aaaa"):
        models.load_model.fn("20260101-000000-aaaa", tmp_path)
