"""Priors as plain text that people read and edit (B14, chapter 4).

::

    priors:
      classification:
        svm/kernel=rbf/gamma_mode=number:      # a signature
          C: gmm(weights=[0.6, 0.4], means=[1.2, 0], sds=[0.9, 23], low=0.01, high=1000, log=true)
          gamma: loguniform(low=1e-5, high=1)  # any distribution of docs/families.md
    learned: {...}                             # how the file came about; read by people alone
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.priors.general import LearnedPrior
from automl.spaces.distributions import Distribution, Numerical
from automl.spaces.grammar import KINDS, Place
from automl.spaces.narrowing import check_prior
from automl.spaces.text import from_mapping, from_text, to_text
from automl.spaces.tree import SpaceTree
from automl.spaces.yaml_loader import parse_yaml

_KEYS = ("priors", "learned")
_HEADER = """\
# Priors of hyperparameters, by kind of target and signature. Used with `--priors FILE`.
# Distributions may be edited; they are written as in the files of the families.
"""

BySignature = Mapping[str, Mapping[str, Distribution]]


@dataclass(frozen=True)
class Priors:
    """Distributions that take the place of those of the families' files.

    Parameters
    ----------
    distributions : by kind of target, then by signature, then by hyperparameter
    source : name of the file, for messages
    """

    distributions: Mapping[str, BySignature]
    source: str = "priors"

    @classmethod
    def of(cls, learned: Iterable[LearnedPrior]) -> Priors:
        """Those that were learned."""
        distributions: dict[str, dict[str, dict[str, Distribution]]] = {}
        for prior in learned:
            signatures = distributions.setdefault(prior.kind, {})
            signatures.setdefault(prior.signature, {})[prior.name] = prior.distribution
        return cls(distributions)

    @classmethod
    def parse(cls, text: str, source: str) -> Priors:
        """Priors of a text.

        Raises
        ------
        SettingsError
            With file, key and reason.
        """
        place = Place(source)
        body = place.mapping(parse_yaml(text, source), _KEYS)
        if "priors" not in body:
            place.at("priors").fail("is missing")
        place = place.at("priors")
        kinds = place.mapping(body["priors"], KINDS)
        return cls(
            {kind: _signatures(signatures, place.at(kind)) for kind, signatures in kinds.items()},
            source,
        )

    @classmethod
    def read(cls, path: Path) -> Priors:
        """Priors of a file.

        Raises
        ------
        SettingsError
            With file, key and reason.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it must be UTF-8 text"
            raise SettingsError(f"priors {path} cannot be read: {reason}", file=str(path)) from None
        return cls.parse(text, path.name)

    def text(self, learned: Mapping[str, Any] | None = None) -> str:
        """Inverse of `parse`.

        Parameters
        ----------
        learned
            How they came about, as plain data.
        """
        lines = {
            kind: {
                signature: {name: to_text(distribution) for name, distribution in leaves.items()}
                for signature, leaves in signatures.items()
            }
            for kind, signatures in self.distributions.items()
        }
        content = {"priors": lines, **({"learned": dict(learned)} if learned else {})}
        body: str = yaml.safe_dump(content, sort_keys=False, width=10_000, allow_unicode=True)
        return _HEADER + body

    def check(self) -> None:
        """Refuse what fits no family.

        Raises
        ------
        SettingsError
            With file, key and reason.
        """
        for kind, signatures in self.distributions.items():
            for name in dict.fromkeys(key.split("/", 1)[0] for key in signatures):
                place = Place(self.source, ("priors", kind))
                try:
                    space = get_family(name).space(kind)
                except SettingsError as error:
                    place.at(name).fail(error.message)
                self.applied(space, kind)

    def applied(self, space: SpaceTree, kind: str) -> SpaceTree:
        """The space of a family with its priors.

        What of a prior lies outside the family's range is cut off.

        Raises
        ------
        SettingsError
            If a signature or hyperparameter is not the family's, or a distribution is of another
            kind than the one it takes the place of; with file, key and reason.
        """
        distributions = dict(space.priors)
        for name, leaves in self.distributions.get(kind, {}).items():
            if name.split("/", 1)[0] != space.family:
                continue
            place = Place(self.source, ("priors", kind, name))
            try:
                signature = space.signature(name)
            except SettingsError as error:
                place.fail(error.message)
            for leaf, prior in leaves.items():
                try:
                    check_prior(signature, leaf, prior)
                    original = signature.leaf(leaf).distribution
                    distributions[signature.path, leaf] = _cut(prior, original)
                except SettingsError as error:
                    place.at(leaf).fail(error.message)
        return replace(space, priors=distributions)


def _signatures(body: Any, place: Place) -> dict[str, dict[str, Distribution]]:
    return {
        str(name): {
            str(leaf): _distribution(text, place.at(name, leaf))
            for leaf, text in place.at(name).mapping(leaves).items()
        }
        for name, leaves in place.mapping(body).items()
    }


def _distribution(body: Any, place: Place) -> Distribution:
    try:
        if isinstance(body, str):
            return from_text(body)
        return from_mapping(place.mapping(body))
    except SettingsError as error:
        if "file" in error.fields:
            raise
        place.adopt(error)


def _cut(prior: Distribution, original: Distribution) -> Distribution:
    if not isinstance(prior, Numerical) or not isinstance(original, Numerical):
        return prior
    return replace(prior, low=max(prior.low, original.low), high=min(prior.high, original.high))
