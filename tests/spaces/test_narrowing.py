"""Overrides of ranges and choices by name."""

from __future__ import annotations

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.spaces.distributions import Categorical, LogNormal, LogUniform, Uniform


def leaf(space, name, kernel="rbf"):
    path = next(s.path for s in space.signatures() if f"kernel={kernel}" in s.path)
    return space.signature(path).leaf(name)


def test_bounds_replace_bounds_and_the_default_moves_inside(space) -> None:
    narrowed = space.narrow({"C": {"low": 10}})
    assert leaf(narrowed, "C").distribution == LogUniform(10, 1000)
    assert narrowed.default().values["C"] == 10.0
    assert leaf(space, "C").distribution == LogUniform(0.001, 1000)


def test_distributions_can_be_replaced_by_mapping_and_by_text(space) -> None:
    mapping = {"type": "lognormal", "mean": 0, "sd": 1, "default": 2}
    narrowed = space.narrow({"C": mapping, "leaf": "uniform(low=1, high=9, integer=true)"})
    assert leaf(narrowed, "C").distribution == LogNormal(mean=0, sd=1)
    assert narrowed.default().values["C"] == 2.0
    assert leaf(narrowed, "leaf").distribution == Uniform(1, 9, integer=True)


@pytest.mark.parametrize(
    "body",
    [
        "uniform(low=1, high=9)",
        {"type": "lognormal", "mean": 2, "sd": 1},
        {"low": 2, "integer": False},
    ],
)
def test_a_whole_number_stays_one(space, body) -> None:
    with pytest.raises(SettingsError, match="leaf: must be of whole numbers, with integer: true"):
        space.narrow({"leaf": body})


def test_numbers_can_be_restricted_to_a_list(space) -> None:
    narrowed = space.narrow({"leaf": [1, 5, 10], "C": 3})
    assert leaf(narrowed, "leaf").distribution == Categorical((1, 5, 10))
    assert narrowed.default().values["leaf"] == 10
    assert narrowed.sample(np.random.default_rng(0)).values["C"] == 3.0
    assert narrowed.estimator_values(narrowed.default())["min_samples_leaf"] == 10


@pytest.mark.parametrize(
    ("quoted", "plain"),
    [({"leaf": "5", "C": "1e-1"}, {"leaf": 5, "C": 0.1}), ({"leaf": ["1", "5"]}, {"leaf": [1, 5]})],
)
def test_quoted_numbers_are_numbers(space, quoted, plain) -> None:
    for name in plain:
        found = leaf(space.narrow(quoted), name).distribution
        assert found == leaf(space.narrow(plain), name).distribution


def test_choices_can_be_kept_by_value_or_text(space) -> None:
    narrowed = space.narrow(
        {"kernel": ["linear", "poly"], "max_features": "null", "shrinking": True}
    )
    assert {s.path[0] for s in narrowed.signatures()} == {"kernel=linear", "kernel=poly"}
    assert narrowed.default().values["max_features"] is None
    assert narrowed.default().values["kernel"] == "linear"


def test_an_override_may_name_its_context(space) -> None:
    narrowed = space.narrow({"kernel=poly/gamma": {"high": 0.5}})
    assert leaf(narrowed, "gamma", "poly").distribution == Uniform(0, 0.5)
    assert leaf(narrowed, "gamma", "rbf").distribution == LogUniform(1e-5, 10)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"gama": [1]}, "did you mean 'gamma'"),
        ({"C": 0}, "positive numbers; got 0"),
        ({"C": [1.0, -2.0]}, "positive numbers; got -2.0"),
        ({"C": float("nan")}, "finite numbers; got nan"),
        ({"C": float("inf")}, "finite numbers; got inf"),
        ({"kernel=pol/gamma": [1]}, "kernel=poly"),
        ({"kernel": ["rbff"]}, "did you mean 'rbf'"),
        ({"kernel": {"low": 1}}, "list of choices"),
        ({"kernel": []}, "list of choices"),
        ({"leaf": [1.5]}, "integers"),
        ({"C": ["a"]}, "numbers"),
        ({"C": []}, "must not be empty"),
        ({"C": None}, "must be a distribution"),
        ({"C": {"low": 5, "high": 1}}, "C.low"),
        ({"C": {"lo": 5}}, "did you mean 'low'"),
        ({"C": {"only": "regression"}}, "cannot be overridden"),
        ({"C": {"default": {"classification": 1}}}, "one value"),
        ({"C": "unifrom(low=1)"}, "uniform"),
        ({"C": {"type": "categorical", "choices": [1]}}, "numerical"),
        ({"C": 1000, "gamma": 10}, "rule"),
    ],
)
def test_overrides_that_do_not_fit_are_refused(space, overrides, message) -> None:
    with pytest.raises(SettingsError, match=message):
        space.narrow(overrides)
