"""The honest score of the best of many models of numbers whose errors have heavy tails.

    python benchmarks/evidence/heavy_tails.py OUT_FOLDER [--runs 25] [--rows 200 1000 4500]
        [--models 20] [--worlds normal,t3] [--report]

Out-of-fold predictions of models are made up, so that the winner's true R² is known (from 30,000 more
rows), and handed to the library's own `Repetition`; what is chosen is the best of them. In every
second world two of the models are better than all others but for one or more rows on which they diverge.
Each run is estimated twice: as the library does (`honest`), and with every shortfall counted in full
(`bbc`), as it would be without `automl.selection.luck`. One line of JSON per run is appended to
OUT_FOLDER/heavy_tails.jsonl; runs that have one are not made again.

Runs where `automl.selection.tails` doubts the score are reported apart: of them the library prints none.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, Task
from automl.selection import honest
from automl.selection.correction import HonestScore
from automl.selection.scored_rows import Choice, ScoredRows
from automl.selection.tails import decided_by_few
from automl.stage_record import plain_json

N_FRESH = 30_000
N_BOOTSTRAPS = 100
N_DIVERGING = 2

Target = Callable[[np.random.Generator, FloatArray], tuple[FloatArray, FloatArray]]
"""From signals, (n,) standard normal, the target and its expectation."""

TARGETS: dict[str, Target] = {
    "normal": lambda rng, s: (s + 0.5 * rng.normal(size=len(s)), s),
    "t5": lambda rng, s: (s + 0.4 * rng.standard_t(5, len(s)), s),
    "t3": lambda rng, s: (s + 0.4 * rng.standard_t(3, len(s)), s),
    "lognormal": lambda rng, s: (np.exp(s + 0.5 * rng.normal(size=len(s))), np.exp(s + 0.125)),
    "pareto": lambda rng, s: (np.exp(0.7 * s) * (1 + rng.pareto(3, len(s))), 1.5 * np.exp(0.7 * s)),
}
DIVERGING = " diverging"
WORLDS = [name + suffix for name in TARGETS for suffix in ("", DIVERGING)]


def predictions(
    rng: np.random.Generator, world: str, n_rows: int, n_models: int
) -> tuple[FloatArray, list[FloatArray]]:
    """Target, (n_rows + N_FRESH,), and predictions of it."""
    target = TARGETS[world.removesuffix(DIVERGING)]
    y, expected = target(rng, rng.normal(size=n_rows + N_FRESH))
    spread, center = expected.std(), expected.mean()
    models = [
        center
        + rng.uniform(0.8, 1) * (expected - center)
        + spread * rng.uniform(0.3, 0.4) * rng.normal(size=len(y))
        for _ in range(n_models)
    ]
    for place in range(N_DIVERGING if world.endswith(DIVERGING) else 0):
        models[place] = expected + 0.1 * spread * rng.normal(size=len(y))
        hit = rng.random(len(y)) < 1 / n_rows
        hit[rng.integers(n_rows)] = True
        models[place][hit] += y.std() * np.sqrt(n_rows * rng.choice([0.3, 1.0, 3.0]))
    return y, models


def one_run(world: str, n_rows: int, n_models: int, seed: int) -> dict[str, Any]:
    """Naive, honest and plain score of the best model, and its true one."""
    rng = np.random.default_rng([seed, WORLDS.index(world), n_rows, n_models])
    y, models = predictions(rng, world, n_rows, n_models)
    index = build_index("r2", task=Task.REGRESSION, y_all=y[:n_rows])
    rows = ScoredRows([[model[:n_rows] for model in models]], y[:n_rows], index.score)
    choose = best_of(rows, index)
    final = choose(np.ones((1, n_rows)), np.random.default_rng(0))[0]
    winner = int(final["single"].weights.argmax())
    with mock.patch.object(honest, "luck_of", return_value=1.0):
        plain = estimate(rows, final, choose, seed)
    return {
        "name": f"{world}-{n_rows}-{n_models}-{seed}",
        "world": world,
        "rows": n_rows,
        "models": n_models,
        "truth": index.score(y[n_rows:], models[winner][n_rows:]),
        "doubt": decided_by_few(index.row_losses(rows.y, rows.versions[0][winner])),
        "honest": plain_json(estimate(rows, final, choose, seed)),
        "bbc": plain_json(plain),
    }


def best_of(rows: ScoredRows, index: PerformanceIndex) -> honest.Chooser:
    """Chooses the model with the best score on drawn rows."""
    models = rows.versions[0]

    def choose(counts: FloatArray, _: np.random.Generator) -> list[dict[str, Choice]]:
        under = np.array([index.learned_scores(rows.y, model[None], counts) for model in models])
        return [{"single": Choice(np.eye(len(models))[best])} for best in under.argmax(axis=0)]

    return choose


def estimate(rows: ScoredRows, final: Any, choose: Any, seed: int) -> HonestScore:
    """Honest score of the final choice."""
    sequence = np.random.SeedSequence(seed)
    made = honest.Repetition(rows, final, choose, seed=sequence, n_bootstraps=N_BOOTSTRAPS)
    return made.whole()["single"]


def line_of(found: Sequence[dict[str, Any]]) -> str:
    """Bias and coverage by every way, of some runs."""
    if not found:
        return "-"
    truth = np.array([run["truth"] for run in found])
    parts = [f"{len(found):4} runs"]
    for name, way, low, high, score in (
        ("naive", "honest", "naive_low", "naive_high", "naive"),
        ("bbc", "bbc", "low", "high", "score"),
        ("honest", "honest", "low", "high", "score"),
    ):
        below, above = (np.array([run[way][end] for run in found]) for end in (low, high))
        errors = np.array([run[way][score] for run in found]) - truth
        covered = np.mean((below <= truth) & (truth <= above))
        parts.append(f"{name} {np.median(errors):+.3f}/{errors.mean():+.3f} {covered:.2f}")
    return " | ".join(parts)


def report(path: Path) -> str:
    """Median and mean error and coverage by world and rows, believed and doubted runs apart."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    lines = []
    for world, n_rows in dict.fromkeys((run["world"], run["rows"]) for run in found):
        runs = [run for run in found if (run["world"], run["rows"]) == (world, n_rows)]
        for name, is_doubted in (("believed", False), ("doubted", True)):
            part = [run for run in runs if bool(run["doubt"]) == is_doubted]
            lines.append(f"{world:20} {n_rows:5} {name:8} {line_of(part)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1_000, 4_500])
    parser.add_argument("--models", type=int, nargs="+", default=[20])
    parser.add_argument("--worlds", type=lambda text: text.split(","), default=WORLDS)
    parser.add_argument("--report", action="store_true", help="only the report")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "heavy_tails.jsonl"
    path.touch()
    known = {json.loads(line)["name"] for line in path.read_text().splitlines()}
    cells = product(range(options.runs), options.rows, options.models, options.worlds)
    for seed, n_rows, n_models, world in [] if options.report else cells:
        if f"{world}-{n_rows}-{n_models}-{seed}" not in known:
            with path.open("a") as file:
                file.write(json.dumps(one_run(world, n_rows, n_models, seed)) + "\n")
    print(report(path))


if __name__ == "__main__":
    main()
