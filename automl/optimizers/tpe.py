"""The tree-structured Parzen estimator (X20, section VII).

Notation
--------
l : density of the best share of the configurations
g : density of all others, pending ones included
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.factory_options import Count, InnerShare
from automl.optimizers.parzen_models import JointModel, NodeModel
from automl.optimizers.protocol import Proposal
from automl.optimizers.random_search import draw_new
from automl.optimizers.tree_nodes import NodeTree, Observations
from automl.records import Configuration, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

GOOD_SHARE = 0.15
"""X20's gamma."""
N_STARTUP = 10
"""Random draws before there are densities; as many as Optuna's."""
N_CANDIDATES = 64
"""Drawn for one proposal: more follow the ratio of the densities further (by judgement)."""
ATTEMPTS = 8
"""Proposals, each of half as many candidates, before a known configuration is proposed."""


class TPE:
    """Maximizes l/g, the ratio of the densities of good and other configurations.

    Each node of the tree, from the root on, has two Parzen estimators; candidates are drawn from l
    and the one with the greatest l/g is taken. Until `n_startup` trials are complete, draws from
    the prior. Trials that failed or were raced are never good; partial ones are not learned.

    Parameters
    ----------
    good_share : in (0, 1)
        Share of the trials, the best by score, that l is made of.
    n_startup
        Complete trials before l and g are used.
    n_candidates
        Draws of l to choose from.
    draw
        Where candidates come from: `good` is l; `random` is the prior, as Xiang (2020) has it.
    joint
        Whether the kernels of one configuration stay together, so that l and g know which values
        go well with each other; false for nodes that are independent, as Xiang (2020) has them
        (on six smooth test functions the regret after 50 trials is then 1.4 to 11 times as large).

    Raises
    ------
    SettingsError
        If `good_share` is out of its range or `draw` is neither.

    References
    ----------
    .. [1] Xiang (2020), section VII; Bergstra et al. (2011), Algorithms for hyper-parameter
       optimization, section 4.
    """

    def __init__(
        self,
        space: SpaceTree,
        *,
        good_share: InnerShare = GOOD_SHARE,
        n_startup: Count = N_STARTUP,
        n_candidates: Count = N_CANDIDATES,
        draw: Literal["good", "random"] = "good",
        joint: bool = True,
    ) -> None:
        if not 0.0 < good_share < 1.0:
            raise SettingsError(f"good_share must be between 0 and 1; got {good_share:g}")
        if draw not in {"good", "random"}:
            raise SettingsError(f"draw must be good or random; got {draw!r}")
        self._space = space
        self._good_share, self._n_startup = good_share, n_startup
        self._n_candidates, self._draw, self._joint = n_candidates, draw, joint
        self._tree = NodeTree(space)
        self._observations = Observations()
        self._scores: list[float] = []
        self._known: set[str] = set()

    @property
    def n_scored(self) -> int:
        """Number of trials with a score."""
        return sum(score > -math.inf for score in self._scores)

    @property
    def is_ready(self) -> bool:
        """Whether there are enough trials for l and g."""
        return self.n_scored >= self._n_startup

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """Configuration with the greatest l/g among candidates at each node; a draw at first."""
        return Proposal(self.propose(pending, rng), is_designed=not self.is_ready)

    def tell(self, trial: Trial) -> None:
        """Learn a complete trial, or one that ended badly as worse than all."""
        if trial.status is TrialStatus.PARTIAL:
            return
        self.learn(trial.configuration, trial.score if trial.is_complete else None)

    def learn(self, configuration: Configuration, score: float | None) -> None:
        """Take the score of a configuration, None for one that has none."""
        self._observations.add(self._tree, configuration)
        self._scores.append(-math.inf if score is None else score)
        self._known.add(configuration.id)

    def propose(self, pending: Sequence[Configuration], rng: np.random.Generator) -> Configuration:
        """A configuration that is neither known nor pending, unless none can be found."""
        taken = self._known | {configuration.id for configuration in pending}
        if self.is_ready:
            nodes = NodeModel(self._tree, self._observations, self._is_good(), pending)
            model = JointModel(nodes) if self._joint else nodes
            for attempt in range(ATTEMPTS):
                n_candidates = max(1, self._n_candidates >> attempt)
                best = model.best(n_candidates, rng, from_prior=self._draw == "random")
                if best is not None and best.id not in taken and self._space.is_legal(best) is None:
                    return best
        return draw_new(self._space, taken, rng)

    def _is_good(self) -> NDArray[np.bool_]:
        """(n,) the best share of the trials, of equal ones the earlier."""
        scores = np.asarray(self._scores)
        n_good = min(math.ceil(self._good_share * len(scores)), self.n_scored)
        is_good = np.zeros(len(scores), dtype=bool)
        is_good[np.argsort(-scores, kind="stable")[:n_good]] = True
        return is_good
