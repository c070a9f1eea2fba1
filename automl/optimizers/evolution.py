"""Evolutionary search: CatCMA with margin, from the library `cmaes` (B14, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from automl.errors import SettingsError
from automl.factory_options import Positive
from automl.optimizers.protocol import Proposal
from automl.optimizers.random_search import draw_new
from automl.optimizers.tree_nodes import FAMILY, Key, NodeTree
from automl.records import Configuration, JsonScalar, Trial, TrialStatus
from automl.spaces.distributions import Categorical, Numerical
from automl.spaces.tree import SpaceTree

if TYPE_CHECKING:
    from cmaes import CatCMAwM

INITIAL_SPREAD = 1.5
"""Standard deviation of the first generation, on the normal scale of the unit interval: wider than 1, so
that bounds are tried (by judgement)."""
MOST_STEPS = 50
"""An integer of more values is moved as a continuous number: a margin kept for each would leave little to
search (by judgement)."""
ATTEMPTS = 10
"""Members of a generation that are drawn before a draw from the prior is taken."""


class Evolution:
    """One population over all nodes of the tree; nodes that are not active do not matter.

    Each number is a coordinate in its unit interval (of at most `MOST_STEPS` integers a discrete
    one), each choice and nominal a categorical variable. A generation is updated by its ranks once
    its members are: failed and raced ones are the worst, equal ones in the order of telling.
    Partial trials and those of others are passed over. Where the population has contracted, or a
    space has nothing to vary, draws are from the prior and a new population begins.

    Parameters
    ----------
    population_size : at least 4
        Members of a generation; None for 4 + 3 ln(number of nodes).
    spread : > 0
        Initial standard deviation, as a multiple of the library's (a twelfth of the range).

    Raises
    ------
    SettingsError
        If `population_size` is too small.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 6.1; Hamano et al. (2025), CatCMA with margin, arXiv 2504.07884.
    """

    def __init__(
        self,
        space: SpaceTree,
        *,
        population_size: Annotated[int, Field(ge=4)] | None = None,
        spread: Positive = INITIAL_SPREAD,
    ) -> None:
        if population_size is not None and population_size < 4:
            raise SettingsError(f"population_size must be at least 4; got {population_size}")
        self._space, self._population_size, self._spread = space, population_size, spread
        self._tree = NodeTree(space)
        self._variables = _Variables(space, self._tree)
        self._population: CatCMAwM | None = None
        self._asked: dict[str, Any] = {}
        self._told: list[tuple[Any, float]] = []
        self._known: set[str] = set()

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """A member of the generation that is neither known nor pending."""
        taken = self._known | {configuration.id for configuration in pending}
        if self._variables:
            population = self._begun()
            population.reseed_rng(int(rng.integers(2**31)))
            for _ in range(ATTEMPTS):
                member = population.ask()
                proposed = self._variables.configuration(member)
                if (
                    proposed is not None
                    and proposed.id not in taken
                    and self._space.is_legal(proposed) is None
                ):
                    self._asked[proposed.id] = member
                    return Proposal(proposed)
            self._population, self._told = None, []
        return Proposal(draw_new(self._space, taken, rng))

    def tell(self, trial: Trial) -> None:
        """Give a member its score; with the last one of a generation the population moves."""
        if trial.status is TrialStatus.PARTIAL:
            return
        identity = trial.configuration.id
        self._known.add(identity)
        member = self._asked.pop(identity, None)
        if member is None or self._population is None:
            return
        is_scored = trial.is_complete and trial.score is not None
        self._told.append((member, -trial.achieved if is_scored else np.inf))
        if len(self._told) == self._population.population_size:
            self._move()

    def _begun(self) -> CatCMAwM:
        if self._population is None:
            self._population = self._variables.population(self._population_size, self._spread)
            self._asked.clear()
        return self._population

    def _move(self) -> None:
        assert self._population is not None
        order = sorted(range(len(self._told)), key=lambda i: self._told[i][1])
        ranked = [(self._told[i][0], float(rank)) for rank, i in enumerate(order)]
        self._told = []
        try:
            with np.errstate(all="ignore"):
                self._population.tell(ranked)
        except (AssertionError, np.linalg.LinAlgError):  # the library's signs of divergence
            self._population = None


class _Variables:
    """The nodes as continuous, discrete and categorical variables of the library."""

    def __init__(self, space: SpaceTree, tree: NodeTree) -> None:
        self._tree = tree
        self._continuous: dict[Key, Numerical] = {}
        self._discrete: dict[Key, Numerical] = {}
        self._categorical: dict[Key, Categorical] = {}
        if len(space.parts) > 1:
            self._categorical[FAMILY] = Categorical(tuple(part.family for part in space.parts))
        for signature in space.signatures():
            for node in tree.nodes(signature):
                self._add(node.key, node.hyperparameter.distribution)
        self._place = {
            key: i
            for group in (self._continuous, self._discrete, self._categorical)
            for i, key in enumerate(group)
        }

    def __bool__(self) -> bool:
        return bool(self._place)

    def _add(self, key: Key, distribution: Numerical | Categorical) -> None:
        if isinstance(distribution, Categorical):
            if distribution.size > 1:
                self._categorical[key] = distribution
        elif distribution.size > MOST_STEPS:
            self._continuous[key] = distribution
        elif distribution.size > 1:
            self._discrete[key] = distribution

    def population(self, size: int | None, spread: float) -> CatCMAwM:
        """A new population at the medians and the priors of the choices."""
        from cmaes import CatCMAwM

        steps = [_positions(distribution).tolist() for distribution in self._discrete.values()]
        return CatCMAwM(
            x_space=[[0.0, 1.0]] * len(self._continuous) or None,
            z_space=steps or None,
            c_space=[distribution.size for distribution in self._categorical.values()] or None,
            cat_param=self._probabilities(),
            population_size=size,
            sigma=spread,
            seed=0,
        )

    def _probabilities(self) -> Any:
        if not self._categorical:
            return None
        widest = max(distribution.size for distribution in self._categorical.values())
        probabilities = np.zeros((len(self._categorical), widest))
        for row, distribution in zip(probabilities, self._categorical.values(), strict=True):
            row[: distribution.size] = distribution.probabilities
        return probabilities

    def configuration(self, member: Any) -> Configuration | None:
        """Configuration of a member; None if a rule forbids its path."""

        def choose(key: Key, distribution: Categorical) -> JsonScalar:
            place = self._place.get(key)
            return distribution.values[0 if place is None else int(np.argmax(member.c[place]))]

        signature = self._tree.walk(choose)
        if signature is None:
            return None
        values = dict(signature.branches)
        for node in self._tree.nodes(signature):
            distribution = node.hyperparameter.distribution
            if isinstance(distribution, Numerical):
                values[node.name] = self._number(node.key, distribution, member)
            elif not node.hyperparameter.branch:
                values[node.name] = choose(node.key, distribution)
        return Configuration(signature.family, values, signature.path)

    def _number(self, key: Key, distribution: Numerical, member: Any) -> JsonScalar:
        place = self._place.get(key)
        if place is None:
            return distribution.value(0.5)
        return distribution.value(float((member.z if key in self._discrete else member.x)[place]))


def _positions(distribution: Numerical) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Middles of the integers' masses in the unit interval."""
    return distribution.cdf(np.arange(distribution.low, distribution.high + 1.0))
