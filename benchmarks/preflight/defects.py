"""Defects put into clean tables: seven kinds, each in several strengths.

A defect is a function of a `Case` and a generator; it changes the case's frames and says what a
finding must name. Whoever adds one decorates it with `defect`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

Order = Literal["source", "shuffled"]
Kind = Literal["leak", "id", "duplicates", "time", "groups", "shift", "constant"]
NEUTRAL = "w27"
LEAST_ROWS = 150


class NotApplicable(Exception):
    """The table has no place for this defect."""


@dataclass
class Case:
    """A clean table divided into training and test rows, to be spoilt.

    Parameters
    ----------
    column
        That a finding must name; None if any will do.
    n_added
        Rows that were added as copies.
    """

    target: str
    is_classification: bool
    train: pd.DataFrame
    test: pd.DataFrame
    kinds: dict[str, str]
    column: str | None = None
    n_added: int = 0
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def y(self) -> pd.Series:
        """Target of the training rows."""
        return self.train[self.target]

    @property
    def ranks(self) -> np.ndarray:
        """Target as numbers from 0 to 1: ranks, or codes of classes."""
        values = pd.factorize(self.y, sort=True)[0] if self.is_classification else self.y.rank()
        values = np.asarray(values, dtype=float)
        return values / max(values.max(), 1.0)

    def add(self, train: object, test: object, name: str = NEUTRAL) -> None:
        """A new column somewhere among the others."""
        place = len(name) % self.train.shape[1]
        self.train.insert(place, name, np.asarray(train, dtype=object))
        self.test.insert(place, name, np.asarray(test, dtype=object))
        self.train[name] = self.train[name].infer_objects()
        self.test[name] = self.test[name].infer_objects()
        self.column = name

    def both(self, values: Callable[[pd.Series], object], name: str = NEUTRAL) -> None:
        """A new column made of the target of both parts."""
        n = len(self.train)
        made = np.asarray(values(pd.concat([self.y, self.test[self.target]], ignore_index=True)))
        self.add(made[:n], made[n:], name)

    def numeric(self, rng: np.random.Generator) -> str:
        """A numeric feature with at least twenty values, none of more than half of the rows."""
        return self._feature(
            rng, lambda s, kind: is_number(s) and kind == "numeric" and s.nunique() >= 20
        )

    def nominal(self, rng: np.random.Generator) -> str:
        """A feature of 3 to 30 categories."""
        return self._feature(rng, lambda s, kind: kind == "nominal" and 3 <= s.nunique() <= 30)

    def varied(self, rng: np.random.Generator) -> str:
        """A feature that has no value in more than 70 % of the rows."""
        return self._feature(rng, lambda s, kind: kind in ("numeric", "nominal"), most=0.7)

    def _feature(
        self,
        rng: np.random.Generator,
        fits: Callable[[pd.Series, str], bool],
        most: float = 0.5,
    ) -> str:
        names = [
            name
            for name, kind in self.kinds.items()
            if fits(self.train[name], kind)
            and self.train[name].value_counts(dropna=False, normalize=True).iloc[0] <= most
        ]
        if not names:
            raise NotApplicable
        self.column = str(rng.choice(names))
        return self.column

    def need(self, condition: bool) -> None:
        """Stop where the table is of the wrong sort."""
        if not condition:
            raise NotApplicable


@dataclass(frozen=True)
class Defect:
    """How to spoil a case."""

    kind: Kind
    name: str
    spoil: Callable[[Case, np.random.Generator], None]


DEFECTS: list[Defect] = []


def defect(
    kind: Kind,
) -> Callable[
    [Callable[[Case, np.random.Generator], None]], Callable[[Case, np.random.Generator], None]
]:
    """Register a defect under its function's name."""

    def add(
        spoil: Callable[[Case, np.random.Generator], None],
    ) -> Callable[[Case, np.random.Generator], None]:
        DEFECTS.append(Defect(kind, spoil.__name__.replace("_", " "), spoil))
        return spoil

    return add


def is_number(series: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(series))


def names(kind: Kind) -> list[Defect]:
    """Defects of a kind."""
    return [found for found in DEFECTS if found.kind == kind]


def quoted(text: str) -> list[str]:
    """Names in quotation marks in a sentence."""
    return re.findall(r"'([^']*)'", text)
