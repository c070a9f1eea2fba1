"""A space as surrogates and maximizers see it: points, encodings and, if it is small, all of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from automl.records import Configuration, FloatArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.point_encoding import PointEncoder
from automl.spaces.points import PointSpace, all_configurations
from automl.spaces.tree import SpaceTree

LISTED = 2048
"""Points of a space up to which all of them are scored, in place of the maximizer's."""


class Geometry:
    """What depends on the space alone, worked out once; several optimizers may share it.

    Parameters
    ----------
    space
        Space of one family, or a union of them.
    form
        How nominal hyperparameters are written.
    candidates
        The only configurations that may be proposed; by default every one of the space. A finite
        space of up to `LISTED` points is listed.
    """

    def __init__(
        self,
        space: SpaceTree,
        *,
        form: Literal["onehot", "index"] = "onehot",
        candidates: Sequence[Configuration] | None = None,
    ) -> None:
        self.space = space
        self.is_free = candidates is None
        self._form: Literal["onehot", "index"] = form
        self._candidates = None if candidates is None else list(candidates)
        self._last: tuple[str, FloatArray] | None = None

    def row(self, configuration: Configuration) -> FloatArray:
        """Encoding (d,) of a configuration; that of the last one is kept."""
        key = configuration.id
        if self._last is None or self._last[0] != key:
            self._last = key, self.encoder.transform([configuration])[0]
        return self._last[1]

    @cached_property
    def points(self) -> PointSpace:
        """The space's points in batches."""
        return PointSpace(self.space)

    @cached_property
    def encoder(self) -> ConfigurationEncoder:
        """Encodes configurations."""
        return ConfigurationEncoder(self.space, form=self._form).fit()

    @cached_property
    def points_encoder(self) -> PointEncoder:
        """Encodes points."""
        return PointEncoder(self.points, self.encoder)

    @cached_property
    def listed(self) -> list[Configuration] | None:
        """The candidates, or every point of a small space."""
        if self._candidates is not None:
            return self._candidates
        return all_configurations(self.space, limit=LISTED)

    @cached_property
    def listed_ids(self) -> list[str]:
        """Their ids."""
        return [configuration.id for configuration in self.listed or []]

    @cached_property
    def listed_rows(self) -> FloatArray:
        """(n, d) their encodings."""
        return self.encoder.transform(self.listed or [])
