"""The setting `spaces`: what it narrows, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.records import Task
from automl.run.search_spaces import (
    check_priors,
    check_spaces,
    keep_priors,
    requested_space,
    space_of,
)
from automl.settings import Settings
from automl.settings.sources import resolve_settings


def settings_with(spaces, **others):
    given = {"table": "t.csv", "target": "y", "spaces": spaces, **others}
    return resolve_settings(given, environment={})


class Rows:
    """As much of a table as a space needs."""

    task, frame, n_classes = Task.BINARY, np.zeros((100, 4)), 2

    def __len__(self):
        return len(self.frame)


@pytest.fixture
def plan(tmp_path):
    facts = {"n_rows": 100, "n_columns": 4, "n_classes": 2, "n_encoded": 4, "variance": 0.5}
    return SimpleNamespace(table=Rows(), folder=tmp_path, facts=facts)


def test_the_range_of_one_family_is_narrowed_and_the_others_stay(plan):
    settings = settings_with({"lightgbm": {"learning_rate": {"low": 0.01, "high": 0.02}}})
    rng = np.random.default_rng(0)
    narrow = space_of(plan, get_family("lightgbm"), settings)
    drawn = [narrow.sample(rng).values["learning_rate"] for _ in range(50)]
    assert 0.01 <= min(drawn) < max(drawn) <= 0.02
    assert 0.01 <= narrow.default().values["learning_rate"] <= 0.02
    other, wide = get_family("svm"), settings_with({})
    assert space_of(plan, other, settings).size() == space_of(plan, other, wide).size()
    assert narrow.facts["n_rows"] == 100


@pytest.mark.parametrize(
    ("spaces", "words"),
    [
        ({"lightgbn": {}}, ["'lightgbn'", "did you mean 'lightgbm'"]),
        ({"lightgbm": {"lerning_rate": 1}}, ["spaces", "lightgbm", "'learning_rate'"]),
        ({"lightgbm": {"learning_rate": {"lo": 1}}}, ["spaces", "lightgbm", "learning_rate.lo"]),
        ({"svm": {"kernel": ["rbff"]}}, ["spaces", "svm", "kernel", "'rbf'"]),
        ({"logistic_regression": {"C": {"low": 9, "high": 1}}}, ["spaces", "C.low"]),
    ],
)
def test_what_does_not_fit_is_refused_with_family_hyperparameter_and_key(spaces, words):
    with pytest.raises(SettingsError) as caught:
        check_spaces(settings_with(spaces))
    assert all(word in str(caught.value) for word in words)


def test_the_documented_example_fits():
    document = (Path(__file__).parents[2] / "docs" / "families.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(spaces:.*?)```", document, re.DOTALL)
    check_spaces(settings_with(**yaml.safe_load(example)))


def test_an_override_need_fit_only_the_kind_of_target_at_hand(plan):
    spaces = {"svm": {"epsilon": {"low": 0.01}}}  # of the regressor alone
    check_spaces(settings_with(spaces))
    check_spaces(settings_with(spaces, task="regression"))
    with pytest.raises(SettingsError, match="svm has no hyperparameter 'epsilon'"):
        check_spaces(settings_with(spaces, task="binary"))
    with pytest.raises(SettingsError, match="svm has no hyperparameter 'epsilon'"):
        space_of(plan, get_family("svm"), settings_with(spaces))


@pytest.mark.parametrize("others", [{"families": ("svm",)}, {"exclude": ("lightgbm",)}])
def test_overrides_of_a_family_that_does_not_take_part_are_refused(others):
    with pytest.raises(SettingsError, match="'lightgbm', which does not take part"):
        settings_with({"lightgbm": {}}, **others)


def test_overrides_survive_the_run_folder():
    settings = settings_with({"svm": {"C": {"low": 0.1}, "kernel": ["rbf"]}})
    assert Settings(**settings.model_dump(mode="json")) == settings


PRIORS = """
priors:
  classification:
    svm/kernel=linear: {C: "gmm(weights=[1], means=[1], sds=[0.01], low=0.01, high=1000, log=true)"}
"""


def draws_of_c(space):
    rng = np.random.default_rng(0)
    return [space.sample_signature("svm/kernel=linear", rng).values["C"] for _ in range(30)]


def test_a_run_draws_from_the_priors_in_its_folder_and_spaces_go_before_them(plan, tmp_path):
    (tmp_path / "p.yaml").write_text(PRIORS)
    settings = settings_with({}, priors=str(tmp_path / "p.yaml"))
    keep_priors(RunFolder(tmp_path), settings)
    (tmp_path / "p.yaml").unlink()
    drawn = draws_of_c(space_of(plan, get_family("svm"), settings))
    assert 2.5 < min(drawn) < max(drawn) < 3.0
    narrowed = settings_with({"svm": {"C": {"low": 10, "high": 20}}})
    drawn = draws_of_c(space_of(plan, get_family("svm"), narrowed))
    assert 10 <= min(drawn) < max(drawn) <= 20


def test_priors_that_fit_no_family_are_refused_before_the_run(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(PRIORS.replace("linear", "linaer"))
    with pytest.raises(SettingsError, match=r"p\.yaml: priors\.classification\.svm/kernel=linaer"):
        check_priors(settings_with({}, priors=str(file)))
    with pytest.raises(SettingsError, match=r"priors .*none\.yaml cannot be read"):
        check_priors(settings_with({}, priors=str(tmp_path / "none.yaml")))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scaler": "none"}, "has no choice 'scaler'; known are numeric_imputer, nominal_imputer"),
        ({"nominal_imputer": "mode"}, "nominal_imputer must be category, most_frequent or null"),
        ({"variance": -1}, "variance must be a number of 0 or more"),
        ({"variance": True}, "variance must be a number of 0 or more"),
        ({"reducer": "lasso"}, "reducer must be none, pca, select_k or select_few"),
        ({"reducer_share": [0.5, 0.5]}, "reducer_share must be a number above 0"),
        ({"reducer_share": []}, "reducer_share must be"),
        ({"variance_raw": True}, "variance_raw has no effect without variance above 0"),
        ("variance", "must be values by name"),
    ],
)
def test_preprocessing_that_cannot_be_is_refused_in_one_sentence(given, message):
    with pytest.raises(SettingsError, match=f"setting preprocessing: .*{message}"):
        settings_with({}, preprocessing=given)


def test_requested_preprocessing_is_searched_where_it_has_a_meaning(plan):
    request = {"nominal_imputer": ["null", "category"], "reducer_share": [0.3, 0.9]}
    settings = settings_with({}, preprocessing=request)
    svm = space_of(plan, get_family("svm"), settings)
    rng = np.random.default_rng(0)
    drawn = [svm.sample(rng).values for _ in range(60)]
    assert {v["prep.reducer_share"] for v in drawn} == {0.3, 0.9}
    assert {v["prep.nominal_imputer"] for v in drawn} == {"null", "category"}
    assert (
        "prep.reducer_share" not in space_of(plan, get_family("ridge"), settings).default().values
    )
    fixed = settings_with({"svm": {"prep.reducer_share": [0.9]}}, preprocessing=request)
    assert space_of(plan, get_family("svm"), fixed).default().values["prep.reducer_share"] == 0.9
    median = settings_with({}, preprocessing={"numeric_imputer": "median"})
    values = space_of(plan, get_family("lightgbm"), median).default().values
    assert values["prep.numeric_imputer"] == "none"


def test_a_rule_for_many_categories_is_for_families_that_make_indicators():
    requested = Settings(
        table="t", target="y", preprocessing={"many_categories": "target"}
    ).preprocessing
    chosen = {
        name: requested_space(get_family(name), "regression", requested).default().values
        for name in ("ridge", "constant")
    }
    assert chosen["ridge"]["prep.many_categories"] == "target"
    assert "prep.many_categories" not in chosen["constant"]


def test_more_columns_than_rows_are_screened_where_the_learner_takes_any_numbers(plan):
    assert (
        "prep.reducer"
        not in space_of(plan, get_family("ridge"), settings_with({})).default().values
    )
    plan.table.frame = np.zeros((60, 2000))
    plan.facts |= {"n_rows": 60, "n_columns": 2000}
    rng = np.random.default_rng(0)
    ridge = space_of(plan, get_family("ridge"), settings_with({}))
    assert ridge.default().values["prep.reducer"] == "select_k"
    drawn = {ridge.sample(rng).values["prep.reducer"] for _ in range(60)}
    assert drawn == {"select_k", "select_few", "none"}
    for name in ("constant", "stump", "lightgbm"):
        space = space_of(plan, get_family(name), settings_with({}))
        assert "prep.reducer" not in space.default().values


def test_a_requested_reducer_takes_the_place_of_screening(plan):
    plan.table.frame = np.zeros((60, 2000))
    settings = settings_with({}, preprocessing={"reducer": "none", "reducer_share": 0.3})
    values = space_of(plan, get_family("svm"), settings).default().values
    assert values["prep.reducer"] == "none"
    assert "prep.reducer_share" not in values
