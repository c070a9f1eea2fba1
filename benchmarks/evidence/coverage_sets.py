"""The runs of `coverage.py`: which tables, how many rows of them, and with what budget."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import heavy_tables
import pandas as pd
from data_sets import data_settings, read_catalog

from automl.settings import Settings

MOST_ROWS = 1_100
MOST_CLASSES = 6
LEAST_CLASS = 19
"""Rows of the rarest class: both halves need some in every fold."""

MOST_OUTPUTS = 250
"""Features times classes: a run takes a few seconds."""

MOST_LEARNED = 5_000
"""Rows that a run on a larger table is given; the others are untouched."""

MOST_LARGER = 60_000
SETS = ("small", "larger", "heavy")
TRIALS = {"small": (15, 20, 25), "larger": (10, 20, 50), "heavy": (10, 20, 50)}
"""Where `--trials` says nothing; they change from seed to seed."""

FAMILIES = (
    *("lightgbm", "decision_tree", "gaussian_nb", "knn", "lda", "qda", "logistic_regression"),
    *("ridge", "linear_svm", "nearest_centroid", "elastic_net", "sgd", "huber"),
)
NETWORKS = ("mlp", "two_layer_perceptron")


def small_tables(data: Path) -> pd.DataFrame:
    """Facts of the small tables by name."""
    catalog = read_catalog(data)
    classes = catalog["classes"].fillna(1)
    is_small = (catalog["rows"] <= MOST_ROWS) & (classes <= MOST_CLASSES)
    is_small &= catalog["features"] * classes <= MOST_OUTPUTS
    has_rows = catalog["min_class_count"].fillna(LEAST_CLASS) >= LEAST_CLASS
    return catalog[is_small & has_rows]


def larger_tables(data: Path) -> pd.DataFrame:
    """Facts of every second table with more rows than the small ones, by name."""
    catalog = read_catalog(data)
    classes = catalog["classes"].fillna(1)
    is_larger = catalog["rows"].between(MOST_ROWS, MOST_LARGER, inclusive="right")
    is_larger &= (classes <= MOST_CLASSES) & (catalog["features"] * classes <= MOST_OUTPUTS)
    has_rows = catalog["min_class_count"].fillna(LEAST_CLASS) >= LEAST_CLASS
    return catalog[is_larger & has_rows].iloc[::2]


def names_of(options: argparse.Namespace) -> list[str]:
    """Tables of the set that is asked for.

    Raises
    ------
    SystemExit
        If one of `--tables` is not in the set.
    """
    if options.set == "heavy":
        known = heavy_tables.names()
    else:
        known = list(
            (small_tables if options.set == "small" else larger_tables)(options.data).index
        )
    unknown = [name for name in options.tables if name not in known]
    if unknown:
        raise SystemExit(f"the set {options.set} has no table {unknown[0]!r}")
    return options.tables or known


def runs_of(options: argparse.Namespace) -> Iterator[tuple[Settings, str]]:
    """Settings and name of every run, all tables of a seed together."""
    names = names_of(options)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    catalog = read_catalog(options.data)
    for seed, name in product(seeds, names):
        if options.set == "heavy":
            table = heavy_tables.table_settings(options.out / "tables", name, seed)
        else:
            table = _shared(options.data, catalog.loc[name], name)
        yield Settings(**table, **_budget(options, seed), workers=1, seed=seed), f"{name}-{seed}"


def _shared(data: Path, facts: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table of the data folder, half of it untouched, or what is beyond `MOST_LEARNED` rows."""
    share = max(0.5, 1 - MOST_LEARNED / float(facts["rows"]))
    return {**data_settings(data, facts, name), "test_share": share}


def _budget(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    """By time all as a user has it; by trials fast families, and networks where tails are heavy."""
    if options.seconds is not None:
        return {"budget_seconds": options.seconds}
    choices = options.trials or TRIALS[options.set]
    found: dict[str, Any] = {"trials": choices[seed % len(choices)]}
    families = (*FAMILIES, *NETWORKS) if options.set == "heavy" else FAMILIES
    return {**found, "families": families, "optimizer": "random", "portfolio": False}
