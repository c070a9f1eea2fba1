"""Simulated annealing on the tree of hyperparameters (B14, section 6.1).

No kept library has simulated annealing with ask and tell (SciPy's `dual_annealing` calls the
objective itself), so this one is ours.

Notation
--------
T : temperature in units of the scores' spread, in (0, 1]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from automl.errors import SettingsError
from automl.factory_options import InnerShare
from automl.optimizers.protocol import Proposal
from automl.optimizers.random_search import draw_new
from automl.records import Configuration, FloatArray, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

COOLING = 0.95
"""Factor of the temperature with every result, from 1 to `COLDEST` in 77: a budget of some hundred holds
one or two walks (by judgement)."""
COLDEST = 0.02
"""Steps are then a seventh of the first ones, and the walk is heated again (by judgement)."""
STEP = 0.3
"""Standard deviation of a step at temperature 1, of the range of a number (by judgement)."""
ATTEMPTS = 20
"""Neighbors that are drawn before a draw from the prior is taken; a small space runs out of them."""


class SimulatedAnnealing:
    """Metropolis walk whose steps and tolerance shrink as it cools.

    A neighbor moves each number by a Gaussian step of sd ``STEP * sqrt(T)`` in its unit interval
    (reflected at the bounds), redraws each nominal with probability T / 2, and with probability
    T / 2 is a draw from the prior, which may be of another signature. A worse score is accepted with
    probability exp(-(loss) / (T * spread)), spread being the standard deviation of the scores so
    far. T is multiplied by `cooling` with every result; below `COLDEST` the walk is reheated at
    the best configuration. Failed and raced trials are never accepted; partial ones are passed over.

    Parameters
    ----------
    cooling : in (0, 1)

    Raises
    ------
    SettingsError
        If `cooling` is out of its range.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 6.1; Kirkpatrick et al. (1983), Optimization by simulated
       annealing.
    """

    def __init__(self, space: SpaceTree, *, cooling: InnerShare = COOLING) -> None:
        if not 0.0 < cooling < 1.0:
            raise SettingsError(f"cooling must be between 0 and 1; got {cooling:g}")
        self._space, self._cooling = space, cooling
        self._temperature = 1.0
        self._current: tuple[float, Configuration] | None = None
        self._best: tuple[float, Configuration] | None = None
        self._scores: list[float] = []
        self._luck: dict[str, float] = {}
        self._known: set[str] = set()

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """A neighbor of the walk's position that is neither known nor pending."""
        taken = self._known | {configuration.id for configuration in pending}
        proposed = self._new_neighbor(taken, rng) or draw_new(self._space, taken, rng)
        self._luck[proposed.id] = float(rng.random())
        return Proposal(proposed)

    def tell(self, trial: Trial) -> None:
        """Accept or refuse a configuration, and cool down; accept an unsolicited one only if it is better."""
        if trial.status is TrialStatus.PARTIAL:
            return
        configuration = trial.configuration
        self._known.add(configuration.id)
        luck = self._luck.pop(configuration.id, 1.0)
        if trial.is_complete and trial.score is not None:
            self._scores.append(trial.score)
            here = trial.score, configuration
            if self._current is None or self._is_accepted(trial.score - self._current[0], luck):
                self._current = here
            if self._best is None or trial.score > self._best[0]:
                self._best = here
        self._cool()

    def _is_accepted(self, gain: float, luck: float) -> bool:
        if gain >= 0.0:
            return True
        spread = float(np.std(self._scores))
        return spread > 0.0 and luck < math.exp(gain / (self._temperature * spread))

    def _cool(self) -> None:
        self._temperature *= self._cooling
        if self._temperature < COLDEST:
            self._temperature, self._current = 1.0, self._best

    def _new_neighbor(self, taken: set[str], rng: np.random.Generator) -> Configuration | None:
        if self._current is None:
            return None
        for _ in range(ATTEMPTS):
            neighbor = self._neighbor(self._current[1], rng)
            if neighbor.id not in taken and self._space.is_legal(neighbor) is None:
                return neighbor
        return None

    def _neighbor(self, center: Configuration, rng: np.random.Generator) -> Configuration:
        if rng.random() < self._temperature / 2:
            return self._space.sample(rng)
        signature, unit = self._space.to_unit(center)
        moved = reflected(unit + STEP * math.sqrt(self._temperature) * rng.normal(size=len(unit)))
        nominals = {
            leaf.name: leaf.distribution.draw(rng)
            if rng.random() < self._temperature / 2
            else center.values[leaf.name]
            for leaf in signature.nominals
        }
        return self._space.from_unit(signature, moved, nominals)


def reflected(positions: FloatArray) -> FloatArray:
    """Positions on the real line folded into [0, 1] at the bounds."""
    folded = np.mod(positions, 2.0)
    return np.asarray(np.where(folded > 1.0, 2.0 - folded, folded))
