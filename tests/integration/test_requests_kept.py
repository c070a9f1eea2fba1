"""Many requests at once, in each preset and with each ensemble: the records of the run show all of them kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from automl.data.table import Table
from automl.home import Home
from automl.records import Trial
from automl.run.beginning import begin
from automl.run_records.result import RunResult
from automl.run_records.search import SearchRecord
from automl.settings.sources import resolve_settings
from automl.stages.line import Line, close_line, open_line
from automl.stages.searching import run_search

pytestmark = pytest.mark.integration
FAMILIES = {"decision_tree", "ridge", "logistic_regression"}
COSTS = [[0.0, 1.0], [8.0, 0.0]]
ASKED: dict[str, Any] = {
    "target": "y",
    "roles": {"code": "nominal"},
    "groups": "owner",
    "weights": "size",
    "cost_matrix": COSTS,
    "positive": "good",
    "families": ",".join(sorted(FAMILIES)),
    "spaces": {"logistic_regression": {"C": {"low": 0.1, "high": 10}}},
    "alpha": {"leaf": 0.2, "root": 0.01},
    "top_n": {"root": 1},
    "max_predict_ms": 50.0,
    "search_repeats": 2,
    "trials": 9,
    "workers": 1,
    "seed": 3,
}
CASES = {
    "fast": {"ensemble": "greedy", "selection_test": "mcb", "ensemble_members": 2},
    "balanced": {"ensemble": "agnostic_bayes", "selection_test": "friedman", "candidate_limit": 3},
    "best": {"ensemble": "stacking", "selection_test": "paired", "candidate_limit": 2},
    "thesis": {"normality": "lilliefors", "halves": "bootstrap", "candidates_per_signature": 2},
}


def rows(n: int, rng: np.random.Generator) -> pd.DataFrame:
    x, other, noise = rng.normal(size=(3, n))
    return pd.DataFrame(
        {
            "x": x,
            "other": np.where(rng.random(n) < 0.05, np.nan, other),
            "code": rng.integers(0, 3, n),
            "owner": rng.permutation(n) // 4,
            "size": rng.uniform(0.2, 3.0, n),
            "y": np.where(x + noise > 0.4, "good", "bad"),
        }
    )


@pytest.fixture(scope="module", params=CASES)
def line(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Line]:
    folder, rng = tmp_path_factory.mktemp(request.param), np.random.default_rng(5)
    rows(160, rng).to_csv(folder / "training.csv", index=False)
    rows(60, rng).to_csv(folder / "untouched.csv", index=False)
    tables = {"table": str(folder / "training.csv"), "test": str(folder / "untouched.csv")}
    asked = {**ASKED, **tables, "preset": request.param, **CASES[request.param]}
    home = Home(folder / "home")
    home.prepare()
    session = begin(resolve_settings(asked, environment={}), home)
    made = open_line(session)
    try:
        run_search(made.search)
        made.record(SearchRecord)
        made.record(RunResult)
        yield made
    finally:
        close_line(made)
        session.release()


def record(line: Line, stage: str) -> dict[str, Any]:
    found = line.session.records.read(stage)
    assert found is not None
    return dict(found)


def test_rows_of_a_group_stay_together(line: Line) -> None:
    table = Table.load(line.session.folder.table)
    assert table.groups is not None
    for name in ("search", "candidates"):
        stage = line.session.plan.stage(name)
        for folds in stage.folds:
            pairs = {
                (int(table.groups[row]), int(fold))
                for row, fold in zip(stage.rows, folds, strict=True)
            }
            assert len(pairs) == len(np.unique(table.groups[stage.rows]))


def test_scores_count_weights_costs_and_the_positive_class(line: Line) -> None:
    plan, table = line.session.plan, Table.load(line.session.folder.table)
    size = np.asarray(table.weights)
    shares = np.bincount(table.y, weights=size) / size.sum()
    assert plan.index.baselines["brier"] == pytest.approx(
        (2 if line.session.settings.preset == "thesis" else 1) * (1 - (shares**2).sum())
    )
    assert plan.index.costs is not None
    assert plan.index.costs.tolist() == COSTS
    assert table.classes is not None
    assert table.classes[plan.index.positive or 0] == "good"
    assert {"cost", "f_beta_positive"} <= set(record(line, "final")["metrics"])


def test_only_the_families_and_the_ranges_that_were_asked_for(line: Line) -> None:
    found = [trial.configuration for trial in line.trials if trial.origin != "floor"]
    assert {one.family for one in found} == FAMILIES
    assert len(line.trials) == ASKED["trials"]
    regularized = [float(str(one.values["C"])) for one in found if "C" in one.values]
    assert regularized
    assert all(0.1 <= value <= 10 for value in regularized)
    complete = [trial for trial in line.trials if trial.is_complete]
    assert {fold.repeat for trial in complete for fold in trial.folds} == {0, 1}


def test_the_selection_is_as_asked(line: Line) -> None:
    settings, selection = line.session.settings, record(line, "selection")
    compared = selection["settings"]["comparison"]
    assert compared["procedure"] == settings.selection_test
    assert compared["normality"] == settings.normality
    assert selection["settings"]["alpha"] == {"category": 0.05, "family": 0.05, **ASKED["alpha"]}
    assert selection["settings"]["top_n"] == {"leaf": 3, "category": 3, "family": 3, "root": 1}
    candidates = record(line, "candidates")
    if settings.selection_test != "thesis":
        assert len(candidates["trial_ids"]) <= settings.candidate_limit
    else:
        most = settings.candidates_per_signature
        assert all(max(group["clusters"]) <= most for group in candidates["clusters"])


def test_the_model_is_as_asked(line: Line) -> None:
    settings, final = line.session.settings, record(line, "final")
    ensemble = record(line, "ensemble")
    assert ensemble["method"] == settings.ensemble
    assert final["kind"] == settings.final
    if settings.ensemble_members:
        assert len(ensemble["learned"]) <= settings.ensemble_members
    if settings.ensemble == "stacking":
        learned = {member["trial_id"] for member in ensemble["learned"]}
        second = {Trial.from_json(trial).id for trial in ensemble["stack"]}
        assert second >= learned > set()
    assert final["test"]["rows"] == 60
    assert final["predict_ms"] < ASKED["max_predict_ms"]
    assert final["threshold"] is not None


def test_the_settings_that_the_run_keeps_are_those_that_were_asked_for(line: Line) -> None:
    facts = json.loads((Path(line.session.folder.path) / "run.json").read_text())
    kept = facts["settings"]
    assert {name: kept[name] for name in ASKED if name != "families"} == {
        name: value for name, value in ASKED.items() if name != "families"
    }
    assert set(kept["families"]) == FAMILIES
