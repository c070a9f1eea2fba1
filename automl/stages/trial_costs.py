"""What a trial of the search will take, judged by the trials that have finished."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from automl.families.family import Family
from automl.families.registry import get_family
from automl.optimizers.protocol import Proposal
from automl.records import Fidelity, Trial, TrialStatus

UNIT_FAMILY = "lightgbm"


@dataclass(frozen=True)
class TrialCosts:
    """Seconds of trials to come.

    Parameters
    ----------
    families : those that take part, by name
    n_rows, n_columns : training rows of a fold and columns of the table
    n_folds : of a complete trial
    """

    families: Mapping[str, Family]
    n_rows: int
    n_columns: int
    n_folds: int

    def expected(
        self, proposal: Proposal, trials: Sequence[Trial], earlier: Trial | None = None
    ) -> float:
        """Seconds that a proposal will take; 0 while nothing is known.

        With an earlier trial that of its folds, for each fold that is missing. Else the median of
        the family's trials at this fidelity, or the part of a complete trial that the fidelity
        asks for.

        Parameters
        ----------
        trials : finished ones of the search
        earlier : partial trial whose folds are taken over
        """
        family, fidelity = proposal.configuration.family, proposal.fidelity
        if earlier is not None and earlier.folds:
            n_missing = (fidelity.folds or self.n_folds) - len(earlier.folds)
            return earlier.seconds / len(earlier.folds) * max(n_missing, 0)
        alike = _seconds(trials, family, fidelity)
        if alike:
            return statistics.median(alike)
        return self._share(fidelity) * self._complete(family, trials)

    def _complete(self, family: str, trials: Sequence[Trial]) -> float:
        """Median of the family's complete trials; else scaled from those of LightGBM."""
        own = _seconds(trials, family, Fidelity())
        if own:
            return statistics.median(own)
        unit = _seconds(trials, UNIT_FAMILY, Fidelity())
        if not unit or family not in self.families:
            return 0.0
        size = self.n_rows, self.n_columns
        scale = self.families[family].relative_seconds(*size)
        return statistics.median(unit) * scale / get_family(UNIT_FAMILY).relative_seconds(*size)

    def _share(self, fidelity: Fidelity) -> float:
        """Part of a complete trial's work; of the fits, the smaller ones as if cost were linear."""
        folds = min(fidelity.folds or self.n_folds, self.n_folds) / self.n_folds
        return folds * fidelity.row_share * fidelity.iteration_share


def _seconds(trials: Sequence[Trial], family: str, fidelity: Fidelity) -> list[float]:
    """Seconds of a family's trials at a fidelity that were not ended as hopeless."""
    return [
        trial.seconds
        for trial in trials
        if trial.configuration.family == family
        and trial.fidelity == fidelity
        and trial.folds
        and trial.status is not TrialStatus.RACED
    ]
