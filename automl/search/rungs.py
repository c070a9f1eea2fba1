"""Few rows first: asynchronous successive halving of what a search of a large table begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from automl.optimizers.fidelities import ETA, FULL, Levels
from automl.optimizers.protocol import Proposal
from automl.origins import KNOWLEDGE, PORTFOLIO
from automl.records import Configuration, Trial, TrialStatus

RECOMMENDED = (KNOWLEDGE, PORTFOLIO)
"""Origins of what may begin on few rows; all else was asked for, or an optimizer says on how many rows."""


def is_first_look(trial: Trial) -> bool:
    """Whether a trial was a recommended configuration on few rows, which says little of its family."""
    return trial.status is TrialStatus.PARTIAL and trial.origin in RECOMMENDED


class Rungs:
    """Begins slow recommended configurations on few rows; of those that ended there the best go on.

    Results are compared at their own level. A configuration goes on as soon as it is among the best
    1 / `ETA` of those that have ended at its level; nothing is waited for. Once no other will begin,
    the share is rounded up, so that at least one goes on.

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

    def first(self, configuration: Configuration, origin: str) -> Proposal:
        """What a configuration of the opening begins with."""
        is_low = origin in RECOMMENDED and self._is_slow(configuration)
        return Proposal(configuration, self._levels[0] if is_low else FULL)

    def promoted(
        self, seen: Sequence[Trial], *, all_begun: bool = False
    ) -> list[tuple[Proposal, str]]:
        """What may go on and its origin, the highest level and the best score first.

        Also what has gone on already.

        Parameters
        ----------
        seen
            Trials that the decision may know.
        all_begun
            Whether no other configuration will begin.
        """
        climbing = []
        for level, following in reversed(list(zip(self._levels, self._levels[1:], strict=False))):
            ended = [t for t in seen if is_first_look(t) and t.fidelity == level]
            n_best = -(-len(ended) // ETA) if all_begun else len(ended) // ETA
            best = sorted(ended, key=lambda trial: (-trial.achieved, trial.index))
            climbing += [
                (Proposal(trial.configuration, following), trial.origin) for trial in best[:n_best]
            ]
        return climbing
