"""How many rounds a boosted fit grows: known from before, by its learning rate, or found on held-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from automl.estimators.allowance import current
from automl.estimators.holdout import IntArray, inner_holdout

Model = TypeVar("Model")
MIN_ROWS_TO_HOLD_OUT = 300
"""With fewer rows none is held out and the number of rounds is fixed: what a few rows say of stopping is
chance (by judgement)."""

REACH, CEILING = 50.0, 2000
"""Most rounds are 50 / learning_rate, at most 2000: with 15 to 36 the loss is 2 to 10 % greater, see
``benchmarks/seconds``."""

BEYOND_BEST = 1.5
"""Rounds on all rows for each that is best on held-out rows, for numbers: all rows carry more of them. With two classes or
more a blend gains nothing from it. See ``benchmarks/seconds``."""


@dataclass(frozen=True)
class Rounds:
    """Limits of the rounds of one fit.

    Parameters
    ----------
    rate : in (0, 1]
        Learning rate; half of it takes twice as many rounds.
    wanted : >= 0
        Most rounds; 0 takes `REACH` / `rate` within [100, `CEILING`].
    few : > 0
        Rounds times rate if there are too few rows to hold any out.
    """

    rate: float
    wanted: int
    few: float

    @property
    def most(self) -> int:
        """Most rounds that are grown."""
        return self.wanted or int(np.clip(REACH / self.rate, 100, CEILING))

    @property
    def patience(self) -> int:
        """Rounds without improvement until the end."""
        return int(np.clip(2.0 / self.rate, 20, 100))

    def settled(self, n_rows: int) -> int | None:
        """Rounds that are known before the fit; None if held-out rows will tell."""
        if current().most_rounds is not None:
            return current().rounds(self.most)
        if n_rows < MIN_ROWS_TO_HOLD_OUT:
            return max(1, min(self.most, round(self.few / self.rate)))
        return None


def look(
    split: tuple[IntArray, IntArray],
    grow: Callable[[IntArray, IntArray], tuple[Model, int, int]],
    wanted: Callable[[int], int],
) -> tuple[Model | None, int]:
    """Rounds to grow by what is best on held-out rows; the allowance is told.

    Parameters
    ----------
    split : training rows, held-out rows
    grow
        Fits on training rows until held-out rows get worse: model, best rounds, grown rounds.
    wanted
        Rounds on all rows, by the best on held-out rows; not fewer than these.

    Returns
    -------
    model, rounds
        The model is None if there is time to grow the best rounds or more on all rows.
    """
    began = time.monotonic()
    model, best, n_grown = grow(*split)
    n_rows, n_training = sum(map(len, split)), len(split[0])
    a_round = (time.monotonic() - began) / max(n_grown, 1) * n_rows / n_training
    rounds = wanted(best)
    if current().left >= rounds * a_round:
        current().find(rounds)
        return None, rounds
    affordable = 0 if current().is_over() else int(current().left / a_round)
    if affordable < best:
        current().cut(best)
        return model, best
    current().cut(affordable)
    return None, affordable


class EarlyStopped:
    """What the boosted estimators share: how many rounds they grow, and on which rows they look.

    Attributes
    ----------
    FEW_ROUNDS
        Rounds times the learning rate, on too few rows to hold any out; see ``benchmarks/seconds``.
    """

    FEW_ROUNDS: ClassVar[float]
    learning_rate: float
    n_estimators: int
    holdout_share: float
    random_state: int

    @property
    def planned_iterations(self) -> int:
        """Most rounds that `fit` grows."""
        return self._rounds.most

    @property
    def _rounds(self) -> Rounds:
        return Rounds(self.learning_rate, self.n_estimators, self.FEW_ROUNDS)

    @property
    def _multiple(self) -> float:
        """Rounds on all rows for each that is best on held-out rows."""
        return 1.0 if is_classifier(self) else BEYOND_BEST

    def _look(
        self, target: NDArray[Any], grow: Callable[[IntArray, IntArray], tuple[Model, int, int]]
    ) -> tuple[Model | None, int]:
        """Rounds by the loss on held-out rows; the model too where no time is left for another."""
        split = inner_holdout(
            target,
            share=self.holdout_share,
            seed=self.random_state,
            is_classification=is_classifier(self),
        )

        def wanted(best: int) -> int:
            return max(best, min(round(self._multiple * best), self._rounds.most))

        return look(split, grow, wanted)
