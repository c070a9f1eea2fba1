"""One optimizer on one table: which candidates it tries in which order, and how long it thinks.

Every optimizer is first told the same initial candidates, the first of a random order that
depends on the seed alone. One that learns from earlier data sets may instead begin by itself. Model-based optimizers choose from the list of candidates. Optimizers
that propose freely are mapped to the nearest candidate that is not tried yet (by Euclidean
distance between encodings), and are told the candidate, not the proposal. `random` follows the
random order.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tables import ScoreTable

from automl.optimizers.composition import NAMED, Composition, parse_composition
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.protocol import Optimizer
from automl.optimizers.registry import get_optimizer
from automl.randomness import Purpose, stream
from automl.records import Configuration, FloatArray, Trial, TrialStatus
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.earlier_data import Sources

N_INITIAL = 5
N_TIMED = 3
RANDOM = "random"
REFERENCES = ("optuna_tpe", "optuna_tpe_joint", "optuna_gp", "smac3", "hebo")
Definition = str | Mapping[str, Any]
Row = dict[str, Any]


def order_of(table: ScoreTable, seed: int) -> list[int]:
    """Random order of the candidates."""
    return [int(i) for i in stream(seed, Purpose.SAMPLE).permutation(len(table.candidates))]


def composition_of(definition: Definition) -> Composition | None:
    """Composition of a model-based optimizer; None for another kind."""
    return NAMED.get(definition) if isinstance(definition, str) else parse_composition(definition)


def learns_from_others(definition: Definition) -> bool:
    """Whether an optimizer is given the other tables of the source."""
    composition = composition_of(definition)
    return composition is not None and composition.uses_experience


def _trial(configuration: Configuration, index: int, score: float) -> Trial:
    return Trial("replay", index, configuration, TrialStatus.COMPLETE, score, seconds=1.0)


class Nearest:
    """Maps proposals to the nearest candidate that is not tried yet."""

    def __init__(self, table: ScoreTable) -> None:
        self._encoder = ConfigurationEncoder(table.space).fit()
        self._rows = self._encoder.transform(table.candidates)

    def find(self, configuration: Configuration, tried: list[int]) -> int:
        """Index of the candidate."""
        row = self._encoder.transform([configuration])[0]
        distances: FloatArray = np.square(self._rows - row).sum(axis=1)
        distances[tried] = np.inf
        return int(distances.argmin())


def replay(
    table: ScoreTable,
    definition: Definition,
    seed: int,
    n_trials: int,
    *,
    sources: Sources | None = None,
    n_initial: int = N_INITIAL,
) -> Row:
    """Chosen candidates in order, and seconds of each ask.

    Parameters
    ----------
    n_initial
        Candidates that the optimizer is told before its first ask.
    sources
        Other tables of the source, for model-based optimizers that learn from them.
    """
    order = order_of(table, seed)
    if definition == RANDOM:
        return {"chosen": order[:n_trials], "seconds": []}
    composition = composition_of(definition)
    listed = {c.id: i for i, c in enumerate(table.candidates)} if composition else {}
    nearest = Nearest(table)
    optimizer: Optimizer = (
        ModelBasedOptimizer(table.space, composition, candidates=table.candidates, sources=sources)
        if composition
        else get_optimizer(definition).make(table.space)
    )
    chosen: list[int] = []
    seconds: list[float] = []
    for k in range(min(n_trials, len(order))):
        if k < n_initial:
            index = order[k]
        else:
            started = time.perf_counter()
            proposal = optimizer.ask(pending=[], rng=stream(seed, Purpose.OPTIMIZER, k))
            seconds.append(time.perf_counter() - started)
            assert proposal is not None
            found = proposal.configuration
            index = listed[found.id] if composition else nearest.find(found, chosen)
        chosen.append(index)
        optimizer.tell(_trial(table.candidates[index], k, float(table.scores[index])))
    return {"chosen": chosen, "seconds": [round(s, 5) for s in seconds]}


def time_asks(table: ScoreTable, definition: Definition, n_observations: int) -> Row:
    """Wall and processor seconds of a tell and the following ask, `N_TIMED` times.

    The asks are for the whole space, not for the list of candidates.
    """
    optimizer = get_optimizer(definition).make(table.space)
    *known, last = observations(table, n_observations)
    for k, (configuration, score) in enumerate(known):
        optimizer.tell(_trial(configuration, k, score))
    nearest = Nearest(table)
    found: Row = {"seconds": [], "cpu_seconds": []}
    for k in range(N_TIMED):
        started, cpu_started = time.perf_counter(), time.process_time()
        optimizer.tell(_trial(last[0], n_observations + k, last[1]))
        proposal = optimizer.ask(pending=[], rng=stream(0, Purpose.OPTIMIZER, k))
        found["seconds"].append(round(time.perf_counter() - started, 5))
        found["cpu_seconds"].append(round(time.process_time() - cpu_started, 5))
        assert proposal is not None
        asked = proposal.configuration
        last = (asked, float(table.scores[nearest.find(asked, [])]))
    return found


def observations(table: ScoreTable, n: int) -> list[tuple[Configuration, float]]:
    """Draws from the space with the scores of their nearest candidates."""
    rng, nearest = stream(0, Purpose.SAMPLE, n), Nearest(table)
    drawn = [table.space.sample(rng) for _ in range(n)]
    return [(c, float(table.scores[nearest.find(c, [])])) for c in drawn]


def reference_rows(
    python: str, table: ScoreTable, name: str, work: Mapping[str, Any]
) -> Iterator[Row]:
    """What `references.py` answers in an interpreter of its own.

    Parameters
    ----------
    work
        `orders`, a random order by seed, and `n_trials`; or `observations`, pairs of values and
        score.

    Raises
    ------
    RuntimeError
        If it fails; with the end of its error output.
    """
    job = {
        "optimizer": name,
        "parameters": table.parameters,
        "candidates": [dict(c.values) for c in table.candidates],
        "scores": table.scores.tolist(),
        "n_initial": N_INITIAL,
        "n_timed": N_TIMED,
        **work,
    }
    done = subprocess.run(
        [python, str(Path(__file__).with_name("references.py"))],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name} on {table.source}/{table.name}: {done.stderr[-2000:]}")
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
