"""A name that is not known: the nearest known one is proposed, in the same words everywhere."""

import re
from pathlib import Path

import pytest

from automl.errors import SettingsError
from automl.lookup import did_you_mean, entry_of, nearest_names

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("unifrom", "; did you mean 'uniform'?"), ("UNIFORM", "; did you mean 'uniform'?"), ("x", "")],
)
def test_the_nearest_name_ends_the_sentence(name, expected):
    assert did_you_mean(name, ["halving", "uniform"]) == expected


def test_where_none_is_near_the_callers_words_are_said():
    assert did_you_mean("x", ["halving"], "; none is") == "; none is"
    assert did_you_mean("halvng", ["halving"], "; none is") == "; did you mean 'halving'?"


def test_several_names_come_nearest_first():
    assert nearest_names("s1", ["t90", "s12", "s1"], most=2, cutoff=0.0) == ["s1", "s12"]


def test_an_unknown_entry_is_refused_with_all_names():
    with pytest.raises(
        SettingsError, match=r"^allocator must be one of auto, uniform; got 'unifrm'; "
    ):
        entry_of({"uniform": 1}, "unifrm", "allocator", also=("auto",))


def test_only_one_module_looks_for_near_names():
    found = [
        path.relative_to(ROOT).as_posix()
        for layer in ("automl", "tasks", "flows")
        for path in (ROOT / layer).rglob("*.py")
        if re.search(r"difflib|get_close_matches", path.read_text(encoding="utf-8"))
    ]
    assert found == ["automl/lookup.py"]
