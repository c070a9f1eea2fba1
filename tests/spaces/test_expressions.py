"""Safe expressions: what they compute, and what they refuse."""

from __future__ import annotations

import pickle

import pytest

from automl.errors import SettingsError
from automl.spaces.expressions import Expression


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("a < 1", {"a": 0.5}, True),
        ("a < 1", {"a": 2}, False),
        ("a < 1", {}, True),
        ("a < 1", {"a": None}, True),
        ("a + 1 < 2", {"a": "sqrt"}, True),
        ("a * b <= 6 and not a == 3", {"a": 2, "b": 3}, True),
        ("a * b <= 6 and not a == 3", {"a": 3, "b": 2}, False),
        ("0 < a < b", {"a": 1, "b": 2}, True),
        ("a in ['x', 'y']", {"a": "y"}, True),
        ("a not in ('x', 'y')", {"a": "y"}, False),
        ("a == null or a > 3", {"a": None}, True),
        ("a == true", {"a": False}, False),
        ("1 / a > 0", {"a": 0}, False),
        ("sqrt(a) < 0", {"a": -1}, False),
        ("min(a, b) == 1 if c else false", {"a": 1, "b": 2, "c": True}, True),
        ("-a // 2 % 3 == 1", {"a": 4}, True),
        ("prep.scaler != 'none'", {"prep.scaler": "none"}, False),
    ],
)
def test_rules_hold_or_break(text, values, holds) -> None:
    rule = Expression(text)
    assert rule.holds(values) is holds
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_names_are_those_read() -> None:
    assert Expression("sqrt(a) + prep.b * n_rows < true").names == {"a", "prep.b", "n_rows"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a <",
        "a ** 9",
        "a << 2",
        "~a",
        "a is b",
        "a.b.c",
        "a[0]",
        "__import__('os')",
        "a()",
        "min(a, key=b)",
        "lambda: 1",
        "[x for x in a]",
        "f'{a}'",
        "b'x'",
        "(a := 1)",
        "{1: 2}",
        "a" * 1000,
        "a; b",
    ],
)
def test_everything_else_is_refused(text) -> None:
    with pytest.raises(SettingsError):
        Expression(text)
