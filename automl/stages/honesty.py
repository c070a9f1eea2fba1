"""The honest score: what the run's score is without the luck of having been chosen."""

from __future__ import annotations

import time
from collections.abc import Sequence

from automl.randomness import Purpose, stream
from automl.records import Trial
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.honest import HonestRecord, Kind
from automl.selection.honest import LEAST_BOOTSTRAPS, honest_scores
from automl.stages.choice_evidence import evidence_of
from automl.stages.recipes import followed
from automl.stages.repeated_choice import HONEST_KEY

N_BOOTSTRAPS = 200
"""The mean shortfall's standard error is then a fourteenth of one shortfall's deviation; half as many where
there are test rows."""
MANY_CELLS = 50_000
"""Rows times classes from which on fewer bootstraps are made: on many rows little is owed to chance."""


NO_TIME = "no time to repeat the choice often enough for an honest score"
UNDEFINED = "the score of the model is not defined on parts of the rows"


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
    evidence = evidence_of(session, trials, selection, ensemble)
    if evidence is None:
        return HonestRecord(chosen=chosen, reason="the predictions of the champion were not kept")
    n_trials = len(evidence.members)
    doubts = evidence.doubts()
    believed = {kind: choice for kind, choice in evidence.final.items() if kind not in doubts}
    if not believed:
        return HonestRecord(chosen=chosen, n_trials=n_trials, reason=doubts.get(chosen, UNDEFINED))
    pace = Pace(session.ledger.left_for("honest"))
    scores = honest_scores(
        evidence.rows,
        believed,
        evidence.choose,
        rng=stream(session.settings.seed, Purpose.BOOTSTRAP, HONEST_KEY),
        gains=evidence.gains(),
        n_bootstraps=n_bootstraps_of(
            len(evidence.rows.y), session.plan.table.n_classes, has_tests=evidence.has_tests
        ),
        has_time=pace.has_time_for_another,
    )
    session.is_reproducible &= session.is_timed or not pace.is_over
    if not scores:
        reason = NO_TIME if pace.is_over else UNDEFINED
        session.given_up.append(reason)
        return HonestRecord(chosen=chosen, n_trials=n_trials, reason=reason)
    n_bootstraps = max(score.n_bootstraps for score in scores.values())
    reason = "" if chosen in scores else doubts.get(chosen, UNDEFINED)
    return HonestRecord(
        single=scores.get("single"),
        ensemble=scores.get("ensemble"),
        chosen=chosen,
        n_bootstraps=n_bootstraps,
        n_trials=n_trials,
        reason=reason,
    )


class Pace:
    """Says whether another block of bootstraps fits into what is left.

    Parameters
    ----------
    seconds : that are left, None without a limit
    """

    def __init__(self, seconds: float | None) -> None:
        self._began = time.monotonic()
        self._deadline = None if seconds is None else self._began + seconds
        self._longest: float | None = None
        self.is_over = False

    def has_time_for_another(self) -> bool:
        """Whether it does, judged by the longest so far; asked before each block."""
        now = time.monotonic()
        self._longest = 0.0 if self._longest is None else max(self._longest, now - self._began)
        self._began = now
        self.is_over = self._deadline is not None and now + self._longest >= self._deadline
        return not self.is_over


def n_bootstraps_of(n_rows: int, n_classes: int, *, has_tests: bool) -> int:
    """Bootstraps that are worth their seconds; never depends on the clock."""
    wanted = N_BOOTSTRAPS // 2 if has_tests else N_BOOTSTRAPS
    share = MANY_CELLS / (n_rows * max(n_classes, 1))
    return max(2 * LEAST_BOOTSTRAPS, int(wanted * min(1.0, share)))
