"""The whole line of a run as named stages, each of which makes or returns its record.

::

    data ─► search (one thread or task per family) ─► candidates ─► scores ─► selection
         ─► ensemble ─► honest ─► final ─► promotion ─► result ─► registration
"""

from __future__ import annotations

from typing import Any

from automl.errors import AutoMLError
from automl.evaluation.fold_models import remove_all_models
from automl.records import Trial
from automl.run.session import Session
from automl.run_state import FINISHED, RUNNING, state_of
from automl.stages.candidates import choose_candidates, score_candidates
from automl.stages.champion import select_champion
from automl.stages.ensembling import build_ensemble
from automl.stages.finishing import build_final
from automl.stages.honesty import estimate
from automl.stages.notices import notices_of
from automl.stages.promotion import decide_promotion
from automl.stages.result import make_result
from automl.stages.searching import Search, run_search
from automl.tracking.links import links
from automl.tracking.outbox import Outbox
from automl.tracking.process import MirrorProcess, n_unwritten, registration

UNLIMITED_REGISTRATION_SECONDS = 120.0
GRACE_SECONDS = 2.0
"""Beyond the budget, where the store is open so that a registration may be near its end."""
DETACHED_SECONDS = 600.0
"""Most that a mirror goes on after the run, where the settings let it."""
END_SECONDS = 2.0
"""For the tracking store to be told that a run was stopped: it may be amid a batch of trials."""


class Line:
    """Stages of one session; safe to call from several threads, each stage runs once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.search = Search(session)
        self.mirror = MirrorProcess(session.folder)
        self.is_mirrored = True
        self._complete: dict[str, Any] | None = None

    def run(self) -> dict[str, Any]:
        """Every stage, without an orchestrator; finished ones are not repeated. The final result."""
        if self.session.records.read("search") is None:
            run_search(self.search)
        self.end_search()
        self.registration()  # which needs all before it
        return self.close()

    @property
    def family_names(self) -> list[str]:
        """Families that take part, in prior order."""
        return list(self.search.families)

    def search_family(self, family: str) -> dict[str, Any]:
        """Take this family's turns until the search is over; what the family found."""
        if self.session.records.read("search") is None:
            self.search.run(family)
        return self.search.findings().get(family, {"trials": 0})

    def end_search(self) -> dict[str, Any]:
        """Record of the search.

        Raises
        ------
        AutoMLError
            If not one trial is complete.
        """
        ledger = self.session.ledger

        def make() -> dict[str, Any]:
            self.search.wait()
            if self.search.failure is not None:
                raise self.search.failure
            self.search.fall_back()
            summary = self.search.summary()
            self.session.warnings += self.search.unkept_requests(summary["untried"])
            if not summary["complete"]:
                raise AutoMLError(self._nothing_complete())
            ledger.used["search"] = ledger.elapsed - ledger.used.get("data", 0.0)
            return {**summary, "seconds": ledger.elapsed}

        return self.session.stage("search", make)

    def _nothing_complete(self) -> str:
        reasons = sorted({trial.reason for trial in self.trials if trial.reason})
        total = self.session.ledger.total
        limit = "" if total is None else f" within the budget of {total:g} s"
        return f"no trial could be completed{limit}: {'; '.join(reasons) or 'no time left'}"

    @property
    def trials(self) -> list[Trial]:
        """Trials of the search."""
        return self.search.turns.trials

    def candidates(self) -> dict[str, Any]:
        """Record of the candidates and their scores on fresh folds."""

        def make() -> dict[str, Any]:
            chosen = choose_candidates(self.session, self.trials)
            scored = score_candidates(self.session, self.trials, chosen["trial_ids"])
            return {**chosen, **scored}

        return self.session.stage("candidates", make)

    def selection(self) -> dict[str, Any]:
        """Record of the selection, with the champion."""
        candidates = self.candidates()
        return self.session.stage(
            "selection", lambda: select_champion(self.session, self.trials, candidates)
        )

    def ensemble(self) -> dict[str, Any]:
        """Record of the ensemble."""
        champion = self.selection()["champion"]
        return self.session.stage(
            "ensemble", lambda: build_ensemble(self.session, self.trials, champion)
        )

    def honest(self) -> dict[str, Any]:
        """Record of the honest score."""
        selection, ensemble = self.selection(), self.ensemble()
        return self.session.stage(
            "honest", lambda: estimate(self.session, self.trials, selection, ensemble)
        )

    def final(self) -> dict[str, Any]:
        """Record of the final model."""
        ensemble = self.ensemble()
        return self.session.stage("final", lambda: build_final(self.session, self.trials, ensemble))

    def promotion(self) -> dict[str, Any] | None:
        """Record of whether the model takes the alias from the champion; None unless it challenges."""
        if not self.session.settings.challenge:
            return None
        self.final()
        return self.session.stage("promotion", lambda: decide_promotion(self.session))

    def registration(self) -> dict[str, Any]:
        """What became of the model in the tracking store; pending where there was no time.

        The result of the run is written first, so nothing depends on the store.
        """
        self.result()
        seconds = self._registration_seconds()
        # one asker at a time: a flow that came late may run beside the stages called directly
        with self.session.stage_lock, self.session.ledger.stage("registration"):
            if self._complete is None:
                self.is_mirrored = self.mirror.finish(seconds) == "done"
        return dict(registration(self.session.folder).__dict__)

    def _registration_seconds(self) -> float:
        """Most that is waited for the tracking store; 0 where a mirror would only have to be started."""
        left = self.session.ledger.left_for("registration")
        if left is None:
            return UNLIMITED_REGISTRATION_SECONDS
        if self.session.is_late and self.mirror.pid is None:
            return 0.0
        is_open = bool(Outbox.load(self.session.folder.path / "outbox.json").parent)
        return max(left, 0.0) + (GRACE_SECONDS if is_open else 0.0)

    def close(self) -> dict[str, Any]:
        """Final form of the result: with registration, links and the ledger; the run is finished.

        Made once, so that a flow whose server was slow ends like the stages called directly.
        """
        with self.session.stage_lock:
            if self._complete is None:
                self._complete = self._made_complete()
            return self._complete

    def _made_complete(self) -> dict[str, Any]:
        session = self.session
        made = self.result()
        found = registration(session.folder)
        made["model"] |= {"registered": found.registered, "registration": found.status}
        if found.alias_stays:
            session.warnings.append(found.alias_stays)
        if made.get("promotion") and found.registered:
            promotion = made["promotion"]
            promotion |= {"promote": found.is_champion, "reason": found.alias_reason}
            promotion["is_compared"] = promotion.get("is_compared", False) and not found.alias_stays
        missing = n_unwritten(session.folder, [trial.id for trial in self.trials])
        if missing:
            session.warnings.append(
                f"the tracking store lacks {missing} of {len(self.trials)} trials"
                f"{f' ({found.reason})' if found.reason else ''}; automl sync completes them"
            )
        made["warnings"] += [w for w in session.warnings if w not in made["warnings"]]
        complete = {
            **made,
            "notices": notices_of(made, session.folder),
            "links": links(session.folder),
            "ledger": session.ledger.to_json(),
            "seconds": session.ledger.elapsed,
        }
        session.records.write("result", complete)
        session.end(FINISHED)
        remove_all_models(session.folder.path)
        return complete

    def result(self) -> dict[str, Any]:
        """Result of the run, before registration."""
        names = ("candidates", "selection", "ensemble", "honest", "final")
        stages = {name: getattr(self, name)() for name in names}

        promotion = self.promotion()

        def make() -> dict[str, Any]:
            stages["search"] = self.end_search()
            made = make_result(self.session, self.trials, stages)
            made["seconds"] = self.session.ledger.elapsed  # so far; the registration follows
            return made if promotion is None else {**made, "promotion": promotion}

        return self.session.stage("result", make)


_open_lines: dict[str, Line] = {}


def open_line(session: Session) -> Line:
    """The line of a session, known by its run folder until the session is closed."""
    line = Line(session)
    _open_lines[str(session.folder.path)] = line
    return line


def line_of(folder: str) -> Line:
    """The line of a run folder that this process drives.

    Raises
    ------
    AutoMLError
        If this process does not drive it.
    """
    if folder not in _open_lines:
        raise AutoMLError(f"run {folder} is not driven by this process; use `automl resume`")
    return _open_lines[folder]


def close_line(line: Line) -> None:
    """End the slots and the mirror; the run folder stays.

    What was stopped or failed is ended in the tracking store as well.
    """
    _open_lines.pop(str(line.session.folder.path), None)
    line.session.is_closing = True
    line.search.turns.end()
    line.session.close()
    if state_of(line.session.folder).status not in (FINISHED, RUNNING):
        line.mirror.end(END_SECONDS)
    if line.session.settings.register_after and not line.is_mirrored:
        line.mirror.detach(DETACHED_SECONDS)
    line.mirror.stop()
