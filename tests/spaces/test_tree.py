"""The tree: signatures, draws, conditions, the unit cube and estimator arguments."""

from __future__ import annotations

import json
import math
import pickle
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from automl.errors import SettingsError
from automl.records import Configuration
from automl.spaces.distributions import Categorical, GaussianMixture, LogUniform, Uniform
from automl.spaces.tree import SpaceTree

seeds = st.integers(0, 2**32)


def nominals_of(signature, configuration):
    return {leaf.name: configuration.values[leaf.name] for leaf in signature.nominals}


@given(seeds)
def test_samples_are_legal_and_hold_their_conditions(space, seed) -> None:
    configuration = space.sample(np.random.default_rng(seed))
    values = configuration.values
    assert space.is_legal(configuration) is None
    assert ("gamma" in values) == (values["kernel"] != "linear")
    assert ("degree" in values) == (values["kernel"] == "poly")
    assert ("coef0" in values) == (values.get("coef0_used") is True)
    assert ("max_features_share" in values) == (values["max_features"] == "share")
    assert values["C"] * values.get("gamma", 0) < 5000
    assert "epsilon" not in values
    assert {"prep.encoder", "prep.scaler"} <= values.keys()
    assert all(type(v) in {int, float, bool, str, type(None)} for v in values.values())


@given(seeds)
def test_configurations_come_back_from_json_the_unit_cube_and_completion(space, seed) -> None:
    configuration = space.sample(np.random.default_rng(seed))
    assert Configuration.from_json(json.loads(json.dumps(configuration.to_json()))) == configuration
    assert space.complete(configuration.values) == configuration
    signature, unit = space.to_unit(configuration)
    assert np.all((unit >= 0) & (unit <= 1))
    back = space.from_unit(signature, unit, nominals_of(signature, configuration))
    assert back.path == configuration.path
    for name, value in configuration.values.items():
        if isinstance(value, float):
            assert back.values[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
        else:
            assert back.values[name] == value


@given(seeds)
def test_equal_seeds_give_equal_samples(space, seed) -> None:
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    copy = pickle.loads(pickle.dumps(space))
    assert [space.sample(first) for _ in range(5)] == [copy.sample(second) for _ in range(5)]


def test_signatures_list_every_path_once_and_their_probabilities_sum_to_one(space) -> None:
    signatures = space.signatures()
    paths = [signature.path for signature in signatures]
    assert len(set(paths)) == len(paths) == 4 * 5 - 1
    assert sum(s.probability for s in signatures) == pytest.approx(1.0)
    assert ("kernel=poly", "coef0_used=true", "max_features=null") in paths
    assert ("kernel=linear", "max_features=log2") not in paths


def test_signature_probabilities_match_the_frequencies_of_samples(space) -> None:
    rng = np.random.default_rng(0)
    counts = Counter(space.sample(rng).path for _ in range(6000))
    signatures = space.signatures()
    observed = [counts[s.path] for s in signatures]
    assert stats.chisquare(observed, [6000 * s.probability for s in signatures]).pvalue > 1e-3


def test_a_leaf_has_another_distribution_under_another_signature(space) -> None:
    found = {s.path[0]: s for s in space.signatures()}
    assert isinstance(found["kernel=rbf"].leaf("gamma").distribution, LogUniform)
    assert isinstance(found["kernel=poly"].leaf("gamma").distribution, Uniform)
    assert "gamma" not in found["kernel=linear"].names
    with pytest.raises(KeyError):
        found["kernel=linear"].leaf("gamma")


def test_nominal_leaves_and_prep_are_not_part_of_the_path(space) -> None:
    configuration = space.default()
    assert configuration.path == ("kernel=rbf", "max_features=sqrt")
    assert configuration.signature == "svm/kernel=rbf/max_features=sqrt"
    assert space.signature(configuration.signature) is space.signature(configuration)
    names = [leaf.name for leaf in space.signature(configuration).nominals]
    assert names == ["shrinking", "loss", "prep.encoder", "prep.scaler"]


def test_only_keeps_what_belongs_to_the_kind(space, regression_space) -> None:
    assert space.default().values["loss"] == "hinge"
    assert regression_space.default().values["loss"] == "squared"
    assert "epsilon" in regression_space.default().values


def test_defaults_are_the_texts_or_else_the_first_choice_and_the_median(space) -> None:
    values = space.default().values
    assert values["C"] == 1.0
    assert values["max_features"] == "sqrt"
    assert values["leaf"] == 10
    poly = space.default("svm/kernel=poly/coef0_used=true/max_features=share").values
    assert poly["gamma"] == 0.5
    assert poly["degree"] == 3


@pytest.mark.parametrize(
    ("partial", "argument"),
    [
        ({"max_features": "log2"}, "log2"),
        ({"max_features": None}, None),
        ({"max_features": "share", "max_features_share": 0.25}, 0.25),
    ],
)
def test_the_deepest_hyperparameter_of_an_argument_wins(space, partial, argument) -> None:
    found = space.estimator_values(space.complete(partial))
    assert found["max_features"] == argument
    assert "max_features_share" not in found
    assert found["min_samples_leaf"] == 10


def test_estimators_get_no_virtual_prep_or_unset_arguments(space) -> None:
    configuration = space.complete({"kernel": "poly", "max_features": "own", "coef0": 1.5})
    found = space.estimator_values(configuration)
    assert configuration.values["coef0_used"] is True
    assert found["coef0"] == 1.5
    assert not {"coef0_used", "max_features", "leaf", "prep.scaler"} & found.keys()


def test_completion_drops_inactive_values_and_makes_them_canonical(space) -> None:
    configuration = space.complete({"kernel": "linear", "gamma": 3, "C": 2, "leaf": 7.0})
    assert "gamma" not in configuration.values
    assert type(configuration.values["C"]) is float
    assert type(configuration.values["leaf"]) is int
    long = space.complete({"C": 1 / 3}).values["C"]
    assert long == 0.333333333333


@pytest.mark.parametrize(
    ("partial", "message"),
    [
        ({"gama": 1}, "did you mean 'gamma'"),
        ({"kernel": "sigmoid"}, "one of linear, rbf, poly"),
        ({"C": 1e9}, r"a number in \[0.001, 1000\]"),
        ({"C": "1"}, "a number"),
        ({"C": True}, "a number"),
        ({"leaf": 2.5}, "an integer"),
        ({"C": 1000, "gamma": 9}, "rule"),
        ({"kernel": "linear", "max_features": "log2"}, "forbidden by a rule"),
        ({"shrinking": 1}, "one of true, false"),
    ],
)
def test_illegal_values_are_refused_with_a_reason(space, partial, message) -> None:
    with pytest.raises(SettingsError, match=message):
        space.complete(partial)


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"C": 1e9}, None, "C must be"),
        ({"extra": 1}, None, "not active"),
        ({"kernel": "poly"}, None, "not on its path"),
        ({}, ("kernel=rbf",), "no signature"),
        ({"C": 999.0, "gamma": 9.0}, None, "rule"),
        ({"leaf": 3.0}, None, "leaf must be an integer"),
    ],
)
def test_foreign_configurations_are_told_apart(space, change, path, reason) -> None:
    default = space.default()
    changed = Configuration("svm", {**default.values, **change}, path or default.path)
    assert reason in str(space.is_legal(changed))


def test_missing_values_and_other_families_are_illegal(space) -> None:
    default = space.default()
    short = {k: v for k, v in default.values.items() if k != "C"}
    assert space.is_legal(Configuration("svm", short, default.path)) == "C is missing"
    assert "family" in str(space.is_legal(Configuration("knn", default.values, default.path)))


def test_sizes_count_configurations(space) -> None:
    assert space.size() == math.inf
    finite = SpaceTree.build(
        "f",
        {
            "n": {"type": "uniform", "low": 1, "high": 4, "integer": True},
            "a": {
                "choices": {"x": None, "y": {"tree": {"b": {"branch": False, "choices": [1, 2]}}}}
            },
        },
    )
    assert finite.size() == 4 + 8
    assert SpaceTree.build("constant", {}).size() == 1
    assert SpaceTree.build("constant", None).sample(np.random.default_rng(0)).path == ()


def test_axes_are_the_values_of_a_grid(space) -> None:
    axes = space.axes(("kernel=poly", "coef0_used=false", "max_features=sqrt"), 3)
    assert axes["gamma"] == pytest.approx((1 / 6, 0.5, 5 / 6))
    assert axes["degree"] == (2, 4, 5) or len(axes["degree"]) == 3
    assert axes["shrinking"] == (True, False)
    assert space.axes(space.signatures()[0], {"C": 2})["leaf"] == (10,)
    assert space.axes(("kernel=poly", "coef0_used=false", "max_features=sqrt"), 9)["degree"] == (
        2,
        3,
        4,
        5,
    )


def test_positions_outside_the_cube_are_clipped(space) -> None:
    signature = space.signature(space.default())
    low = space.from_unit(signature, [-1.0] * len(signature.numericals))
    assert low.values["C"] == 0.001
    with pytest.raises(ValueError, match="argument"):
        space.from_unit(signature, [0.5])


def test_rules_that_cannot_be_met_end_the_draws() -> None:
    tree = {"a": {"type": "uniform", "low": 0, "high": 1, "default": 1.0}}
    space = SpaceTree.build("f", tree, rules=["a >= 1"])
    with pytest.raises(SettingsError, match="draws broke the rule"):
        space.sample(np.random.default_rng(0))


def test_rules_read_facts_of_the_data() -> None:
    tree = {"nu": {"type": "uniform", "low": 0.01, "high": 1, "default": 0.1}}
    space = SpaceTree.build("nu_svm", tree, rules=["nu * n_classes < 1"])
    known = space.with_facts(n_classes=5)
    rng = np.random.default_rng(0)
    assert max(space.sample(rng).values["nu"] for _ in range(50)) > 0.2
    assert max(known.sample(rng).values["nu"] for _ in range(50)) < 0.2
    with pytest.raises(SettingsError, match="n_classes"):
        space.with_facts(n_class=5)
    with pytest.raises(SettingsError, match="rule"):
        space.with_facts(n_classes=20).default()


def test_rules_over_branches_and_facts_forbid_signatures() -> None:
    tree = {"solver": {"choices": ["exact", "random"]}}
    space = SpaceTree.build("f", tree, rules=["solver != 'random' or n_rows > 100"])
    assert [s.path for s in space.with_facts(n_rows=50).signatures()] == [("solver=exact",)]
    assert len(space.with_facts(n_rows=500).signatures()) == 2
    shares = [s.probability for s in space.with_facts(n_rows=50).signatures()]
    assert shares == [1.0]


def test_a_learned_prior_replaces_one_leaf_of_one_signature(space) -> None:
    prior = GaussianMixture(weights=(1,), means=(-3,), sds=(0.1,), low=1e-5, high=10, log=True)
    learned = space.with_distribution("svm/kernel=rbf/max_features=sqrt", "gamma", prior)
    rng = np.random.default_rng(0)
    drawn = learned.sample_signature(("kernel=rbf", "max_features=sqrt"), rng).values["gamma"]
    assert 0.02 < drawn < 0.12
    other = learned.signature(("kernel=rbf", "max_features=log2")).leaf("gamma")
    assert isinstance(other.distribution, LogUniform)
    assert learned.default() == space.default()
    assert learned.narrow({"gamma": {"high": 1}}).priors == {}


def test_a_learned_prior_may_name_the_choices_in_another_order() -> None:
    tree = {"m": {"branch": False, "choices": {"a": None, "none": {"sets": False}}}}
    plain = SpaceTree.build("f", tree)
    learned = plain.with_distribution((), "m", Categorical(("none", "a"), (3, 1)))
    for value, arguments in (("a", {"m": "a"}), ("none", {})):
        configuration = learned.complete({"m": value})
        assert learned.estimator_values(configuration) == arguments
        assert learned.signature(configuration).leaf("m").choice(value).value == value


@pytest.mark.parametrize(
    ("name", "prior"),
    [("gama", Uniform(0, 1)), ("leaf", Uniform(0, 1)), ("shrinking", Uniform(0, 1))],
)
def test_priors_of_another_kind_are_refused(space, name, prior) -> None:
    with pytest.raises(SettingsError):
        space.with_distribution(("kernel=rbf", "max_features=sqrt"), name, prior)


def test_unknown_signatures_are_refused(space) -> None:
    with pytest.raises(SettingsError, match="kernel=rbf"):
        space.signature("svm/kernel=rbff/max_features=sqrt")


def test_too_many_signatures_are_refused() -> None:
    tree = {f"c{i}": {"choices": [1, 2, 3]} for i in range(9)}
    with pytest.raises(SettingsError, match="branch: false"):
        SpaceTree.build("f", tree)


@settings(max_examples=30)
@given(st.data())
def test_random_trees_sample_what_they_call_legal(data) -> None:
    counter = iter(range(1000))

    def nodes(depth: int) -> dict:
        found = {}
        for _ in range(data.draw(st.integers(0, 2))):
            low = data.draw(st.floats(0.001, 10))
            found[f"x{next(counter)}"] = {
                "type": data.draw(st.sampled_from(["uniform", "loguniform"])),
                "low": low,
                "high": low * 3,
            }
        if depth:
            for _ in range(data.draw(st.integers(0, 2 if depth == 3 else 1))):
                labels = data.draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True))
                choices = {label: {"tree": nodes(depth - 1)} for label in labels}
                found[f"c{next(counter)}"] = {"choices": choices}
        return found

    space = SpaceTree.build("f", nodes(3))
    assert sum(s.probability for s in space.signatures()) == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        configuration = space.sample(rng)
        assert space.is_legal(configuration) is None
        assert space.complete(configuration.values) == configuration
    assert space.is_legal(space.default()) is None


def test_one_draw_takes_less_than_a_hundred_microseconds(space) -> None:
    rng = np.random.default_rng(0)
    space.sample(rng)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(200):
            space.sample(rng)
        seconds.append((time.process_time() - start) / 200)
    assert min(seconds) < 1e-4
