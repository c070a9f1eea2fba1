"""What the package has learned from its knowledge when it was built: hyperparameters that take a second a family.

A run that leaves a known table out must keep nothing of it. So a fit is there three times for each family
and kind of target: from all known tables, and from either half of them. A run takes the first whose
trials are all among its own, as digests tell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from automl.experience.data_set import DataSetFacts, Experience
from automl.experience.knowledge import FOLDER, SHIPPED
from automl.families.family import kind_of
from automl.records import BoolArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.earlier_data import SourceFit, Sources
from automl.surrogates.informed_learning import N_FOLLOWING, N_SHARED

FILE = FOLDER / "fits.json"
PARTS = ("all", "half", "other_half")
_DIGITS = 6
"""Decimals of an encoding or score that count: other processors round the last ones otherwise."""

_FIT_DIGITS = 3
"""Decimals of a fit: logarithms whose priors spread by 0.7 or more."""


@dataclass(frozen=True)
class KeptFit:
    """A fit and what it was learned from.

    Parameters
    ----------
    part : one of `PARTS`
    digest : of the trials, see `digest_of`
    """

    part: str
    digest: str
    fit: SourceFit

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "part": self.part,
            "digest": self.digest,
            "theta": np.round(self.fit.theta, _FIT_DIGITS).tolist(),
            "following": np.round(self.fit.following, _FIT_DIGITS).tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KeptFit:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If there is no such part, or a number is none.
        """
        theta, following = (np.array(data[name], float) for name in ("theta", "following"))
        if data["part"] not in PARTS or not np.isfinite([*theta, *following]).all():
            raise ValueError(f"no fit: {data}")
        return cls(data["part"], data["digest"], SourceFit(theta, following))


def kept_fit(
    experiences: Sequence[Experience], sources: Sources, encoder: ConfigurationEncoder
) -> SourceFit | None:
    """The fit from the most trials that all are among the sources; None if there is none.

    Parameters
    ----------
    experiences : (t,)
        Those of the sources, in their order.
    encoder
        Of the sources.
    """
    if len(encoder.spaces) != 1:
        return None
    kept = _fits(FILE).get((kind_of(experiences[0].data.task), encoder.spaces[0].family), ())
    parts = dict(parts_of(experiences, sources))
    shape = (sources.X.shape[1] + N_SHARED, N_FOLLOWING)
    for one in kept:
        is_fitting = (len(one.fit.theta), len(one.fit.following)) == shape
        if is_fitting and digest_of(sources, parts[one.part], encoder) == one.digest:
            return one.fit
    return None


def parts_of(
    experiences: Sequence[Experience], sources: Sources
) -> Iterator[tuple[str, BoolArray]]:
    """Name and trials (n,) of each part of what the package ships."""
    halves = np.array([_half(one.data) if one.origin == SHIPPED else -1 for one in experiences])
    half = halves[sources.task]
    yield from zip(PARTS, (half >= 0, half == 0, half == 1), strict=True)


def digest_of(sources: Sources, rows: BoolArray, encoder: ConfigurationEncoder) -> str:
    """Digest of some trials: names of the columns, configurations, scores, and which belong together.

    Columns count from their least value: one that is relative to the table's rows is shifted on
    another table, and a stationary kernel does not see that.
    """
    digest = hashlib.blake2b(json.dumps(encoder.feature_names).encode(), digest_size=16)
    _, task = np.unique(sources.task[rows], return_inverse=True)
    X = sources.X[rows]
    for numbers in (X - X.min(axis=0, initial=np.inf), sources.y[rows], task.astype(float)):
        digest.update(np.ascontiguousarray(np.round(numbers, _DIGITS) + 0.0).tobytes())
    return digest.hexdigest()


def _half(data: DataSetFacts) -> int:
    return hashlib.blake2b(data.fingerprint.encode()).digest()[0] % 2


@cache
def _fits(file: Path) -> dict[tuple[str, str], list[KeptFit]]:
    """Fits by kind of target and family, from all tables first; none if the file is damaged or not there."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return {
            (kind, family): [KeptFit.from_json(one) for one in kept]
            for kind, by_family in content.items()
            for family, kept in by_family.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
