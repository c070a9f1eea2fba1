"""A list of configurations that are good on the known data sets, to be tried first by a run.

Notation
--------
S : (t, m) scores of m configurations on t data sets, to be maximized; NaN where unknown
C : (t, m) seconds, NaN where unknown
w : (t,) weights of the data sets, sum 1
G : (t, m) in [0, 1], the standardized scores: 1 for the best known of a data set, 0 for what is no
    better than its median, and where nothing is known
F : value of a list L, Σ_i w_i max_{j in L} G_ij

F is monotone and submodular. Greedily adding the configuration with the largest gain therefore
reaches at least 1 - 1/e of the value of the best list of that length. Adding the one with the
largest gain per second nearly reaches that share of the best list of the same seconds.

References
----------
.. [1] Nemhauser, Wolsey and Fisher (1978), An analysis of approximations for maximizing submodular
   set functions; Streeter and Golovin (2008), An online algorithm for maximizing submodular
   functions (costs).
.. [2] Feurer et al. (2022), Auto-sklearn 2.0 (portfolios that are built greedily).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automl.experience.cleaning import is_measurable, of_kind
from automl.experience.data_set import Experience, KnownTrial
from automl.records import Configuration, FloatArray, IntArray, Task, TrialStatus

LEAST_RANGE = 0.01
"""Least distance of scores, best to median, that is stretched to 1: smaller ones are mostly noise."""

LEAST_GAIN = 1e-9
"""Smaller gains are rounding: the portfolio is complete."""
OVERHEAD = 0.1
"""Cost of a trial beside its fits, in seconds of the median configuration."""

N_SWEEPS = 10
"""Number of sweeps of medians over rows and columns in turn; the number by judgement."""


@dataclass(frozen=True)
class KnownScores:
    """Scores and seconds of configurations on data sets of one kind.

    Parameters
    ----------
    configurations : m, all different
    scores : (t, m)
    seconds : (t, m), per fold
    weights : (t,), sum 1; entries of one data set share its weight
    data_sets : t, which data set each entry is of
    """

    configurations: tuple[Configuration, ...]
    scores: FloatArray
    seconds: FloatArray
    weights: FloatArray
    data_sets: tuple[str, ...]

    @property
    def n_data_sets(self) -> int:
        """Different data sets with a score."""
        has = np.flatnonzero(np.isfinite(self.scores).any(axis=1))
        return len({self.data_sets[i] for i in has})

    def only(self, columns: Sequence[int]) -> KnownScores:
        """The same of some configurations."""
        chosen = list(columns)
        return KnownScores(
            tuple(self.configurations[j] for j in chosen),
            self.scores[:, chosen],
            self.seconds[:, chosen],
            self.weights,
            self.data_sets,
        )


def known_scores(experiences: Sequence[Experience], task: Task | str) -> KnownScores:
    """Complete trials of all data sets of a kind of target, as a matrix.

    A configuration that an entry holds more than once counts with its last score there.
    """
    used = of_kind(experiences, task)
    columns: dict[str, int] = {}
    configurations: list[Configuration] = []
    cells: list[tuple[int, int, float, float]] = []
    for row, experience in enumerate(used):
        for trial in experience.trials:
            if trial.status is not TrialStatus.COMPLETE or not is_measurable(trial.score):
                continue
            column = columns.setdefault(trial.configuration.id, len(columns))
            if column == len(configurations):
                configurations.append(trial.configuration)
            cells.append((row, column, trial.achieved, _fold_seconds(trial)))
    scores = np.full((len(used), len(configurations)), np.nan)
    seconds = scores.copy()
    for row, column, score, duration in cells:
        scores[row, column], seconds[row, column] = score, duration
    names = tuple(experience.data.fingerprint or experience.id for experience in used)
    return KnownScores(tuple(configurations), scores, seconds, _weights(names), names)


def _fold_seconds(trial: KnownTrial) -> float:
    """Seconds of a fold; NaN where they cannot be right."""
    seconds = trial.seconds / max(trial.folds, 1)
    return seconds if 0.0 < seconds < math.inf else math.nan


def _weights(names: Sequence[str]) -> FloatArray:
    weights = np.array([1.0 / names.count(name) for name in names])
    return weights / weights.sum() if len(weights) else weights


def stretched(S: FloatArray) -> FloatArray:
    """(t, m) scores S, of each data set shifted and stretched: the best is 1, the median 0.

    NaN where unknown.
    """
    scaled = np.full_like(S, np.nan)
    if not S.size:
        return scaled
    has_scores = np.isfinite(S).any(axis=1)
    rows = S[has_scores]
    best = np.nanmax(rows, axis=1, keepdims=True)
    scaled[has_scores] = 1.0 - (best - rows) / ranges(rows)[:, np.newaxis]
    return scaled


def ranges(S: FloatArray) -> FloatArray:
    """(t,) distance from the best to the median of scores S (t, m), with some known of each."""
    width = np.nanmax(S, axis=1) - np.nanmedian(S, axis=1)
    return np.asarray(np.maximum(width, LEAST_RANGE))


def standardized(S: FloatArray) -> FloatArray:
    """(t, m) the matrix G of scores S.

    Each data set is shifted and stretched by itself, with its best score at 1 and its median at 0;
    what is below counts as the median.
    """
    return np.nan_to_num(np.clip(stretched(S), 0.0, 1.0), nan=0.0)


def relative_seconds(C: FloatArray) -> FloatArray:
    """(m,) seconds of the configurations, comparable whichever data sets each of them is known on.

    Medians are taken out of the logarithms, of rows and of columns in turn (Tukey's median polish),
    so that single times that a busy machine has spoilt do not count. Scaled to median 1; 1 where
    nothing is known.
    """
    logs = np.log(np.maximum(C, 1e-6))
    effects = np.zeros(C.shape[1])
    seen = np.isfinite(logs).any(axis=0)
    logs = logs[np.isfinite(logs).any(axis=1)][:, seen]
    if not logs.size:
        return np.ones(C.shape[1])
    own = np.zeros(logs.shape[1])
    for _ in range(N_SWEEPS):
        rows = np.nanmedian(logs - own, axis=1, keepdims=True)
        own = np.nanmedian(logs - rows, axis=0)
    effects[seen] = own - np.median(own)
    return np.exp(effects)


def expected_seconds(known: KnownScores, growth: Mapping[str, float]) -> FloatArray:
    """(m,) what trials take, in units of the median configuration's, with what they cost beside.

    Parameters
    ----------
    growth
        By family, how much longer its fits take than on the known data sets; 1 where not given.
    """
    factors = [growth.get(configuration.family, 1.0) for configuration in known.configurations]
    return np.asarray(relative_seconds(known.seconds) * np.array(factors) + OVERHEAD)


def value(G: FloatArray, chosen: Sequence[int] | IntArray, w: FloatArray) -> float:
    """F of a list."""
    return float(w @ G[:, list(chosen)].max(axis=1, initial=0.0))


def greedy(
    G: FloatArray,
    w: FloatArray,
    *,
    most: int,
    seconds: FloatArray | None = None,
    budget: float = np.inf,
) -> list[int]:
    """Columns in greedy order: each adds most to F; ties go to the earlier one.

    Parameters
    ----------
    G : (t, m)
    w : (t,), sum 1
    most : longest list
    seconds : (m,), positive
        Take what adds most per second; None: what adds most.
    budget : of seconds
        Columns that do not fit into what is left of it are passed over.

    Returns
    -------
    Up to `most` columns; fewer where nothing adds any more, or fits.
    """
    costs = np.ones(G.shape[1]) if seconds is None else np.asarray(seconds, dtype=float)
    reached = np.zeros(G.shape[0])
    chosen: list[int] = []
    left = budget
    while len(chosen) < most and G.size:
        gains = w @ np.maximum(G - reached[:, np.newaxis], 0.0)
        gains[chosen] = 0.0
        rates = np.where((gains > LEAST_GAIN) & (costs <= left), gains / costs, 0.0)
        best = int(np.argmax(rates))
        if rates[best] <= 0.0:
            break
        chosen.append(best)
        left -= costs[best]
        reached = np.maximum(reached, G[:, best])
    return chosen


def with_every_family(
    chosen: Sequence[int], G: FloatArray, w: FloatArray, families: Sequence[str]
) -> list[int]:
    """A list, extended by the best configuration of each family that it lacks.

    Those that add most to the list come first; among equal additions, the better on average.

    Parameters
    ----------
    families : m
        Family of each column.
    """
    completed = list(chosen)
    reached = G[:, completed].max(axis=1, initial=0.0)
    gains = w @ np.maximum(G - reached[:, np.newaxis], 0.0)
    means = w @ G
    present = {families[column] for column in completed}
    best: dict[str, int] = {}
    for column, family in enumerate(families):
        if family not in present:
            rival = best.setdefault(family, column)
            if (means[column], gains[column]) > (means[rival], gains[rival]):
                best[family] = column
    return completed + sorted(best.values(), key=lambda j: (-gains[j], -means[j], j))


def learned_portfolio(
    known: KnownScores,
    *,
    most: int,
    per_second: bool = False,
    growth: Mapping[str, float] | None = None,
) -> list[Configuration]:
    """Configurations to try first, in their order.

    Parameters
    ----------
    most
        Configurations before those that represent families without any so far.
    per_second
        Order by what is gained per second: where time is short the cheap ones come first.
    growth
        Factor of the seconds by family: how much longer its fits take than on the known data sets.
    """
    if not known.n_data_sets:
        return []
    G = standardized(known.scores)
    families = [configuration.family for configuration in known.configurations]
    seconds = expected_seconds(known, growth or {}) if per_second else None
    chosen = greedy(G, known.weights, most=most, seconds=seconds)
    return [known.configurations[j] for j in with_every_family(chosen, G, known.weights, families)]
