"""The honest score: what the run's score is without the luck of having been chosen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile

from automl.evaluation.slots import Job
from automl.records import Trial, TrialStatus
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.honest import HonestRecord, Kind
from automl.selection.correction import HonestScore
from automl.selection.honest import LEAST_BOOTSTRAPS, Repetition, Shortfalls
from automl.stages.choice_evidence import chosen_from
from automl.stages.honest_jobs import HonestWork
from automl.stages.recipes import followed

N_BOOTSTRAPS = 200
"""The mean shortfall's standard error is then a fourteenth of one shortfall's deviation; half as many where
there are test rows."""
MANY_CELLS = 50_000
"""Rows times classes from which on fewer bootstraps are made: on many rows little is owed to chance."""
JOBS_SECONDS = 3.0
"""Seconds of work from which on it is shared among the slots: each of them loads modules and predictions first, which
took 0.7 s."""

NO_TIME = "no time to repeat the choice often enough for an honest score"
UNDEFINED = "the score of the model is not defined on parts of the rows"
ALL_ALIKE = (
    "every sample of the rows has the same score, so they do not tell what new rows would have"
)


def estimate(
    session: Session,
    trials: Sequence[Trial],
    selection: ChampionRecord,
    ensemble: EnsembleRecord,
) -> HonestRecord:
    """Corrected scores of the champion alone and of the ensemble, beside the naive ones.

    Parameters
    ----------
    trials
        Of the search.
    """
    chosen: Kind = "ensemble" if ensemble.replaced_champion else "single"
    if recipe := followed(session):
        reason = f"nothing was chosen: the model is that of run {recipe.run_id} on other rows"
        return HonestRecord(chosen=chosen, reason=reason)
    names = chosen_from(session, trials, selection, ensemble)
    if names is None:
        return HonestRecord(chosen=chosen, reason="the predictions of the champion were not kept")
    evidence = names.evidence(session.plan)
    n_trials, doubts = len(evidence.members), evidence.doubts()
    believed = tuple(kind for kind in evidence.final if kind not in doubts)
    if not believed:
        return HonestRecord(chosen=chosen, n_trials=n_trials, reason=doubts.get(chosen, UNDEFINED))
    n_classes = session.plan.table.n_classes
    n_wanted = n_bootstraps_of(len(evidence.rows.y), n_classes, has_tests=evidence.has_tests)
    work = HonestWork(names, believed, n_wanted)
    repetition = work.repetition(evidence, session.settings.seed)
    pace = Pace(session.ledger.left_for("honest"))
    blocks = _repeated(session, work, repetition, pace)
    repeated = repetition.scores(blocks, evidence.gains())
    doubts |= {kind: ALL_ALIKE for kind, score in repeated.items() if score.low == score.high}
    found = {kind: score for kind, score in repeated.items() if kind not in doubts}
    scores = _believed(found, evidence.metric_doubts())
    session.is_reproducible &= session.is_timed or not pace.is_over
    if not repeated:
        reason = NO_TIME if pace.is_over else UNDEFINED
        session.given_up.append(reason)
        return HonestRecord(chosen=chosen, n_trials=n_trials, reason=reason)
    return HonestRecord(
        single=scores.get("single"),
        ensemble=scores.get("ensemble"),
        chosen=chosen,
        n_bootstraps=max(score.n_bootstraps for score in repeated.values()),
        n_trials=n_trials,
        reason="" if chosen in scores else doubts.get(chosen, UNDEFINED),
    )


def _believed(
    scores: Mapping[str, HonestScore], doubtful: Mapping[str, frozenset[str]]
) -> dict[str, HonestScore]:
    """The scores without the metrics that a few rows decide, or that are the same on all samples of the rows."""
    return {
        kind: replace(
            score,
            metrics={
                name: metric
                for name, metric in score.metrics.items()
                if name not in doubtful.get(kind, ()) and metric.low < metric.high
            },
        )
        for kind, score in scores.items()
    }


def _repeated(
    session: Session, work: HonestWork, repetition: Repetition, pace: Pace
) -> list[Shortfalls]:
    """The blocks that there is time for: here, and on the slots where much is left after the first one."""
    done: list[Shortfalls] = []
    while len(done) < repetition.n_blocks and pace.has_time_for_another():
        with pace.block():
            done.append(repetition.block(len(done)))
        left = range(len(done), repetition.n_blocks)
        if pace.longest * len(left) > JOBS_SECONDS and _has_slots(session):
            return done + _on_slots(session, work, repetition, pace, left)
    return done


def _has_slots(session: Session) -> bool:
    """Whether several slots can begin at once."""
    return session.pool.n_slots > 1 and session.pool.is_ready(0.0)


def _on_slots(
    session: Session, work: HonestWork, repetition: Repetition, pace: Pace, blocks: range
) -> list[Shortfalls]:
    """The first of these blocks that there is time for; one whose job fails is made here."""

    def made(block: int, job: Job) -> Shortfalls:
        """Nothing where there is no time."""
        if session.is_closing or not pace.has_time_for_another():
            return {}
        with pace.block():
            slot = session.pool.acquire()
            try:
                outcome = session.pool.run(slot, job, limit_seconds=None)
            finally:
                session.pool.release(slot)
            is_made = outcome.status is TrialStatus.COMPLETE
            return outcome.results[0] if is_made else repetition.block(block)

    with ThreadPoolExecutor(session.pool.n_slots) as threads:
        return list(takewhile(bool, threads.map(made, blocks, work.jobs(blocks))))


class Pace:
    """Says whether another block of bootstraps fits into what is left; safe for several threads.

    Parameters
    ----------
    seconds : that are left, None without a limit

    Attributes
    ----------
    longest : seconds of a block so far
    is_over : whether it has said no
    """

    def __init__(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self.longest = 0.0
        self.is_over = False

    def has_time_for_another(self) -> bool:
        """Whether one as long as the longest does; asked before each block."""
        self.is_over |= (
            self._deadline is not None and time.monotonic() + self.longest >= self._deadline
        )
        return not self.is_over

    @contextmanager
    def block(self) -> Iterator[None]:
        """While one is made."""
        began = time.monotonic()
        yield
        self.longest = max(self.longest, time.monotonic() - began)


def n_bootstraps_of(n_rows: int, n_classes: int, *, has_tests: bool) -> int:
    """Bootstraps that are worth their seconds; never depends on the clock."""
    wanted = N_BOOTSTRAPS // 2 if has_tests else N_BOOTSTRAPS
    share = MANY_CELLS / (n_rows * max(n_classes, 1))
    return max(2 * LEAST_BOOTSTRAPS, int(wanted * min(1.0, share)))
