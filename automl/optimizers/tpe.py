"""The tree-structured Parzen estimator (SPEC D7).

Notation
--------
l : density of the best share of the configurations, node by node
g : density of all others, pending ones included
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.optimizers.parzen import Parzen, posterior
from automl.optimizers.protocol import Proposal
from automl.optimizers.tree_nodes import Key, NodeTree, Observations, TreeNode
from automl.records import Configuration, JsonScalar, Trial, TrialStatus
from automl.spaces.distributions import Categorical, Numerical
from automl.spaces.tree import SpaceTree

GOOD_SHARE = 0.15
N_STARTUP = 10
N_CANDIDATES = 24
ATTEMPTS = 8
DRAW_ATTEMPTS = 50


class TPE:
    """Maximizes l/g, the ratio of the densities of good and other configurations.

    From the root on, each node has two Parzen estimators of its own; candidates are drawn from l
    and the one with the greatest l/g is taken, which maximizes the product of the nodes' ratios
    along the path. Until `n_startup` trials are complete, draws from the prior. Trials that failed
    or were raced are never good; partial ones are not learned.

    Parameters
    ----------
    good_share : in (0, 1)
        Share of the trials, the best by score, that l is made of.
    n_startup
        Complete trials before l and g are used.
    n_candidates
        Draws per node.
    draw
        Where candidates come from: `good` is l; `random` is the prior, as Xiang (2020) has it.

    References
    ----------
    .. [1] Xiang (2020), section VII; Bergstra et al. (2011), Algorithms for hyper-parameter
       optimization, section 4.
    """

    def __init__(
        self,
        space: SpaceTree,
        *,
        good_share: float = GOOD_SHARE,
        n_startup: int = N_STARTUP,
        n_candidates: int = N_CANDIDATES,
        draw: Literal["good", "random"] = "good",
    ) -> None:
        if not 0.0 < good_share < 1.0:
            raise SettingsError(f"good_share must be between 0 and 1; got {good_share:g}")
        if draw not in {"good", "random"}:
            raise SettingsError(f"draw must be good or random; got {draw!r}")
        self._space = space
        self._good_share, self._n_startup = good_share, n_startup
        self._n_candidates, self._draw = n_candidates, draw
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
        """Configuration with the greatest l/g among candidates at each node."""
        return Proposal(self.propose(pending, rng))

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
            model = _Model(self._tree, self._observations, self._is_good(), pending)
            for attempt in range(ATTEMPTS):
                n_candidates = max(1, self._n_candidates >> attempt)
                found = model.best(n_candidates, rng, from_prior=self._draw == "random")
                if (
                    found is not None
                    and found.id not in taken
                    and self._space.is_legal(found) is None
                ):
                    return found
        for _ in range(DRAW_ATTEMPTS):
            drawn = self._space.sample(rng)
            if drawn.id not in taken:
                break
        return drawn

    def _is_good(self) -> NDArray[np.bool_]:
        """(n,) the best share of the trials, of equal ones the earlier."""
        scores = np.asarray(self._scores)
        n_good = min(math.ceil(self._good_share * len(scores)), self.n_scored)
        found = np.zeros(len(scores), dtype=bool)
        found[np.argsort(-scores, kind="stable")[:n_good]] = True
        return found


class _Model:
    """l and g of one moment; each node's are made when it is met."""

    def __init__(
        self,
        tree: NodeTree,
        observations: Observations,
        is_good: NDArray[np.bool_],
        pending: Sequence[Configuration],
    ) -> None:
        self._tree, self._observations, self._is_good = tree, observations, is_good
        self._pending: dict[Key, list[float]] = {}
        for configuration in pending:
            for key, position in tree.observe(configuration):
                self._pending.setdefault(key, []).append(position)
        self._split: dict[Key, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._parzen: dict[Key, tuple[Parzen, Parzen]] = {}

    def best(
        self, n_candidates: int, rng: np.random.Generator, *, from_prior: bool
    ) -> Configuration | None:
        """The best of the candidates at each node; None where a rule forbids the path."""

        def choose(key: Key, prior: Categorical) -> JsonScalar:
            return self._category(key, prior, n_candidates, rng, from_prior=from_prior)

        signature = self._tree.walk(choose)
        if signature is None:
            return None
        values = dict(signature.branches)
        for node in self._tree.nodes(signature):
            distribution = node.hyperparameter.distribution
            if isinstance(distribution, Numerical):
                values[node.name] = self._number(
                    node, distribution, n_candidates, rng, from_prior=from_prior
                )
            elif not node.hyperparameter.branch:
                values[node.name] = choose(node.key, distribution)
        return Configuration(signature.family, values, signature.path)

    def _category(
        self,
        key: Key,
        prior: Categorical,
        n_candidates: int,
        rng: np.random.Generator,
        *,
        from_prior: bool,
    ) -> JsonScalar:
        good, others = (
            posterior(prior.probabilities, positions.astype(np.intp))
            for positions in self._positions(key)
        )
        source = prior.probabilities if from_prior else good
        candidates = rng.choice(prior.size, size=n_candidates, p=source)
        ratio = np.log(good) - np.log(others)
        return prior.values[int(candidates[np.argmax(ratio[candidates])])]

    def _number(
        self,
        node: TreeNode,
        distribution: Numerical,
        n_candidates: int,
        rng: np.random.Generator,
        *,
        from_prior: bool,
    ) -> JsonScalar:
        if node.key not in self._parzen:
            good, others = self._positions(node.key)
            self._parzen[node.key] = Parzen(good), Parzen(others)
        l, g = self._parzen[node.key]  # noqa: E741 the symbol of the document
        units = rng.random(n_candidates) if from_prior else l.sample(n_candidates, rng)
        candidates = distribution.ppf(units)
        low, high = distribution.interval(candidates)
        ratio = l.log_density(low, high) - g.log_density(low, high)
        return distribution.closest(float(candidates[np.argmax(ratio)]))

    def _positions(self, key: Key) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Positions at a node: of good ones, and of the others and pending ones."""
        if key not in self._split:
            good, others = self._observations.split(key, self._is_good)
            waiting = np.asarray(self._pending.get(key, ()), dtype=float)
            self._split[key] = good, np.concatenate([others, waiting])
        return self._split[key]
