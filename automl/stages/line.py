"""The whole line of a run as named stages, each of which makes or returns its record.

::

    data ─► search (one thread or task per family) ─► candidates ─► scores ─► selection
         ─► ensemble ─► final ─► registration ─► result
"""

from __future__ import annotations

from typing import Any

from automl.errors import AutoMLError
from automl.records import Trial
from automl.stages.candidates import choose_candidates, score_candidates, select_champion
from automl.stages.ensembling import build_ensemble
from automl.stages.finishing import build_final
from automl.stages.result import make_result
from automl.stages.searching import Search
from automl.stages.session import Session


class Line:
    """Stages of one session; safe to call from several threads, each stage runs once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.search = Search(session)

    @property
    def family_names(self) -> list[str]:
        """Families that take part, in prior order."""
        return list(self.search.families)

    def search_family(self, family: str) -> dict[str, Any]:
        """Take this family's turns until the search is over; what the family found."""
        if self.session.records.read("search") is None:
            with self.session.ledger.stage(f"search {family}"):
                self.search.run(family)
        return self.search.summary()["families"].get(family, {"trials": 0})

    def end_search(self) -> dict[str, Any]:
        """Record of the search.

        Raises
        ------
        AutoMLError
            If not one trial is complete.
        """

        def make() -> dict[str, Any]:
            if self.search.failure is not None:
                raise self.search.failure
            summary = self.search.summary()
            if not summary["complete"]:
                reasons = {trial.reason for trial in self.trials if trial.reason}
                raise AutoMLError(
                    "no trial could be completed: " + ("; ".join(sorted(reasons)) or "no time left")
                )
            return {**summary, "seconds": self.session.ledger.elapsed}

        return self.session.stage("search", make)

    @property
    def trials(self) -> list[Trial]:
        """Trials of the search."""
        return self.search.turns.trials

    def candidates(self) -> dict[str, Any]:
        """Record of the candidates and their scores on fresh folds."""

        def make() -> dict[str, Any]:
            chosen = choose_candidates(self.session, self.trials)
            scored = score_candidates(self.session, self.trials, chosen["trial_ids"])
            self.session.given_up += scored["given_up"]
            return {**chosen, **scored}

        return self.session.stage("candidates", make)

    def selection(self) -> dict[str, Any]:
        """Record of the selection, with the champion."""
        scored = self.candidates()["candidates"]
        return self.session.stage(
            "selection", lambda: select_champion(self.session, self.trials, scored)
        )

    def ensemble(self) -> dict[str, Any]:
        """Record of the ensemble."""
        champion = self.selection()["champion"]
        return self.session.stage(
            "ensemble", lambda: build_ensemble(self.session, self.trials, champion)
        )

    def final(self) -> dict[str, Any]:
        """Record of the final model."""
        ensemble = self.ensemble()
        return self.session.stage("final", lambda: build_final(self.session, self.trials, ensemble))

    def result(self) -> dict[str, Any]:
        """Result of the run, before registration."""
        stages = {
            name: getattr(self, name)() for name in ("candidates", "selection", "ensemble", "final")
        }

        def make() -> dict[str, Any]:
            return make_result(self.session, self.trials, {"search": self.end_search(), **stages})

        return self.session.stage("result", make)
