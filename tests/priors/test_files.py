"""Priors as text (B14, chapter 4): round trips, use, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.priors.files import Priors
from automl.priors.gaussian_components import Components
from automl.priors.learned_distributions import distribution_of
from automl.spaces.distributions import LogUniform
from automl.spaces.yaml_loader import parse_yaml

RBF = "svm/kernel=rbf/gamma_mode=number"
TEXT = """
priors:
  classification:
    svm/kernel=rbf/gamma_mode=number:
      C: gmm(weights=[1, 1], means=[1, 2], sds=[0.1, 0.1], low=0.01, high=1000, log=true)
      gamma: {type: loguniform, low: 0.01, high: 0.02}
learned: {command: automl learn priors}
"""


def svm(kind="classification"):
    return get_family("svm").space(kind)


def test_a_space_draws_from_the_priors_of_a_signature_and_elsewhere_as_before():
    space = Priors.parse(TEXT, "p.yaml").applied(svm(), "classification")
    rng = np.random.default_rng(0)
    drawn = [space.sample_signature(RBF, rng).values for _ in range(40)]
    assert all(1.0 < values["C"] < 12.0 and 0.01 <= values["gamma"] <= 0.02 for values in drawn)
    other = space.signature("svm/kernel=linear").leaf("C").distribution
    assert other == svm().signature("svm/kernel=linear").leaf("C").distribution
    assert space.default(RBF).values["gamma"] == 0.02


def test_another_kind_of_target_and_other_families_keep_theirs():
    priors = Priors.parse(TEXT, "p.yaml")
    assert not priors.applied(svm("regression"), "regression").priors
    assert not priors.applied(get_family("knn").space("classification"), "classification").priors


def test_what_lies_outside_of_the_familys_range_is_cut_off():
    text = TEXT.replace("low: 0.01, high: 0.02", "low: 1, high: 1000")
    space = Priors.parse(text, "p.yaml").applied(svm(), "classification")
    gamma = space.signature(RBF).leaf("gamma").distribution
    assert (gamma.low, gamma.high) == (1.0, 10.0)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 9), st.floats(0, 1), st.floats(0.02, 0.4)), min_size=1, max_size=5
    ),
    st.floats(0.01, 0.9),
)
@hypothesis_settings(max_examples=30)
def test_text_comes_back_equal(parts, floor):
    weights, means, sds = (
        np.array(column) for column in zip(*sorted(parts, key=lambda p: p[1]), strict=True)
    )
    prior = distribution_of(Components(weights, means, sds), LogUniform(0.01, 1000), floor)
    priors = Priors({"classification": {RBF: {"C": prior}}})
    text = priors.text({"data_sets": ["a", "b: c"], "seed": 1})
    assert Priors.parse(text, "p.yaml").distributions == priors.distributions
    assert parse_yaml(text, "p.yaml")["learned"]["data_sets"] == ["a", "b: c"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "kernel=rbf",
            "kernel=rbff",
            ["p.yaml: priors.classification.svm", "did you mean", "kernel=rbf"],
        ),
        ("svm/", "svn/", ["priors.classification.svn", "did you mean 'svm'"]),
        ("gamma:", "gama:", [f"{RBF}.gama", "did you mean 'gamma'"]),
        ("sds", "sd", [f"{RBF}.C.sd", "did you mean 'sds'"]),
        (
            "{type: loguniform, low: 0.01, high: 0.02}",
            "uniform(low=1, high=3, integer=true)",
            [f"{RBF}.gamma", "of the kind it replaces"],
        ),
        ("low: 0.01, high: 0.02", "low: 20, high: 30", [f"{RBF}.gamma", "low must be"]),
        ("classification", "clustering", ["priors.clustering", "not a known key"]),
        ("priors:", "prior:", ["prior", "did you mean 'priors'"]),
        (
            "{type: loguniform, low: 0.01, high: 0.02}",
            "7",
            [f"{RBF}.gamma", "must be a mapping; got 7"],
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_file_key_and_reason(old, new, words):
    with pytest.raises(SettingsError) as caught:
        Priors.parse(TEXT.replace(old, new), "p.yaml").check()
    assert all(word in str(caught.value) for word in ["p.yaml", *words]), str(caught.value)


def test_a_file_without_priors_and_one_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"p.yaml: priors: is missing"):
        Priors.parse("learned: {}", "p.yaml")
    with pytest.raises(SettingsError, match=r"none.yaml cannot be read"):
        Priors.read(tmp_path / "none.yaml")
