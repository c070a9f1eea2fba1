"""How many candidates are scored on fresh folds, and how often: what the time, or the work, allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from automl.families.registry import get_family
from automl.records import Trial
from automl.run.fold_plan import LIGHTGBM_SECONDS_PER_CELL
from automl.run.session import Session
from automl.selection.screening import stand_ins
from automl.stages.speed import workload_of

SAFETY = 1.1
"""Factor on expected seconds of fresh folds, so that the last one still ends in time (by judgement)."""
HEADROOM = 0.25
"""Share of the seconds left that a slightly late search may take without costing a candidate."""
HEADROOM_SECONDS = 1.5
"""The same at most where trials are short: with a second less, two of eight searches of 60 s ended too late for any
candidate."""
HEADROOM_OF_TRIAL = 0.5
"""The same at most where they are long, as a share of a trial's seconds: a search whose best ten took 14 s ended
5 s late, and 30 s of 300 that were kept for its candidates were of no use."""

LEAST_PAIRED_SCORES = 10
"""Never fewer for the last two candidates: the paired test needs them."""

FURTHER_SHARE = 0.05
"""Share of the budget, for further repeats of the fresh folds. The lead that drops the worst of ten
candidates, t sqrt(1 / n + ratio) with five folds, is 2.8 standard deviations of the differences with
10 scores, 2.1 with 20, 1.9 with 30, 1.8 with 50 and never less than 1.6: most of the gain is had by
30, the default of `candidate_scores`, and a search loses next to nothing with a twentieth of its time."""
FURTHER_OF_SEARCH = 0.5
"""Where trials are counted, further repeats may take half of the work of the search, as the families' text
files let expect."""
FURTHER_SECONDS = 10.0
"""And this at most. No clock and no number of workers comes in."""


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


def likely_seconds(
    session: Session,
    best: Sequence[Trial],
    *,
    most: float,
    left: float = math.inf,
    to_come: Sequence[float] = (),
) -> float:
    """Seconds that scoring the candidates will take, while the search goes on.

    Parameters
    ----------
    best
        Complete trials so far, best first.
    most : seconds that may be spent
    left : seconds that would be left if the search ended now
        Where they are too few there will be no fresh folds, and the search may as well have them.
    to_come
        Expected seconds of a fold of each trial that is still to come; as many of them count as
        there are too few complete ones.
    """
    limit = session.settings.candidate_limit
    if session.settings.selection_test == "thesis":
        limit = session.settings.candidates_per_signature * len(
            {t.configuration.signature for t in best}
        )
    fold_seconds = [*map(fold_seconds_of, best), *to_come][:limit]
    near = _stand_ins(session, best[:limit])
    n_folds = len(session.plan.stage("search").jobs)
    late = HEADROOM_OF_TRIAL * n_folds * sum(fold_seconds) / max(len(fold_seconds), 1)
    affordable = min(most - _headroom(most, late), left)
    plan = plan_candidates(session, fold_seconds, affordable, near)
    return min(plan.seconds + _headroom(plan.seconds, late), most)


def _headroom(seconds: float, late: float) -> float:
    """Of some seconds, for a search that may end `late` by so many."""
    return min(HEADROOM * seconds, max(HEADROOM_SECONDS, late))


def plan_candidates(
    session: Session,
    fold_seconds: Sequence[float],
    seconds: float | None,
    near: Sequence[int] = (),
) -> CandidatePlan:
    """Fewer candidates first, then fewer repeats; ten paired scores for the last two.

    The best candidate and, best first, those that still fit beside it. Where that makes less than
    two, those that fit of its substitutes, the fast ones first; nothing where these are not two either.

    Parameters
    ----------
    fold_seconds : of each candidate, best first
    seconds : that may be spent; None without a limit
    near : positions of the candidates that may replace the best one
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
                plan = CandidatePlan(chosen, repeats, extra, SAFETY * used / n_slots)
                return _further_in_time(session, plan, fold_seconds, seconds)
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

    None if not all first repeats are affordable for all candidates. Those for the two that
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


def expected_work(
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
    """Positions of those that may replace the best, which is the first."""
    scores = [trial.fold_scores for trial in candidates]
    return (
        stand_ins(scores, test_train_ratio=session.plan.test_train_ratio("search"))
        if scores
        else []
    )


def afford(session: Session, candidates: Sequence[Trial]) -> tuple[CandidatePlan, list[str]]:
    """Candidates that the ledger can pay for, and in words those that it cannot."""
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
