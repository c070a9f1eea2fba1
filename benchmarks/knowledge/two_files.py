"""Which of two files of knowledge opens a search better, in replay.

    python benchmarks/knowledge/two_files.py OLD.jsonl.gz NEW.jsonl.gz [--tables 50]

Each table is left out of both files. The default way of `automl train` to begin (`adaptive`, by gain per second) then
chooses up to 24 configurations by what a file holds of the others. Scores and seconds are those that NEW holds of the table;
what it does not hold is passed over. Regret is the distance from the table's best known score, as a share of the distance from its
median to its best. Prints means over tables after so many processor seconds, and the paired difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from automl.experience.data_set import Experience
from automl.experience.knowledge import read_knowledge
from automl.families.family import kind_of
from automl.families.registry import families
from automl.recommendation.agreement import LEAST_SCORE
from automl.recommendation.configuration_portfolio import LEAST_RANGE
from automl.recommendation.methods import Target, similar_scores
from automl.records import FloatArray, Trial
from automl.search.guide import Guide
from automl.stages.first_configurations import USUAL_ROWS

SECONDS = (5.0, 10.0, 20.0, np.inf)
MOST = 24


def opening(table: Experience, others: Sequence[Experience]) -> list[tuple[float, float]]:
    """Processor seconds spent and best score after each trial."""
    kind, known = kind_of(table.data.task), {t.configuration.id: t for t in table.trials}
    spaces = {name: family.space(kind) for name, family in families(kind).items()}
    growth = {
        name: family.relative_seconds(table.training_rows, 1)
        / family.relative_seconds(USUAL_ROWS, 1)
        for name, family in families(kind).items()
    }
    scores = similar_scores(others, Target(table.data, spaces, growth, 0))
    if scores is None:
        return []
    guide = Guide.of(scores, most=MOST, growth=growth)
    seen: list[Trial] = []
    passed_over, spent, best, curve = [], 0.0, LEAST_SCORE, []
    while (
        chosen := guide.next(seen, [trial.configuration for trial in seen], passed_over)
    ) is not None:
        found = known.get(chosen.id)
        if found is None:
            passed_over.append(chosen)
            continue
        seen.append(
            Trial("replay", len(seen), chosen, found.status, found.score, origin="knowledge")
        )
        spent += found.seconds
        best = best if found.score is None else max(best, found.score)
        curve.append((spent, best))
    return curve


def regrets(table: Experience, curve: Sequence[tuple[float, float]]) -> list[float]:
    """After each of `SECONDS`; that of the median while nothing has ended."""
    scores = [trial.score for trial in table.trials if trial.score is not None]
    best, median = max(scores), float(np.median(scores))
    unit = max(best - median, LEAST_RANGE)
    reached = [[score for spent, score in curve if spent <= limit] for limit in SECONDS]
    return [(best - (one[-1] if one else median)) / unit for one in reached]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs=2)
    parser.add_argument("--tables", type=int, default=50)
    options = parser.parse_args()
    old, new = (read_knowledge(path).experiences for path in options.files)
    order = np.random.default_rng(0).permutation(len(new))[: options.tables]
    found: list[FloatArray] = []
    for table in (new[i] for i in order):
        pair = [
            opening(table, [one for one in source if one.data.name != table.data.name])
            for source in (old, new)
        ]
        found.append(np.array([regrets(table, curve) for curve in pair]))
    every = np.array(found)
    print("seconds:", *SECONDS)
    for name, values in zip(("old", "new"), np.moveaxis(every, 1, 0), strict=True):
        print(name, *values.mean(axis=0).round(3))
    difference = every[:, 1] - every[:, 0]
    error = difference.std(axis=0, ddof=1) / len(difference) ** 0.5
    pairs = zip(difference.mean(axis=0), error, strict=True)
    print("difference", *(f"{mean:+.3f} ± {sd:.3f}" for mean, sd in pairs))


if __name__ == "__main__":
    main()
