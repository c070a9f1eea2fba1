"""What the search's time allows: limits of trials, and which ones begin."""

from __future__ import annotations

from automl.forecasts.forecast import Forecast
from automl.forecasts.timings import KnownTimings
from automl.optimizers.fidelities import ETA, FULL
from automl.optimizers.protocol import Proposal
from automl.origins import DEFAULT, FLOOR
from automl.records import Configuration, Fidelity, Trial
from automl.run.session import Session
from automl.search.rungs import Rungs
from automl.search.turns import Turn
from automl.stages.speed import stored_timings, workload_of

TRIAL_SHARE = 0.4
"""Share of the search's time that one trial may take: two slow ones must not be the whole search (by
judgement)."""
FLOOR_SHARE = 0.5
"""Share of the time that nothing has claimed, for a floor that comes late (by judgement)."""
LOOK_SECONDS = 0.2
"""Between looks whether workers can begin; and the least limit of a floor."""
LEAST_TRIAL_SECONDS = 10.0
"""However short the search: a lower limit would end trials that only met a busy machine (by judgement)."""
SLOW_SHARE = 1 / 40
"""Share of the search's slot seconds from which a trial on one large holdout begins on few rows: forty such trials
would be the whole search (by judgement)."""
FEW_ROWS = ETA**-2
"""Share of the rows on which slow trials begin; the best third goes on to all rows."""
FITS_FACTOR = 1.2
"""On a trial's forecast: every other forecast is too short, and a trial that is ended has cost its time (by
judgement)."""
DEFAULTS_SHARE = 0.1
"""Share of the search's time for defaults that run to their end though they look poor: they
say what the search was good for, and are seldom members of the model."""


class SearchTime:
    """The time of one session's search, and forecasts of what trials take of it.

    A search that counts trials has no limits but those of the settings, and forecasts nothing: its
    decisions must not read the clock.

    Parameters
    ----------
    forecast
        Seconds of trials, by those that have ended.
    """

    def __init__(self, session: Session, forecast: Forecast) -> None:
        self._session, self._forecast = session, forecast
        self._default_seconds = 0.0

    def add(self, trial: Trial) -> None:
        """Learn from a trial that has ended."""
        if self._session.is_timed and trial.stage == "search":
            self._forecast.add(trial)
            self._default_seconds += trial.spent_seconds if trial.origin == DEFAULT else 0.0

    def limit(self, turn: Turn) -> float | None:
        """Most seconds of a turn's trial; None for no limit."""
        settings, left = self._session.settings, self._left()
        limits = [settings.trial_seconds] if settings.trial_seconds is not None else []
        if left is not None:
            if turn.origin == FLOOR:
                spare = self._session.ledger.spare
                limits.append(max(left, FLOOR_SHARE * spare, LOOK_SECONDS))
            else:
                limits.append(min(max(left, 0.1), self._longest))
        return min(limits, default=None)

    def is_late(self) -> bool:
        """Whether a budget of seconds has ended a search that counts trials, or any search at all."""
        session, left = self._session, self._left()
        is_late = session.is_late if session.is_timed else left is not None and left <= 0
        if is_late:
            session.is_reproducible = False
        return is_late

    def is_left(self) -> bool:
        """Whether there is time for another trial."""
        left = self._left()
        return left is None or not self._session.is_timed or left > 0

    def fits(self, proposal: Proposal, earlier: Trial | None) -> bool:
        """Whether a trial will probably end in time."""
        left = self._left()
        if left is None or not self._session.is_timed:
            return True
        seconds = self.expected_seconds(proposal, earlier) or 0.0
        return left > 0 and FITS_FACTOR * seconds <= min(left, self._longest)

    def affords(self, proposal: Proposal) -> bool:
        """Whether a default may take all its folds' seconds, beside those of the others."""
        session = self._session
        if not session.is_timed or not session.ledger.planned:
            return True
        seconds = self._forecast.seconds(proposal.configuration, proposal.fidelity) or 0.0
        allowance = DEFAULTS_SHARE * session.pool.n_slots * session.ledger.planned["search"]
        return self._default_seconds + seconds <= allowance

    def expected_seconds(self, proposal: Proposal, earlier: Trial | None) -> float | None:
        """Forecast of a trial's own seconds.

        None in a run that counts trials, which must not read the clock, and in one that is late.
        """
        if not self._session.is_timed or self._session.is_late:
            return None
        return self._forecast.seconds(proposal.configuration, proposal.fidelity, earlier)

    def rungs(self) -> Rungs | None:
        """Few rows first, where a trial is one fit on a large table and nothing but time counts."""
        session = self._session
        n_folds = len(session.plan.stage("search").jobs)
        if not session.settings.racing or not session.is_timed or n_folds > 1:
            return None
        return Rungs((Fidelity(row_share=FEW_ROWS), FULL), self._is_slow)

    def _is_slow(self, configuration: Configuration) -> bool:
        planned = self._session.ledger.planned.get("search", 0.0) * self._session.pool.n_slots
        seconds = self._forecast.seconds(configuration) or 0.0
        return seconds > SLOW_SHARE * planned

    def _left(self) -> float | None:
        ledger = self._session.ledger
        return ledger.left_for("search") if ledger.planned else None

    @property
    def _longest(self) -> float:
        """Most seconds of a trial that is not a floor."""
        planned = self._session.ledger.planned["search"]
        return max(TRIAL_SHARE * planned, LEAST_TRIAL_SECONDS)


def known_timings(session: Session) -> KnownTimings:
    """Forecast before the first trial.

    Timings of other runs count under a time budget only: under trials no decision may depend on
    seconds. A run that is late begins none.
    """
    reads = session.is_timed and not session.is_late
    return stored_timings(session) if reads else KnownTimings(workload_of(session))
