"""Injected defects: equal for an equal seed, told apart from what a table says anyhow."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "preflight"
MODULES = ("public_tables", "defects", "findings", "facts", "preflight")


@pytest.fixture(scope="module")
def modules():
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def table(modules, *, is_classification):
    rng = np.random.default_rng(0)
    n_rows = 1200
    frame = pd.DataFrame({f"x{i}": rng.gamma(2.0, 10.0**i, n_rows).round(4) for i in range(4)})
    frame["color"] = rng.choice(["red", "green", "blue", "gray"], n_rows, p=[0.4, 0.3, 0.2, 0.1])
    score = rng.normal(size=n_rows) + frame["x0"]
    frame["y"] = np.where(score > 1, "yes", "no") if is_classification else score
    kinds = {name: "nominal" if name == "color" else "numeric" for name in frame.columns[:-1]}
    task = "binary" if is_classification else "regression"
    return modules.public_tables.PublicTable("made-up", "develop", "y", task, kinds, frame)


@pytest.mark.parametrize("is_classification", [True, False])
def test_every_defect_changes_a_table_and_is_equal_for_an_equal_seed(modules, is_classification):
    made_up = table(modules, is_classification=is_classification)
    clean = modules.preflight.clean_case(made_up, "source")
    n_fitting = 0
    for defect in modules.defects.DEFECTS:
        cases = [modules.preflight.clean_case(made_up, "source") for _ in range(2)]
        try:
            for case in cases:
                defect.spoil(case, np.random.default_rng(7))
        except modules.defects.NotApplicable:
            continue
        n_fitting += 1
        first, second = cases
        assert first.train.equals(second.train)
        assert first.test.equals(second.test)
        assert not (first.train.equals(clean.train) and first.test.equals(clean.test)), defect.name
    assert n_fitting >= 50


@pytest.mark.parametrize(
    "name",
    [
        "target with noise of 1 percent",
        "numbers in any order",
        "test rows with another target",
        "sorted by a date",
        "measured five times",
        "test moved by one deviation",
        "in thousandths from a row on",
        "missing from 60 percent",
    ],
)
def test_a_plain_defect_of_each_kind_is_found_and_the_clean_table_is_not_accused(modules, name):
    made_up = table(modules, is_classification=False)
    case = modules.preflight.clean_case(made_up, "source")
    usual, _ = modules.preflight.preflight(case.train, case.test, made_up)
    assert modules.findings.read_sentences(usual) == []
    defect = next(found for found in modules.defects.DEFECTS if found.name == name)
    defect.spoil(case, np.random.default_rng(1))
    said, _ = modules.preflight.preflight(case.train, case.test, made_up)
    sentences = modules.findings.read_sentences(said)
    assert modules.findings.is_found(defect.kind, case, sentences, [])
    assert not modules.findings.is_found(defect.kind, case, sentences, sentences)


def test_a_fact_bears_out_what_is_so_and_nothing_else(modules):
    made_up = table(modules, is_classification=True)
    case = modules.preflight.clean_case(made_up, "source")
    stuck = case.train.assign(x1=case.train["x1"].mask(np.arange(len(case.train)) > 600, 3.0))
    sentence = modules.findings.Sentence
    for train, is_so in ((case.train, False), (stuck, True)):
        facts = modules.facts.Facts(made_up, train, case.test)
        for kind in ("shift", "constant"):
            assert bool(facts.bear_out(sentence(kind, kind, ("x1",), 0))) is is_so
        assert not facts.bear_out(sentence("duplicates", "rows", (), 3))
        assert not facts.bear_out(sentence("time", "rows", (), 0))
