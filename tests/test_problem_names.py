"""Names of problems: kept or refused when given, cleaned when derived."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.problem_names import MOST_BYTES, MOST_CHARACTERS, clean_name, derived_name, name_problem
from automl.settings import Settings
from automl.settings.sources import resolve_settings

FORBIDDEN = "/\\:.%@#?\"'\t\n\0 "


@given(st.text(min_size=1))
def test_clean_names_have_no_forbidden_characters_and_stay_as_they_are(name):
    cleaned = clean_name(name)
    assert 0 < len(cleaned) <= MOST_CHARACTERS
    assert len(cleaned.encode("utf-8", "replace")) <= MOST_BYTES
    assert not set(FORBIDDEN) & set(cleaned)
    assert clean_name(cleaned) == cleaned


@given(st.text(min_size=1))
def test_a_given_name_is_kept_as_it_is_or_refused(name):
    assert name_problem(name) or clean_name(name) == name


def test_long_names_stay_different():
    first, second = (f"{'t' * 300}-{target}" for target in ("a", "b"))
    assert clean_name(first) != clean_name(second)
    assert {len(clean_name(first)), len(clean_name(second))} == {MOST_CHARACTERS}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a/b", "must not contain '/'"),
        ("a:b", "must not contain ':'"),
        ("my beans", "must not contain white space"),
        ("a@b.c", "must not contain '@', '.'"),
        ("n" * 101, "at most 100 characters; got 101"),
        ("豆" * 90, "at most 200 bytes in UTF-8; got 270"),
        ("20260102", "must not look like a run id"),
    ],
)
def test_a_given_name_that_cannot_be_kept_is_refused_by_its_setting(name, words):
    with pytest.raises(SettingsError, match=words) as caught:
        resolve_settings({"table": "t.csv", "target": "y", "name": name}, environment={})
    assert "setting name: " in str(caught.value)


@pytest.mark.parametrize("name", ["beans", "größe_2-x", "20260102-sales"])
def test_other_names_are_kept(name):
    assert Settings(table="t.csv", target="y", name=name).problem == name


@pytest.mark.parametrize("table", ["data/beans.csv", "s3://bucket/beans.csv.gz", "openml:beans"])
def test_without_a_name_the_problem_is_table_and_target(table):
    assert derived_name(table, "the label") == "beans-the label"
    assert Settings(table=table, target="the label").problem == "beans-the-label"
