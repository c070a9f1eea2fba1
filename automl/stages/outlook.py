"""Expected seconds of the stages after the search, from the trials that have finished.

Seconds below are of an idle machine, measured with bags of twelve members of five fold models;
the ledger's slowness multiplies them.
"""

from __future__ import annotations

import hashlib
import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from automl.ensembles.registry import get_ensemble
from automl.evaluation.fold_models import models_mib
from automl.evaluation.machine_limits import usable_cores
from automl.home import Home, RunFolder
from automl.inference.quick_skops import skops_io
from automl.records import Trial
from automl.run.ledger import Ledger
from automl.run.session import Session
from automl.run.stage_table import REGISTRATION, unknown_tail
from automl.run_records.final import FinalRecord
from automl.run_records.report import LOOK_SECONDS, ReportRecord
from automl.run_records.result import RunResult
from automl.stages.blending import bag_seconds
from automl.stages.candidate_plan import likely_seconds
from automl.stages.final_plan import (
    is_bag,
    missing_seconds,
    prediction_seconds,
    refit_seconds,
    wants_refits,
)
from automl.stages.membership import most_members
from automl.stages.stacking import likely_seconds as likely_seconds_of_stack
from automl.tracking.outbox import Outbox

REFRESH_SECONDS = 2.0
"""Between two plans: a plan takes milliseconds, and a trial rarely ends sooner."""
PROBE_SECONDS = 0.01
"""Seconds of processor time that a look at the machine's pace takes: half a percent of a refresh."""
PROBE_WEIGHT = 0.2
"""Weight of the newest look: five looks, ten seconds, forget a moment's crowd."""
GREATEST_SLOWNESS = 3.0
"""A look at a worse moment counts as this: else one could give the tail all that is left."""

CANDIDATES_SHARE = 0.6
"""Share of the reserve that scoring candidates may take at most: 7.2 s of 60 pay for ten paired scores of two
trials of three slot seconds, of which a search of 60 s has 28."""
REFIT_SHARE = 0.3
"""Share of the reserve that refitting may take at most: 3.6 s of 60. Fold models are nearly as good and cost
nothing more."""

ENSEMBLE_SECONDS = 0.5
"""For predictions and evidence, beside what the bags take."""
ENSEMBLE_SHARE = 0.04
"""Share of the budget that bags beyond the first may take: they make weights steadier, a longer search
better ones."""

HONEST_SECONDS = 2.0
"""The least that is kept for repetitions of the choice; a small table needs no more."""
REPORT_SECONDS = 1.0
"""To read the records, to judge the predictions out of fold and to draw: 0.6 s on 20,000 rows."""
REPORT_SHARE = 0.01
"""Share of the budget that looking at the deployed model may take: a page says as much by half the rows."""
HONEST_SHARE = 0.02
"""Share of the budget kept for some 200 repetitions of the choice: 5 s among 60 trials on 700 rows of two
classes."""

LIKELY_MEMBERS = 8
"""Members of the final model at most: three quarters of 65 runs of 60 to 600 s deployed no more, half of
them five."""

STACK_SHARE = 0.1
"""Share of the budget that the second layer may take at most."""

BUNDLE_SECONDS = 0.4
"""To write and time a model, measured on an idle core beside what its members take."""
MEMBER_SECONDS = 0.05
"""To write a member of no size, measured as `BUNDLE_SECONDS`: files are made and digests taken."""
FIRST_MIB_SECONDS = 0.025
"""More for each MiB of a member's first ten, which are many small arrays."""
FURTHER_MIB_SECONDS = 0.003
"""More for each further MiB: these are few large arrays, which are written as they are."""
FIRST_MIB = 10.0
"""Where the size of a member begins to be that of large arrays."""
PROMOTION_SECONDS = 1.5
"""To load the champion's rows and compare both models on 200 blocks."""
STORE_SECONDS = 4.0
"""To import mlflow and to open a store of SQLite, on an idle core."""
REGISTRATION_SECONDS = 1.5
"""To register a small model in an open store."""
COLD_SECONDS = 3.0
"""Seconds of a clean process until it has loaded a small bundle; it starts with the open store, or else when
the search ends."""

REGISTRATION_MIB_SECONDS = 0.02
"""A bundle is copied twice and loaded by a clean process."""

N_EARLIER = 3
"""Registrations of the home that are looked at, the newest: how busy a machine is changes by the
hour, and one registration that met a stalled disk is forgotten soon."""

CUT_SHORT = 1.5
"""Times the seconds that a registration was given in vain: what it would have taken is not known."""

REGISTRATION_SHARE = 0.25
"""Share of the budget that is kept at most: a registration can be completed later, a model cannot."""
TRIAL_SECONDS = 0.02
"""To write one trial into the store."""
SUMMARY_SECONDS_PER_TRIAL = 0.0025
"""To write the run's records and its leaderboard, by the number of trials."""


class Outlook:
    """Keeps the ledger's plan of a session up to date while its search goes on.

    Parameters
    ----------
    trials
        Finished trials of the search.
    usual_seconds
        Seconds of a trial that is still to come; None while nothing is known of them.
    """

    def __init__(
        self,
        session: Session,
        trials: Callable[[], Sequence[Trial]],
        usual_seconds: Callable[[], float | None],
    ) -> None:
        self._session, self._trials, self._usual_seconds = session, trials, usual_seconds
        self._lock = threading.Lock()
        self._next = 0.0
        self._earlier: list[Publication] | None = None

    def refresh(self) -> None:
        """Plan anew, at most every two seconds; does nothing without a limit of time."""
        ledger = self._session.ledger
        if ledger.total is None or not self._lock.acquire(blocking=False):
            return
        try:
            if ledger.elapsed >= self._next:
                slowness = measured_slowness(_slots_here(self._session))
                ledger.slowness += PROBE_WEIGHT * (slowness - ledger.slowness)
                trials = self._trials()
                to_come = self._to_come(trials)
                if self._earlier is None:
                    self._earlier = earlier_publications(self._session.folder)
                ledger.expect(
                    expected_tail(self._session, trials, to_come=to_come, earlier=self._earlier)
                )
                self._next = ledger.elapsed + REFRESH_SECONDS
        finally:
            self._lock.release()

    def _to_come(self, trials: Sequence[Trial]) -> list[float]:
        """Fold seconds of trials that the search still has time for, where it has too few yet."""
        session = self._session
        n_missing = session.settings.candidate_limit - sum(trial.is_complete for trial in trials)
        left = max(session.ledger.left_for("search") or 0.0, 0.0)
        usual = self._usual_seconds() if n_missing > 0 and left > 0 else None
        if usual is None:
            return []
        n = min(int(left * session.pool.n_slots / usual), n_missing)
        return [usual / len(session.plan.stage("search").jobs)] * n


@dataclass(frozen=True)
class Publication:
    """Seconds of the registration of an earlier run.

    Parameters
    ----------
    seconds : wall seconds from the open store to the registered model; of one that was cut short what it
        would have taken at least
    mib : size of the bundle
    """

    seconds: float
    mib: float


def earlier_publications(folder: RunFolder) -> list[Publication]:
    """The newest registrations of this run's home, at most `N_EARLIER`."""
    publications: list[Publication] = []
    for other in reversed(Home(folder.path.parents[1]).run_folders()):
        seconds = None if other.path == folder.path else _registration_seconds(other)
        if seconds is not None:
            final = FinalRecord.read(other)
            publications.append(Publication(seconds, 0.0 if final is None else final.size_mib))
        if len(publications) == N_EARLIER:
            break
    return publications


def _registration_seconds(folder: RunFolder) -> float | None:
    """Seconds that the registration of a run took, or would have taken within the run; None if unknown."""
    taken = Outbox.load(folder.path / "outbox.json").seconds.get("publishing")
    result = RunResult.read(folder)
    if result is None or result.model.registration != "pending":
        return taken
    given = result.ledger.get(REGISTRATION, {}).get("used")
    return max(taken or 0.0, CUT_SHORT * given) if given else taken


def expected_tail(
    session: Session,
    trials: Sequence[Trial],
    *,
    to_come: Sequence[float] = (),
    earlier: Sequence[Publication] = (),
) -> dict[str, float]:
    """Seconds of each stage after the search.

    Parameters
    ----------
    trials
        Finished ones of the search.
    to_come
        Expected seconds of a fold of each trial that is likely to follow.
    earlier
        Registrations of earlier runs.
    """
    ledger = session.ledger
    assert ledger.total is not None
    reserve = ledger.reserve * ledger.total
    best = sorted(
        (trial for trial in trials if trial.is_complete), key=lambda t: (-t.achieved, t.index)
    )
    expected = {
        "candidates": likely_seconds(
            session,
            best,
            most=CANDIDATES_SHARE * reserve,
            left=ledger.left_for("candidates") or 0.0,
            to_come=to_come,
        ),
        "ensemble": _ensemble(session, best),
        "honest": max(HONEST_SECONDS * ledger.slowness, HONEST_SHARE * ledger.total),
        "final": _final(session, best) + _refits(session, best, most=REFIT_SHARE * reserve),
        ReportRecord.stage: _report(ledger),
    }
    kept = max(_registration(session, trials, expected), _as_earlier(session, best, earlier))
    registration = min(kept, REGISTRATION_SHARE * ledger.total)
    return {**unknown_tail(), **expected, REGISTRATION: registration}


def measured_slowness(n_slots: int) -> float:
    """How much longer a little work takes now than where nothing but the trials runs; at least 1.

    Parameters
    ----------
    n_slots : trials at a time on this machine
    """
    block = bytes(2**18)
    wall, own = time.monotonic(), time.thread_time()
    while (used := time.thread_time() - own) < PROBE_SECONDS:
        hashlib.sha256(block)
    ratio = (time.monotonic() - wall) / used / _beside_trials(n_slots)
    return min(max(ratio, 1.0), GREATEST_SLOWNESS)


def warm_up() -> None:
    """Import what the stages after the search need; called in a thread while workers search."""
    for module in ("sklearn.cluster", "scipy.stats", "automl.inference.bundle", "lightgbm"):
        importlib.import_module(module)
    skops_io()


def _ensemble(session: Session, best: Sequence[Trial]) -> float:
    if session.settings.ensemble == "none" or len(best) < 2:
        return 0.0
    ledger = session.ledger
    total = ledger.total or 0.0
    stacking = min(likely_seconds_of_stack(session, best), STACK_SHARE * total)
    bag, n_bags = bag_seconds(session, len(best)), get_ensemble(session.settings.ensemble).n_bags
    bags = max(bag, min(n_bags * bag, ENSEMBLE_SHARE * total))
    return ledger.slowness * (ENSEMBLE_SECONDS + bags) + stacking


def _members(session: Session, best: Sequence[Trial]) -> Sequence[Trial]:
    """Trials that are likely to become the final model."""
    settings = session.settings
    n = min(most_members(settings), LIKELY_MEMBERS) if settings.ensemble != "none" else 1
    return best[:n]


def _final(session: Session, best: Sequence[Trial]) -> float:
    """Load the fold models, write the bundle, predict some rows."""
    members = _members(session, best)
    writing = sum(_writing_seconds(models_mib(session.folder.path, t.id)) for t in members)
    is_compared = (session.records.read("challenge") or {}).get("rows", 0) > 0
    promotion = PROMOTION_SECONDS if is_compared else 0.0
    own = session.ledger.slowness * (BUNDLE_SECONDS + writing + promotion)
    return own + prediction_seconds(session, members)


def _report(ledger: Ledger) -> float:
    return ledger.slowness * REPORT_SECONDS + min(
        REPORT_SHARE * (ledger.total or 0.0), LOOK_SECONDS
    )


def _writing_seconds(mib: float) -> float:
    """Large models are forests, whose bytes are cheap."""
    first = min(mib, FIRST_MIB)
    return MEMBER_SECONDS + FIRST_MIB_SECONDS * first + FURTHER_MIB_SECONDS * (mib - first)


def _refits(session: Session, best: Sequence[Trial], *, most: float) -> float:
    """Fit members on all rows, where that is wanted and takes at most so many seconds.

    Fold models that were not kept, as those of trials that took over partial ones, are fitted again.
    """
    n_slots, members = session.pool.n_slots, _members(session, best)
    missing = missing_seconds(session, members)
    seconds = [refit_seconds(session, trial) for trial in members if wants_refits(session)]
    if session.settings.data_mode == "halves":
        return _on_slots(seconds, n_slots)
    if is_bag(session) or session.plan.stage("search").jobs_per_repeat == 1:  # one by one
        affordable = [each for each in seconds if each <= most]
        return min(_on_slots([*missing, *affordable], n_slots), most)
    expected = _on_slots(seconds, n_slots)
    return expected if expected <= most else 0.0


def _on_slots(seconds: Sequence[float], n_slots: int) -> float:
    """Least seconds of some jobs on the slots."""
    return max(sum(seconds) / n_slots, max(seconds, default=0.0))


def _registration(
    session: Session, trials: Sequence[Trial], expected: Mapping[str, float]
) -> float:
    """Copy what the tracking store lacks, beyond what is done while the driver finishes.

    Parameters
    ----------
    expected
        Seconds of the stages before, in which the mirror and a clean process prepare.
    """
    outbox = Outbox.load(session.folder.path / "outbox.json")
    missing = sum(trial.id not in outbox.trials for trial in trials)
    slowness = max(session.ledger.slowness, _mirror_slowness(outbox, _slots_here(session)))
    opening, cold = (0.0, 0.0) if outbox.parent else (STORE_SECONDS, COLD_SECONDS)
    beside = max(opening + TRIAL_SECONDS * missing, cold)
    own = REGISTRATION_SECONDS + SUMMARY_SECONDS_PER_TRIAL * len(trials)
    return slowness * own + max(0.0, slowness * beside - sum(expected.values()))


def _mirror_slowness(outbox: Outbox, n_slots: int) -> float:
    """How much longer the mirror took to open the store than beside the trials alone; at least 1.

    The scheduler favours a thread that wakes for a moment, as the one that measures the ledger's
    slowness does; a process that computes for seconds meets all that the machine has to do.
    """
    opening = outbox.seconds.get("opening", 0.0)
    return max(opening / STORE_SECONDS / _beside_trials(n_slots), 1.0)


def _slots_here(session: Session) -> int:
    """Slots that work on this machine; those of a cluster do not slow the driver down."""
    return 0 if session.settings.cluster else session.pool.n_slots


def _beside_trials(n_slots: int) -> float:
    """How much longer work takes beside the trials, where nothing else runs; at least 1."""
    return max(1.0, (n_slots + 1) / usable_cores())


def _as_earlier(session: Session, best: Sequence[Trial], earlier: Sequence[Publication]) -> float:
    """Seconds of the slowest of the earlier registrations, for a bundle of this run's size."""
    mib = sum(models_mib(session.folder.path, trial.id) for trial in _members(session, best))
    return max(
        (
            publication.seconds + REGISTRATION_MIB_SECONDS * max(mib - publication.mib, 0.0)
            for publication in earlier
        ),
        default=0.0,
    )
