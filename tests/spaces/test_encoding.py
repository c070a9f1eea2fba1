"""Encodings of configurations (H18 section 3.1.1)."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.preprocessing.matrix_facts import matrix_facts
from automl.preprocessing.pipeline import build_preprocessor
from automl.records import Configuration
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree


def draw(space, n, seed=0):
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(n)]


def row(encoder, configuration, facts=None):
    values = encoder.transform([configuration], facts)[0]
    return dict(zip(encoder.feature_names, values.tolist(), strict=True))


@pytest.fixture(scope="module")
def encoder(space) -> ConfigurationEncoder:
    return ConfigurationEncoder(space).fit()


@given(st.integers(0, 2**32), st.sampled_from(["onehot", "index"]))
def test_encodings_are_finite_and_inside_the_cube(space, seed, form) -> None:
    encoder = ConfigurationEncoder(space, form=form).fit()
    found = encoder.transform(draw(space, 5, seed))
    assert found.shape == (5, len(encoder.feature_names))
    assert np.all(np.isfinite(found))
    numeric = found[:, ~encoder.is_nominal]
    assert np.all((numeric >= 0) & (numeric <= 1))


def test_numbers_are_scaled_on_their_own_scale(space, encoder) -> None:
    assert row(encoder, space.complete({"C": 0.001}))["C"] == pytest.approx(0.0)
    assert row(encoder, space.complete({"C": 1.0}))["C"] == pytest.approx(0.5)
    assert row(encoder, space.complete({"C": 100.0}))["C"] == pytest.approx(5 / 6)


def test_inactive_numbers_are_a_constant_with_a_flag(space, encoder) -> None:
    linear = row(encoder, space.complete({"kernel": "linear"}))
    assert (linear["degree"], linear["degree:active"]) == (0.5, 0.0)
    poly = row(encoder, space.complete({"kernel": "poly"}))
    assert (poly["degree:active"], poly["gamma:active"]) == (1.0, 1.0)


def test_one_flag_stands_for_all_features_of_the_same_context(space) -> None:
    tree = {
        "k": {
            "choices": {
                "a": None,
                "b": {
                    "tree": {
                        "x": {"type": "uniform", "low": 0, "high": 1},
                        "y": {"type": "uniform", "low": 0, "high": 1},
                    }
                },
            }
        }
    }
    names = ConfigurationEncoder(SpaceTree.build("f", tree)).fit().feature_names
    assert [name for name in names if name.endswith(":active")] == ["x:active"]


@pytest.mark.parametrize(
    ("choice", "number"), [("sqrt", 6 / 36), ("log2", np.log2(36) / 36), (None, 1.0)]
)
def test_words_have_the_numbers_that_they_stand_for(space, choice, number) -> None:
    facts = {"n_columns": 36, "n_rows": 400}
    encoder = ConfigurationEncoder(space, facts=facts).fit()
    word = row(encoder, space.complete({"max_features": choice}))
    low, high = min(0.1, np.log2(36) / 36), 1.0
    assert word["max_features"] == pytest.approx((number - low) / (high - low))
    share = space.complete({"max_features": "share", "max_features_share": 0.5})
    assert row(encoder, share)["max_features"] == pytest.approx((0.5 - low) / (high - low))
    assert row(encoder, share)["max_features=share"] == 1.0


@pytest.mark.parametrize("family", ["svm", "nu_svm"])
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_gamma_scale_is_the_number_that_libsvm_takes_for_it(family, kind) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(50, 9, 300),
            "y": rng.exponential(2, 300),
            "rare": pd.Categorical(rng.choice(list("ab"), 300, p=[0.95, 0.05])),
        }
    )
    prepared = build_preprocessor({"prep.scaler": "standard"}, seed=0).fit_transform(frame)
    facts = {"n_rows": 300, "n_columns": 3, "n_classes": 2, **matrix_facts(frame)}
    space = get_family(family).space(kind).with_facts(**facts)
    target = rng.integers(0, 2, 300)
    gamma = SVC(gamma="scale").fit(prepared, target)._gamma
    assert gamma == pytest.approx(1 / (prepared.shape[1] * prepared.var()), rel=1e-5)
    assert not np.isclose([gamma, gamma], [1 / 3, 1 / 4], rtol=0.1).any()
    encoder = ConfigurationEncoder(space).fit()
    column = encoder.feature_names.index("gamma")
    path = {"kernel": "rbf", "gamma_mode": "number", "gamma": float(gamma)}
    word = space.complete({"kernel": "rbf", "gamma_mode": "scale"})
    found = encoder.transform([word, space.complete(path)])[:, column]
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_gamma_auto_is_a_share_of_the_matrix_and_a_constant_matrix_has_variance_one() -> None:
    constant = pd.DataFrame({"x": np.ones(20), "y": np.full(20, 3.0)})
    assert matrix_facts(constant) == {"n_encoded": 1.0, "variance": 1.0}
    choices = {
        "scale": {"encode": "1 / (n_encoded * variance)"},
        "auto": {"encode": "1 / n_encoded"},
    }
    tree = {"gamma": {"choices": {**choices, "one": {"value": 1.0}}}}
    space = SpaceTree.build("svm", tree).with_facts(n_encoded=4, variance=0.5)
    encoder = ConfigurationEncoder(space).fit()
    words = [space.complete({"gamma": word}) for word in ("auto", "scale", 1.0)]
    column = encoder.feature_names.index("gamma")
    found = encoder.transform(words)[:, column]
    assert found == pytest.approx([0.0, 1 / 3, 1.0])


def test_the_facts_of_a_space_are_those_of_its_encoding(space) -> None:
    facts = {"n_columns": 4.0, "n_rows": 400.0}
    told, known = (
        ConfigurationEncoder(space, facts=facts).fit(),
        ConfigurationEncoder(space.with_facts(**facts)).fit(),
    )
    words = [space.complete({"max_features": word}) for word in ("sqrt", "log2", None)]
    assert np.array_equal(told.transform(words), known.transform(words))
    typical = ConfigurationEncoder(space).fit().transform(words)
    assert not np.array_equal(known.transform(words), typical)


def test_absolute_numbers_become_fractions_of_the_data_they_ran_on(space, encoder) -> None:
    ten, hundred = space.complete({"leaf": 10}), space.complete({"leaf": 100})
    both = encoder.transform([ten, hundred], [{"n_rows": 1000}, {"n_rows": 10_000}])
    column = encoder.feature_names.index("min_samples_leaf")
    assert both[0, column] == pytest.approx(both[1, column])
    with pytest.raises(SettingsError, match="as many"):
        encoder.transform([ten], [{}, {}])


def test_a_depth_without_limit_counts_as_twenty_and_mixed_lists_are_split() -> None:
    depth = {"branch": False, "choices": {9: None, 10: None, "none": {"value": None, "encode": 20}}}
    tree = {"max_depth": depth, "f": {"branch": False, "choices": [0.1, 0.3, "log2"]}}
    space = SpaceTree.build("tree", tree)
    encoder = ConfigurationEncoder(space).fit()
    assert {"max_depth", "max_depth=null", "f", "f=log2", "f:active"} <= set(encoder.feature_names)
    found = row(encoder, space.complete({"max_depth": None, "f": "log2"}))
    assert (found["max_depth"], found["max_depth=null"]) == (1.0, 1.0)
    assert (found["f"], found["f:active"], found["f=log2"]) == (0.5, 0.0, 1.0)
    found = row(encoder, space.complete({"max_depth": 9, "f": 0.3}))
    assert (found["max_depth"], found["max_depth=null"]) == (0.0, 0.0)
    assert (found["f"], found["f:active"], found["f=log2"]) == (1.0, 1.0, 0.0)


def test_booleans_and_discrete_numbers_are_numeric() -> None:
    tree = {
        "bootstrap": {"branch": False, "choices": [True, False]},
        "n": {"branch": False, "choices": [10, 100, 500]},
    }
    space = SpaceTree.build("forest", tree)
    encoder = ConfigurationEncoder(space).fit()
    assert encoder.feature_names == ("bootstrap", "n")
    assert row(encoder, space.complete({"n": 500})) == {"bootstrap": 1.0, "n": 1.0}


def test_the_index_form_numbers_unknown_known_and_inactive(space) -> None:
    encoder = ConfigurationEncoder(space, form="index").fit()
    default = space.default()
    assert row(encoder, space.complete({"kernel": "linear"}))["kernel:index"] == 1.0
    strange = Configuration("svm", {**default.values, "prep.scaler": "other"}, default.path)
    assert row(encoder, strange)["prep.scaler:index"] == 0.0
    missing = {k: v for k, v in default.values.items() if k != "prep.scaler"}
    gone = Configuration("svm", missing, default.path)
    assert row(encoder, gone)["prep.scaler:index"] == 4.0


def test_unseen_categories_are_zeros_or_have_their_token(space) -> None:
    default = space.default()
    strange = Configuration("svm", {**default.values, "prep.scaler": "other"}, default.path)
    plain = row(ConfigurationEncoder(space).fit(), strange)
    assert not any(plain[name] for name in plain if name.startswith("prep.scaler="))
    seen = row(ConfigurationEncoder(space).fit([default, strange]), strange)
    assert seen["prep.scaler=<unknown>"] == 1.0
    full = ConfigurationEncoder(space, drop_constant=False).fit()
    assert row(full, strange)["prep.scaler=<unknown>"] == 1.0


def test_unseen_signatures_and_families_are_read_by_name(space, encoder) -> None:
    values = {"C": 1.0, "kernel": "sigmoid", "new": 3, "leaf": 10, "prep.scaler": "minmax"}
    found = row(encoder, Configuration("svm", values, ("kernel=sigmoid",)))
    assert found["C"] == pytest.approx(0.5)
    assert found["kernel=rbf"] == 0.0
    other = row(encoder, Configuration("knn", {"C": 5, "prep.scaler": "minmax"}, ()))
    assert other["prep.scaler=minmax"] == 1.0
    assert other["C"] == 0.5


def test_columns_without_variance_are_dropped(space) -> None:
    path = ("kernel=rbf", "max_features=sqrt")
    rng = np.random.default_rng(0)
    one = [space.sample_signature(path, rng) for _ in range(40)]
    encoder = ConfigurationEncoder(space)
    found = encoder.fit_transform(one)
    assert np.all(np.ptp(found, axis=0) > 0)
    assert "kernel=rbf" not in encoder.feature_names
    assert {"C", "gamma", "min_samples_leaf", "momentum"} <= set(encoder.feature_names)
    assert ConfigurationEncoder(space).fit([one[0]]).transform(one).shape == (40, 0)


def test_several_families_share_the_preparation_only(space) -> None:
    other = SpaceTree.build(
        "knn",
        {"C": {"type": "uniform", "low": 0, "high": 4}},
        prep={"prep.scaler": ["minmax", "robust"]},
    )
    encoder = ConfigurationEncoder([space, other]).fit()
    assert {"family=svm", "family=knn", "svm.C", "knn.C"} <= set(encoder.feature_names)
    names = [name for name in encoder.feature_names if name.startswith("prep.scaler=")]
    assert names == [f"prep.scaler={x}" for x in ("standard", "minmax", "none", "robust")]
    found = row(encoder, other.complete({"C": 1}))
    assert (found["family=knn"], found["knn.C"], found["svm.C"]) == (1.0, 0.25, 0.5)
    assert (found["knn.C:active"], found["svm.C:active"]) == (1.0, 0.0)


def test_an_encoder_survives_pickling(space, encoder) -> None:
    some = draw(space, 20)
    copy = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(copy.transform(some), encoder.transform(some))


def test_use_before_fit_and_wrong_settings_are_refused(space) -> None:
    with pytest.raises(SettingsError, match="fitted"):
        ConfigurationEncoder(space).transform([])
    with pytest.raises(SettingsError, match="onehot or index"):
        ConfigurationEncoder(space, form="dense")
    with pytest.raises(SettingsError, match="different families"):
        ConfigurationEncoder([space, space])
    assert ConfigurationEncoder(space).fit().transform([]).shape[0] == 0


def test_ten_thousand_configurations_take_less_than_a_tenth_of_a_second(space, encoder) -> None:
    some = draw(space, 10_000)
    best = min(_processor_seconds(encoder, some) for _ in range(5))
    assert best < 0.1


def _processor_seconds(encoder, configurations) -> float:
    start = time.process_time()
    encoder.transform(configurations)
    return time.process_time() - start


@pytest.mark.parametrize(
    "family",
    [
        "decision_tree",
        "random_forest",
        "extra_trees",
        "gradient_boosting",
        "hist_gradient_boosting",
    ],
)
def test_least_rows_of_a_leaf_are_compared_as_shares_of_the_data(family) -> None:
    space = get_family(family).space("binary")
    encoder = ConfigurationEncoder(space).fit()
    small, large = space.complete({"min_samples_leaf": 4}), space.complete({"min_samples_leaf": 40})
    found = encoder.transform([small, large], [{"n_rows": 500}, {"n_rows": 5000}])
    column = encoder.feature_names.index("min_samples_leaf")
    assert found[0, column] == pytest.approx(found[1, column])


@pytest.mark.parametrize(
    ("family", "word", "number", "column"),
    [
        ("svm", {"gamma_mode": "scale"}, {"gamma_mode": "number", "gamma": 1 / 25}, "gamma"),
        (
            "random_forest",
            {"max_features_mode": "sqrt"},
            {"max_features_mode": "share", "max_features": 5 / 25},
            "max_features",
        ),
        (
            "random_forest",
            {"max_features_mode": "log2"},
            {"max_features_mode": "share", "max_features": np.log2(25) / 25},
            "max_features",
        ),
        (
            "decision_tree",
            {"depth_limit": None},
            {"depth_limit": "number", "max_depth": 20},
            "max_depth",
        ),
    ],
)
def test_a_word_of_a_family_is_encoded_as_the_number_it_stands_for(
    family, word, number, column
) -> None:
    space = get_family(family).space("binary")
    encoder = ConfigurationEncoder(space, facts={"n_columns": 25, "n_encoded": 25}).fit()
    said, counted = (row(encoder, space.complete(values)) for values in (word, number))
    assert said[column] == pytest.approx(counted[column])
    assert said != counted
