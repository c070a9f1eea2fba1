"""The list of configurations, and the rows that are used of a large table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from automl.families.portfolio import whole_portfolio
from automl.families.registry import families
from automl.table_studies.conditions import LEAST_OF_A_CLASS, Conditions, sample_rows
from automl.table_studies.design import design

KINDS = ("classification", "regression")


@pytest.mark.parametrize("kind", KINDS)
def test_every_configuration_is_legal_and_comes_once(kind):
    found = design(kind, draws=2, seed=3)
    assert len({c.id for c in found}) == len(found)
    spaces = {name: family.space(kind) for name, family in families(kind).items()}
    assert all(spaces[c.family].is_legal(c) is None for c in found)
    there = {c.id for c in found}
    assert all(c.id in there for c in whole_portfolio(kind))
    for name, family in families(kind).items():
        is_there = family.space(kind).default().id in there
        assert is_there == (name != "constant" and family.unavailable is None)


@pytest.mark.parametrize("kind", KINDS)
def test_more_draws_add_and_change_nothing(kind):
    few, more = design(kind, draws=1, seed=3), design(kind, draws=4, seed=3)
    assert {c.id for c in few} < {c.id for c in more}
    assert few == design(kind, draws=1, seed=3)
    n_fixed = len(design(kind, draws=0, seed=0))
    assert few[:n_fixed] == more[:n_fixed]
    assert few[n_fixed:] != design(kind, draws=1, seed=4)[n_fixed:]


@pytest.mark.parametrize("kind", KINDS)
def test_only_some_families(kind):
    some = design(kind, draws=4, seed=3, only=("lightgbm", "knn"))
    assert {c.family for c in some} == {"lightgbm", "knn"}
    assert some == [c for c in design(kind, draws=4, seed=3) if c.family in {"lightgbm", "knn"}]


def frame_of(target):
    return pd.DataFrame({"x": np.arange(len(target)), "y": target})


def test_a_small_table_is_used_whole():
    frame = frame_of([1, 2, 3])
    assert sample_rows(frame, "y", most=3, seed=0) is frame
    assert sample_rows(frame, "z", most=2, seed=0) is frame


@pytest.mark.parametrize("labels", [("a", "b", "c"), (0, 1, 2)])
def test_classes_keep_their_shares_and_some_rows(labels):
    target = np.repeat(np.array(labels), [700, 297, 3])
    frame = frame_of(np.random.default_rng(0).permutation(target))
    part = sample_rows(frame, "y", most=100, seed=1)
    counts = part["y"].value_counts()
    assert [counts[label] for label in labels] == [70, 30, 3]
    assert part["x"].is_monotonic_increasing
    pd.testing.assert_frame_equal(part, sample_rows(frame, "y", most=100, seed=1))
    rare = sample_rows(frame_of(["a"] * 990 + ["b"] * 10), "y", most=50, seed=1)
    assert (rare["y"] == "b").sum() == LEAST_OF_A_CLASS


def test_numbers_are_drawn_at_random():
    frame = frame_of(np.linspace(0.0, 1.0, 1000))
    part = sample_rows(frame, "y", most=100, seed=1)
    assert len(part) == 100
    assert part["x"].is_monotonic_increasing


def test_small_tables_have_more_folds_and_nothing_else_is_learned_from():
    small = Conditions().settings({"table": "t.csv", "target": "y"}, 200)
    large = Conditions(seed=5).settings({"table": "t.csv", "target": "y"}, 2000)
    assert (small.folds, large.folds, large.seed) == (5, 3, 5)
    assert small.experience is small.racing is False
    assert Conditions(search_trials=1).settings({"table": "t.csv", "target": "y"}, 200).experience
