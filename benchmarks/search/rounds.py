"""What decisions in rounds cost in quality: ``rounds.py METADATA OUT.csv [--half tuning] [--seeds 2]``.

Replays the presets' optimizer on the tables of `optimizers.py` as a search with L trials under way. Decision i sees
the results up to i - L (`automl.search.turns`). ``one by one`` thinks anew for each decision, ``rounds`` once
for L // 4 of them; L = 1 is the search that waits for every result. Prints the mean scaled regret
(1: a configuration of median score) and the paired difference with its 95 % interval of the bootstrap over tables.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from replay import N_INITIAL, composition_of, order_of
from tables import SOURCES, ScoreTable, half_of, read_table, table_names

from automl.optimizers.model_based import ModelBasedOptimizer
from automl.randomness import Purpose, stream
from automl.records import FloatArray, Trial, TrialStatus
from automl.search.turns import ROUNDS_PER_LOOKBACK

OPTIMIZER = "gp_sampled"
LOOKBACKS = (8, 16, 32)
AT = (32, 64)
"""Trials after which regret is read: two and eight times the smallest and once and twice the greatest lookback."""
N_TABLES = 8
"""Of each source and half: with all five sources some forty tables, a quarter of an hour of one core."""


@dataclass(frozen=True)
class Way:
    """How many trials are under way, and for how many decisions the optimizer thinks once."""

    lookback: int
    round_length: int

    @property
    def name(self) -> str:
        """As the table has it."""
        if self.lookback == 1:
            return "waits"
        return "rounds" if self.round_length > 1 else "one by one"


WAYS = [Way(1, 1)] + [
    Way(lookback, length)
    for lookback in LOOKBACKS
    for length in (1, lookback // ROUNDS_PER_LOOKBACK)
]


def regrets(table: ScoreTable, way: Way, seed: int) -> FloatArray:
    """Scaled regret after each trial."""
    order = order_of(table, seed)
    composition = composition_of(OPTIMIZER)
    assert composition is not None
    optimizer = ModelBasedOptimizer(table.space, composition, candidates=table.candidates)
    listed = {c.id: i for i, c in enumerate(table.candidates)}
    chosen: list[int] = []
    n_told = 0
    for k in range(min(max(AT), len(order))):
        begins = k % way.round_length == 0
        if begins:
            for i in range(n_told, max(n_told, k - way.lookback + 1)):
                optimizer.tell(_trial(table, i, chosen[i]))
                n_told = i + 1
        if k < N_INITIAL:
            chosen.append(order[k])
            continue
        ask = optimizer.ask if begins or k == N_INITIAL else optimizer.ask_again
        pending = [table.candidates[i] for i in chosen[n_told:]]
        proposal = ask(pending=pending, rng=stream(seed, Purpose.OPTIMIZER, k))
        assert proposal is not None
        chosen.append(listed[proposal.configuration.id])
    best: FloatArray = np.maximum.accumulate(table.scores[chosen])
    regret: FloatArray = (table.scores.max() - best) / table.scale
    return regret


def _trial(table: ScoreTable, index: int, row: int) -> Trial:
    score = float(table.scores[row])
    return Trial("replay", index, table.candidates[row], TrialStatus.COMPLETE, score, seconds=1.0)


def rows(metadata: Path, source: str, name: str, seed: int) -> list[dict[str, object]]:
    """Regret of each way on a table."""
    table = read_table(metadata, source, name)
    label = {"source": source, "table": name, "seed": seed}
    found = []
    for way in WAYS:
        curve = regrets(table, way, seed)
        found += [
            {
                **label,
                "lookback": way.lookback,
                "way": way.name,
                "trials": n,
                "regret": curve[n - 1],
            }
            for n in AT
        ]
    return found


def interval(differences: FloatArray) -> tuple[float, float]:
    """95 % of the mean over tables."""
    drawn = stream(0, Purpose.SAMPLE).choice(differences, (2000, len(differences))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--half", choices=("tuning", "reported"), default="tuning")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    places = [
        (arguments.metadata, source, name, seed)
        for source in SOURCES
        for name in [
            n for n in table_names(arguments.metadata, source) if half_of(n) == arguments.half
        ][:N_TABLES]
        for seed in range(arguments.seeds)
    ]
    with ProcessPoolExecutor(arguments.workers) as pool:
        found = pd.DataFrame(
            [row for part in pool.map(rows, *zip(*places, strict=True)) for row in part]
        )
    found.to_csv(arguments.out, index=False)
    table = found.pivot_table(
        index=["source", "table"], columns=["lookback", "way", "trials"], values="regret"
    )
    print(table.mean().unstack().round(4).to_string())
    for lookback, trials in product(LOOKBACKS, AT):
        behind = (
            table[lookback, "rounds", trials] - table[lookback, "one by one", trials]
        ).to_numpy()
        low, high = interval(behind)
        print(f"lookback {lookback}, {trials} trials: {behind.mean():.4f} [{low:.4f}, {high:.4f}]")


if __name__ == "__main__":
    main()
