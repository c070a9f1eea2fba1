"""Contract: every family's fitted estimator is stored without a pickle and predicts alike after loading."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from automl.families.registry import families
from automl.inference.bundle import load_bundle, write_bundle
from automl.inference.manifest import EstimatorEntry
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.packing import needs_pickle, read_estimator, write_estimator
from automl.inference.plain_records import read_record
from automl.preprocessing import build_preprocessor
from automl.records import Task

CASES = [(task, name) for task in Task for name in families(task)]


@pytest.fixture(scope="module")
def fitted_on(schema, typed, targets):
    """Function that fits a family's default configuration."""

    def fit(family, task, y):
        configuration = family.space(task).default()
        n_classes = int(y.max()) + 1 if task.is_classification else 0
        size = {"n_rows": len(y), "n_columns": typed.shape[1], "n_classes": n_classes}
        estimator = family.build(configuration, task=task, seed=1, **size)
        preprocessor = build_preprocessor(configuration.values, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence on so small a table is not the point
            family.fit(estimator, preprocessor.fit_transform(typed, y), y)
        members = [Member(1.0, [FittedPipeline(preprocessor, estimator)], family.name)]
        classes = list(range(n_classes)) or None
        return TableModel(schema, members, task=str(task), target="label", classes=classes)

    return fit


@pytest.mark.parametrize(("task", "name"), CASES)
def test_a_family_is_stored_without_a_pickle(
    task, name, fitted_on, targets, raw, strange, tmp_path
):
    family = families(task)[name]
    if family.unavailable:
        pytest.skip(family.unavailable)
    model = fitted_on(family, task, targets[str(task)])
    manifest = write_bundle(model, tmp_path / "model")
    assert not manifest["needs_trust"], manifest["estimators"]
    again = load_bundle(tmp_path / "model")
    for frame in (raw, strange):
        np.testing.assert_array_equal(again.raw(frame), model.raw(frame))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost", "random_forest"])
def test_a_training_part_with_one_class_is_stored_too(name, fitted_on, typed, raw, tmp_path):
    family = families(Task.BINARY)[name]
    if family.unavailable:
        pytest.skip(family.unavailable)
    model = fitted_on(family, Task.MULTICLASS, np.full(len(typed), 2, dtype=np.int32))
    write_bundle(model, tmp_path / "model")
    np.testing.assert_array_equal(load_bundle(tmp_path / "model").raw(raw), model.raw(raw))


OTHERS = {
    "voting": lambda: VotingClassifier(
        [("a", LogisticRegression()), ("b", RandomForestClassifier(5))], voting="soft"
    ),
    "stacking": lambda: StackingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier())]),
    "bagging": lambda: BaggingClassifier(n_estimators=3),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "calibrated": lambda: CalibratedClassifierCV(LinearSVC()),
    "one_vs_rest": lambda: OneVsRestClassifier(LogisticRegression()),
    "lightgbm": lambda: pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, verbose=-1),
    "xgboost": lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=5),
    "catboost": lambda: pytest.importorskip("catboost").CatBoostClassifier(
        iterations=5, verbose=0, allow_writing_files=False
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_family_of_ones_own_with_a_known_estimator_needs_no_pickle(name, targets, tmp_path):
    y = targets["multiclass"]
    X = np.random.default_rng(3).normal(size=(len(y), 4)).astype(np.float32)
    estimator = OTHERS[name]()
    assert not needs_pickle(estimator), "nothing is refused before it is fitted"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
        expected = estimator.predict_proba(X)
    assert not needs_pickle(estimator)
    (tmp_path / "estimators").mkdir()
    again = read_estimator(
        tmp_path,
        read_record(EstimatorEntry, write_estimator(estimator, tmp_path, 0)),
        trust=False,
    )
    np.testing.assert_array_equal(again.predict_proba(X), expected)
