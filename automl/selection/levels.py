"""Selection over the levels of the tree: leaf, category, family, root (B14, algorithm 3; SPEC J6).

At each node the members are compared with the best of them; those that are not significantly worse
are ranked, and the top n go on to the node above. A node with a single branch and no members of its
own makes no decision: it would repeat the one below it. The root always decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automl.selection.candidates import Candidate
from automl.selection.comparison import (
    Comparison,
    ComparisonSettings,
    Normality,
    Procedure,
    compare_with_best,
)
from automl.selection.ranking import DEFAULT_CRITERIA, compound_ranks, rank_order
from automl.selection.selection_records import (
    Level,
    LevelDecision,
    Member,
    SelectionRecord,
    SelectionSettings,
    Verdict,
)


def select(
    candidates: Sequence[Candidate],
    *,
    alpha: float | Mapping[str, float] = 0.05,
    top_n: int | Mapping[str, int] = 3,
    test: Procedure = "thesis",
    normality: Normality = "kolmogorov_smirnov",
    test_train_ratio: float = 1.0 / 9.0,
    criteria: Mapping[str, float] = DEFAULT_CRITERIA,
) -> SelectionRecord:
    """Champion of the candidates, with every decision on the way.

    Parameters
    ----------
    candidates
        All with scores on the same folds.
    alpha : in (0, 1)
        Significance level; one value, or values by level (`leaf`, `category`, `family`, `root`).
    top_n : positive
        How many go on to the next level; one value, or values by level.
    test
        `thesis`, `paired` or `friedman`; see `ComparisonSettings`.
    normality
        `kolmogorov_smirnov` or `lilliefors`.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold, for `paired`.
    criteria
        Weights of the ranking criteria.

    Raises
    ------
    SettingsError
        If a setting is not usable.
    ValueError
        If there are no candidates, two with the same trial id, scores of different lengths, or
        scores that are not finite.
    """
    settings = SelectionSettings.build(
        alpha=alpha,
        top_n=top_n,
        comparison=ComparisonSettings(test, normality, test_train_ratio),
        criteria=criteria,
    )
    return _select(tuple(candidates), settings)


def replay(record: SelectionRecord) -> str:
    """Trial id of the winner, computed again from the record's scores and settings alone.

    Raises
    ------
    ValueError
        If the record's candidates are not usable.
    """
    return _select(record.candidates, record.settings).winner


def _select(candidates: tuple[Candidate, ...], settings: SelectionSettings) -> SelectionRecord:
    _check(candidates)
    decisions: list[LevelDecision] = []
    _decide_node((), list(candidates), settings, decisions)
    return SelectionRecord(candidates, settings, tuple(decisions))


def _check(candidates: Sequence[Candidate]) -> None:
    if not candidates:
        raise ValueError("a selection needs at least one candidate; got none")
    if len({candidate.trial_id for candidate in candidates}) < len(candidates):
        raise ValueError("candidates must have distinct trial ids")
    lengths = {len(candidate.scores) for candidate in candidates}
    if len(lengths) > 1 or 0 in lengths:
        raise ValueError(
            f"all candidates must have scores on the same folds; got {sorted(lengths)} scores"
        )
    if not all(np.isfinite(candidate.scores).all() for candidate in candidates):
        raise ValueError("scores of candidates must be finite")


def _decide_node(
    place: tuple[str, ...],
    candidates: list[Candidate],
    settings: SelectionSettings,
    decisions: list[LevelDecision],
) -> list[Candidate]:
    """Candidates that the node at `place` promotes; decisions below it are appended first."""
    branches: dict[str, list[Candidate]] = {}
    members: list[Candidate] = []
    for candidate in candidates:
        steps = (candidate.configuration.family, *candidate.configuration.path)
        if len(steps) == len(place):
            members.append(candidate)
        else:
            branches.setdefault(steps[len(place)], []).append(candidate)
    is_passage = bool(place) and len(branches) == 1 and not members
    for branch, inside in branches.items():
        members += _decide_node((*place, branch), inside, settings, decisions)
    if is_passage:
        return members
    decision = _decision(place, _level(place, has_branches=bool(branches)), members, settings)
    decisions.append(decision)
    by_id = {member.trial_id: member for member in members}
    return [by_id[trial_id] for trial_id in decision.promoted]


def _level(place: tuple[str, ...], *, has_branches: bool) -> Level:
    if not place:
        return Level.ROOT
    if not has_branches:
        return Level.LEAF
    return Level.FAMILY if len(place) == 1 else Level.CATEGORY


def _decision(
    place: tuple[str, ...], level: Level, members: list[Candidate], settings: SelectionSettings
) -> LevelDecision:
    """Compare the members with the best one, rank those that are not worse, promote the top n."""
    alpha = settings.alpha[level]
    members = sorted(members, key=lambda member: (-member.mean_score, member.trial_id))
    node = "/".join(place) or "root"
    result = compare_with_best(
        [np.asarray(member.scores) for member in members], alpha, settings.comparison
    )
    kept = [i for i, is_kept in enumerate(result.kept) if is_kept]
    ranks = compound_ranks([members[i] for i in kept], settings.criteria)
    order = rank_order([members[i] for i in kept], settings.criteria)
    records = []
    for number, position in enumerate(order):
        i = kept[position]
        is_in = number < settings.top_n[level]
        reason = (
            f"promoted at {node}: number {number + 1} of {len(kept)} not worse than the best"
            if is_in
            else f"outranked at {node}: number {number + 1} of {len(kept)} not worse than the "
            f"best, {settings.top_n[level]} go on"
        )
        verdict = Verdict.PROMOTED if is_in else Verdict.OUTRANKED
        records.append(
            _member(members[i], verdict, result, i, rank=float(ranks[position]), reason=reason)
        )
    for i in sorted(set(range(len(members))) - set(kept)):
        reason = _why_worse(node, members[result.best], result, i, alpha)
        records.append(_member(members[i], Verdict.WORSE, result, i, rank=None, reason=reason))
    return LevelDecision(node, level, alpha, tuple(records), result.tests, result.post_hoc)


def _why_worse(node: str, best: Candidate, result: Comparison, position: int, alpha: float) -> str:
    assert result.pvalues is not None
    return (
        f"worse at {node}: {result.post_hoc} against {best.trial_id}, "
        f"p = {result.pvalues[position]:.3g} < {alpha:g}"
    )


def _member(
    candidate: Candidate,
    verdict: Verdict,
    result: Comparison,
    position: int,
    *,
    rank: float | None,
    reason: str,
) -> Member:
    return Member(
        candidate.trial_id,
        candidate.mean_score,
        verdict,
        None if result.statistics is None else result.statistics[position],
        None if result.pvalues is None else result.pvalues[position],
        rank,
        reason,
    )
