"""What `ensembles.py` has found: ranks, wins, Poisson-binomial test, time to predict, levels.

    python benchmarks/evidence/ensembles_report.py OUT_FOLDER [--coverage COVERAGE_OUT_FOLDER ...]

Printed as Markdown. Only tables with a result of every compared method count; seeds of a table are
averaged first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from automl.comparison.poisson_binomial import (
    poisson_binomial_test,
    row_weights,
    winning_probabilities,
)
from automl.comparison.ranks import data_set_means, expected_rank, winning_frequency
from automl.comparison.sign import sign_test
from automl.data.table import Table
from automl.evaluation.plan import EvaluationPlan
from automl.inference.decision import DecisionRule
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray

COMPARED = ("single", "bag", "greedy", "agnostic_bayes", "esmbo", "stacking")
FURTHER = ("greedy_bag", "two_layers")
DEFAULT_LEVEL = 0.5
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 1.0)
ALTERNATIVES = (
    *(("greedy_bag", "bag"), ("greedy", "single"), ("agnostic_bayes", "single")),
    *(("stacking", "single"), ("two_layers", "single")),
)
N_DRAWS = 300


def keys(lines: Path) -> set[tuple[str, int, str]]:
    """(table, seed, method) of the results so far."""
    return {(row["table"], row["seed"], row["method"]) for row in read(lines)}


def read(lines: Path) -> list[dict[str, Any]]:
    """Results so far."""
    if not lines.exists():
        return []
    return [json.loads(line) for line in lines.read_text().splitlines() if line.strip()]


def text(out: Path) -> str:
    """The whole report."""
    rows = pd.DataFrame(read(out / "ensembles.jsonl"))
    if rows.empty:
        return "no results"
    found = set(rows["method"])
    compared = [method for method in COMPARED if method in found]
    everything = [*compared, *(method for method in FURTHER if method in found)]
    parts = [comparison(rows, compared, out), summary(rows, everything), levels(rows)]
    return "\n\n".join(part for part in parts if part)


def places(rows: pd.DataFrame, methods: Sequence[str], value: str = "score") -> pd.DataFrame:
    """(table, seed) x method, complete rows only."""
    table = rows.pivot_table(index=["table", "seed"], columns="method", values=value)
    return table.reindex(columns=list(methods)).dropna()


def comparison(rows: pd.DataFrame, methods: Sequence[str], out: Path) -> str:
    """Expected ranks, winning frequencies and probabilities of the Poisson-binomial test."""
    scores = places(rows, methods)
    if scores.empty:
        return ""
    data_sets = scores.index.get_level_values("table").to_numpy()
    risks = -scores.to_numpy().T
    ranks = expected_rank(risks, data_sets=data_sets).expected
    frequency = winning_frequency(risks, data_sets=data_sets).frequency
    wins = np.stack([drawn_wins(out, key, methods) for key in scores.index], axis=-1)
    wins = data_set_means(wins, data_sets)
    order = np.argsort(ranks)
    caption = (
        f"{len(set(data_sets))} tables, {len(scores)} searches. Row against column: share of wins "
        "on the untouched half; in brackets the probability of winning on most tables "
        f"(Poisson-binomial test, {N_DRAWS} reweightings); * sign test p < 0.1, ** p < 0.05."
    )
    lines = [
        caption,
        "",
        "| | " + " | ".join(methods[i] for i in order) + " | E[rank] |",
        "|---|" + "---|" * (len(methods) + 1),
    ]
    for i in order:
        cells = []
        for j in order:
            if i == j:
                cells.append("")
                continue
            stars = {"significant": "*", "highly significant": "**"}.get(
                str(sign_test(risks[i], risks[j], data_sets=data_sets).mark), ""
            )
            probability = poisson_binomial_test(wins[i, j]).probability
            cells.append(f"{frequency[i, j]:.2f} ({probability:.2f}){stars}")
        lines.append(f"| {methods[i]} | " + " | ".join(cells) + f" | {ranks[i]:.2f} |")
    return "\n".join(lines)


def drawn_wins(out: Path, key: tuple[str, int], methods: Sequence[str]) -> FloatArray:
    """(K, K): how often a method has the better score when the untouched rows are reweighted."""
    table, seed = key
    risks = []
    for method in methods:
        with np.load(out / "predictions" / f"{table}-{seed}-{method}.npz") as kept:
            index = PerformanceIndex.from_json(json.loads(str(kept["index"])))
            y, raw = kept["y"], kept["raw"]
            labels = DecisionRule(float(kept["threshold"])).codes(raw) if index.rule else None
        rng = np.random.default_rng([seed, len(y)])
        weights = (one for portion in row_weights(len(y), N_DRAWS, rng=rng) for one in portion)
        risks.append([-index.score(y, raw, one, labels=labels) for one in weights])
    return winning_probabilities(np.array(risks).T)


def summary(rows: pd.DataFrame, methods: Sequence[str]) -> str:
    """Mean score, how often it was best, time to predict, members and seconds of each method."""
    scores = places(rows, methods)
    if scores.empty:
        return ""
    by_table = scores.groupby("table").mean()
    chosen = rows.set_index(["table", "seed"]).loc[scores.index]
    lines = [
        f"All on the {len(by_table)} tables that have every method:",
        "",
        "| method | mean score | gain over single | best | ms (median) | members | models | s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method in methods:
        own = chosen[chosen["method"] == method]
        gain = by_table[method] - by_table["single"] if "single" in by_table else by_table[method]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        is_best = by_table[method] >= by_table.max(axis=1) - 1e-12
        seconds = own["learn_seconds"].median()
        lines.append(
            f"| {method} | {by_table[method].mean():.4f} | {gain.mean():+.4f} ± {error:.4f} | "
            f"{is_best.sum()} | {own['predict_ms'].median():.3f} | {own['members'].mean():.1f} | "
            f"{own['models'].mean():.1f} | {'' if np.isnan(seconds) else f'{seconds:.2f}'} |"
        )
    return "\n".join(lines)


def levels(rows: pd.DataFrame) -> str:
    """Mean score where the ensemble is taken only if the paired test's p-value is below a level."""
    lines = level_head()
    for ensemble, single in ALTERNATIVES:
        scores = places(rows, (ensemble, single))
        if scores.empty:
            continue
        own = rows[rows["method"] == ensemble].set_index(["table", "seed"])
        pvalue = own.loc[scores.index, "pvalue"].astype(float).fillna(1.0)
        lines.append(level_line(f"{ensemble}, {single}", scores[ensemble], scores[single], pvalue))
    return "\n".join(lines)


def level_head() -> list[str]:
    """Head of the table of levels."""
    caption = (
        "Mean score on the untouched half when the ensemble replaces the single model at p < level "
        "(share of ensembles taken):"
    )
    columns = " | ".join(f"{level:g}" for level in LEVELS)
    return [
        caption,
        "",
        f"| ensemble, else | tables | {columns} |",
        "|" + "---|" * (2 + len(LEVELS)),
    ]


def level_line(name: str, ensemble: pd.Series, single: pd.Series, pvalue: pd.Series) -> str:
    """Two rows of the table of levels, from series by (table, seed): scores, and what 0.5 costs."""
    taken = {level: (pvalue < level) | (level >= 1) for level in LEVELS}
    by_table = {
        level: ensemble.where(is_taken, single).groupby("table").mean()
        for level, is_taken in taken.items()
    }
    scores = [f"{by_table[level].mean():.4f} ({taken[level].mean():.2f})" for level in LEVELS]
    n_tables = len(by_table[DEFAULT_LEVEL])
    costs = []
    for level in LEVELS:
        cost = by_table[level] - by_table[DEFAULT_LEVEL]
        costs.append(f"{cost.mean():+.4f} ± {cost.std(ddof=1) / np.sqrt(n_tables):.4f}")
    return (
        f"| {name} | {n_tables} | {' | '.join(scores)} |\n"
        f"| less that of {DEFAULT_LEVEL:g} | | {' | '.join(costs)} |"
    )


def coverage_levels(folders: Sequence[Path]) -> str:
    """The same of the runs of `coverage.py`: greedy bags of fast families, half of small tables."""
    found = []
    for run in sorted(run for folder in folders for run in (folder / "runs").iterdir()):
        made = run / "stages" / "ensemble_forced.json"
        if run.suffix == ".part" or not (run / "untouched.npz").exists() or not made.exists():
            continue
        scores = untouched_scores(run)
        evidence = json.loads((run / "stages" / "ensemble.json").read_text())["evidence"]
        if evidence is not None:
            table, _, seed = run.name.rpartition("-")
            found.append({"table": table, "seed": int(seed), "p": evidence["pvalue"], **scores})
    if not found:
        return ""
    runs = pd.DataFrame(found).set_index(["table", "seed"])
    line = level_line(
        f"greedy_bag, bag ({len(runs)} runs)", runs["ensemble"], runs["single"], runs["p"]
    )
    return "\n".join([*level_head(), line])


def untouched_scores(run: Path) -> dict[str, float]:
    """Score of the untouched half by kind, single and ensemble."""
    plan, test = EvaluationPlan(run), Table.load(run / "test")
    scores = {}
    with np.load(run / "untouched.npz") as predicted:
        for kind in ("single", "ensemble"):
            made = json.loads((run / "stages" / f"{kind}_forced.json").read_text())
            labels = made["rule"] and DecisionRule.from_json(made["rule"]).codes(predicted[kind])
            scores[kind] = plan.index.score(np.asarray(test.y), predicted[kind], labels=labels)
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--coverage", type=Path, nargs="*")
    options = parser.parse_args()
    print(text(options.out))
    if options.coverage:
        print("\n" + coverage_levels(options.coverage))
