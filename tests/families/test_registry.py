"""The registry, users' own families, and the portfolio."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.estimators.histograms import useful_bins
from automl.families import families, get_family, load_families, portfolio
from automl.families import family as family_module
from automl.families.portfolio import PORTFOLIO
from automl.families.registry import forget_families
from automl.records import Task

THESIS = {
    "knn",
    "radius_neighbors",
    "nearest_centroid",
    "sgd",
    "logistic_regression",
    "svm",
    "linear_svm",
    "nu_svm",
    "decision_tree",
    "random_forest",
    "extra_trees",
    "ridge",
    "lda",
    "qda",
    "gradient_boosting",
    "passive_aggressive",
    "gaussian_nb",
}
OWN = """
name: my_tree
title: A tree of mine
estimators:
  classification: sklearn.tree:DecisionTreeClassifier
simplicity: 0.9
interpretability: 0.9
capabilities: {probabilities: true, random_state: true}
tree:
  max_depth: {type: uniform, low: 1, high: 5, integer: true, default: 3}
"""


@pytest.fixture(autouse=True)
def _forget():
    yield
    forget_families()


def test_all_families_of_the_thesis_are_there_for_classes():
    assert set(families("classification")) >= THESIS


def test_families_come_in_prior_order_and_the_orders_differ():
    found = families(Task.REGRESSION)
    orders = [family.cost.order for family in found.values()]
    assert orders == sorted(orders)
    assert next(iter(found)) == "constant"
    assert next(iter(families(include_floors=False))) == "lightgbm"
    for kind in ("classification", "regression"):
        orders = [family.cost.order for family in families(kind).values()]
        assert len(set(orders)) == len(orders)


def test_an_unknown_family_names_the_nearest_one():
    with pytest.raises(SettingsError, match="did you mean 'random_forest'"):
        get_family("random_forrest")


def test_a_kind_that_a_family_lacks_is_a_reason_and_an_error():
    lda = get_family("lda")
    assert "no estimator for regression" in lda.supports("regression", 100, 5)
    with pytest.raises(SettingsError, match="no estimator for regression"):
        lda.space("regression")


def test_a_table_that_is_too_large_is_a_reason_with_both_numbers():
    reason = get_family("svm").supports(Task.BINARY, 30_000, 10, 2)
    assert reason == "svm handles at most 20,000 rows; the table has 30,000"
    assert get_family("svm").supports(Task.BINARY, 20_000, 10, 2) is None


def test_an_extra_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(family_module.importlib.util, "find_spec", lambda name: None)
    xgboost = get_family("xgboost")
    assert "pip install 'automl-flows[xgboost]'" in xgboost.supports(Task.BINARY, 100, 5, 2)
    with pytest.raises(SettingsError, match="not installed"):
        xgboost.build(xgboost.space("regression").default(), task="regression")
    assert get_family("svm").supports(Task.BINARY, 100, 5, 2) is None
    assert "xgboost" in families()
    assert "xgboost" not in families(include_extras=False)


def test_importing_the_registry_loads_no_heavy_library():
    code = (
        "import sys, automl.families; "
        "print([m for m in ('sklearn', 'lightgbm', 'scipy', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_user_adds_a_family_by_one_file(tmp_path):
    (tmp_path / "mine.yaml").write_text(OWN)
    assert list(load_families(tmp_path)) == ["my_tree"]
    family = get_family("my_tree")
    assert "my_tree" in families(Task.BINARY)
    assert "my_tree" not in families(Task.REGRESSION)
    estimator = family.build(family.space("classification").default(), task=Task.BINARY, seed=4)
    assert (estimator.max_depth, estimator.random_state) == (3, 4)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("tree:\n", "treee:\n", "treee"),
        ("low: 1,", "low: nine,", "tree.max_depth.low"),
        ("simplicity: 0.9", "simplicity: 3", "simplicity"),
        ("sklearn.tree:DecisionTreeClassifier", "sklearn.tree", "estimators.classification"),
        ("title: A tree of mine\n", "", "title"),
    ],
)
def test_a_malformed_file_is_named_with_key_and_reason(tmp_path, old, new, key):
    assert old in OWN
    (tmp_path / "mine.yaml").write_text(OWN.replace(old, new))
    with pytest.raises(SettingsError) as caught:
        load_families(tmp_path)
    assert "mine.yaml" in caught.value.message
    assert key in caught.value.message
    assert "my_tree" not in families()


def test_two_files_with_one_name_and_a_missing_folder_are_errors(tmp_path):
    (tmp_path / "a.yaml").write_text(OWN)
    (tmp_path / "b.yaml").write_text(OWN)
    with pytest.raises(SettingsError, match=r"b.yaml: name: 'my_tree' is also the name in a.yaml"):
        load_families(tmp_path)
    with pytest.raises(SettingsError, match="does not exist"):
        load_families(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        ("sklearn.tree:NoSuchTree", "NoSuchTree"),
        ("no_such_package.tree:Tree", "no_such_package"),
        ("sklearn.naive_bayes:GaussianNB", "max_depth"),
    ],
)
def test_an_estimator_that_does_not_fit_the_file_is_a_settings_error(tmp_path, estimator, reason):
    text = OWN.replace("sklearn.tree:DecisionTreeClassifier", estimator)
    (tmp_path / "mine.yaml").write_text(text)
    family = load_families(tmp_path)["my_tree"]
    with pytest.raises(SettingsError, match=reason):
        family.build(family.space("classification").default(), task=Task.BINARY)


@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize("size", [(60, 4), (700, 20), (62, 2000), (3000, 50), (50_000, 15)])
def test_the_portfolio_is_legal_distinct_and_starts_with_what_suits_the_size(task, size):
    configurations = portfolio(task, *size)
    assert len({c.id for c in configurations}) == len(configurations) >= 8
    for configuration in configurations:
        family = get_family(configuration.family)
        assert family.space(task).is_legal(configuration) is None
        assert family.supports(task, *size, 2) is None
        family.build(configuration, task=task, n_rows=size[0], n_columns=size[1])
    assert ("svm" in {c.family for c in configurations}) == (size[0] <= 4000)


def test_a_malformed_portfolio_names_the_entry(tmp_path):
    path = tmp_path / "portfolio.yaml"
    path.write_text("classification:\n  - {name: a, family: svm, values: {CC: 1}}\n")
    with pytest.raises(SettingsError, match=r"portfolio.yaml: classification.0.*'CC'"):
        portfolio(Task.BINARY, 100, 5, path=path)
    path = tmp_path / "other.yaml"
    path.write_text("classification:\n  - {name: a, famly: svm}\n")
    with pytest.raises(SettingsError, match="famly"):
        portfolio(Task.BINARY, 100, 5, path=path)
    assert PORTFOLIO.exists()


def test_defaults_of_the_thesis_families_are_those_of_scikit_learn():
    svm = get_family("svm")
    estimator = svm.build(svm.space("classification").default(), task=Task.BINARY)
    assert (estimator.C, estimator.kernel, estimator.gamma) == (1.0, "rbf", "scale")
    forest = get_family("random_forest")
    for kind, expected in (("classification", "sqrt"), ("regression", 1.0)):
        estimator = forest.build(forest.space(kind).default(), task=kind)
        assert estimator.max_features == expected
        assert estimator.n_estimators == 100


def test_seed_and_threads_reach_the_estimator():
    family = get_family("lightgbm")
    default = family.space("regression").default()
    estimator = family.build(default, task=Task.REGRESSION, seed=9, threads=2)
    assert (estimator.random_state, estimator.n_jobs) == (9, 2)
    assert family.relative_seconds(10_000, 20) > family.relative_seconds(1_000, 10) > 0


def test_calibration_gives_a_margin_probabilities():
    family = get_family("linear_svm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] > 0).astype(int)
    for calibration in ("none", "sigmoid"):
        configuration = family.space("classification").complete({"calibration": calibration})
        estimator = family.build(configuration, task=Task.BINARY)
        family.fit(estimator, X, y)
        assert hasattr(estimator, "predict_proba") == (calibration == "sigmoid")


@pytest.mark.parametrize(("n_rows", "bins"), [(0, 40), (1000, 40), (4000, 100), (10**6, 255)])
def test_a_computed_argument_follows_the_rows_of_the_training_part(n_rows, bins):
    family = get_family("hist_gradient_boosting")
    configuration = family.space("regression").default()
    estimator = family.build(configuration, task="regression", n_rows=n_rows)
    assert estimator.max_bins == bins == useful_bins(255, n_rows)
