"""Scores of the candidates on folds that the search never saw."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from automl.records import Trial
from automl.run.session import Session
from automl.run_records.candidates import ScoredCandidate
from automl.search.runner import TrialRunner
from automl.selection.preselection import common_number


class FreshFolds:
    """Runs (candidate, repeat) pairs on all slots; earlier trials of a resumed run count.

    Parameters
    ----------
    candidates
        Trials of the search, best first; positions below are positions among them.
    places : (n candidates,)
        Their places among all that were to be scored, which number the trials: a run that is
        resumed may afford others.
    n_kept
        Of how many repeats, the first ones, the predictions are kept.
    """

    def __init__(
        self,
        session: Session,
        candidates: Sequence[Trial],
        places: Sequence[int],
        *,
        n_kept: int,
    ) -> None:
        self._n_kept = n_kept
        self._session, self._candidates, self._places = session, candidates, places
        stage = session.plan.stage("candidates")
        self._jobs = {
            repeat: [job for job in stage.jobs if job[0] == repeat]
            for repeat in range(len(stage.folds))
        }
        self._runner = TrialRunner(
            session.pool, session.run_id, "candidates", stage, session.plan.index.aggregate
        )
        self._found: dict[tuple[int, int], Trial] = {}
        earlier = {t.index: t for t in session.earlier if t.stage == "candidates"}
        for position in range(len(candidates)):
            for repeat in self._jobs:
                trial = earlier.get(self._index(position, repeat))
                identity = candidates[position].id
                if trial is not None and trial.origin == identity and trial.is_complete:
                    self._found[position, repeat] = trial

    def run(self, repeats: range, positions: Sequence[int]) -> None:
        """Score some candidates on some repeats, in the order of `positions` within each."""
        pairs = [
            (position, repeat)
            for repeat in repeats
            for position in positions
            if (position, repeat) not in self._found
        ]
        with ThreadPoolExecutor(self._session.pool.n_slots) as threads:
            for pair, trial in zip(pairs, threads.map(self._score, pairs), strict=True):
                if trial is not None:
                    self._found[pair] = trial

    def run_further(self, repeats: range, positions: Sequence[int]) -> int:
        """Score all of some candidates on further repeats, until one of them has no score.

        Returns
        -------
            The number of scores that all of them have.
        """
        for repeat in repeats:
            self.run(range(repeat, repeat + 1), positions)
            if any((position, repeat) not in self._found for position in positions):
                break
        return min(len(self._scores(position, repeats.stop)) for position in positions)

    def leaders(self, n: int, repeats: int) -> list[int]:
        """Positions of the best candidates on the first repeats."""
        means = {
            position: float(np.mean(scores))
            for position in range(len(self._candidates))
            if (scores := self._scores(position, repeats))
        }
        return sorted(means, key=lambda position: -means[position])[:n]

    def compared(self, leaders: Sequence[int], repeats: int) -> tuple[list[int], int, list[Trial]]:
        """Candidates to compare, their number of scores of the first repeats, and candidates that lack some.

        The leaders alone where there are any. The scores are those that more than half of them
        have, so that neither one that failed nor the end of the time costs the others theirs.
        """
        positions = leaders or range(len(self._candidates))
        numbers = {position: len(self._scores(position, repeats)) for position in positions}
        n_scores = common_number(list(numbers.values()))
        whole = [position for position, number in numbers.items() if number >= n_scores > 0]
        return whole, n_scores, [self._candidates[p] for p in positions if p not in whole]

    def scored(self, repeats: int) -> dict[str, tuple[float, ...]]:
        """Scores on the first repeats of those that have any, by trial id."""
        return {
            trial.id: tuple(scores)
            for position, trial in enumerate(self._candidates)
            if (scores := self._scores(position, repeats))
        }

    def entry(self, position: int, n_scores: int) -> ScoredCandidate:
        """Trial id, the first scores and mean seconds of a fold."""
        return ScoredCandidate(
            self._candidates[position].id,
            tuple(self._scores(position, len(self._jobs))[:n_scores]),
            self._fold_seconds(position),
        )

    def _score(self, pair: tuple[int, int]) -> Trial | None:
        position, repeat = pair
        session, candidate = self._session, self._candidates[position]
        deadline = session.ledger.left_for("candidates")
        expected = len(self._jobs[repeat]) * candidate.seconds / max(len(candidate.folds), 1)
        if deadline is not None and deadline < expected:
            session.cut_short()
            return None  # what cannot end in time would cost those after it theirs
        trial = self._runner.run_folds(
            candidate.configuration,
            self._jobs[repeat],
            index=self._index(position, repeat),
            origin=candidate.id,
            limit_seconds=deadline,
            keeps_predictions=repeat < self._n_kept,
            most_rounds=candidate.most_rounds,
        )
        session.commit(trial, candidate=candidate.id, repeat=repeat)
        if trial.depends_on_machine:
            session.is_reproducible = False
        return trial if trial.is_complete else None

    def _index(self, position: int, repeat: int) -> int:
        return self._places[position] * len(self._jobs) + repeat

    def _scores(self, position: int, repeats: int) -> list[float]:
        """On the first repeats, up to one that has none."""
        scores = []
        for repeat in range(repeats):
            trial = self._found.get((position, repeat))
            if trial is None:
                break
            scores += list(trial.fold_scores)
        return scores

    def _fold_seconds(self, position: int) -> float:
        trials = [trial for (place, _), trial in self._found.items() if place == position]
        n_folds = sum(len(trial.folds) for trial in trials)
        return sum(trial.seconds for trial in trials) / max(n_folds, 1)
