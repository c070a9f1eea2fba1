"""Replays of allocators on a generated matrix, and their figures against values by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

FAMILIES = ("gradient_boosting", "random_forest", "lda")


@pytest.fixture(scope="module")
def allocators(benchmark_module: Callable[[str], ModuleType]) -> ModuleType:
    return benchmark_module("allocators")


@pytest.fixture
def table(allocators: ModuleType) -> Any:
    scores = {"svm": np.array([0.2, 0.6]), "knn": np.array([0.5])}
    seconds = {"svm": np.array([1.0, 3.0]), "knn": np.array([2.0])}
    return allocators.PipelineTable(7, scores, seconds, has_seconds=True)


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four data sets x six pipelines of three families."""
    path = tmp_path_factory.mktemp("metadata")
    folder = path / "autosklearn" / "full_matrix_v0.0.1"
    folder.mkdir(parents=True)
    pipelines = range(2 * len(FAMILIES))
    pd.DataFrame(
        {"config_id": pipelines, "classifier:__choice__": [FAMILIES[i % 3] for i in pipelines]}
    ).to_csv(folder / "configurations.csv.gz", index=False)
    rng = np.random.default_rng(0)
    rows = [
        {"openml_id": number, "config_id": i, "runtime": 1.0 + rng.uniform()}
        | {f"loss_{loss}": rng.uniform() for loss in ("acc", "auc")}
        for number in range(4)
        for i in pipelines
    ]
    pd.DataFrame(rows).to_csv(folder / "runs.csv.gz", index=False)
    return path


def test_a_turn_counts_for_a_budget_of_seconds_when_it_has_ended(
    allocators: ModuleType, table: Any
) -> None:
    best, seconds = np.array([0.2, 0.5, 0.6]), np.array([1.0, 3.0, 6.0])
    found = allocators.regrets(table, best, seconds, (1, 2, 5))
    turns = {budget: regret for unit, budget, regret in found if unit == "turns"}
    assert turns == pytest.approx({1: 0.4, 2: 0.1, 5: 0.0})
    by_seconds = {budget: regret for unit, budget, regret in found if unit == "seconds"}
    assert table.mean_seconds == 2.0
    shown = {budget: by_seconds[budget] for budget in (0.5, 1, 2, 3)}
    assert shown == pytest.approx({0.5: 0.4, 1: 0.4, 2: 0.1, 3: 0.0})
    nothing_ended = dict(allocators.regrets(table, best, 10 * seconds, ())[i][1:] for i in range(2))
    assert nothing_ended == pytest.approx({0.5: 0.6, 1: 0.6})


@pytest.mark.parametrize("lookback", [1, 2])
def test_a_replay_tells_what_the_lookback_allows_and_uses_up_every_pipeline(
    allocators: ModuleType, table: Any, lookback: int
) -> None:
    told: list[int] = []
    asked: list[tuple[list[str], list[str], int]] = []

    class Last:
        def choose(self, arms: list[str], *, pending: list[str], rng: Any) -> str:
            asked.append((arms, pending, len(told)))
            return arms[-1]

        def update(self, trial: Any) -> None:
            told.append(trial.index)

    replay = allocators.Replay(table, seed=0, order="prior", n_turns=sys.maxsize)
    best, seconds = replay.run(Last(), lookback)
    arms, pending, n_told = zip(*asked, strict=True)
    assert arms == (["svm", "knn"], ["svm"], ["svm"])
    assert pending == (([], [], []) if lookback == 1 else ([], ["knn"], ["svm"]))
    assert n_told == ((0, 1, 2) if lookback == 1 else (0, 0, 1))
    assert best[[0, -1]] == pytest.approx([0.5, 0.6])
    assert seconds[[0, -1]] == pytest.approx([2.0, 6.0])


def test_differences_are_paired_by_data_set_and_bounds_have_no_rank(allocators: ModuleType) -> None:
    regret = {
        "expected_gain": [0.1, 0.3],
        "uniform": [0.2, 0.3],
        "oracle": [0.0, 0.2],
        "only:lda": [0.4, 0.1],
    }
    collected = pd.DataFrame(
        [
            (name, "turns", 5.0, number, value)
            for name, values in regret.items()
            for number, value in enumerate(values)
        ],
        columns=["allocator", "unit", "budget", "table", "regret"],
    )
    summary = allocators.summarize(collected)
    assert set(summary["budget"]) == {0.0, 5.0}
    found = summary[summary["budget"] == 5.0].set_index("allocator")
    assert found["regret"].to_dict() == pytest.approx(
        {"expected_gain": 0.2, "uniform": 0.25, "oracle": 0.1, "only:lda": 0.25}
    )
    behind = found.loc["uniform", ["minus_ours", "minus_ours_low", "minus_ours_high"]]
    assert list(behind) == pytest.approx([0.05, 0.0, 0.1])
    assert found["rank"].dropna().to_dict() == {"expected_gain": 1.25, "uniform": 1.75}


def test_the_oracle_is_the_best_single_family_of_each_data_set(
    allocators: ModuleType, metadata: Path, tmp_path: Path
) -> None:
    options = SimpleNamespace(
        source="matrix", half="tuning", order="prior", loss="acc", seeds=2, lookback=1, out=tmp_path
    )
    tables = allocators.half_of(allocators.read_matrix(metadata), "tuning")
    found = allocators.collect(tables, options).set_index(["allocator", "unit", "budget", "table"])
    always = pd.concat([allocators.part(f"only:{name}", tables, options) for name in FAMILIES])
    for table in tables:
        here = always[(always["table"] == table.number) & (always["unit"] == "turns")]
        expected = here[here["budget"] == 2].groupby("allocator")["regret"].mean().min()
        oracle = found.loc[("oracle", "turns", 2.0, table.number), "regret"]
        assert oracle == pytest.approx(expected)


def test_files_of_other_options_stand_beside_each_other(
    allocators: ModuleType, metadata: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocators, "plot", lambda summary, path: None)

    def run(*options: str) -> None:
        arguments = ["allocators.py", str(metadata), str(tmp_path), "--seeds", "1", *options]
        monkeypatch.setattr(sys, "argv", arguments)
        allocators.main()

    run()
    (first,) = tmp_path.glob("*.csv")
    content = first.read_bytes()
    for n, options in enumerate((["--loss", "auc"], ["--seeds", "2"], ["--lookback", "3"]), 2):
        run(*options)
        assert len(list(tmp_path.glob("*.csv"))) == n
        assert first.read_bytes() == content


def test_a_loss_that_the_source_lacks_is_refused(
    allocators: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["allocators.py", str(tmp_path), str(tmp_path), "--source", "flows"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--loss", "auc"])
    with pytest.raises(SystemExit, match="2"):
        allocators.main()
