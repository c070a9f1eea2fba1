"""Runs turns on worker slots and makes trials of what comes back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from automl.errors import InterruptedRunError
from automl.evaluation.plan import StageRows
from automl.evaluation.slots import Job, JobOutcome, Slots
from automl.evaluation.trial import TrialSummary, evaluate, folds_of
from automl.origins import DEFAULT, FLOOR, ORIGINS
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.search.turns import Turn, Turns

UNRACED = ORIGINS
STRETCHED = (FLOOR, DEFAULT)
"""Origins whose boosted models keep the rounds that they have when their time is over: every family's
default is worth a place in the result, whereas an optimizer's proposal that is too slow is given up."""
MOST_THREADS = 1000
"""Most threads of one family; a thread is begun for a turn that finds none idle, so this is no cost."""
JOB = "automl.evaluation.trial:evaluate"


@dataclass(frozen=True)
class TrialRunner:
    """Evaluates configurations of one stage.

    Parameters
    ----------
    rows
        Rows and folds of the stage.
    aggregate
        Score of a trial from its fold scores and their rows.
    keeps_models
        Whether fold models of good trials are kept.
    races
        Whether hopeless trials end early; floors and the portfolio never do, since what is poor
        alone may still help an ensemble.
    has_time
        Whether the search has time left, where it is measured by seconds. Trials then end as soon as their
        folds cannot end within their time limit, and trials but floors when the search has no time left; not the
        defaults of boosters, which keep the rounds that they have.
    stoppable
        Families whose fits can end after any round.
    """

    pool: Slots
    run_id: str
    stage: str
    rows: StageRows
    aggregate: Callable[[Sequence[float], Sequence[float]], float]
    keeps_models: bool = False
    races: bool = False
    has_time: Callable[[], bool] | None = None
    stoppable: frozenset[str] = frozenset()

    def run_turn(self, turn: Turn, *, limit_seconds: float | None) -> Trial:
        """Trial of a search turn, on a slot of its own."""
        fidelity = turn.proposal.fidelity
        jobs = self.rows.jobs if fidelity.folds is None else self.rows.jobs[: fidelity.folds]
        blank = replace(
            self._blank(turn.index, turn.proposal.configuration, turn.origin),
            fidelity=fidelity,
            expected_seconds=turn.expected_seconds,
        )
        races = self.races and turn.origin not in UNRACED and fidelity.has_full_fits
        earlier = _matching(turn.earlier, jobs)
        keeps = self.keeps_models and fidelity.is_full and earlier is None
        is_stretchable = turn.origin in STRETCHED and fidelity.is_full and earlier is None
        keeps_rounds = is_stretchable and turn.family in self.stoppable
        gives_up = self.has_time is not None and not keeps_rounds
        return self._run(
            blank,
            jobs,
            limit_seconds=limit_seconds,
            incumbent=turn.incumbent if races else None,
            save_as=blank.id if fidelity.has_full_fits else None,
            keep_models_above=turn.keep_above if keeps else None,
            earlier=earlier,
            gives_up=gives_up,
            has_time=self.has_time if gives_up and turn.origin != FLOOR else None,
            keeps_rounds=keeps_rounds,
        )

    def run_folds(
        self,
        configuration: Configuration,
        jobs: Sequence[tuple[int, int]],
        *,
        index: int,
        origin: str,
        limit_seconds: float | None,
        keeps_predictions: bool = False,
        most_rounds: int | None = None,
    ) -> Trial:
        """Trial of some (repeat, fold) pairs that keeps no models.

        Parameters
        ----------
        keeps_predictions
            Whether the predictions are kept under the trial's id; NaN in rows of other folds.
        most_rounds
            See `automl.records.Trial.most_rounds`.
        """
        blank = self._blank(index, configuration, origin)
        save_as = blank.id if keeps_predictions else None
        return self._run(
            blank, jobs, limit_seconds=limit_seconds, save_as=save_as, most_rounds=most_rounds
        )

    def run_here(self, folder: Path, configuration: Configuration, *, index: int) -> Trial:
        """Trial of a floor in this process, without a limit: it must neither hang nor take long.

        Parameters
        ----------
        folder
            Run folder.
        """
        blank = self._blank(index, configuration, FLOOR)
        keep_above = -math.inf if self.keeps_models else None
        payload = self._payload(
            blank, self.rows.jobs, save_as=blank.id, keep_models_above=keep_above
        )
        started_at, started = time.time(), time.monotonic()
        results = list(evaluate(str(folder), payload))
        seconds = time.monotonic() - started
        outcome = JobOutcome(TrialStatus.COMPLETE, results, seconds=seconds)
        return self._trial(replace(blank, started_at=started_at), outcome)

    def run_job(
        self,
        blank: Trial,
        job: Job,
        *,
        limit_seconds: float | None,
        has_time: Callable[[], bool] | None = None,
    ) -> Trial:
        """Trial of a job that gives fold results and a summary, on a slot of its own.

        Parameters
        ----------
        blank
            The trial without what the job finds out.
        has_time
            The trial ends when this no longer holds.

        Raises
        ------
        InterruptedRunError
            If the run is being stopped.
        """
        slot = self.pool.acquire()
        started_at = time.time()
        try:
            outcome = self.pool.run(
                slot,
                job,
                limit_seconds=limit_seconds,
                is_over=None if has_time is None else lambda: not has_time(),
            )
        finally:
            self.pool.release(slot)
        if outcome.is_cancelled:
            raise InterruptedRunError(f"trial {blank.id} was cancelled: the run is being stopped")
        return self._trial(replace(blank, started_at=started_at), outcome)

    def _blank(self, index: int, configuration: Configuration, origin: str) -> Trial:
        """The trial before anything is known of it."""
        return Trial(
            self.run_id,
            index,
            configuration,
            TrialStatus.FAILED,
            None,
            origin=origin,
            stage=self.stage,
        )

    def _run(
        self,
        blank: Trial,
        jobs: Sequence[tuple[int, int]],
        *,
        limit_seconds: float | None,
        incumbent: tuple[float, ...] | None = None,
        save_as: str | None = None,
        keep_models_above: float | None = None,
        earlier: Trial | None = None,
        gives_up: bool = False,
        has_time: Callable[[], bool] | None = None,
        keeps_rounds: bool = False,
        most_rounds: int | None = None,
    ) -> Trial:
        payload = self._payload(
            blank,
            jobs,
            incumbent=incumbent,
            save_as=save_as,
            keep_models_above=keep_models_above,
            earlier=earlier and {"trial": earlier.id, "folds": _folds_json(earlier)},
            limit_seconds=limit_seconds if gives_up else None,
            keeps_within=limit_seconds if keeps_rounds else None,
            most_rounds=most_rounds,
        )
        trial = self.run_job(
            blank, Job(JOB, payload), limit_seconds=limit_seconds, has_time=has_time
        )
        if earlier is not None and _are_reused(earlier.folds, trial.folds):
            whole = trial.seconds + earlier.seconds
            trial = replace(trial, seconds=whole, reused_seconds=earlier.seconds)
        return trial

    def _payload(
        self, blank: Trial, jobs: Sequence[tuple[int, int]], **options: Any
    ) -> dict[str, Any]:
        """Arguments of `evaluate`."""
        return {
            "configuration": blank.configuration.to_json(),
            "stage": self.stage,
            "jobs": list(jobs),
            "row_share": blank.fidelity.row_share,
            "iteration_share": blank.fidelity.iteration_share,
            "incumbent": None,
            **options,
        }

    def _trial(self, blank: Trial, outcome: JobOutcome) -> Trial:
        summary = next((r for r in outcome.results if isinstance(r, TrialSummary)), None)
        folds = folds_of(outcome.results)
        status, reason = outcome.status, outcome.reason
        if status is TrialStatus.COMPLETE and summary is not None and summary.reason:
            status, reason = summary.status, summary.reason
        elif status is TrialStatus.COMPLETE and not blank.fidelity.is_full:
            status = TrialStatus.PARTIAL
        elif status is TrialStatus.COMPLETE:
            reason = _shortened(folds)
        is_scored = status in {TrialStatus.COMPLETE, TrialStatus.RACED, TrialStatus.PARTIAL}
        score = self.aggregate([f.score for f in folds], [f.rows for f in folds]) if folds else None
        return replace(
            blank,
            status=status,
            score=score if is_scored else None,
            folds=folds,
            metrics=dict(summary.metrics) if summary and status is TrialStatus.COMPLETE else {},
            bootstrap_scores=(
                summary.bootstrap_scores if summary and status is TrialStatus.COMPLETE else ()
            ),
            seconds=outcome.seconds,
            peak_memory_mib=outcome.peak_memory_mib,
            reason=reason,
        )


def _matching(earlier: Trial | None, jobs: Sequence[tuple[int, int]]) -> Trial | None:
    """The earlier trial if its folds are the first of these."""
    if earlier is None:
        return None
    folds = [(result.repeat, result.fold) for result in earlier.folds]
    return earlier if folds == list(jobs[: len(folds)]) else None


def _shortened(folds: Sequence[FoldResult]) -> str:
    """A sentence on fits that were ended when their time was over; empty without any."""
    kept = [result.rounds for result in folds if result.rounds is not None]
    if not kept:
        return ""
    return (
        f"its time ran out: {len(kept)} of {len(folds)} fits ended early, with "
        f"{min(kept)} to {max(kept)} rounds"
    )


def _are_reused(earlier: Sequence[FoldResult], folds: Sequence[FoldResult]) -> bool:
    """Whether the first folds are the earlier ones; their scores may have another decision rule."""
    first = [replace(fold, score=0.0) for fold in folds[: len(earlier)]]
    return first == [replace(fold, score=0.0) for fold in earlier]


def _folds_json(trial: Trial) -> list[dict[str, Any]]:
    return [result.to_json() for result in trial.folds]


class RunsTurns(Protocol):
    """The part of a runner that `work` needs."""

    def run_turn(self, turn: Turn, *, limit_seconds: float | None) -> Trial:
        """Trial of a turn; blocks until it has ended."""
        ...


def work(
    turns: Turns,
    runner: RunsTurns,
    *,
    commit: Callable[[Trial, Turn], None],
    limit_seconds: Callable[[Turn], float | None],
    family: str | None = None,
    until: Callable[[], bool] | None = None,
    look: Callable[[], None] | None = None,
) -> None:
    """Take turns and run them side by side until there are none; called by several threads at once.

    Parameters
    ----------
    commit
        Makes a trial durable; called before it is reported.
    limit_seconds
        Time limit of a turn.
    family
        Only this family's turns; None for any turns.
    until
        Stop taking turns as soon as this holds.
    look
        Called repeatedly during the search; see `Turns.take`.
    """

    def run(turn: Turn) -> None:
        trial = runner.run_turn(turn, limit_seconds=limit_seconds(turn))
        commit(trial, turn)
        turns.finish(trial)

    running: set[Future[None]] = set()
    with ThreadPoolExecutor(MOST_THREADS, f"search-{family or 'all'}") as threads:
        while (turn := turns.take(family, until=until, look=look)) is not None:
            future = threads.submit(run, turn)
            future.add_done_callback(lambda done: turns.end() if done.exception() else None)
            running = {other for other in running if not _is_well_done(other)} | {future}
    for future in running:
        future.result()


def _is_well_done(future: Future[None]) -> bool:
    return future.done() and future.exception() is None
