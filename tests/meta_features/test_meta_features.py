"""Meta-features against scipy, scikit-learn, closed forms, and published values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.metrics import cohen_kappa_score, mutual_info_score, r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from automl.data.table import Table, prepare_table
from automl.generated_lists import PAGE_END, PAGE_START
from automl.meta_features import (
    META_FEATURES,
    MetaFeatures,
    Target,
    describe,
    landmarks,
    tree_shape,
)
from automl.meta_features import view as sizes
from automl.meta_features.documentation import feature_tables
from automl.meta_features.information import entropies, entropy
from automl.meta_features.statistical import (
    association,
    autocorrelation,
    kurtosis,
    outlier_shares,
    skewness,
)
from automl.meta_features.view import View, binned

DOCS = Path(__file__).parents[2] / "docs" / "meta-features.md"
OPENML_IRIS = {
    "NumberOfInstances": 150.0,
    "NumberOfClasses": 3.0,
    "ClassEntropy": 1.584962500721156,
    "AutoCorrelation": 0.9865771812080537,
    "MaxSkewnessOfNumericAtts": 0.3340526621720866,
    "MaxKurtosisOfNumericAtts": 0.2907810623654279,
    "MinKurtosisOfNumericAtts": -1.401920800645399,
    "MajorityClassPercentage": 100.0 / 3.0,
    "MinorityClassPercentage": 100.0 / 3.0,
    "PercentageOfMissingValues": 0.0,
    "DecisionStumpErrRate": 1.0 / 3.0,
}
"""Qualities of data set 61 of OpenML."""


def iris_of_openml() -> pd.DataFrame:
    """Iris as UCI has it, which differs from Fisher's in two rows."""
    frame = load_iris(as_frame=True).frame
    frame.iloc[34, :4] = [4.9, 3.1, 1.5, 0.1]
    frame.iloc[37, :4] = [4.9, 3.1, 1.5, 0.1]
    return frame.assign(target=frame["target"].map("c{}".format))


def table(n: int = 200, *, classes: int = 3, seed: int = 0, missing: float = 0.1) -> Table:
    """Numbers and words, some missing; no classes: a number as target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    frame["word"] = np.array(["red", "green", "blue"])[rng.integers(3, size=n)]
    frame["flag"] = np.array(["yes", "no"])[rng.integers(2, size=n)]
    frame = frame.mask(rng.random(frame.shape) < missing)
    signal = frame["a"].fillna(0.0) + (frame["word"] == "red")
    if classes:
        frame["y"] = [f"c{v}" for v in pd.qcut(signal + rng.normal(0, 0.1, n), classes).cat.codes]
    else:
        frame["y"] = signal + rng.normal(0.0, 0.1, n)
    return prepare_table(frame, target="y")


def described(found: Table, seed: int = 0) -> MetaFeatures:
    return describe(found, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def iris() -> Table:
    return prepare_table(iris_of_openml(), target="target")


# --- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_each_feature_is_a_finite_number_or_absent_with_a_reason(classes):
    found = described(table(classes=classes))
    assert set(found.values) | set(found.missing) == set(META_FEATURES)
    assert not set(found.values) & set(found.missing)
    assert all(math.isfinite(value) for value in found.values.values())
    assert all(found.missing.values())
    wrong = Target.NUMBERS if classes else Target.CLASSES
    assert set(found.missing) == {f.name for f in META_FEATURES.values() if f.target is wrong}
    assert MetaFeatures.from_json(found.to_json()) == found


def test_equal_tables_and_streams_give_equal_numbers_whatever_is_asked_for(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_CELLS", 600)
    monkeypatch.setattr(sizes, "FEWEST_ROWS", 50)
    monkeypatch.setattr(sizes, "MODEL_ROWS", 60)
    monkeypatch.setattr(sizes, "MODEL_COLUMNS", 3)
    whole = described(table(300))
    assert whole == described(table(300)) or whole.values == described(table(300)).values
    assert whole.values != described(table(300), seed=1).values
    for name in ("stump_error", "skewness_mean", "tree_leaves"):
        one = describe(
            table(300), rng=np.random.default_rng(0), features=[META_FEATURES[name]]
        ).values
        assert one == {name: whole.values[name]}


@settings(max_examples=12, deadline=None)
@given(st.integers(10, 40), st.sampled_from([0, 2, 4]), st.integers(0, 5), st.floats(0.0, 0.9))
def test_small_and_holey_tables_are_described(n, classes, seed, missing):
    found = described(table(n, classes=classes, seed=seed, missing=missing))
    assert found.values["n_rows"] == n
    assert not found.late


def test_tables_of_one_kind_of_column_are_described():
    words = pd.DataFrame({"w": list("aabbccdd") * 5, "y": list("nynynyny") * 5})
    found = described(prepare_table(words, target="y"))
    assert found.missing["skewness_mean"] == "no numeric column varies"
    assert found.values["share_nominal"] == 1.0
    assert "nearest_neighbor_error" in found.values


def test_samples_are_bounded_and_of_every_class(monkeypatch):
    monkeypatch.setattr(sizes, "MODEL_ROWS", 50)
    monkeypatch.setattr(sizes, "MOST_COLUMNS", 3)
    monkeypatch.setattr(sizes, "MOST_CELLS", 240)
    monkeypatch.setattr(sizes, "FEWEST_ROWS", 20)
    seen = View(table(500, classes=5), np.random.default_rng(0))
    assert seen.numeric.shape[1] + seen.nominal.shape[1] == 3
    assert len(seen.rows) == 80
    assert np.all(np.diff(seen.rows) > 0)
    assert len(seen.model_y) == 50
    assert list(np.bincount(seen.model_y)) == [10] * 5


def test_a_limit_of_time_leaves_features_out_and_says_so():
    ticks = iter(range(10**6))
    found = describe(
        table(60), rng=np.random.default_rng(0), seconds=200.0, clock=lambda: float(next(ticks))
    )
    assert found.late
    assert set(found.late) <= set(found.missing)
    assert found.values["n_rows"] == 60.0
    assert {found.missing[name] for name in found.late} == {"it ran out of time"}


def test_rows_that_belong_together_are_in_one_fold():
    frame = iris_of_openml()
    doubled = pd.concat([frame, frame], ignore_index=True)
    found = describe(
        prepare_table(doubled, target="target"),
        rng=np.random.default_rng(0),
        features=[META_FEATURES["nearest_neighbor_error"]],
    )
    assert found.values["nearest_neighbor_error"] > 0.02  # 0 if the copy could be found


def test_the_page_lists_what_is_computed():
    text = DOCS.read_text(encoding="utf-8")
    inside = text.partition(PAGE_START)[2].partition(PAGE_END)[0]
    assert inside.strip() == feature_tables().strip()


# --- against others -------------------------------------------------------------------------------


def test_published_qualities_of_iris(iris):
    found = described(iris).values
    ours = {f.openml: found[f.name] for f in META_FEATURES.values() if f.openml and f.name in found}
    for name, published in OPENML_IRIS.items():
        unit = 100.0 if name.startswith("Percentage") or name.endswith("Percentage") else 1.0
        assert unit * ours[name] == pytest.approx(published, rel=1e-9), name
    # cross-validated on other folds
    assert ours["kNN1NErrRate"] == pytest.approx(0.0467, abs=0.03)
    assert ours["NaiveBayesErrRate"] == pytest.approx(0.04, abs=0.03)


def test_moments_are_those_of_scipy_without_the_missing_values():
    rng = np.random.default_rng(3)
    X = rng.gamma(2.0, size=(60, 5)) * 10.0 ** np.arange(5)
    X[rng.random(X.shape) < 0.2] = np.nan
    for ours, theirs in ((skewness, stats.skew), (kurtosis, stats.kurtosis)):
        np.testing.assert_allclose(ours(X), theirs(X, axis=0, bias=False, nan_policy="omit"))
    constant = np.column_stack([np.ones(10), np.full(10, np.nan), [1.0, 2.0, *[np.nan] * 8]])
    assert np.isnan(skewness(constant)).all()
    assert np.isnan(kurtosis(constant)).all()


def test_outliers_lie_beyond_tukeys_fences():
    X = np.array([[1.0, 2.0, 3.0, 4.0, 100.0], [1.0] * 4 + [np.nan], [np.nan] * 5]).T
    np.testing.assert_allclose(outlier_shares(X), [0.2, 0.0, np.nan])


def test_association_is_the_share_of_variance_between_classes():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90, 3)), rng.integers(4, size=90).astype(float)
    X[:, 1] += y
    groups = [[X[y == c, j] for c in range(4)] for j in range(3)]
    f = np.array([stats.f_oneway(*group).statistic for group in groups])
    expected = f * 3 / (f * 3 + 86)
    np.testing.assert_allclose(association(X, y, has_classes=True), expected)
    numbers = [stats.pearsonr(X[:, j], y).statistic ** 2 for j in range(3)]
    np.testing.assert_allclose(association(X, y, has_classes=False), numbers)


def test_autocorrelation_counts_equal_neighbors_or_correlates():
    y = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 2.0])
    assert autocorrelation(y, has_classes=True) == pytest.approx(3 / 5)
    expected = stats.pearsonr(y[:-1], y[1:]).statistic
    assert autocorrelation(y, has_classes=False) == pytest.approx(expected)


def test_entropies_are_those_of_scipy_and_information_that_of_scikit_learn():
    rng = np.random.default_rng(5)
    x, y = rng.integers(-1, 7, size=300), rng.integers(3, size=300)
    shares = np.unique(x, return_counts=True)[1] / 300
    own, information = entropies(x, y)
    assert own == pytest.approx(stats.entropy(shares, base=2)) == pytest.approx(entropy(shares))
    assert information == pytest.approx(mutual_info_score(x, y) / math.log(2))
    assert entropies(y, y) == pytest.approx((entropies(y, y)[0],) * 2)
    assert entropies(np.zeros(300, dtype=int), y) == pytest.approx((0.0, 0.0), abs=1e-12)


@given(st.lists(st.integers(0, 30) | st.none(), min_size=1, max_size=60))
def test_bins_follow_the_order_and_equal_values_share_one(values):
    x = np.array([np.nan if v is None else float(v) for v in values])
    codes = binned(x[:, None])[:, 0]
    assert np.array_equal(codes < 0, np.isnan(x))
    known, kept = x[codes >= 0], codes[codes >= 0]
    order = np.argsort(known, kind="stable")
    assert np.all(np.diff(kept[order]) >= 0)
    for value in np.unique(known):
        assert len(np.unique(kept[known == value])) == 1
    assert codes.max(initial=-1) < 10


def test_bins_of_different_values_are_of_equal_frequency():
    x = np.random.default_rng(6).permutation(1000).astype(float)
    assert list(np.bincount(binned(x[:, None])[:, 0])) == [100] * 10


def test_measures_of_landmarkers_are_those_of_scikit_learn():
    rng = np.random.default_rng(7)
    y = rng.integers(3, size=120)
    S = rng.random((120, 3)).round(1) + 0.2 * np.eye(3)[y]
    S /= S.sum(axis=1, keepdims=True)
    assert landmarks.error_rate(S, y) == pytest.approx(np.mean(S.argmax(axis=1) != y))
    assert landmarks.kappa(S, y) == pytest.approx(cohen_kappa_score(y, S.argmax(axis=1)))
    area = roc_auc_score(y, S, multi_class="ovr", average="weighted")
    assert landmarks.area(S, y) == pytest.approx(area)
    z, guess = rng.normal(size=50), rng.normal(size=(50, 1))
    assert landmarks.r_squared(0.2 * guess, z) == pytest.approx(r2_score(z, 0.2 * guess))
    assert landmarks.r_squared(100.0 * guess, z) == -1.0


def test_naive_bayes_of_numbers_alone_is_that_of_scikit_learn(iris):
    seen = View(iris, np.random.default_rng(0))
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    X, y = seen.model_numbers, seen.model_y
    expected = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
    np.testing.assert_allclose(landmarks.naive_bayes(seen, train, test), expected, atol=1e-9)


def test_landmarkers_see_a_class_that_their_training_rows_lack(iris):
    seen = View(iris, np.random.default_rng(0))
    train, test = np.flatnonzero(seen.model_y > 0), np.flatnonzero(seen.model_y == 0)
    for learner in (landmarks.tree(2), landmarks.naive_bayes, landmarks.nearest_neighbor):
        S = learner(seen, train, test)
        assert S.shape == (50, 3)
        assert not S[:, 0].any()


def test_the_shape_of_the_tree_is_that_of_scikit_learns(iris):
    seen = View(iris, np.random.default_rng(0))
    shape = tree_shape.shape(seen)
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    tree.fit(landmarks.plain_inputs(seen), seen.model_y)
    assert len(shape.branch_lengths) == tree.get_n_leaves()
    assert shape.branch_lengths.max() == tree.get_depth()
    assert shape.level_widths.sum() == tree.tree_.node_count
    assert shape.uses.sum() == tree.get_n_leaves() - 1
    assert np.sum(0.5**shape.branch_lengths) == pytest.approx(1.0)  # Kraft
