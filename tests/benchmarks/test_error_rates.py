"""The batched tests of the benchmark of error rates decide as the project's own selection does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

EVIDENCE = Path(__file__).parents[2] / "benchmarks" / "evidence"


@pytest.fixture(scope="module")
def evidence():
    sys.path.insert(0, str(EVIDENCE))
    try:
        import error_rate_batches
        import error_rate_report
        import error_rates

        yield error_rates, error_rate_batches, error_rate_report
    finally:
        sys.path.remove(str(EVIDENCE))
        for name in ("error_rates", "error_rate_batches", "error_rate_report", "error_rate_models"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "name",
    [
        *("closed", "closed, tree", "paired", "paired, tree"),
        *("mcb", "bayesian", "friedman", "thesis"),
    ],
)
def test_batches_decide_as_the_project_does(evidence, name):
    rates, *_ = evidence
    assert name in rates.PROCEDURES_OF_THE_PROJECT
    rng = np.random.default_rng(1)
    scored = rng.normal(size=(3, 10, 10)) + 1.5 * rng.normal(size=(3, 10, 1)) + rng.normal(size=10)
    drops = rates._drops(scored, name, 5)
    assert sum(values.sum() for values in drops.values()) > 0
    for i in range(len(scored)):
        rates._check({key: values[i:] for key, values in drops.items()}, scored[i], name, 5)


def test_a_difference_between_the_two_is_noticed(evidence):
    rates, *_ = evidence
    scored = np.random.default_rng(0).normal(size=(1, 10, 10))
    drops = rates._drops(scored, "paired", 5)
    drops["tree 3|all"] = drops["tree 3|all"] + 1
    with pytest.raises(RuntimeError, match="paired, 5 folds"):
        rates._check(drops, scored[0], "paired", 5)


def test_a_greater_lead_is_dropped_more_often_and_more_scores_help(evidence, monkeypatch):
    rates, _, report = evidence
    monkeypatch.setattr(rates, "LEADS", (1.0, 2.0))
    rng = np.random.default_rng(0)
    found = {"5": np.array([rates._gauss(0.1, rng) for _ in range(30)])}
    counts = rates._count_leads(found)

    def dropped(plan, lead, procedure="closed"):
        return counts[f"{plan}|one|{lead}|{procedure}|dropped"]

    assert dropped("2 x 5", 1.0) < dropped("2 x 5", 2.0) < dropped("6 x 5", 2.0) <= 30
    assert dropped("2 x 5", 2.0, "paired") < dropped("2 x 5", 2.0)
    assert len(report._lead_tables(counts)) == 2 * (4 + 1 + 4)


def test_rates_have_clopper_and_pearsons_interval(evidence):
    *_, report = evidence
    assert report.interval(0, 100) == pytest.approx((0.0, 0.0362), abs=1e-4)
    assert report.interval(5, 100) == pytest.approx((0.0164, 0.1128), abs=1e-4)
    assert report.interval(100, 100)[1] == 1.0
