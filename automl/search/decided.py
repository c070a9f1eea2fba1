"""Decisions by fidelity, and the partial trials that later ones can continue."""

from __future__ import annotations

from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Fidelity, Trial, TrialStatus

FULL = Fidelity()


class Decided:
    """Configurations that were given, each with its fidelities."""

    def __init__(self) -> None:
        self._fidelities: dict[str, set[Fidelity]] = {}
        self._partial: dict[str, Trial] = {}

    def add(self, configuration: Configuration, fidelity: Fidelity) -> None:
        """Note a decision."""
        self._fidelities.setdefault(configuration.id, set()).add(fidelity)

    def holds(self, proposal: Proposal) -> bool:
        """Whether the configuration was given at this fidelity or in full."""
        given = self._fidelities.get(proposal.configuration.id, ())
        return proposal.fidelity in given or FULL in given

    def learn(self, trial: Trial) -> None:
        """Note a result; of partial ones the longest whose folds are those of a complete trial."""
        if trial.status is not TrialStatus.PARTIAL or not trial.fidelity.has_full_fits:
            return
        earlier = self._partial.get(trial.configuration.id)
        if earlier is None or len(trial.folds) > len(earlier.folds):
            self._partial[trial.configuration.id] = trial

    def earlier(self, proposal: Proposal) -> Trial | None:
        """Partial trial whose folds are the first ones of a proposal."""
        partial = self._partial.get(proposal.configuration.id)
        if partial is None or not proposal.fidelity.has_full_fits:
            return None
        n_folds = proposal.fidelity.folds
        return partial if n_folds is None or len(partial.folds) < n_folds else None
