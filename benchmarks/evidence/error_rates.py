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
from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.comparison_with_best import compare_with_best
from automl.selection.levels import select
from automl.selection.screening import screen, screening_alpha

CHUNK = 50
GAUSS = {f"gauss {rho}": rho for rho in (0.0, 0.1, 0.2, 0.3, 0.4)}
OPPOSED = "opposed 0.2"
"""Normal scores with correlation 0.2 between folds, of pairs of candidates of which one is good where
the other is bad: leads over a third one depend negatively, which Simes' rule does not provide for."""
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
    "closed": {"test": "closed"},
    "closed, tree": {"test": "closed", "alpha_split": "tree"},
    "paired": {"test": "paired"},
    "paired, tree": {"test": "paired", "alpha_split": "tree"},
    "mcb": {"test": "mcb"},
    "bayesian": {"test": "bayesian"},
    "friedman": {"test": "friedman"},
    "thesis": {"test": "thesis"},
}
PROCEDURES = (*PROCEDURES_OF_THE_PROJECT, "members only")
LEAF_PROCEDURES = ("closed", "paired", "mcb", "bayesian", "friedman", "thesis")
CHECKED_CHUNKS = 4
"""The first replication of every fourth chunk is compared with the project's own selection."""
ON_MORE_SCORES = ("closed", "closed, tree", "paired", "paired, tree", "bayesian", "thesis")
"""Procedures that are counted on thirty scores as well."""
MIXED = {"label noise": (3, 5), "share of the rows": (3, 5), "hidden units": (4, 5)}
"""Strengths of the six worse ones that compete with four equal ones."""

LEADS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
LEADS_RHO = 0.1
"""Normal scores of ten of which one, or all but one, are worse; the variance of their mean difference
is 0.6 of the assumed one, as it is for real models."""


def main() -> None:
    """Scores, counts, report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument(
        "--kinds", default=",".join((*models.PLANS, *GAUSS, OPPOSED, "leads", "planted"))
    )
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
    if kind == OPPOSED:
        return {"5": _gauss(0.2, np.random.default_rng([seed, 2]), opposition=0.95)}
    if kind == "leads":
        return {"5": _gauss(LEADS_RHO, np.random.default_rng([seed, 1]))}
    if kind == "planted":
        found = {5: models.planted(pools, seed, (6, 5)), 10: models.planted(pools, seed, (3, 10))}
        return {f"{k}|{name}": v for k, by_name in found.items() for name, v in by_name.items()}
    made = models.scores_of(kind, pools, seed)
    return {str(plan[1]): values for plan, values in zip(models.PLANS[kind], made, strict=True)}


def _gauss(rho: float, rng: np.random.Generator, opposition: float = 0.0) -> FloatArray:
    """Normal scores: equal models whose differences correlate by `rho` between any two folds.

    Of every two candidates the second correlates with the first by minus the opposition.
    """
    own = np.sqrt(rho) * rng.normal(size=(10, 1)) + np.sqrt(1 - rho) * rng.normal(size=(10, 35))
    own[1::2] = np.sqrt(1.0 - opposition**2) * own[1::2] - opposition * own[::2]
    return own + rng.normal(size=35)


def fresh(n_folds: int, values: FloatArray, n_search: int) -> dict[str, FloatArray]:
    """Scores of the candidates without the search's repeats, by repeats and folds in words.

    Of six repeats of five folds the first two are those that every run has.
    """
    scored = values[..., n_search * n_folds :]
    n_repeats = scored.shape[-1] // n_folds
    numbers = (2, 6) if n_repeats == 6 else (n_repeats,)
    return {f"{n} x {n_folds}": scored[..., : n * n_folds] for n in numbers}


# --- counts ---------------------------------------------------------------------------------------


def count(
    out: Path, kind: str, chunk: int, found: Mapping[str, FloatArray], is_again: bool
) -> None:
    """Drops of one chunk, written once."""
    path = out / "counts" / f"{kind}-{chunk:03d}.json"
    if path.exists() and not is_again:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    counting = {"planted": _count_planted, "leads": _count_leads}.get(kind)
    made = counting(found) if counting else _count_equals(found, chunk)
    path.write_text(json.dumps(made))


def _count_equals(found: Mapping[str, FloatArray], chunk: int) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for n_folds, values in ((int(key), values) for key, values in found.items()):
        has_search = n_folds != 10
        for plan, scored in fresh(n_folds, values, int(has_search)).items():
            total[f"{plan}|replications"] += len(scored)
            total.update(_spread(scored, n_folds, plan))
            for name in PROCEDURES if scored.shape[2] <= 10 else ON_MORE_SCORES:
                drops = _drops(scored, name, n_folds)
                if chunk % CHECKED_CHUNKS == 0:
                    _check(drops, scored[0], name, n_folds)
                total.update(counted(f"{plan}|{name}", drops))
            if has_search and scored.shape[2] <= 10:
                searched = np.concatenate([values[..., :n_folds], scored], axis=2)
                total.update(counted(f"{plan}|search", _search_drops(searched, n_folds)))
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


def _spread(values: FloatArray, n_folds: int, plan: str) -> dict[str, float]:
    """Sums of squared mean differences, and of the variance that the correction assumes for them."""
    first, second = np.triu_indices(values.shape[1], 1)
    difference = values[:, first] - values[:, second]
    assumed = difference.var(axis=2, ddof=1) * (1.0 / values.shape[2] + 1.0 / (n_folds - 1))
    seen = difference.mean(axis=2) ** 2
    scale = assumed.mean(axis=1) > 0  # every replication counts alike, whatever its unit
    ratio = seen.mean(axis=1)[scale] / assumed.mean(axis=1)[scale]
    return {f"{plan}|spread": float(ratio.sum()), f"{plan}|spread of": float(scale.sum())}


def _count_planted(found: Mapping[str, FloatArray]) -> dict[str, Any]:
    """How often worse models are dropped and any of the equal four: one worse, and six in one leaf."""
    total: Counter[str] = Counter()
    for n_folds in (5, 10):
        by_name = {
            name: fresh(n_folds, found[f"{n_folds}|{name}"], 0)
            for name in ("equal", *models.STRENGTHS)
        }
        for plan, equal in by_name["equal"].items():
            worse = {name: by_name[name][plan] for name in models.STRENGTHS}
            for name, values in worse.items():
                for position, strength in enumerate(models.STRENGTHS[name]):
                    cell = f"{plan}|{name}|{strength}"
                    total.update(_planted(cell, equal, values[:, [position]], n_folds))
            mixed = [worse[name][:, list(positions)] for name, positions in MIXED.items()]
            total.update(_planted(f"{plan}|mixed", equal, np.hstack(mixed), n_folds))
    return dict(total)


def _count_leads(found: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Of ten, one is worse by a lead in deviations of the differences; or they fall off evenly."""
    total: Counter[str] = Counter()
    deviation = np.sqrt(2.0 * (1.0 - LEADS_RHO))
    for plan, scored in fresh(5, found["5"], 1).items():
        for lead in LEADS:
            for name, share in (("one", np.eye(10)[9]), ("graded", np.linspace(0.0, 1.0, 10))):
                lowered = scored - deviation * lead * share[:, None]
                cell, n_best = f"{plan}|{name}|{lead}", int((share == 0).sum())
                total[f"{cell}|replications"] += len(scored)
                for procedure in LEAF_PROCEDURES:
                    dropped = Batch(lowered, procedure, 0.25).leaf(10)
                    total[f"{cell}|{procedure}|dropped"] += int(dropped[:, n_best:].sum())
                    wrongly = dropped[:, :n_best].any(axis=1).sum()
                    total[f"{cell}|{procedure}|wrongly"] += int(wrongly)
    return dict(total)


def _planted(cell: str, equal: FloatArray, worse: FloatArray, n_folds: int) -> dict[str, float]:
    """Counts of one leaf of four equal and some worse ones."""
    lead = equal.mean(axis=(1, 2)) - worse.mean(axis=(1, 2))
    counts = {f"{cell}|replications": float(len(equal)), f"{cell}|difference": float(lead.sum())}
    both = np.hstack([equal, worse])
    for procedure in LEAF_PROCEDURES:
        dropped = Batch(both, procedure, 1.0 / (n_folds - 1)).leaf(both.shape[1])
        counts[f"{cell}|{procedure}|dropped"] = float(dropped[:, 4:].sum())
        counts[f"{cell}|{procedure}|wrongly"] = float(dropped[:, :4].any(axis=1).sum())
    return counts


if __name__ == "__main__":
    main()
