"""The decisions of a selection, recomputed from the plain record.

Nothing here is shared with the code that decides, except the statistical tests themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtr

from automl.records import FloatArray
from automl.selection.dispositions import json_number
from automl.statistics.adjustment import holm
from automl.statistics.assumptions import bartlett, kolmogorov_smirnov, lilliefors
from automl.statistics.multiple_comparison import mcb
from automl.statistics.paired import (
    corrected_t,
    corrected_t_all_pairs,
    corrected_t_of_pairs,
    friedman,
    nemenyi_friedman,
)
from automl.statistics.results import TestResult
from automl.statistics.unpaired import anova, kruskal_wallis, nemenyi_joint_ranks, tukey

Record = Mapping[str, Any]
Place = tuple[str, ...]
_POSTERIOR = "correlated t posterior"
Outcome = tuple[list[TestResult], str, FloatArray | None, FloatArray | None]
"""Tests of all members, name of the test of pairs, its statistics and its p-values."""


def recomputed_decisions(candidates: Sequence[Record], settings: Record) -> list[dict[str, Any]]:
    """Decisions from the leaves to the root, as a selection's record holds them.

    Parameters
    ----------
    candidates
        `trial_id`, `configuration`, `scores`, `seconds`, `simplicity`, `interpretability`.
    settings
        `alpha`, `top_n`, `comparison` and `criteria`.

    Raises
    ------
    ValueError
        If the candidates have no scores on the same folds.
    """
    tree = _Tree(candidates)
    promoted: dict[Place, list[Record]] = {}
    decisions = {}
    for place in sorted(tree.places, key=len, reverse=True):
        members = [c for c in candidates if tree.steps[c["trial_id"]] == place]
        members += [c for branch in tree.branches(place) for c in promoted[branch]]
        promoted[place] = members
        if place in tree.deciding:
            decision = _decision(tree, place, members, settings)
            decisions[place] = decision
            winners = [m["trial_id"] for m in decision["members"] if m["verdict"] == "promoted"]
            promoted[place] = [tree.by_id[trial_id] for trial_id in winners]
    return [decisions[place] for place in tree.upwards(()) if place in decisions]


class _Tree:
    """Which candidates are below which place: family and choices on the way."""

    def __init__(self, candidates: Sequence[Record]) -> None:
        self.by_id = {c["trial_id"]: c for c in candidates}
        self.steps: dict[str, Place] = {
            c["trial_id"]: (c["configuration"]["family"], *c["configuration"]["path"])
            for c in candidates
        }
        if len({len(c["scores"]) for c in candidates}) != 1 or len(self.by_id) < len(candidates):
            raise ValueError("candidates must be distinct and have scores on the same folds")
        self.places: dict[Place, list[str]] = {}
        for trial_id, steps in self.steps.items():
            for depth in range(len(steps) + 1):
                self.places.setdefault(steps[:depth], []).append(trial_id)
        self.deciding = [place for place in self.places if self._decides(place)]

    def _decides(self, place: Place) -> bool:
        has_own = place in self.steps.values()
        return not place or has_own or len(self.branches(place)) > 1

    def branches(self, place: Place) -> list[Place]:
        """Places one step below, in the order of the candidates."""
        return [other for other in self.places if other[:-1] == place and other]

    def upwards(self, place: Place) -> list[Place]:
        """All places below this one, each behind those below it, then the place itself."""
        return [p for branch in self.branches(place) for p in self.upwards(branch)] + [place]

    def level(self, place: Place) -> str:
        """Kind of a place."""
        if not place:
            return "root"
        if not self.branches(place):
            return "leaf"
        return "family" if len(place) == 1 else "category"

    def scores(self, trial_ids: Sequence[str]) -> list[FloatArray]:
        """Scores of candidates."""
        return [np.array(self.by_id[trial_id]["scores"], dtype=float) for trial_id in trial_ids]


def _decision(
    tree: _Tree, place: Place, members: Sequence[Record], settings: Record
) -> dict[str, Any]:
    level = tree.level(place)
    alpha, top_n = _alpha(tree, level, settings), settings["top_n"][level]
    means = {m["trial_id"]: float(np.mean(m["scores"])) for m in members}
    ids = sorted(means, key=lambda trial_id: (-means[trial_id], trial_id))
    tests, post_hoc, statistics, pvalues = _compared(tree, place, ids, alpha, settings)
    positions = dict(zip(ids, range(len(ids)), strict=True))
    posteriors = _posteriors(tree, ids, settings) if post_hoc == _POSTERIOR else {}
    worse = {i for i, n in positions.items() if n and pvalues is not None and pvalues[n] < alpha}
    if 0.5 ** len(tree.by_id[ids[0]]["scores"]) < alpha:
        worse |= {i for i, posterior in posteriors.items() if posterior["greater"] > 1 - alpha}
    kept = [trial_id for trial_id in ids if trial_id not in worse]
    ranks = _compound_ranks([tree.by_id[trial_id] for trial_id in kept], settings["criteria"])
    order = sorted(kept, key=lambda i: (round(ranks[i], 9), -means[i], i))
    return {
        "node": "/".join(place) or "root",
        "level": level,
        "alpha": alpha,
        "top_n": top_n,
        "members": [
            {
                "trial_id": trial_id,
                "mean_score": means[trial_id],
                "verdict": _verdict(trial_id, order, top_n),
                "statistic": _at(statistics, positions[trial_id]),
                "pvalue": _at(pvalues, positions[trial_id]),
                "rank": ranks.get(trial_id),
                **({"posterior": posteriors[trial_id]} if posteriors else {}),
            }
            for trial_id in [*order, *(i for i in ids if i not in kept)]
        ],
        "tests": [
            {**test.__dict__, "statistic": json_number(test.statistic), "df": list(test.df)}
            for test in tests
        ],
        "post_hoc": post_hoc,
    }


def _verdict(trial_id: str, order: Sequence[str], top_n: int) -> str:
    if trial_id not in order:
        return "worse"
    return "promoted" if order.index(trial_id) < top_n else "outranked"


def _at(values: FloatArray | None, position: int) -> Any:
    return None if values is None else json_number(float(values[position]))


def _alpha(tree: _Tree, level: str, settings: Record) -> float:
    """Alpha of one decision; divided by the number of decisions where the tree shares it that way."""
    how, alpha = settings["comparison"], float(settings["alpha"][level])
    if how["alpha_split"] == "tree" and how["procedure"] in ("thesis", "friedman", "bayesian"):
        return alpha / max(1, sum(len(tree.places[place]) > 1 for place in tree.deciding))
    return alpha


def _compared(
    tree: _Tree, place: Place, ids: Sequence[str], alpha: float, settings: Record
) -> Outcome:
    """Outcome of the tests; the first of `ids` has the highest mean."""
    how, samples = settings["comparison"], tree.scores(ids)
    joint = np.concatenate(samples)
    if len(ids) < 2 or len(samples[0]) < 2 or float(joint.max() - joint.min()) <= 1e-12:
        return [], "", None, None
    if how["procedure"] == "thesis":
        return _thesis(samples, alpha, how["normality"])
    if how["procedure"] == "bayesian":
        return [], _POSTERIOR, None, None
    is_tree = how["alpha_split"] == "tree" and how["procedure"] != "friedman"
    below = tree.places[() if is_tree else place]
    beside = [trial_id for trial_id in tree.by_id if trial_id in below and trial_id not in ids]
    return _compared_with_all(tree, place, ids, beside, alpha=alpha, settings=settings)


def _compared_with_all(
    tree: _Tree,
    place: Place,
    ids: Sequence[str],
    beside: Sequence[str],
    *,
    alpha: float,
    settings: Record,
) -> Outcome:
    """Outcome of the tests that count the candidates beside the members as well."""
    how, samples = settings["comparison"], tree.scores(ids)
    ratio = how["test_train_ratio"]
    if how["procedure"] == "mcb":
        n_candidates = len(ids) + len(beside)
        best = mcb(samples, test_train_ratio=ratio, alpha=alpha, n_candidates=n_candidates)
        return [], best.name, best.statistic, best.pvalue
    groups = [*samples, *tree.scores(beside)]
    if how["procedure"] == "friedman":
        return _friedman(groups, alpha)
    if how["procedure"] == "closed":
        return _closed(tree, place, ids, beside, settings)
    if how["procedure"] != "paired":
        raise ValueError(f"there is no procedure {how['procedure']!r}")
    further = [] if how["alpha_split"] == "tree" else _elsewhere(tree, place, ratio)
    pairs = corrected_t_all_pairs(groups, test_train_ratio=ratio, further=further)
    return [], pairs.name, pairs.statistic[0], pairs.pvalue[0]


def _posteriors(tree: _Tree, ids: Sequence[str], settings: Record) -> dict[str, dict[str, float]]:
    """Of the first's mean minus that of each, by Student's distribution itself."""
    how, (best, *_) = settings["comparison"], tree.scores(ids)
    posteriors = {}
    for trial_id, sample in zip(ids, tree.scores(ids), strict=True):
        lead = best - sample
        n, mean, rope = len(lead), float(lead.mean()), float(how["rope"])
        error = float(lead.std(ddof=1)) * math.sqrt(1 / n + how["test_train_ratio"])
        if np.ptp(lead) <= 1e-12 * max(1.0, float(np.abs(lead).max())):
            below, above = float(mean < -rope), float(mean > rope)
        else:
            below = float(stdtr(n - 1, (-rope - mean) / error))
            above = float(stdtr(n - 1, (mean - rope) / error))
        equal = max(0.0, 1 - below - above)
        posteriors[trial_id] = {"less": below, "equivalent": equal, "greater": above}
    return posteriors


def _friedman(groups: Sequence[FloatArray], alpha: float) -> Outcome:
    omnibus = friedman(groups)
    if omnibus.pvalue >= alpha:
        return [omnibus], "", None, None
    pairs = nemenyi_friedman(groups)
    return [omnibus], pairs.name, pairs.statistic[0], pairs.pvalue[0]


def _closed(
    tree: _Tree, place: Place, ids: Sequence[str], beside: Sequence[str], settings: Record
) -> Outcome:
    """Holm over candidates; each has the Simes p-value of the tests that another is better."""
    how = settings["comparison"]
    ratio, level = how["test_train_ratio"], tree.level(place)
    everyone = [*ids, *beside]
    pvalues = [_simes(tree, one, ids, len(everyone), ratio) for one in ids]
    pvalues += [_simes(tree, one, everyone, len(everyone), ratio) for one in beside]
    for other in tree.deciding if how["alpha_split"] == "level" else ():
        below = tree.places[other]
        if other != place and tree.level(other) == level and len(below) > 1:
            pvalues += [_simes(tree, one, below, len(below), ratio) for one in below]
    n_scores = len(tree.by_id[ids[0]]["scores"])
    adjusted = np.maximum(holm(pvalues)[: len(ids)], 2.0 ** (1 - n_scores))
    leads = [max(t.statistic for t in _leads(tree, one, ids, ratio)) for one in ids]
    return [], "corrected t, closed test", np.array(leads), adjusted


def _leads(tree: _Tree, one: str, rivals: Sequence[str], ratio: float) -> list[TestResult]:
    """One-sided tests that each rival is better than one candidate."""
    return [
        corrected_t(a, b, test_train_ratio=ratio, alternative="greater")
        for rival in rivals
        if rival != one
        for a, b in [tree.scores([rival, one])]
    ]


def _simes(tree: _Tree, one: str, rivals: Sequence[str], n_all: int, ratio: float) -> float:
    # a constant lead counts as 0 here, and the bound of equal signs applies to what Holm makes of it
    pvalues = [0.0 if t.statistic == np.inf else t.pvalue for t in _leads(tree, one, rivals, ratio)]
    joined = [(n_all - 1) * p / number for number, p in enumerate(sorted(pvalues), 1)]
    return min(1.0, *joined)


def _elsewhere(tree: _Tree, place: Place, ratio: float) -> list[float]:
    """p-values of all pairs of candidates below the other nodes of the same level."""
    level = tree.level(place)
    others = [p for p in tree.deciding if p != place and tree.level(p) == level]
    return [
        float(pvalue)
        for other in others
        for pair in combinations(tree.scores(tree.places[other]), 2)
        for pvalue in corrected_t_of_pairs(pair, test_train_ratio=ratio)[1]
    ]


def _thesis(samples: Sequence[FloatArray], alpha: float, normality: str) -> Outcome:
    """B14, algorithm 2, with the condition of its line 10 the right way round."""
    has_table = normality == "lilliefors" and len(samples[0]) >= 4
    normal = lilliefors if has_table else kolmogorov_smirnov
    single = [normal(sample - sample.mean()) for sample in samples]
    adjusted = holm([test.pvalue for test in single])
    least = int(np.argmin(adjusted))
    worst = single[least]
    first = TestResult(f"{worst.name}, Holm", worst.statistic, float(adjusted[least]))
    second = bartlett(samples)
    is_parametric = first.pvalue >= alpha and second.pvalue >= alpha
    omnibus = anova(samples) if is_parametric else kruskal_wallis(samples)
    tests = [first, second, omnibus]
    if omnibus.pvalue >= alpha:
        return tests, "", None, None
    pairs = (tukey if is_parametric else nemenyi_joint_ranks)(samples, reference=0)
    return tests, pairs.name, pairs.statistic[0], pairs.pvalue[0]


def _compound_ranks(kept: Sequence[Record], criteria: Record) -> dict[str, float]:
    """Weighted mean of the ranks by each criterion, by trial id; low is good."""
    lowest_first = {
        "generalization": [-float(np.mean(c["scores"])) for c in kept],
        "speed": [float(c["seconds"]) for c in kept],
        "stability": [_deviation(c["scores"]) for c in kept],
        "simplicity": [-float(c["simplicity"]) for c in kept],
        "interpretability": [-float(c["interpretability"]) for c in kept],
    }
    weight = sum(criteria.values())
    return {
        candidate["trial_id"]: sum(
            share * _fractional_rank(lowest_first[name], i) for name, share in criteria.items()
        )
        / weight
        for i, candidate in enumerate(kept)
    }


def _fractional_rank(values: Sequence[float], position: int) -> float:
    """Mean of the places that equal values share; 1 is the least."""
    own = round(values[position], 12)
    rounded = [round(value, 12) for value in values]
    return sum(v < own for v in rounded) + (sum(v == own for v in rounded) + 1) / 2


def _deviation(scores: Sequence[float]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
