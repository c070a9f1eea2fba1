"""scikit-learn's own checks of an estimator, and on a table of ours what they check on tables that AutoML refuses.

Each fit is a run. By default only the checks of `QUICK` go, of which few begin runs. All of them begin about
ninety, twenty minutes of one core: ``pytest tests/estimator/test_sklearn_checks.py --sklearn-checks``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from automl.errors import DataError
from automl_flows import AutoML

LEAK = "the check makes its target of a column of the table, which AutoML refuses as a leak"
EXCEPTED = {
    "check_dict_unchanged": LEAK,
    "check_dont_overwrite_parameters": LEAK,
    "check_f_contiguous_array_estimator": LEAK,
    "check_fit2d_1feature": LEAK,
    "check_fit2d_predict1d": LEAK,
    "check_methods_sample_order_invariance": LEAK,
    "check_methods_subset_invariance": LEAK,
    "check_pipeline_consistency": LEAK,
    "check_sample_weight_equivalence_on_dense_data": (
        "a row of weight two is in one fold, and two equal rows can be tried in other folds"
    ),
}
"""Checks that must fail, with the reason; `docs/python.md` has the same."""
EXCEPTED_OF_CLASSES = {
    "check_sample_weights_not_overwritten": LEAK,
    "check_sample_weights_shape": LEAK,
    "check_class_weight_classifiers": (
        "class_weight is a name; what errors of single classes cost is said by cost_matrix"
    ),
}
EXCEPTED_OF_NUMBERS = {"check_regressors_no_decision_function": LEAK}
QUICK = {
    *EXCEPTED,
    *EXCEPTED_OF_CLASSES,
    *EXCEPTED_OF_NUMBERS,
    "check_all_zero_sample_weights_error",
    "check_array_api_input",
    "check_classifiers_one_label",
    "check_classifiers_regression_target",
    "check_complex_data",
    "check_decision_proba_consistency",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimator_tags_renamed",
    "check_estimators_empty_data_messages",
    "check_estimators_partial_fit_n_features",
    "check_estimators_unfitted",
    "check_fit1d",
    "check_fit2d_1sample",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_n_features_in_after_fitting",  # a run
    "check_no_attributes_set_in_init",
    "check_non_transformer_estimators_n_iter",
    "check_parameters_default_constructible",
    "check_requires_y_none",
    "check_set_params",
    "check_supervised_y_no_nan",
    "check_valid_tag_types",
} - {"check_sample_weight_equivalence_on_dense_data"}


def automl(task: str) -> AutoML:
    """The cheapest that still searches: the three floors, and one family that takes weights."""
    return AutoML(
        task=task,
        trials=4,
        families="gaussian_nb" if task == "classification" else "ridge",
        workers=1,
        seed=0,
        settings={"folds": 2, "ensemble": "none", "experience": False, "challenge": False},
    )


def excepted(estimator: AutoML) -> dict[str, str]:
    is_of_classes = estimator.task == "classification"
    return EXCEPTED | (EXCEPTED_OF_CLASSES if is_of_classes else EXCEPTED_OF_NUMBERS)


@pytest.fixture
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOML_HOME", str(tmp_path / "home"))


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::automl.errors.AutoMLWarning")
@pytest.mark.usefixtures("_home", "_with_server")
@parametrize_with_checks(
    [automl("classification"), automl("regression")],
    expected_failed_checks=excepted,
    xfail_strict=True,
)
def test_scikit_learns_check(
    estimator: AutoML, check: Callable[[Any], None], request: pytest.FixtureRequest
) -> None:
    name = check.func.__name__  # type: ignore[attr-defined]
    if name not in QUICK and not request.config.getoption("--sklearn-checks"):
        pytest.skip("it begins runs, which --sklearn-checks asks for")
    check(estimator)


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def fitted(
    rows: pd.DataFrame, prefect_url: str, tmp_path_factory: pytest.TempPathFactory
) -> AutoML:
    """A model of an array in Fortran's order, with weights that nobody may write to."""
    rng = np.random.default_rng(1)
    y = np.where(rows["a"] + rng.normal(size=60) / 3 > 0, "yes", "no")
    weights = np.ones(60)
    weights.flags.writeable = False
    model = automl("classification").set_params(home=tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_API_URL", prefect_url)
        return model.fit(np.asfortranarray(rows), y, sample_weight=weights)


@pytest.mark.integration
def test_what_the_excepted_checks_check_holds_on_a_table_without_a_leak(
    fitted: AutoML, rows: pd.DataFrame
) -> None:
    X, before = rows.to_numpy(), dict(vars(fitted))
    labels, chances = fitted.predict(X), fitted.predict_proba(X)
    order = np.random.default_rng(2).permutation(60)
    assert (fitted.predict(X[order]) == labels[order]).all()
    np.testing.assert_allclose(fitted.predict_proba(X[order]), chances[order])
    one_by_one = [fitted.predict_proba(row.reshape(1, -1))[0] for row in X[:7]]
    np.testing.assert_allclose(one_by_one, chances[:7], rtol=1e-6)
    assert (make_pipeline(fitted).predict(X) == labels).all()
    with pytest.raises(DataError, match="Reshape your data"):
        fitted.predict(X[0])
    assert vars(fitted) == before
    added = set(vars(fitted)) - set(vars(AutoML()))
    assert all(name.startswith("_") or name.endswith("_") for name in added)


@pytest.mark.integration
def test_columns_of_an_array_have_no_names_and_go_by_position(
    fitted: AutoML, rows: pd.DataFrame
) -> None:
    assert fitted.n_features_in_ == 3
    assert not hasattr(fitted, "feature_names_in_")
    with pytest.raises(DataError, match="X has 2 features, but AutoML is expecting 3 features"):
        fitted.predict(rows.to_numpy()[:, :2])


@pytest.mark.integration
def test_a_fitted_model_can_be_pickled_cloned_and_known(fitted: AutoML, rows: pd.DataFrame) -> None:
    X = rows.to_numpy()
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X) == fitted.predict(X)).all()
    assert again.result_.folder == fitted.result_.folder
    assert again.result_.why() == fitted.result_.why()
    check_is_fitted(again)
    assert not hasattr(clone(fitted), "model_")
    assert is_classifier(fitted)


def test_the_task_tells_scikit_learn_the_kind_before_fit() -> None:
    classes, numbers = automl("classification"), automl("regression")
    assert is_classifier(classes)
    assert is_regressor(numbers)
    assert isinstance(check_cv(3, [0, 1] * 9, classifier=is_classifier(classes)), StratifiedKFold)
    assert hasattr(classes, "predict_proba")
    assert not hasattr(numbers, "predict_proba")
