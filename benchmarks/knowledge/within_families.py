"""Whether optimizers gain from the few shipped trials of a family: replays within one family.

    python benchmarks/knowledge/within_families.py OUT [--families svm lightgbm ...]
        [--optimizers gp_sampled gp_prior ...]

Each data set with at least `FEWEST` complete trials of a family is searched in turn among these
trials. The first is the family's default, where it is known; the optimizer chooses all others.
Those that learn from earlier data sets are given the family's trials on all others of the kind.

Each (family, data set, optimizer) is a line of OUT/within.jsonl; finished ones are not repeated.
Prints the mean distance from the best known score after so many trials, as a share of that of the
median configuration, with its 95 % interval over data sets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from automl.experience.cleaning import learnable, spaces_for
from automl.experience.data_set import Experience
from automl.experience.knowledge import shipped
from automl.optimizers.composition import NAMED
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.randomness import Purpose, stream
from automl.recommendation.transfer_sources import sources_of
from automl.records import FloatArray, Task, Trial, TrialStatus
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

FEWEST = 12
"""Trials of a family on a data set: with fewer there is nothing left to choose after `MARKS`."""
MARKS = (2, 4, 6, 10)
FAMILIES = ("svm", "lightgbm", "mlp", "logistic_regression", "knn", "two_layer_perceptron")
OPTIMIZERS = ("gp_sampled", "gp_prior")
RESAMPLES = 2000
LEAST_DISTANCE = 0.01
Row = dict[str, Any]


def curve(
    own: Experience, others: Sequence[Experience], space: SpaceTree, optimizer: str
) -> list[float] | None:
    """Distances after `MARKS` trials; None if too few trials are known."""
    known = dict(own.scored([space.family]))
    if len(known) < FEWEST:
        return None
    composition = NAMED[optimizer]
    encoder = ConfigurationEncoder(space, form=composition.encoding).fit()
    searcher = ModelBasedOptimizer(
        space,
        composition,
        candidates=list(known),
        sources=sources_of(others, encoder, own.data) if composition.uses_experience else None,
    )
    default = space.default()
    order = stream(0, Purpose.SAMPLE).permutation(len(known))
    first = default if default in known else list(known)[int(order[0])]
    found: list[float] = []
    for number in range(max(MARKS)):
        chosen = first
        if number:
            proposal = searcher.ask(pending=[], rng=stream(0, Purpose.OPTIMIZER, number))
            assert proposal is not None
            chosen = proposal.configuration
        score = known[chosen]
        found.append(score)
        searcher.tell(Trial("replay", number, chosen, TrialStatus.COMPLETE, score, seconds=1.0))
    scores = np.array(list(known.values()))
    width = max(float(scores.max() - np.median(scores)), LEAST_DISTANCE)
    best = np.maximum.accumulate(found)
    return [float(scores.max() - best[mark - 1]) / width for mark in MARKS]


def rows(families: Sequence[str], optimizers: Sequence[str], done: set[Any]) -> Iterator[Row]:
    """What is missing."""
    for task in (Task.MULTICLASS, Task.REGRESSION):
        known = learnable(shipped(), task)
        spaces = spaces_for(task)
        for family in (name for name in families if name in spaces):
            for own in known:
                others = [other for other in known if other.id != own.id]
                for optimizer in optimizers:
                    if (family, own.id, optimizer) in done:
                        continue
                    found = curve(own, others, spaces[family], optimizer)
                    row = {"family": family, "data_set": own.id, "optimizer": optimizer}
                    yield {**row, "distances": found}


def report(found: Sequence[Row]) -> None:
    """Print means by family and optimizer."""
    marks = " | ".join(f"{mark} trials" for mark in MARKS)
    print(f"| family | data sets | optimizer | {marks} |\n|---|---|---|{'---|' * len(MARKS)}")
    measured = [row for row in found if row["distances"] is not None]
    for family in [*dict.fromkeys(row["family"] for row in measured), "all"]:
        for optimizer in dict.fromkeys(row["optimizer"] for row in measured):
            values = np.array(
                [
                    row["distances"]
                    for row in measured
                    if family in ("all", row["family"]) and row["optimizer"] == optimizer
                ]
            )
            cells = [cell(column) for column in values.T]
            print(f"| {family} | {len(values)} | `{optimizer}` | {' | '.join(cells)} |")


def cell(values: FloatArray) -> str:
    """Mean and 95 % interval of the bootstrap."""
    rng = stream(0, Purpose.BOOTSTRAP)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"


def read(file: Path) -> list[Row]:
    """Finished rows; a line that a kill has cut off is left out, and off the file."""
    if not file.exists():
        return []
    lines = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    file.write_text("".join(lines))
    return [json.loads(line) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--optimizers", nargs="+", default=list(OPTIMIZERS), choices=NAMED)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "within.jsonl"
    done = {(row["family"], row["data_set"], row["optimizer"]) for row in read(file)}
    with file.open("a", encoding="utf-8") as lines:
        for row in rows(given.families, given.optimizers, done):
            lines.write(json.dumps(row) + "\n")
            lines.flush()
    report(read(file))


if __name__ == "__main__":
    main()
