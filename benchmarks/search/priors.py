"""Regret of search from learned priors and from plain ranges, on published scores.

    python benchmarks/search/priors.py METADATA OUT [--tables 50] [--seeds 3]

The data sets of a source are dealt into ten parts; priors for those of one part are learned from
the other nine. Every proposal is mapped to the nearest configuration of the table that is not
tried yet, and its score is told for the proposal itself. One line of ``OUT/priors.jsonl`` for each
(source, data set, arm); lines that are there are not computed again. Prints means over data sets
of the scaled regret (0: the best configuration of the table, 1: its median one), and of the
difference to random search in plain ranges with 95 % intervals of the bootstrap over data sets.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from replay import Nearest
from tables import ScoreTable, read_table, table_names

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.optimizers.registry import get_optimizer
from automl.priors.accepted_values import PriorSettings
from automl.priors.files import Priors
from automl.priors.general import learn_priors
from automl.randomness import Purpose, stream
from automl.records import FloatArray, Task, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

SOURCES = ("flow_forest", "flow_adaboost", "flow_svc")
AFTER = (10, 20, 50)
N_PARTS = 10
KIND = "classification"
PLAIN = "plain"
SETTINGS = {"learned": PriorSettings(), "learned_index": PriorSettings(acceptance="index")}
OPTIMIZERS = ("random", "hypercube", "parametric")
ARMS = [
    f"{optimizer} {space}"
    for optimizer in OPTIMIZERS
    for space in (PLAIN, *SETTINGS)
    if (optimizer, space) != ("parametric", PLAIN)
]
Row = dict[str, Any]


def experience_of(table: ScoreTable) -> Experience:
    """The table as a data set of which everything is known."""
    trials = [
        KnownTrial(candidate, TrialStatus.COMPLETE, float(score), 0.0, 10)
        for candidate, score in zip(table.candidates, table.scores, strict=True)
    ]
    facts = DataSetFacts(table.name, table.name, table.name, Task.MULTICLASS, 0, 0, 2)
    return Experience(table.name, facts, "accuracy", tuple(trials))


def spaces_for(known: list[Experience], space: SpaceTree) -> dict[str, SpaceTree]:
    """Plain space, and spaces with priors of what is known, by name."""
    found = {PLAIN: space}
    for name, settings in SETTINGS.items():
        learned = learn_priors(known, settings, spaces={KIND: {space.family: space}})
        found[name] = Priors.of(learned).applied(space, KIND)
    return found


def regrets(table: ScoreTable, space: SpaceTree, optimizer: str, seed: int) -> list[float]:
    """Scaled regret after each number of `AFTER` proposals."""
    searcher, nearest = get_optimizer(optimizer).make(space), Nearest(table)
    tried: list[int] = []
    key = zlib.crc32(table.name.encode())
    for k in range(min(max(AFTER), len(table.candidates))):
        proposal = searcher.ask(pending=[], rng=stream(seed, Purpose.OPTIMIZER, key, k))
        if proposal is None:
            break
        found = proposal.configuration
        tried.append(nearest.find(found, tried))
        score = float(table.scores[tried[-1]])
        searcher.tell(Trial("replay", k, found, TrialStatus.COMPLETE, score, seconds=1.0))
    best: FloatArray = np.maximum.accumulate(table.scores[tried])
    return [float(table.scores.max() - best[min(n, len(best)) - 1]) / table.scale for n in AFTER]


def run(metadata: Path, file: Path, n_tables: int, n_seeds: int) -> None:
    """Compute what the file lacks."""
    rows = read_rows(file)
    done = {(row["source"], row["table"], row["arm"]) for row in rows}
    for source in SOURCES:
        names = table_names(metadata, source, n_tables)
        wanted = [name for name in names if any((source, name, arm) not in done for arm in ARMS)]
        if not wanted:
            continue
        tables = {name: read_table(metadata, source, name) for name in names}
        known = {name: experience_of(table) for name, table in tables.items()}
        for part in range(N_PARTS):
            members = [name for name in names[part::N_PARTS] if name in wanted]
            if not members:
                continue
            others = [known[name] for name in names if name not in names[part::N_PARTS]]
            spaces = spaces_for(others, tables[names[0]].space)
            for name in members:
                for arm in ARMS:
                    if (source, name, arm) in done:
                        continue
                    optimizer, kind = arm.split()
                    found = [
                        regrets(tables[name], spaces[kind], optimizer, seed)
                        for seed in range(n_seeds)
                    ]
                    row = {"source": source, "table": name, "arm": arm, "regrets": found}
                    with file.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(row) + "\n")


def read_rows(file: Path) -> list[Row]:
    """Finished rows; a line that a kill has cut off is left out, and off the file."""
    if not file.exists():
        return []
    lines = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    file.write_text("".join(lines))
    return [json.loads(line) for line in lines]


def report(rows: list[Row]) -> None:
    """Print means and differences by source and arm."""
    rng = stream(0, Purpose.BOOTSTRAP)
    for source in SOURCES:
        found = {
            arm: {
                r["table"]: np.mean(r["regrets"], axis=0)
                for r in rows
                if r["source"] == source and r["arm"] == arm
            }
            for arm in ARMS
        }
        common = sorted(set.intersection(*(set(by_table) for by_table in found.values())))
        if not common:
            continue
        base = np.array([found[ARMS[0]][name] for name in common])
        print(f"\n{source}, {len(common)} data sets: after {AFTER}")
        for arm in ARMS:
            scores = np.array([found[arm][name] for name in common])
            gaps = scores - base
            means = gaps[rng.integers(len(common), size=(2000, len(common)))].mean(axis=1)
            low, high = np.quantile(means, [0.025, 0.975], axis=0)
            cells = [
                f"{m:.3f} ({g:+.3f}; {lo:+.3f} to {hi:+.3f}; worse on {w:.0%})"
                for m, g, lo, hi, w in zip(
                    scores.mean(axis=0),
                    gaps.mean(axis=0),
                    low,
                    high,
                    (gaps > 0).mean(axis=0),
                    strict=True,
                )
            ]
            print(f"{arm:26}", "  ".join(cells))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "priors.jsonl"
    run(given.metadata, file, given.tables, given.seeds)
    report(read_rows(file))


if __name__ == "__main__":
    main()
