"""Significance levels as a user gives them."""

from __future__ import annotations

import pytest

from automl.errors import SettingsError
from automl.selection.selection_records import Level
from automl.settings.sources import resolve_settings
from automl.significance import LEVELS, parse_alpha, parse_top_n

GIVEN = {"table": "t", "target": "y"}


def test_levels_are_those_of_the_tree():
    assert tuple(map(str, Level)) == LEVELS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.05, 0.05),
        ("0.1", 0.1),
        ("leaf=0.01, root=0.1", {"leaf": 0.01, "root": 0.1}),
        ({"family": "0.2"}, {"family": 0.2}),
    ],
)
def test_one_value_or_values_by_level(given, expected):
    assert parse_alpha(given) == expected
    assert resolve_settings({**GIVEN, "alpha": given}, environment={}).alpha == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "between 0 and 1; got 0"),
        (True, "between 0 and 1; got True"),
        ("much", "between 0 and 1; got 'much'"),
        ({"root": 1.0}, "alpha of root must be a number between 0 and 1"),
        ({"twig": 0.1}, "alpha names no level 'twig'; use leaf, category, family, root"),
        ("leaf=0.1,leaf=0.2", "each level once"),
        ("leaf=0.1,0.2", "must look like 0.05 or leaf=0.01"),
        ({}, "at least one level"),
    ],
)
def test_other_values_are_refused_in_one_sentence(given, message):
    with pytest.raises(SettingsError, match=message):
        parse_alpha(given)
    with pytest.raises(SettingsError, match="setting alpha: ") as caught:
        resolve_settings({**GIVEN, "alpha": given}, environment={})
    assert "\n" not in str(caught.value)


def test_values_by_level_cannot_be_split_over_the_tree():
    given = {**GIVEN, "alpha_split": "tree", "alpha": {"leaf": 0.1}}
    with pytest.raises(SettingsError, match="alpha_split tree needs one alpha"):
        resolve_settings(given, environment={})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "tree"),
        ({"selection_test": "mcb"}, "tree"),
        ({"selection_test": "friedman"}, "level"),
        ({"preset": "thesis"}, "level"),
        ({"alpha": "leaf=0.1"}, "level"),
        ({"alpha_split": "level"}, "level"),
        ({"selection_test": "thesis", "alpha_split": "tree"}, "tree"),
    ],
)
def test_one_alpha_of_a_paired_test_is_kept_over_the_tree(given, expected):
    found = resolve_settings({**GIVEN, **given}, environment={})
    assert found.chosen_alpha_split == expected


def test_the_environment_gives_values_by_level():
    for text in ("{leaf: 0.3}", "leaf=0.3"):
        found = resolve_settings(GIVEN, environment={"AUTOML_ALPHA": text})
        assert found.alpha == {"leaf": 0.3}


@pytest.mark.parametrize(
    ("given", "expected"),
    [(2, 2), ("4", 4), ("leaf=1, root=5", {"leaf": 1, "root": 5}), ({"family": 2}, {"family": 2})],
)
def test_one_number_of_promoted_models_or_numbers_by_level(given, expected):
    assert parse_top_n(given) == expected
    assert resolve_settings({**GIVEN, "top_n": given}, environment={}).top_n == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "top_n must be a positive whole number; got 0"),
        (1.5, "got 1.5"),
        (True, "got True"),
        ({"root": "two"}, "top_n of root must be a positive whole number; got 'two'"),
        ({"twig": 1}, "top_n names no level 'twig'"),
        ("leaf=1,leaf=2", "must look like 3 or leaf=1,root=5, each level once"),
    ],
)
def test_other_numbers_are_refused_in_one_sentence(given, message):
    with pytest.raises(SettingsError, match=message):
        parse_top_n(given)
    with pytest.raises(SettingsError, match="setting top_n: "):
        resolve_settings({**GIVEN, "top_n": given}, environment={})
