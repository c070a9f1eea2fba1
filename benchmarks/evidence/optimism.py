"""Ways to correct the score of the best of many models, on simulated models whose skill is known.

    python benchmarks/evidence/optimism.py [--runs 200] [--rows 60 200 1000] [--models 10 50 300]

A model is right or wrong on each row; rows differ in how hard they are, which correlates the models.
The world is drawn anew in every run. For each way: the mean error of its estimate of the winner's
true accuracy, the root mean square of the error, how often the 95 % interval holds the truth, and the
mean width of that interval beside that of the naive one. All but `bbc_percentile` have the naive
bootstrap interval of the winner, moved to their own estimate.

- `naive`: the winner's score.
- `bbc`: mean score of the bootstraps' winners on the rows left out; `bbc_percentile` with the
  percentiles of these scores as interval, as BBC-CV has it.
- `share`: three quarters of the way from naive to bbc, as the library does.
- `efron`: less the mean of the bootstraps' winners' scores on the drawn rows minus on all rows.
- `nested`: the best on four fifths of the rows is scored on the other fifth, 20 times over.
- `tibshirani`: less the mean over five folds of the fold's best score minus the winner's there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtri

from automl.records import FloatArray
from automl.selection.correction import SHARE
from automl.selection.scored_rows import draw

BOOTSTRAPS = 200
SKILL = 0.8
N_PARTS = 5
N_NESTED = 20
Estimates = dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class World:
    """How models come about.

    Parameters
    ----------
    correlation : in [0, 1)
        Of the models' latent margins on one row.
    skills
        True accuracies, (n_models,), from generator, number of models and of rows.
    """

    correlation: float
    skills: Callable[[np.random.Generator, int, int], FloatArray]


def _one_best(rng: np.random.Generator, n_models: int, _: int) -> FloatArray:
    skills = np.full(n_models, 0.7)
    skills[rng.integers(n_models)] = 0.85
    return skills


WORLDS = {
    "equal, independent": World(0.0, lambda _, m, n: np.full(m, SKILL)),
    "equal, correlated": World(0.8, lambda _, m, n: np.full(m, SKILL)),
    "half a standard error apart": World(
        0.7, lambda rng, m, n: SKILL + rng.normal(0, 0.5 * np.sqrt(SKILL * (1 - SKILL) / n), m)
    ),
    "far apart": World(0.7, lambda rng, m, n: SKILL - np.abs(rng.normal(0, 0.08, m))),
    "one better by 0.15": World(0.6, _one_best),
}


def outcomes(
    world: World, rng: np.random.Generator, n_models: int, n_rows: int
) -> tuple[FloatArray, FloatArray]:
    """(n_models, n_rows) 1 where right, and the true accuracies."""
    skills = np.clip(world.skills(rng, n_models, n_rows), 0.02, 0.98)
    hard = np.sqrt(world.correlation) * rng.normal(size=n_rows)
    own = np.sqrt(1 - world.correlation) * rng.normal(size=(n_models, n_rows))
    return (hard + own < ndtri(skills)[:, None]).astype(np.float32), skills


def estimates(right: FloatArray, rng: np.random.Generator) -> tuple[int, Estimates]:
    """The winner, and by every way its accuracy with an interval."""
    n_rows = right.shape[1]
    scores = right.mean(axis=1)
    winner = int(scores.argmax())
    naive = float(scores[winner])
    counts = draw(n_rows, BOOTSTRAPS, rng=rng)
    left_out = (counts == 0).astype(np.float32)
    inside = counts @ right.T / n_rows
    outside = left_out @ right.T / left_out.sum(axis=1, keepdims=True)
    each, chosen = np.arange(BOOTSTRAPS), inside.argmax(axis=1)
    again = outside[each, chosen]
    bbc = float(again.mean())
    points = {
        "naive": naive,
        "bbc": bbc,
        "share": naive - SHARE * (naive - bbc),
        "efron": naive - float((inside[each, chosen] - scores[chosen]).mean()),
        "nested": _nested(right, rng),
        "tibshirani": naive - _fold_regret(right, winner, rng),
    }
    low, high = np.percentile(inside[:, winner], [2.5, 97.5]) - naive
    found = {name: (point, point + low, point + high) for name, point in points.items()}
    found["bbc_percentile"] = (bbc, *map(float, np.percentile(again, [2.5, 97.5])))
    return winner, found


def _parts(n_rows: int, rng: np.random.Generator) -> FloatArray:
    """(N_PARTS, n_rows) one-hot columns."""
    part = rng.permutation(n_rows) % N_PARTS
    return (part[None] == np.arange(N_PARTS)[:, None]).astype(np.float32)


def _nested(right: FloatArray, rng: np.random.Generator) -> float:
    total = 0.0
    for _ in range(N_NESTED):
        parts = _parts(right.shape[1], rng)
        hits = parts @ right.T
        chosen = (right.sum(axis=1) - hits).argmax(axis=1)
        total += hits[np.arange(N_PARTS), chosen].sum() / right.shape[1]
    return float(total / N_NESTED)


def _fold_regret(right: FloatArray, winner: int, rng: np.random.Generator) -> float:
    parts = _parts(right.shape[1], rng)
    scores = parts @ right.T / parts.sum(axis=1, keepdims=True)
    return float((scores.max(axis=1) - scores[:, winner]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[60, 200, 1000])
    parser.add_argument("--models", type=int, nargs="+", default=[10, 50, 300])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for n_rows, n_models, (name, world) in product(options.rows, options.models, WORLDS.items()):
        errors: dict[str, list[tuple[float, bool, float]]] = {}
        for _ in range(options.runs):
            right, skills = outcomes(world, rng, n_models, n_rows)
            winner, found = estimates(right, rng)
            truth = skills[winner]
            for way, (point, low, high) in found.items():
                entry = (point - truth, low <= truth <= high, high - low)
                errors.setdefault(way, []).append(entry)
        print(f"{n_models} models, {n_rows} rows, {name}", flush=True)
        for way, entries in errors.items():
            error, covered, width = np.array(entries, dtype=float).T
            naive_width = np.mean([entry[2] for entry in errors["naive"]])
            print(
                f"  {way:15} error {100 * error.mean():+6.2f} rms "
                f"{100 * np.sqrt(np.mean(error**2)):5.2f} covered {covered.mean():.3f} "
                f"width {width.mean() / naive_width:.2f}"
            )


if __name__ == "__main__":
    main()
