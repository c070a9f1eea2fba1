"""How often a test drops a model that is as good as the best, and one that is worse.

    python benchmarks/evidence/error_rates.py DATA_FOLDER OUT_FOLDER [--replications 1000]
        [--kinds networks,columns] [--again] [--report]

Ten equally good models (`error_rate_models.py`) are scored on the folds of a run; the first three,
five or all ten compete in one leaf, and in small trees with the levels leaf, category, family and
root, by the selection as the project makes it. Counted is what a *test* drops; what is outranked by
the top three of a node is not. Scores stay in OUT_FOLDER/scores (50 replications per file), counts in
OUT_FOLDER/counts; files that are there are not made again, ``--again`` counts anew.

The report (`error_rate_report.py`) writes tables and a picture.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import error_rate_models as models
import error_rate_report
import numpy as np
from error_rate_batches import ALPHA, Batch, corrected_statistics, counted, one_sided

from automl.records import Configuration, FloatArray, IntArray
from automl.selection.candidates import Candidate
from automl.selection.comparison import ComparisonSettings, compare_with_best
from automl.selection.levels import select
from automl.selection.screening import screen, screening_alpha

CHUNK = 50
GAUSS = {f"gauss {rho}": rho for rho in (0.0, 0.1, 0.2, 0.3, 0.4)}
LEAVES = (3, 5, 10)
TREES: dict[str, tuple[str, ...]] = {
    "tree 3": ("a/x=1", "a/x=1", "b"),
    "tree 5": ("a/x=1/z=1", "a/x=1/z=2", "a/x=2", "b", "b"),
    "tree 10": (
        *("a/x=1/z=1", "a/x=1/z=1", "a/x=1/z=2", "a/x=1/z=2", "a/x=2", "a/x=2"),
        *("b/y=1", "b/y=1", "c", "c"),
    ),
    "lopsided 10": (*("a",) * 8, "b", "c"),
}
PROCEDURES_OF_THE_PROJECT: dict[str, dict[str, Any]] = {
    "paired": {"test": "paired"},
    "paired, tree": {"test": "paired", "alpha_split": "tree"},
    "mcb": {"test": "mcb"},
    "friedman": {"test": "friedman"},
    "thesis": {"test": "thesis"},
}
PROCEDURES = (*PROCEDURES_OF_THE_PROJECT, "members only")
LEAF_PROCEDURES = ("paired", "mcb", "friedman", "thesis")
CHECKED_CHUNKS = 4
"""The first replication of every fourth chunk is compared with the project's own selection."""
ON_TEN_FOLDS = ("paired", "paired, tree", "thesis")
"""Procedures that are counted on three times ten folds as well."""


def main() -> None:
    """Scores, counts, report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join((*models.PLANS, *GAUSS, "planted")))
    parser.add_argument("--again", action="store_true", help="count anew what has scores")
    parser.add_argument("--report", action="store_true", help="nothing but the report")
    given = parser.parse_args()
    models.quietly()
    if not given.report:
        pools = models.Pools(given.data)
        for chunk in range(-(-given.replications // CHUNK)):
            for kind in given.kinds.split(","):
                count(given.out, kind, chunk, scores(given.out, kind, chunk, pools), given.again)
    error_rate_report.write(given.out)


# --- scores ---------------------------------------------------------------------------------------


def scores(out: Path, kind: str, chunk: int, pools: models.Pools) -> dict[str, FloatArray]:
    """Scores of one chunk, by the number of folds (or by the kind of difference and folds)."""
    path = out / "scores" / f"{kind}-{chunk:03d}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [_replication(kind, chunk * CHUNK + i, pools) for i in range(CHUNK)]
        partial = path.with_suffix(".part.npz")
        np.savez_compressed(
            partial, **{key: np.array([row[key] for row in rows]) for key in rows[0]}
        )
        partial.rename(path)
    with np.load(path) as found:
        return {key: found[key] for key in found.files}


def _replication(kind: str, seed: int, pools: models.Pools) -> dict[str, FloatArray]:
    if kind in GAUSS:
        return {"5": _gauss(GAUSS[kind], np.random.default_rng([seed, int(100 * GAUSS[kind])]))}
    if kind == "planted":
        found = {5: models.planted(pools, seed, (2, 5)), 10: models.planted(pools, seed, (3, 10))}
        return {f"{k}|{name}": v for k, by_name in found.items() for name, v in by_name.items()}
    made = models.scores_of(kind, pools, seed)
    return {str(plan[1]): values for plan, values in zip(models.PLANS[kind], made, strict=True)}


def _gauss(rho: float, rng: np.random.Generator) -> FloatArray:
    """Normal scores: equal models whose differences correlate by `rho` between any two folds."""
    own = np.sqrt(rho) * rng.normal(size=(10, 1)) + np.sqrt(1 - rho) * rng.normal(size=(10, 15))
    return own + rng.normal(size=15)


def fresh(n_folds: int, values: FloatArray) -> FloatArray:
    """Scores of the candidates: without the search's repeat where there is one."""
    return values if n_folds == 10 else values[..., n_folds:]


# --- counts ---------------------------------------------------------------------------------------


def count(
    out: Path, kind: str, chunk: int, found: Mapping[str, FloatArray], is_again: bool
) -> None:
    """Drops of one chunk, written once."""
    path = out / "counts" / f"{kind}-{chunk:03d}.json"
    if path.exists() and not is_again:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    made = _count_planted(found) if kind == "planted" else _count_equals(found, chunk)
    path.write_text(json.dumps(made))


def _count_equals(found: Mapping[str, FloatArray], chunk: int) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for n_folds, values in ((int(key), values) for key, values in found.items()):
        scored = fresh(n_folds, values)
        total[f"{n_folds}|replications"] += len(scored)
        total.update(_spread(scored, n_folds))
        for name in PROCEDURES if n_folds != 10 else ON_TEN_FOLDS:
            drops = _drops(scored, name, n_folds)
            if chunk % CHECKED_CHUNKS == 0:
                _check(drops, scored[0], name, n_folds)
            total.update(counted(f"{n_folds}|{name}", drops))
        if n_folds != 10:
            total.update(counted(f"{n_folds}|search", _search_drops(values, n_folds)))
    return dict(total)


def _drops(scored: FloatArray, name: str, n_folds: int) -> dict[str, IntArray]:
    """Candidates that a test drops in each replication: in one leaf, in trees by level and in all."""
    batch = Batch(scored, name, 1.0 / (n_folds - 1))
    drops: dict[str, IntArray] = {}
    if name in LEAF_PROCEDURES:
        drops |= {f"leaf of {k}": batch.leaf(k).sum(axis=1) for k in LEAVES}
    for tree, places in TREES.items():
        used = Batch(scored[:, : len(places)], name, 1.0 / (n_folds - 1))
        drops |= {f"{tree}|{level}": found for level, found in used.tree(places).items()}
    return drops


def _check(drops: Mapping[str, IntArray], scored: FloatArray, name: str, n_folds: int) -> None:
    """Compare the first replication of a chunk with the project's own selection.

    Raises
    ------
    RuntimeError
        If a number differs.
    """
    if name not in PROCEDURES_OF_THE_PROJECT:
        return
    ratio = 1.0 / (n_folds - 1)
    options = PROCEDURES_OF_THE_PROJECT[name]
    expected: Counter[str] = Counter()
    if name in LEAF_PROCEDURES:
        settings = ComparisonSettings(options["test"], test_train_ratio=ratio)
        for k in LEAVES:
            kept = compare_with_best(list(scored[:k]), ALPHA, settings).kept
            expected[f"leaf of {k}"] = kept.count(False)
    for tree, places in TREES.items():
        expected += _tree_drops(tree, scored, places, options, ratio)
    seen = Counter({key: int(values[0]) for key, values in drops.items()})
    if +seen != +expected:
        raise RuntimeError(f"{name}, {n_folds} folds: {+seen} here, {+expected} in the project")


def _tree_drops(
    tree: str, scored: FloatArray, places: Sequence[str], options: dict[str, Any], ratio: float
) -> Counter[str]:
    candidates = []
    for i, place in enumerate(places):
        family, *path = place.split("/")
        configuration = Configuration(family, {"id": i}, tuple(path))
        candidates.append(Candidate(f"c{i}", configuration, tuple(scored[i])))
    record = select(
        candidates, alpha=ALPHA, test_train_ratio=ratio, criteria={"generalization": 1.0}, **options
    )
    drops: Counter[str] = Counter()
    for decision in record.decisions:
        worse = sum(str(member.verdict) == "worse" for member in decision.members)
        drops[f"{tree}|{decision.level}"] += worse
        drops[f"{tree}|all"] += worse
    return drops


def _search_drops(values: FloatArray, n_folds: int) -> dict[str, IntArray]:
    """Drops by the screening, and among candidates that are the best of eight, one and one trial."""
    ratio = 1.0 / (n_folds - 1)
    search, later = values[..., :n_folds], values[..., n_folds:]
    alpha = screening_alpha(ALPHA, *search.shape[1:])
    kept = [screen(s, alpha=alpha, limit=10, test_train_ratio=ratio).kept for s in search]
    best_t = corrected_statistics(search, ratio)[
        np.arange(len(search)), search.mean(axis=2).argmax(axis=1)
    ]
    best = search[:, :8].mean(axis=2).argmax(axis=1)
    chosen = np.stack([best, np.full_like(best, 8), np.full_like(best, 9)], axis=1)
    picked = later[np.arange(len(later))[:, None], chosen]
    return {
        "screening of 10": np.array([search.shape[1] - len(positions) for positions in kept]),
        "screening unadjusted": (one_sided(best_t, n_folds) < ALPHA).sum(axis=1),
        "searched 3": Batch(picked, "paired", ratio).leaf(3).sum(axis=1),
    }


def _spread(values: FloatArray, n_folds: int) -> dict[str, float]:
    """Sums of squared mean differences, and of the variance that the correction assumes for them."""
    first, second = np.triu_indices(values.shape[1], 1)
    difference = values[:, first] - values[:, second]
    assumed = difference.var(axis=2, ddof=1) * (1.0 / values.shape[2] + 1.0 / (n_folds - 1))
    seen = difference.mean(axis=2) ** 2
    scale = assumed.mean(axis=1) > 0  # every replication counts alike, whatever its unit
    ratio = seen.mean(axis=1)[scale] / assumed.mean(axis=1)[scale]
    return {f"{n_folds}|spread": float(ratio.sum()), f"{n_folds}|spread of": float(scale.sum())}


def _count_planted(found: Mapping[str, FloatArray]) -> dict[str, Any]:
    """For each kind and strength: how often the worse model is dropped, and any of the equal four."""
    total: Counter[str] = Counter()
    for key, values in found.items():
        folds, name = key.split("|")
        if name == "equal":
            continue
        equal = found[f"{folds}|equal"]
        for position, strength in enumerate(models.STRENGTHS[name]):
            cell = f"{folds}|{name}|{strength}"
            worse = values[:, position : position + 1]
            total[f"{cell}|replications"] += len(equal)
            lead = equal.mean(axis=(1, 2)) - worse.mean(axis=(1, 2))
            total[f"{cell}|difference"] += float(lead.sum())
            for procedure in LEAF_PROCEDURES:
                batch = Batch(np.hstack([equal, worse]), procedure, 1.0 / (int(folds) - 1))
                dropped = batch.leaf(5)
                total[f"{cell}|{procedure}|dropped"] += int(dropped[:, 4].sum())
                total[f"{cell}|{procedure}|wrongly"] += int(dropped[:, :4].any(axis=1).sum())
    return dict(total)


if __name__ == "__main__":
    main()
