"""Whether a search gains where its leaders are measured again before it ends.

    python benchmarks/search/leaders.py METADATA_FOLDER OUT_FILE [--n-tables 8] [--seeds 2]

Replays `gp_sampled` on published tables of scores with noise, as folds of the search have it. Both ways spend 60
scores on the search and five on its leaders at the end, which are then the mean of two. One way spends five of the 60
on the leaders after 40 trials and tells them to the optimizer. The regret is that of the true score of the chosen
candidate, in units of the table's scale.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from replay import N_INITIAL, order_of
from tables import SOURCES, ScoreTable, half_of, read_table, table_names

from automl.optimizers.composition import NAMED
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.randomness import Purpose, stream
from automl.records import Trial, TrialStatus

N_SCORES = 60
N_LEADERS = 5
AGAIN_AFTER = 40
NOISE = (0.1, 0.3)
"""Standard deviations of a score, in units of the table's scale."""


class Search:
    """A search of a table whose scores are noisy."""

    def __init__(self, table: ScoreTable, noise: float, seed: int) -> None:
        self._table, self._sd, self._seed = table, noise * table.scale, seed
        self._noise = np.random.default_rng([seed, round(100 * noise)])
        self._optimizer = ModelBasedOptimizer(
            table.space, NAMED["gp_sampled"], candidates=table.candidates
        )
        self._listed = {c.id: i for i, c in enumerate(table.candidates)}
        self._order = order_of(table, seed)
        self._n_asked = 0
        self.scores: dict[int, list[float]] = {}

    def run(self, n_trials: int) -> None:
        """Try further candidates."""
        for _ in range(n_trials):
            k = self._n_asked
            if k < N_INITIAL:
                index = self._order[k]
            else:
                rng = stream(self._seed, Purpose.OPTIMIZER, k)
                proposal = self._optimizer.ask(pending=[], rng=rng)
                assert proposal is not None
                index = self._listed[proposal.configuration.id]
            self._n_asked += 1
            self.measure(index)

    def measure(self, index: int) -> None:
        """Score a candidate and tell the optimizer the mean of its scores."""
        score = float(self._table.scores[index]) + self._sd * float(self._noise.standard_normal())
        self.scores.setdefault(index, []).append(score)
        mean = float(np.mean(self.scores[index]))
        candidate, place = self._table.candidates[index], self._n_asked
        self._optimizer.tell(Trial("r", place, candidate, TrialStatus.COMPLETE, mean, seconds=1.0))

    def leaders(self) -> list[int]:
        """Candidates of the best means."""
        return sorted(self.scores, key=lambda i: -float(np.mean(self.scores[i])))[:N_LEADERS]

    def regret(self) -> float:
        """True regret of the leader, once the leaders have been measured again."""
        leaders = self.leaders()
        for index in leaders:
            self.measure(index)
        chosen = max(leaders, key=lambda i: float(np.mean(self.scores[i])))
        true = self._table.scores
        return float(true.max() - true[chosen]) / self._table.scale


def regrets(table: ScoreTable, noise: float, seed: int) -> tuple[float, float]:
    """Without and with the leaders measured again during the search."""
    plain = Search(table, noise, seed)
    plain.run(N_SCORES)
    again = Search(table, noise, seed)
    again.run(AGAIN_AFTER)
    for index in again.leaders():
        again.measure(index)
    again.run(N_SCORES - AGAIN_AFTER - N_LEADERS)
    return plain.regret(), again.regret()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--n-tables", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    found: dict[float, list[tuple[float, float]]] = {noise: [] for noise in NOISE}
    with options.out.open("a") as file:
        for source in SOURCES:
            names = [n for n in table_names(options.metadata, source) if half_of(n) == "reported"]
            for name in names[: options.n_tables]:
                table = read_table(options.metadata, source, name)
                for noise in NOISE:
                    of_seeds = [regrets(table, noise, seed) for seed in range(options.seeds)]
                    plain, again = np.mean(of_seeds, axis=0).tolist()
                    found[noise].append((plain, again))
                    line = {"source": source, "table": name, "noise": noise, "plain": plain}
                    file.write(json.dumps({**line, "again": again}) + "\n")
                    file.flush()
    for noise, pairs in found.items():
        plain, again = np.array(pairs).T
        gain, error = (plain - again).mean(), (plain - again).std(ddof=1) / len(pairs) ** 0.5
        print(
            f"noise {noise}: regret {plain.mean():.4f} without, {again.mean():.4f} with; gain "
            f"{gain:+.4f} ± {error:.4f} over {len(pairs)} tables"
        )


if __name__ == "__main__":
    main()
