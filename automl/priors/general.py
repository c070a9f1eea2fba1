"""General priors of numerical hyperparameters, learned from many data sets (B14 Alg. 4).

For each number of each signature, and each data set by itself: a value of the hyperparameter is
drawn uniformly from its range, looked up, and accepted with a probability that grows with its
score. Every accepted value becomes a component of a Gaussian mixture, and components that one
Gaussian can represent are merged. Weights of categorical choices are not learned: the thesis
learns priors of numbers alone, in each categorical context by itself.

Where Algorithm 4 leaves something open or does not work as it stands:

- *Looked up* means the score of the known trial of this data set and signature whose value is
  nearest to the one drawn. However the trials were chosen, values are accepted as if they had
  been drawn uniformly.
- *Score*: on an easy data set all homogenized scores are close to 1, and a prior that accepts with
  the score itself is flat. A trial is accepted with the probability that none of `rivals` trials,
  drawn at random from the same data set and signature, is better. With ``acceptance="index"`` it is
  the homogenized score, floored at 0, as in the thesis. Trials that failed are never accepted.
- *Converged* is a data set when the distribution functions of all its accepted values and of their
  first half differ by less than `settled` in the mean. Its values share a weight of 1, so that
  every data set counts alike.
- *Merging* comes once, after the values of all data sets. A single value weighs so little beside
  the component of many that by eq. 4.4 any component could swallow it, wherever it lies. For the
  same reason the result does not depend on the order of the data sets.
- A *floor* of the mass stays on the whole range, so that every legal value keeps a positive density
  and a data set that is unlike the others is not lost: a tenth, and more where few data sets are
  known, as the range counts as `doubt` data sets itself.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.experience.cleaning import cleaned, spaces_for
from automl.experience.data_set import Experience, KnownTrial
from automl.families.family import kind_of
from automl.priors.accepted_values import PriorSettings, acceptances, accepted_values
from automl.priors.gaussian_components import Components
from automl.priors.learned_distributions import distribution_of
from automl.randomness import Purpose, stream
from automl.records import TrialStatus
from automl.spaces.distributions import GaussianMixture, Numerical
from automl.spaces.nodes import Hyperparameter, Signature
from automl.spaces.ranges import plain_range
from automl.spaces.tree import SpaceTree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LearnedPrior:
    """The prior of one number in one signature, and what it was learned from.

    Parameters
    ----------
    kind : `classification` or `regression`
    signature : its name, ``family/name=value/…``
    original : distribution that it takes the place of
    values : (n,)
        Accepted values of all data sets together, on the hyperparameter's own scale.
    data_sets, trials : how many it was learned from
    """

    kind: str
    signature: str
    name: str
    original: Numerical
    distribution: GaussianMixture
    values: Floats
    data_sets: int
    trials: int


@dataclass(frozen=True)
class _DataSet:
    """Trials of one data set, measured by one metric, by signature."""

    identity: str
    metric: str
    trials: Mapping[str, Sequence[KnownTrial]]

    @property
    def key(self) -> str:
        """What its stream of random numbers depends on."""
        return f"{self.identity} {self.metric}"


def learn_priors(
    experiences: Iterable[Experience],
    settings: PriorSettings | None = None,
    *,
    families: Sequence[str] = (),
    seed: int = 0,
    spaces: Mapping[str, Mapping[str, SpaceTree]] | None = None,
) -> tuple[LearnedPrior, ...]:
    """Priors of all numbers for which enough data sets are known (B14 Alg. 4).

    What comes of a data set does not depend on which others there are.

    Parameters
    ----------
    families
        Only these; all where none is named.
    spaces
        Search space by family, by kind of target; default: those of all families.

    References
    ----------
    .. [1] Bermúdez-Chacón, chapter 4, Algorithm 4.
    """
    chosen, by_kind = settings or PriorSettings(), _by_kind(experiences)
    learned: list[LearnedPrior] = []
    for kind, entries in sorted(by_kind.items()):
        own_spaces = spaces[kind] if spaces else spaces_for(entries[0].data.task)
        taking_part = {n: s for n, s in own_spaces.items() if not families or n in families}
        data_sets = _data_sets(entries, taking_part)
        for space in taking_part.values():
            for signature in space.signatures():
                learned += _Context(kind, signature, chosen, seed).priors(data_sets)
    return tuple(learned)


def mixture_of(samples: Sequence[Floats], settings: PriorSettings) -> Components:
    """Mixture of the accepted values of several data sets, each with the same mass.

    Parameters
    ----------
    samples : (n_i,) each, in [0, 1]
        Not empty.
    """
    weights = np.concatenate([np.full(len(sample), 1.0 / len(sample)) for sample in samples])
    grown = Components.of(np.concatenate(samples), weights, settings.width)
    return grown.simplified(settings.tolerance, settings.threshold)


def _by_kind(experiences: Iterable[Experience]) -> dict[str, list[Experience]]:
    by_kind: dict[str, list[Experience]] = {}
    for experience in experiences:
        by_kind.setdefault(kind_of(experience.data.task), []).append(experience)
    return by_kind


def _data_sets(
    experiences: Iterable[Experience], spaces: Mapping[str, SpaceTree]
) -> list[_DataSet]:
    """Usable trials at full fidelity by data set, in an order of their own."""
    trials: dict[tuple[str, str], dict[str, list[KnownTrial]]] = {}
    for experience in experiences:
        usable = cleaned(experience, spaces)
        identity = usable.data.fingerprint or usable.id
        by_signature = trials.setdefault((identity, usable.metric), {})
        for trial in usable.trials:
            if trial.status is not TrialStatus.PARTIAL:
                by_signature.setdefault(trial.configuration.signature, []).append(trial)
    return [_DataSet(*key, trials[key]) for key in sorted(trials)]


@dataclass(frozen=True)
class _Context:
    """Where priors are learned: one signature for one kind of target."""

    kind: str
    signature: Signature
    settings: PriorSettings
    seed: int

    def priors(self, data_sets: Sequence[_DataSet]) -> Iterator[LearnedPrior]:
        """Priors of the numbers of this signature; none if too few data sets know it."""
        usable = [
            (data_set, trials)
            for data_set in data_sets
            if self._is_known(trials := data_set.trials.get(self.signature.name, ()))
        ]
        if len({one.identity for one, _ in usable}) < self.settings.least_data_sets:
            return
        for leaf in self.signature.numericals:
            assert isinstance(leaf.distribution, Numerical)
            number = plain_range(leaf.distribution)
            if number is None:
                continue
            samples: dict[str, list[Floats]] = {}
            for one, trials in usable:
                sample = self._sample(leaf, number, one.key, trials)
                samples.setdefault(one.identity, []).append(sample)
            pooled = [np.concatenate(parts) for parts in samples.values()]
            accepted = [sample for sample in pooled if len(sample)]
            if len(accepted) >= self.settings.least_data_sets:
                yield self._prior(leaf, number, accepted, sum(len(trials) for _, trials in usable))

    def _is_known(self, trials: Sequence[KnownTrial]) -> bool:
        return sum(trial.score is not None for trial in trials) >= self.settings.least_trials

    def _sample(
        self, leaf: Hyperparameter, number: Numerical, key: str, trials: Sequence[KnownTrial]
    ) -> Floats:
        """Accepted values of one data set; the stream is that of data set and leaf."""
        text = f"{key} {self.kind} {self.signature.name} {leaf.name}"
        values: Any = [trial.configuration.values[leaf.name] for trial in trials]
        scores = np.array([np.nan if t.score is None else t.score for t in trials])
        return accepted_values(
            number.cdf(values),
            acceptances(scores, self.settings),
            settings=self.settings,
            rng=stream(self.seed, Purpose.PRIORS, zlib.crc32(text.encode())),
            number=number,
        )

    def _prior(
        self, leaf: Hyperparameter, number: Numerical, samples: Sequence[Floats], n_trials: int
    ) -> LearnedPrior:
        assert isinstance(leaf.distribution, Numerical)
        learned = mixture_of(samples, self.settings)
        return LearnedPrior(
            self.kind,
            self.signature.name,
            leaf.name,
            leaf.distribution,
            distribution_of(learned, leaf.distribution, self.settings.floor_among(len(samples))),
            number.ppf(np.concatenate(samples)),
            len(samples),
            n_trials,
        )
