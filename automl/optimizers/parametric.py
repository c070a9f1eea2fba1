"""Draws from learned priors, for as long as the scores agree with them (B14, sections 3.4.3 and 4.2).

Notation
--------
t : position in [0, 1] under the uniform alternative of a leaf (in ln x on logarithmic scales)
p : density of the prior in t
F : distribution function of the prior in t
F_n : of the evaluated values, each weighted by score / density it was drawn from
D : mean of |F - F_n| over t
fidelity : exp(-D² / (T_D² + 2 / (3 n))), 1 for perfect agreement; 2 / (3 n) is four times the
    mean of (F - F_n)² for n draws from the prior, n the effective number of values if it is right
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.factory_options import Positive, Share
from automl.optimizers.protocol import Proposal
from automl.optimizers.random_search import DRAW_ATTEMPTS
from automl.records import Configuration, JsonScalar, Trial, TrialStatus
from automl.spaces.distributions import LogUniform, Numerical, Uniform
from automl.spaces.nodes import Hyperparameter, Signature
from automl.spaces.ranges import plain_range
from automl.spaces.tree import SpaceTree

Floats = NDArray[np.float64]

TOLERANCE = 0.1
"""Mean difference of the distribution functions at which a prior agrees by 1 / e, beyond chance (by
judgement)."""
THRESHOLD = 0.5
"""Agreement below which the uniform alternative is drawn from (B14, section 3.4.3; the value by judgement)."""
LEAST_VALUES = 8
"""Evaluated values of a number before its prior can be doubted; the functions of fewer differ by chance."""
CHANCE = 2 / 3
LEAST_LOG_DENSITY = -20.0
GRID = np.linspace(0.0, 1.0, 201)


@dataclass
class _Leaf:
    """A number with a learned prior: its uniform alternative and what was evaluated."""

    prior: Numerical
    alternative: Numerical
    positions: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        values = self.alternative.ppf(GRID)
        self.cumulative: Floats = self.prior.cdf(values)

    def learn(self, value: float, score: float, *, is_uniform: bool) -> None:
        """Take a value and its score; the weight brings it to uniform draws.

        The weight to expect if the scores are proportional to p is kept beside it.
        """
        self.positions.append(float(self.alternative.cdf(value)))
        density = math.exp(self._log_density(value))
        self.weights.append(max(score, 0.0) * (1.0 if is_uniform else 1.0 / density))
        self.expected.append(density if is_uniform else 1.0)

    def fidelity(self, tolerance: float) -> float:
        """Agreement of the evaluated values with the prior, in (0, 1]; 1 while there are few."""
        weights, expected = np.asarray(self.weights), np.asarray(self.expected)
        if len(weights) < LEAST_VALUES or weights.sum() <= 0.0:
            return 1.0
        n_effective = float(expected.sum() ** 2 / np.sum(expected**2))
        return fidelity(
            self.cumulative,
            np.asarray(self.positions),
            weights / weights.sum(),
            tolerance=tolerance,
            n_effective=n_effective,
        )

    def _log_density(self, value: float) -> float:
        """Logarithm of p at a value; the alternative's density is 1 in t."""
        inside = self.alternative.closest(value)
        ratio = float(self.prior.log_density(inside) - self.alternative.log_density(inside))
        return max(ratio, LEAST_LOG_DENSITY)


def fidelity(
    cumulative: Floats,
    positions: Floats,
    weights: Floats,
    *,
    tolerance: float,
    n_effective: float,
) -> float:
    """Agreement of weighted values with a distribution, as in Bermúdez-Chacón, eqs. 4.3 and 4.4.

    Parameters
    ----------
    cumulative : (len(GRID),)
        F at the points of `GRID`.
    positions : (n,), in [0, 1]
    weights : (n,), sum to 1
    tolerance : > 0
        T_D, the mean distance that is allowed.
    n_effective : >= 1
        Number of values whose chance deviation is allowed as well.

    Returns
    -------
    in (0, 1]
    """
    order = np.argsort(positions, kind="stable")
    sums = np.append(0.0, np.cumsum(weights[order]))
    empirical = sums[np.searchsorted(positions[order], GRID, side="right")]
    distance = float(np.trapezoid(np.abs(cumulative - empirical), GRID))
    return math.exp(-(distance**2) / (tolerance**2 + CHANCE / n_effective))


class ParametricDensity:
    """Samples the space's distributions; a number whose prior the scores contradict, uniformly.

    As the priors are learned by accepting uniform draws with the probability of their score, the
    evaluated values, weighted by score and brought to uniform draws, must follow the prior. This
    is tested at every ask, for each number of each signature by itself; a prior comes back if
    later scores agree with it. Uniform and log-uniform numbers have nothing to test. Trials that
    are not complete, and those of others, are not learned.

    Parameters
    ----------
    tolerance : > 0
        T_D.
    threshold : in [0, 1]
        Fidelity below which the alternative is drawn from; 0 always trusts the priors.

    Raises
    ------
    SettingsError
        If `tolerance` or `threshold` is out of its range.

    References
    ----------
    .. [1] Bermúdez-Chacón, sections 3.4.3 and 4.2, Algorithm 4, eqs. 4.3 and 4.4.
    """

    def __init__(
        self, space: SpaceTree, *, tolerance: Positive = TOLERANCE, threshold: Share = THRESHOLD
    ) -> None:
        if not tolerance > 0.0 or not 0.0 <= threshold <= 1.0:
            raise SettingsError(
                "tolerance must be positive and threshold in [0, 1]; "
                f"got {tolerance:g} and {threshold:g}"
            )
        self._space, self._tolerance, self._threshold = space, tolerance, threshold
        self._leaves = {
            (signature.name, leaf.name): learned
            for signature in space.signatures()
            for leaf in signature.numericals
            if (learned := _learned_leaf(leaf)) is not None
        }
        self._asked: dict[str, frozenset[str]] = {}
        self._known: set[str] = set()

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """Draw of the space, with numbers whose prior is refuted drawn from the alternative."""
        taken = self._known | {configuration.id for configuration in pending}
        for _ in range(DRAW_ATTEMPTS):
            drawn = self._space.sample(rng)
            uniform = frozenset(self.refuted(self._space.signature(drawn)))
            proposed = self._redrawn(drawn, uniform, rng)
            if self._space.is_legal(proposed) is not None:
                proposed, uniform = drawn, frozenset()
            if proposed.id not in taken:
                break
        self._asked[proposed.id] = uniform
        return Proposal(proposed)

    def tell(self, trial: Trial) -> None:
        """Hold a complete trial against the priors of its numbers; a partial one is passed over."""
        if trial.status is TrialStatus.PARTIAL:
            return
        configuration = trial.configuration
        self._known.add(configuration.id)
        uniform = self._asked.pop(configuration.id, None)
        if uniform is None or not trial.is_complete or trial.score is None:
            return
        for name, value in configuration.values.items():
            leaf = self._leaves.get((configuration.signature, name))
            if leaf is not None:
                assert isinstance(value, int | float)
                leaf.learn(float(value), trial.score, is_uniform=name in uniform)

    def refuted(self, signature: Signature) -> list[str]:
        """Numbers of a signature whose prior the scores contradict."""
        return [
            name
            for (where, name), leaf in self._leaves.items()
            if where == signature.name and leaf.fidelity(self._tolerance) < self._threshold
        ]

    def _redrawn(
        self, drawn: Configuration, uniform: frozenset[str], rng: np.random.Generator
    ) -> Configuration:
        if not uniform:
            return drawn
        values: dict[str, JsonScalar] = dict(drawn.values)
        for name in sorted(uniform):
            values[name] = self._leaves[drawn.signature, name].alternative.draw(rng)
        return Configuration(drawn.family, values, drawn.path)


def check_priors_are_there(spaces: Iterable[SpaceTree], optimizer: str) -> None:
    """Refuse an optimizer that draws from learned priors where all numbers are plain ranges.

    Raises
    ------
    SettingsError
        If it would be random search.
    """
    if not any(map(has_priors, spaces)):
        raise SettingsError(
            f"optimizer {optimizer} draws from learned priors, and there are none: without them it is"
            " random search; set priors to a file of `automl learn priors`, or to learned",
            setting="optimizer",
        )


def has_priors(space: SpaceTree) -> bool:
    """Whether any number of a space has a learned prior in place of a plain range."""
    leaves = (leaf for path in space.signatures() for leaf in path.numericals)
    return any(_learned_leaf(leaf) is not None for leaf in leaves)


def _learned_leaf(leaf: Hyperparameter) -> _Leaf | None:
    prior = leaf.distribution
    if not isinstance(prior, Numerical) or isinstance(prior, Uniform | LogUniform):
        return None
    alternative = plain_range(prior)
    return None if alternative is None else _Leaf(prior, alternative)
