"""Few rows first: asynchronous successive halving of what a search of a large table begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from automl.optimizers.fidelities import ETA, FULL, Levels
from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Trial, TrialStatus


class Rungs:
    """Begins slow configurations on few rows; of those that ended there the best go on.

    Results are compared at their own level. A configuration goes on as soon as it is among the best
    1 / `ETA` of those that have ended at its level; nothing is waited for.

    Parameters
    ----------
    levels
        Ladder of shares of the rows; the last one is full.
    is_slow
        Whether a complete trial of a configuration takes so long that it begins on few rows.

    References
    ----------
    .. [1] Li et al. (2020), A System for Massively Parallel Hyperparameter Tuning, Algorithm 2 (ASHA).
    """

    def __init__(self, levels: Levels, is_slow: Callable[[Configuration], bool]) -> None:
        self._levels, self._is_slow = levels, is_slow

    def first(self, configuration: Configuration) -> Proposal:
        """What a configuration begins with."""
        return Proposal(configuration, self._levels[0] if self._is_slow(configuration) else FULL)

    def promoted(self, seen: Sequence[Trial]) -> list[tuple[Proposal, str]]:
        """What may go on and its origin, the highest level and the best score first.

        Also what has gone on already.

        Parameters
        ----------
        seen
            Trials that the decision may know.
        """
        climbing = []
        for level, following in reversed(list(zip(self._levels, self._levels[1:], strict=False))):
            ended = [t for t in seen if t.status is TrialStatus.PARTIAL and t.fidelity == level]
            best = sorted(ended, key=lambda trial: (-trial.achieved, trial.index))
            climbing += [
                (Proposal(trial.configuration, following), trial.origin)
                for trial in best[: len(ended) // ETA]
            ]
        return climbing
