"""Candidates of each signature, scored on folds that the search never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from automl.families.registry import get_family
from automl.randomness import Purpose, integer_seed
from automl.records import Trial
from automl.selection.candidates import kmeans_clusters
from automl.selection.preselection import (
    FRESH,
    SEARCH,
    ScoringRecord,
    ScreeningRecord,
    SignatureClusters,
    rounded,
)
from automl.selection.screening import screen, screening_alpha, stand_ins
from automl.selection.selection_records import Level, SelectionSettings
from automl.spaces.encoding import ConfigurationEncoder
from automl.stages.finishing import member_milliseconds
from automl.stages.fresh_folds import FreshFolds
from automl.stages.notices import baseline_score
from automl.stages.preparation import LIGHTGBM_SECONDS_PER_CELL
from automl.stages.search_spaces import space_of
from automl.stages.session import Session
from automl.stages.speed import workload_of

SAFETY = 1.1
HEADROOM = 0.1
HEADROOM_SECONDS = 1.0
"""What a search that ends a little late may take without costing a candidate."""

LEAST_PAIRED_SCORES = 10

FURTHER_SHARE = 0.05
"""Of the budget, for further repeats of the fresh folds. The lead that drops the worst of ten
candidates, t sqrt(1 / n + ratio) with five folds, is 2.8 standard deviations of the differences with
10 scores, 2.1 with 20, 1.9 with 30, 1.8 with 50 and never less than 1.6: most of the gain is had by
30, the default of `candidate_scores`, and a search loses next to nothing with a twentieth of its time."""
FURTHER_OF_SEARCH = 0.5
FURTHER_SECONDS = 10.0
"""The same where trials are counted: half of the work of the search, and this at most, both
as the families' text files let expect. No clock and no number of workers comes in."""


@dataclass(frozen=True)
class CandidatePlan:
    """How much of the candidates' scoring is affordable.

    Parameters
    ----------
    chosen : positions of the candidates to score, best first
    repeats : repeats of the folds for each
    extra_repeats : repeats besides for the two that lead, for ten paired scores
    further_repeats : repeats besides for all, since they are cheap
    seconds : expected, on all slots
    """

    chosen: tuple[int, ...] = ()
    repeats: int = 0
    extra_repeats: int = 0
    seconds: float = 0.0
    further_repeats: int = 0

    @property
    def n_repeats(self) -> int:
        """All repeats that one candidate may have."""
        return self.repeats + self.extra_repeats + self.further_repeats


def choose_candidates(session: Session, trials: Sequence[Trial]) -> dict[str, Any]:
    """Best trial of each k-means cluster of each signature, screened by the paired test.

    Parameters
    ----------
    trials
        Of the search.

    Returns
    -------
        Record with `trial_ids`, best first, `clusters` and `screening`.
    """
    eligible = _fast_enough(session, [trial for trial in trials if trial.is_complete])
    clusters = _clusters(session, eligible)
    leaders = {trial_id for group in clusters for trial_id in group.best}
    screening = _screened(session, [trial for trial in eligible if trial.id in leaders])
    return {
        "trial_ids": list(screening.kept),
        "clusters": [group.to_json() for group in clusters],
        "screening": screening.to_json(),
    }


def _screened(session: Session, leaders: Sequence[Trial]) -> ScreeningRecord:
    """All of them in the order of their mean scores where the limit, or B14's way, spares none."""
    scores = np.array([trial.fold_scores for trial in leaders])
    order = [int(i) for i in np.argsort(-scores.mean(axis=1), kind="stable")]
    ordered = tuple(leaders[i].id for i in order)
    limit = session.settings.candidate_limit
    if session.settings.selection_test == "thesis" or len(leaders) <= limit:
        return ScreeningRecord(ordered, ordered, len(leaders))
    stated = SelectionSettings.build(alpha=session.settings.alpha).alpha[Level.LEAF]
    alpha = screening_alpha(stated, *scores.shape)
    ratio = test_train_ratio(session, "search")
    found = screen(scores[order], alpha=alpha, limit=limit, test_train_ratio=ratio)
    return ScreeningRecord(
        ordered,
        tuple(ordered[i] for i in found.kept),
        limit,
        "corrected t, one-sided",
        found.statistics,
        found.pvalues,
        alpha,
        ratio,
    )


def score_candidates(
    session: Session, trials: Sequence[Trial], chosen: Sequence[str]
) -> dict[str, Any]:
    """Scores of the candidates on fresh folds, as many as the ledger allows.

    Returns
    -------
        Record with `candidates` (trial id, scores, seconds of a fold), and `scoring`, how they came
        about.
    """
    by_id = {trial.id: trial for trial in trials}
    candidates = [by_id[trial_id] for trial_id in chosen]
    plan, given_up = _afford(session, candidates)
    if session.ledger.total is None or not session.settings.may_read_clock:
        plan = with_further_repeats(session, plan, *_expected_work(session, trials, candidates))
    session.given_up += given_up
    session.is_reproducible &= session.is_timed or not given_up
    if not plan.repeats:
        return _by_search(session, plan, candidates[0], {})
    planned = [candidates[position] for position in plan.chosen]
    kept = plan.repeats + plan.extra_repeats
    scorer = FreshFolds(session, planned, plan.chosen, n_kept=kept)
    fast_first = sorted(
        range(len(planned)), key=lambda position: fold_seconds_of(planned[position])
    )
    scorer.run(range(plan.repeats), fast_first)
    leaders: Sequence[int] = ()
    if plan.extra_repeats:
        leaders = scorer.leaders(2, plan.repeats)
        scorer.run(range(plan.repeats, kept), leaders)
    compared, n_scores, missing = scorer.compared(leaders, kept)
    session.given_up += [
        f"candidate {trial.id} could not be scored on all fresh folds" for trial in missing
    ]
    n_scores = _further(session, plan, scorer, compared, n_scores)
    scored = scorer.scored(plan.n_repeats)
    if not compared:
        return _by_search(session, plan, candidates[0], scored)
    record = _scoring(session, plan, planned, scored)
    ids = [planned[position].id for position in compared]
    record |= {"leaders": [planned[position].id for position in leaders], "compared": ids}
    entries = [scorer.entry(position, n_scores) for position in compared]
    return {"candidates": entries, "scoring": record}


def _further(
    session: Session,
    plan: CandidatePlan,
    scorer: FreshFolds,
    compared: Sequence[int],
    n_scores: int,
) -> int:
    """Scores that all who are compared have, with those of further repeats."""
    per_repeat = session.plan.stage("candidates").jobs_per_repeat
    wanted = plan.repeats + plan.extra_repeats
    if compared and n_scores == wanted * per_repeat and plan.further_repeats:
        n_scores = scorer.run_further(range(wanted, plan.n_repeats), compared)
        wanted = plan.n_repeats
    if compared and n_scores < wanted * per_repeat:
        session.given_up.append(
            f"{n_scores // per_repeat} of {wanted} planned repeats of the fresh folds"
        )
    return n_scores


def _scoring(
    session: Session,
    plan: CandidatePlan,
    planned: Sequence[Trial],
    scored: Mapping[str, tuple[float, ...]],
) -> dict[str, Any]:
    return ScoringRecord(
        planned=tuple(trial.id for trial in planned),
        repeats=plan.repeats,
        extra_repeats=plan.extra_repeats,
        folds_per_repeat=session.plan.stage("candidates").jobs_per_repeat,
        scored=scored,
        leaders=(),
        compared=(),
        source=FRESH,
        further_repeats=plan.further_repeats,
    ).to_json()


def _by_search(
    session: Session, plan: CandidatePlan, best: Trial, scored: Mapping[str, tuple[float, ...]]
) -> dict[str, Any]:
    """The best trial of the search as the only candidate, with its scores of the search."""
    entry = {
        "trial_id": best.id,
        "scores": list(best.fold_scores),
        "seconds": fold_seconds_of(best),
    }
    record = _scoring(session, plan, [best], scored)
    return {"candidates": [entry], "scoring": {**record, "compared": [best.id], "source": SEARCH}}


def test_train_ratio(session: Session, stage: str) -> float:
    """Validation rows / training rows of the first fold of a stage."""
    training, validation = session.plan.rows_of(stage, 0, 0)
    return len(validation) / max(len(training), 1)


def _fast_enough(session: Session, complete: Sequence[Trial]) -> list[Trial]:
    """Trials within the limit of the time to predict.

    Where none of them is better than the constant, the fastest one that is, or else that there is,
    is let in: a run ends with a model that is of use, and says that it is over the limit.
    """
    limit = session.settings.max_predict_ms
    if limit is None:
        return list(complete)
    speeds = [member_milliseconds(session, trial) for trial in complete]
    fast = [i for i, speed in enumerate(speeds) if speed <= limit]
    least = baseline_score(complete)
    useful = [i for i, trial in enumerate(complete) if (trial.score or 0.0) > least]
    if set(fast) & set(useful) or (fast and not useful):
        return [complete[i] for i in fast]
    fastest = min(useful or range(len(complete)), key=speeds.__getitem__)
    session.warnings.append(
        f"no trial met the limit of the time to predict: none {'better than the baseline ' if fast else ''}"
        f"predicts a row within {limit:g} ms; the fastest one"
        f"{' better than the baseline' if useful else ''}, {complete[fastest].configuration.family} in "
        f"{speeds[fastest]:.3g} ms, was let in"
    )
    return [complete[i] for i in sorted([*fast, fastest])]


def _clusters(session: Session, complete: Sequence[Trial]) -> list[SignatureClusters]:
    """Clusters of each signature (B14, section 3.5.1)."""
    by_signature: dict[str, list[Trial]] = {}
    for trial in complete:
        by_signature.setdefault(trial.configuration.signature, []).append(trial)
    seed = integer_seed(session.settings.seed, Purpose.CANDIDATES)
    groups = []
    for signature, members in by_signature.items():
        family = get_family(members[0].configuration.family)
        encoder = ConfigurationEncoder(space_of(session.plan, family, session.settings))
        points = rounded(encoder.fit_transform([t.configuration for t in members]))
        scores = [trial.score or 0.0 for trial in members]
        found = kmeans_clusters(points, scores, k=session.settings.clusters, seed=seed)
        groups.append(
            SignatureClusters(
                signature,
                encoder.feature_names,
                tuple(trial.id for trial in members),
                tuple(tuple(map(float, point)) for point in points),
                found.numbers,
                tuple(members[i].id for i in found.leaders),
            )
        )
    return groups


def likely_seconds(
    session: Session, best: Sequence[Trial], *, most: float, to_come: Sequence[float] = ()
) -> float:
    """Seconds that scoring the candidates will take, while the search goes on.

    Parameters
    ----------
    best
        Complete trials so far, best first.
    most : seconds that may be spent
    to_come
        Expected seconds of a fold of each trial that is still to come; as many of them count as
        there are too few complete ones.
    """
    limit = session.settings.candidate_limit
    if session.settings.selection_test == "thesis":
        limit = session.settings.clusters * len({t.configuration.signature for t in best})
    fold_seconds = [*map(fold_seconds_of, best), *to_come][:limit]
    near = _stand_ins(session, best[:limit])
    plan = plan_candidates(session, fold_seconds, most - _headroom(most), near)
    return min(plan.seconds + _headroom(plan.seconds), most)


def _headroom(seconds: float) -> float:
    return min(HEADROOM * seconds, HEADROOM_SECONDS)


def plan_candidates(
    session: Session,
    fold_seconds: Sequence[float],
    seconds: float | None,
    near: Sequence[int] = (),
) -> CandidatePlan:
    """Fewer candidates first, then fewer repeats; ten paired scores for the last two.

    The best candidate and, best first, those that still fit beside it. Where that makes less than
    two, those that fit of its stand-ins, the fast ones first; nothing where these are not two either.

    Parameters
    ----------
    fold_seconds : of each candidate, best first
    seconds : that may be spent; None without a limit
    near : positions of the candidates that may stand in for the best one
    """
    stage = session.plan.stage("candidates")
    per_repeat = stage.jobs_per_repeat
    wanted = min(session.settings.first_candidate_repeats, len(stage.folds))
    least = min(-(-LEAST_PAIRED_SCORES // per_repeat), len(stage.folds))
    extra = max(0, least - wanted)
    repeat_seconds = [per_repeat * fold for fold in fold_seconds]
    n = len(repeat_seconds)
    if seconds is None or n < 2:
        alone = wanted * sum(repeat_seconds)
        return CandidatePlan(tuple(range(n)), wanted, extra if n > 1 else 0, alone)
    n_slots = session.pool.n_slots
    fast_first = sorted(near, key=lambda position: repeat_seconds[position])
    for order in (range(n), fast_first):
        for repeats in range(wanted, min(wanted, least) - 1, -1):
            chosen, used = _fitting(
                repeat_seconds,
                order,
                repeats,
                extra,
                capacity=seconds * n_slots / SAFETY,
                longest=seconds,
            )
            if len(chosen) > 1 and (0 in chosen or order is fast_first):
                found = CandidatePlan(chosen, repeats, extra, SAFETY * used / n_slots)
                return _further_in_time(session, found, fold_seconds, seconds)
    return CandidatePlan()


def _further_in_time(
    session: Session, plan: CandidatePlan, fold_seconds: Sequence[float], seconds: float
) -> CandidatePlan:
    """Further repeats for a small share of the budget, where the clock may be read."""
    total = session.ledger.total
    if total is None or not session.settings.may_read_clock:
        return plan
    n_slots = session.pool.n_slots
    spare = min(FURTHER_SHARE * total, seconds - plan.seconds)
    longer = with_further_repeats(session, plan, fold_seconds, spare * n_slots / SAFETY)
    work = sum(fold_seconds[position] for position in plan.chosen)
    jobs = longer.further_repeats * session.plan.stage("candidates").jobs_per_repeat
    return replace(longer, seconds=plan.seconds + SAFETY * jobs * work / n_slots)


def with_further_repeats(
    session: Session, plan: CandidatePlan, fold_seconds: Sequence[float], capacity: float
) -> CandidatePlan:
    """The same with as many further repeats for all as a number of slot seconds pays for.

    None where not all first repeats are affordable for all candidates. Those for the two that
    lead alone are not needed where all have ten scores.

    Parameters
    ----------
    fold_seconds : of each candidate, best first
    capacity : slot seconds
    """
    stage, settings = session.plan.stage("candidates"), session.settings
    per_repeat, first = stage.jobs_per_repeat, settings.first_candidate_repeats
    is_whole = plan.repeats == min(first, len(stage.folds)) and len(plan.chosen) > 1
    is_whole &= len(plan.chosen) == len(fold_seconds)
    if settings.candidate_repeats is not None or not is_whole:
        return plan
    most = min(len(stage.folds), settings.candidate_scores // per_repeat) - plan.repeats
    work = per_repeat * sum(fold_seconds[position] for position in plan.chosen)
    n = min(most, int(capacity / max(work, 1e-9)))
    if n < max(plan.extra_repeats, 1):
        return plan
    return replace(plan, extra_repeats=0, further_repeats=n)


def _expected_work(
    session: Session, trials: Sequence[Trial], candidates: Sequence[Trial]
) -> tuple[list[float], float]:
    """Seconds of a fold of each candidate and what further repeats may take, read from no clock."""
    sizes = workload_of(session)
    unit = LIGHTGBM_SECONDS_PER_CELL * 10_000  # of the families' relative seconds

    def seconds(trial: Trial) -> float:
        family = get_family(trial.configuration.family)
        return unit * family.relative_seconds(sizes.rows, sizes.columns)

    searched = sum(len(trial.folds) * seconds(trial) for trial in trials)
    capacity = min(FURTHER_SECONDS, FURTHER_OF_SEARCH * searched)
    return [seconds(trial) for trial in candidates], capacity


def _stand_ins(session: Session, candidates: Sequence[Trial]) -> list[int]:
    """Positions of those that may stand in for the best, which is the first."""
    scores = [trial.fold_scores for trial in candidates]
    return stand_ins(scores, test_train_ratio=test_train_ratio(session, "search")) if scores else []


def _afford(session: Session, candidates: Sequence[Trial]) -> tuple[CandidatePlan, list[str]]:
    """What the ledger pays for, and in words what it does not."""
    fold_seconds = [fold_seconds_of(trial) for trial in candidates]
    near = _stand_ins(session, candidates)
    left = session.ledger.left_for("candidates")
    plan = plan_candidates(session, fold_seconds, left, near)
    if not plan.repeats:
        reason = "no time for fresh folds; the champion is the best trial of the search"
        return plan, [reason]
    n_dealt = len(session.plan.stage("candidates").folds)
    wanted = min(session.settings.first_candidate_repeats, n_dealt)
    given_up = []
    if len(plan.chosen) < len(candidates):
        given_up.append(
            f"{len(plan.chosen)} of {len(candidates)} candidates were scored on fresh folds"
        )
    if 0 not in plan.chosen:
        given_up.append(
            f"{candidates[0].id}, the best of the search, is too slow for fresh folds; those scored "
            "are within one standard error of it"
        )
    if plan.repeats < wanted:
        given_up.append(f"{plan.repeats} of {wanted} repeats of the fresh folds")
    return plan, given_up


def _fitting(
    repeat_seconds: Sequence[float],
    order: Sequence[int],
    repeats: int,
    extra: int,
    *,
    capacity: float,
    longest: float,
) -> tuple[tuple[int, ...], float]:
    """Candidates whose scoring fits into `capacity` slot seconds, taken in the given order.

    Returns
    -------
        Their positions, ascending, and the slot seconds that they need.
    """
    chosen: list[int] = []
    used = 0.0
    for position in order:
        seconds = sorted(repeat_seconds[i] for i in [*chosen, position])
        needed = repeats * sum(seconds) + extra * sum(seconds[-2:])  # any two may come to lead
        if needed <= capacity and seconds[-1] <= longest:
            chosen.append(position)
            used = needed
    return tuple(sorted(chosen)), used


def fold_seconds_of(trial: Trial) -> float:
    """Mean seconds of a fold."""
    return trial.seconds / max(len(trial.folds), 1)
