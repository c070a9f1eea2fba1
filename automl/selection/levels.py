"""Selection over the levels of the tree: leaf, category, family, root (B14, algorithm 3).

At each node the members are compared with the best of them; those that are not significantly worse
are ranked, and the top n go on to the node above. A node with a single branch and no members of its
own makes no decision: it would repeat the one below it. The root always decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.comparison_with_best import Comparison, compare_with_best
from automl.selection.multiplicity import Multiplicity, decides, level_of, split_at
from automl.selection.ranking import DEFAULT_CRITERIA, compound_ranks, rank_order
from automl.selection.selection_records import (
    Level,
    LevelDecision,
    Member,
    SelectionRecord,
    SelectionSettings,
    Verdict,
)
from automl.significance import AlphaSplit, Normality, Procedure


def select(
    candidates: Sequence[Candidate],
    *,
    alpha: float | Mapping[str, float] = 0.05,
    top_n: int | Mapping[str, int] = 3,
    test: Procedure = "thesis",
    normality: Normality = "kolmogorov_smirnov",
    test_train_ratio: float = 1.0 / 9.0,
    alpha_split: AlphaSplit = "level",
    rope: float = 0.01,
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
        `closed`, `paired`, `mcb`, `bayesian`, `friedman` or `thesis`; see `ComparisonSettings`.
    normality
        `kolmogorov_smirnov` or `lilliefors`.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold, for `closed`, `paired`, `mcb` and `bayesian`.
    alpha_split
        `level`: every level keeps its alpha; `tree`: the whole tree keeps alpha (one value). See
        `automl.selection.multiplicity`.
    rope : non-negative
        Greatest difference of scores that means nothing in practice, for `bayesian`.
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
        comparison=ComparisonSettings(test, normality, test_train_ratio, alpha_split, rope),
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
    multiplicity = Multiplicity.of(candidates, settings.comparison)
    _decide_node((), list(candidates), settings, multiplicity, decisions)
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
    multiplicity: Multiplicity,
    decisions: list[LevelDecision],
) -> list[Candidate]:
    """Candidates that the node at `place` promotes; decisions below it are appended first."""
    members, branches = split_at(place, candidates)
    is_passage = not decides(place, members, len(branches))
    for branch, inside in branches.items():
        members += _decide_node((*place, branch), inside, settings, multiplicity, decisions)
    if is_passage:
        return members
    level = level_of(place, has_branches=bool(branches))
    decision = _decision(place, level, members, settings, multiplicity)
    decisions.append(decision)
    by_id = {member.trial_id: member for member in members}
    return [by_id[trial_id] for trial_id in decision.promoted]


def _decision(
    place: tuple[str, ...],
    level: Level,
    members: list[Candidate],
    settings: SelectionSettings,
    multiplicity: Multiplicity,
) -> LevelDecision:
    """Compare the members with the best one, rank those that are not worse, promote the top n."""
    alpha, top_n = multiplicity.alpha(settings.alpha[level]), settings.top_n[level]
    members = sorted(members, key=lambda member: (-member.mean_score, member.trial_id))
    result = compare_with_best(
        [np.asarray(member.scores) for member in members],
        alpha,
        settings.comparison,
        multiplicity.rest(place, members),
    )
    kept = [i for i, is_kept in enumerate(result.kept) if is_kept]
    ranks = compound_ranks([members[i] for i in kept], settings.criteria)
    order = rank_order([members[i] for i in kept], settings.criteria)
    records = [
        _member(members, kept[i], result, verdict, float(ranks[i]))
        for number, i in enumerate(order)
        for verdict in [Verdict.PROMOTED if number < top_n else Verdict.OUTRANKED]
    ]
    records += [
        _member(members, i, result, Verdict.WORSE, None)
        for i, is_kept in enumerate(result.kept)
        if not is_kept
    ]
    node = "/".join(place) or "root"
    return LevelDecision(node, level, alpha, top_n, tuple(records), result.tests, result.post_hoc)


def _member(
    members: Sequence[Candidate],
    position: int,
    result: Comparison,
    verdict: Verdict,
    rank: float | None,
) -> Member:
    return Member(
        members[position].trial_id,
        members[position].mean_score,
        verdict,
        None if result.statistics is None else result.statistics[position],
        None if result.pvalues is None else result.pvalues[position],
        rank,
        None if result.posteriors is None else result.posteriors[position],
    )
