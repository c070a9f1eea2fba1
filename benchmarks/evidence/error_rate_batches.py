"""The selection's tests on many replications at once: a second implementation, hundreds of times faster.

`error_rates.py` compares it with the project's own selection on a part of the replications; any
difference ends the benchmark. Arrays are (R replications, k candidates, n folds).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from scipy import special, stats

from automl.records import BoolArray, FloatArray, IntArray

ALPHA = 0.05
TOP_N = 3
ROPE = 0.01
"""The setting's default."""
Place = tuple[str, ...]


class Batch:
    """Replications with one procedure: which candidates are dropped by a test.

    Parameters
    ----------
    scores : (R, k, n)
    procedure
        `closed`, `closed, tree`, `paired`, `paired, tree`, `mcb`, `bayesian`, `friedman`, `thesis`, or
        `members only`: `paired` with the pairs of a node's members alone.
    ratio
        Validation rows / training rows.
    """

    def __init__(self, scores: FloatArray, procedure: str, ratio: float) -> None:
        self.scores, self.procedure, self.ratio = scores, procedure, ratio
        self.means = scores.mean(axis=2)
        self.everyone: list[int] = []
        if procedure not in ("thesis", "friedman"):
            self.lead, self.error = leads_and_errors(scores, ratio)
            self.t = statistics_of(self.lead, self.error)
            self.p = two_sided(self.t, scores.shape[2])

    def leaf(self, k: int) -> BoolArray:
        """(R, k): dropped among the first `k`, all in one leaf."""
        members = np.tile(np.arange(k), (len(self.scores), 1))
        everyone = list(range(k))
        return self._dropped(np.arange(len(members)), members, everyone, [everyone])

    def tree(self, places: Sequence[str]) -> dict[str, IntArray]:
        """Number dropped in each replication, by level and in `all`."""
        nodes = deciding_nodes(places)
        self.everyone = nodes[()][1]
        drops = {
            level: np.zeros(len(self.scores), int)
            for level in ("leaf", "category", "family", "root")
        }
        self._walk((), [tuple(place.split("/")) for place in places], nodes, drops)
        return {**drops, "all": np.sum(list(drops.values()), axis=0)}

    def _walk(
        self,
        place: Place,
        leaves: Sequence[Place],
        nodes: Mapping[Place, tuple[str, list[int]]],
        drops: dict[str, IntArray],
    ) -> BoolArray:
        """(R, k): which candidates the node at `place` promotes."""
        inside = np.zeros(self.means.shape, bool)
        depth = len(place)
        branches = {leaf[: depth + 1] for leaf in leaves if leaf[:depth] == place}
        for branch in sorted(branch for branch in branches if len(branch) > depth):
            inside |= self._walk(branch, leaves, nodes, drops)
        for i, leaf in enumerate(leaves):
            inside[:, i] |= leaf == place
        if place not in nodes:
            return inside
        level, below = nodes[place]
        alike = [members for kind, members in nodes.values() if kind == level]
        for size in np.unique(inside.sum(axis=1)):
            rows = np.flatnonzero(inside.sum(axis=1) == size)
            members = np.argsort(~inside[rows], axis=1, kind="stable")[:, :size]
            dropped = self._dropped(rows, members, below, alike)
            drops[level][rows] += dropped.sum(axis=1)
            means = np.where(dropped, -np.inf, self.means[rows[:, None], members])
            rank = np.argsort(np.argsort(-means, axis=1), axis=1)
            inside[rows[:, None], members] = (rank < TOP_N) & ~dropped
        return inside

    def _dropped(
        self, rows: IntArray, members: IntArray, below: list[int], alike: list[list[int]]
    ) -> BoolArray:
        """(r, m) of members (r, m); `below` are all candidates of the node, `alike` of its level."""
        if members.shape[1] < 2:
            return np.zeros(members.shape, bool)
        at = rows[:, None]
        best = self.means[at, members].argmax(axis=1)
        chosen = members[np.arange(len(rows)), best][:, None]
        if self.procedure == "thesis":
            dropped = thesis(self.scores[at, members])
        elif self.procedure == "friedman":
            dropped = self._friedman(rows, below)[np.arange(len(rows))[:, None], chosen, members]
        elif self.procedure == "mcb":
            lead = self.t[at[:, :, None], members[:, None, :], members[:, :, None]]
            n = self.scores.shape[2]
            tail = one_sided(lead.max(axis=2), n) * (len(below) - 1)
            dropped = np.maximum(tail, 2.0**-n) < ALPHA
        elif self.procedure == "bayesian":
            dropped = self._certainly_worse(rows, members, chosen)
        elif self.procedure.startswith("closed"):
            dropped = self._not_best(rows, members, below, alike)
        elif self.procedure == "members only":
            dropped = self._among(rows, members, chosen)
        else:
            families = [self.everyone] if "tree" in self.procedure else alike
            dropped = self._adjusted(families)[at, chosen, members] < ALPHA
        dropped[np.arange(len(rows)), best] = False
        return np.asarray(dropped)

    def _certainly_worse(self, rows: IntArray, members: IntArray, chosen: IntArray) -> BoolArray:
        """(r, m): the best leads by more than the rope with a posterior probability above 1 - alpha."""
        n = self.scores.shape[2]
        lead, error = (x[rows[:, None], chosen, members] for x in (self.lead, self.error))
        with np.errstate(divide="ignore", invalid="ignore"):
            probability = special.stdtr(n - 1, (lead - ROPE) / error)
        certain = np.where(error > 1e-12, probability, lead > ROPE)
        return np.asarray((certain > 1.0 - ALPHA) & (2.0**-n < ALPHA))

    def _not_best(
        self, rows: IntArray, members: IntArray, below: list[int], alike: list[list[int]]
    ) -> BoolArray:
        """(r, m): Holm over the candidates' Simes p-values; of a member those against members alone."""
        is_tree = "tree" in self.procedure
        own = self.everyone if is_tree else below
        families = [own, *([] if is_tree else [f for f in alike if f != own and len(f) > 1])]
        shared = [self._simes(rows, np.tile(f, (len(rows), 1)), len(f)) for f in families]
        at = np.searchsorted(own, members)
        np.put_along_axis(shared[0], at, self._simes(rows, members, len(own)), axis=1)
        adjusted = self._holm(np.concatenate(shared, axis=1))
        return np.take_along_axis(adjusted, at, axis=1) < ALPHA

    def _simes(self, rows: IntArray, candidates: IntArray, n_all: int) -> FloatArray:
        """(r, m): p-value of each candidate's being among the best, rivals being the candidates."""
        t = self.t[rows[:, None, None], candidates[:, None, :], candidates[:, :, None]]
        m = candidates.shape[1]
        t[:, np.arange(m), np.arange(m)] = -np.inf
        tails = np.sort(one_sided(t, self.scores.shape[2]), axis=2)[:, :, : max(m - 1, 1)]
        return np.minimum((tails * (n_all - 1) / np.arange(1, max(m, 2))).min(axis=2), 1.0)

    def _adjusted(self, families: list[list[int]]) -> FloatArray:
        """(R, k, k) p-values by Holm over the pairs of all families; 1 elsewhere."""
        pairs = [(i, j) for family in families for i in family for j in family if i < j]
        found = np.ones(self.p.shape)
        if pairs:
            first, second = np.array(pairs).T
            adjusted = self._holm(self.p[:, first, second])
            found[:, first, second] = found[:, second, first] = adjusted
        return found

    def _holm(self, p: FloatArray) -> FloatArray:
        return np.maximum(holm(p), 2.0 ** (1 - self.scores.shape[2]))

    def _among(self, rows: IntArray, members: IntArray, chosen: IntArray) -> BoolArray:
        m = members.shape[1]
        first, second = np.triu_indices(m, 1)
        adjusted = self._holm(self.p[rows[:, None], members[:, first], members[:, second]])
        matrix = np.ones((len(rows), m, m))
        matrix[:, first, second] = matrix[:, second, first] = adjusted
        at = (members == chosen).argmax(axis=1)
        return np.asarray(matrix[np.arange(len(rows)), at] < ALPHA)

    def _friedman(self, rows: IntArray, below: list[int]) -> BoolArray:
        """(r, k, k): pairs that are told apart among the candidates below a node."""
        ranks = stats.rankdata(self.scores[rows][:, below], axis=1)
        k, n = ranks.shape[1:]
        means = ranks.mean(axis=2)
        spread = ((ranks - (k + 1) / 2) ** 2).sum(axis=(1, 2))
        between = ((n * means - n * (k + 1) / 2) ** 2).sum(axis=1)
        omnibus = stats.chi2.sf((k - 1) * between / np.maximum(spread, 1e-12), k - 1)
        q = np.abs(means[:, :, None] - means[:, None, :]) / np.sqrt(k * (k + 1) / (12 * n))
        size = self.scores.shape[1]
        told = np.zeros((len(rows), size, size), bool)
        apart = (q > range_quantile(k, np.inf)) & (omnibus < ALPHA)[:, None, None]
        told[np.ix_(np.arange(len(rows)), below, below)] = apart
        return told


def deciding_nodes(places: Sequence[str]) -> dict[Place, tuple[str, list[int]]]:
    """Level and candidates of every node that decides, by place."""
    leaves = [tuple(place.split("/")) for place in places]
    inner = {leaf[:depth] for leaf in leaves for depth in range(len(leaf) + 1)}
    nodes = {}
    for place in sorted(inner):
        below = [i for i, leaf in enumerate(leaves) if leaf[: len(place)] == place]
        branches = {leaf[: len(place) + 1] for leaf in leaves if len(leaf) > len(place)
                    and leaf[: len(place)] == place}  # fmt: skip
        own = any(leaf == place for leaf in leaves)
        if place and len(branches) == 1 and not own:
            continue
        level = "leaf" if not branches else "family" if len(place) == 1 else "category"
        nodes[place] = ("root" if not place else level, below)
    return nodes


def leads_and_errors(scores: FloatArray, ratio: float) -> tuple[FloatArray, FloatArray]:
    """(R, k, k): mean of first minus second, and its corrected standard error."""
    difference = scores[:, :, None] - scores[:, None, :]
    error = difference.std(axis=3, ddof=1) * np.sqrt(1 / scores.shape[2] + ratio)
    return difference.mean(axis=3), error


def statistics_of(lead: FloatArray, error: FloatArray) -> FloatArray:
    """Corrected t; infinite without an error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = lead / error
    flat = np.where(np.abs(lead) > 1e-12, np.copysign(np.inf, lead), 0.0)
    return np.asarray(np.where(error > 1e-12, t, flat))


def corrected_statistics(scores: FloatArray, ratio: float) -> FloatArray:
    """(R, k, k): corrected t of first minus second."""
    return statistics_of(*leads_and_errors(scores, ratio))


def one_sided(t: FloatArray, n: int) -> FloatArray:
    return np.asarray(special.stdtr(n - 1, -t))


def two_sided(t: FloatArray, n: int) -> FloatArray:
    return np.minimum(2.0 * one_sided(np.abs(t), n), 1.0)


def holm(p: FloatArray) -> FloatArray:
    """(R, m) adjusted along the second axis."""
    order = np.argsort(p, axis=1, kind="stable")
    steps = np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(
        adjusted, order, np.minimum(np.maximum.accumulate(steps, axis=1), 1.0), axis=1
    )
    return adjusted


@cache
def range_quantile(k: int, freedom: float) -> float:
    """Upper point of the studentized range."""
    return float(stats.studentized_range.isf(ALPHA, k, freedom))


@cache
def distance_quantile(alpha: float, n: int) -> float:
    """Upper point of Kolmogorov and Smirnov's distance."""
    return float(stats.kstwo.isf(alpha, n))


def thesis(scores: FloatArray) -> BoolArray:
    """(r, m): significantly different from the best by document B14's procedure."""
    r, m, n = scores.shape
    means = scores.mean(axis=2)
    variances = scores.var(axis=2, ddof=1)
    normal = (_distance(scores, means, variances) <= distance_quantile(ALPHA / m, n)).all(axis=1)
    parametric = normal & (_bartlett(variances, n) >= ALPHA)
    best = means.argmax(axis=1)
    within = variances.mean(axis=1)
    f = n * means.var(axis=1, ddof=1) / np.maximum(within, 1e-300)
    anova = stats.f.sf(f, m - 1, m * n - m) < ALPHA
    lead = np.abs(means[np.arange(r), best][:, None] - means)
    tukey = lead / np.sqrt(np.maximum(within, 1e-300) / n)[:, None] > range_quantile(
        m, float(m * n - m)
    )
    ranks = stats.rankdata(scores.reshape(r, m * n), axis=1)
    total = m * n
    spread = ((ranks - (total + 1) / 2) ** 2).sum(axis=1) / (total - 1)
    spread = np.maximum(spread, 1e-300)
    rank_means = ranks.reshape(r, m, n).mean(axis=2)
    h = n * ((rank_means - (total + 1) / 2) ** 2).sum(axis=1) / spread
    kruskal = stats.chi2.sf(h, m - 1) < ALPHA
    rank_lead = np.abs(rank_means[np.arange(r), best][:, None] - rank_means)
    nemenyi = rank_lead / np.sqrt(spread / n)[:, None] > range_quantile(m, np.inf)
    return np.where(parametric[:, None], anova[:, None] & tukey, kruskal[:, None] & nemenyi)


def _distance(scores: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Kolmogorov and Smirnov's distance to the normal; 1 for constant scores."""
    n = scores.shape[2]
    deviation = np.sqrt(np.maximum(variances, 1e-300))
    below = special.ndtr(np.sort((scores - means[:, :, None]) / deviation[:, :, None], axis=2))
    steps = np.arange(n + 1) / n
    distance = np.maximum((steps[1:] - below).max(axis=2), (below - steps[:-1]).max(axis=2))
    return np.where(variances > 1e-24, distance, 1.0)


def _bartlett(variances: FloatArray, n: int) -> FloatArray:
    m = variances.shape[1]
    safe = np.maximum(variances, 1e-300)
    statistic = (n - 1) * (m * np.log(safe.mean(axis=1)) - np.log(safe).sum(axis=1))
    correction = 1 + (m / (n - 1) - 1 / (m * (n - 1))) / (3 * (m - 1))
    return np.asarray(stats.chi2.sf(statistic / correction, m - 1))


def counted(name: str, drops: Mapping[str, IntArray]) -> Counter[str]:
    """Replications with a drop, and candidates dropped."""
    total: Counter[str] = Counter()
    for key, numbers in drops.items():
        total[f"{name}|{key}|any"] += int((numbers > 0).sum())
        total[f"{name}|{key}|dropped"] += int(numbers.sum())
    return total
