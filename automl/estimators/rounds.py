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
) -> tuple[Model | None, int]:
    """Best number of rounds on held-out rows; the allowance is told.

    Parameters
    ----------
    split : training rows, held-out rows
    grow
        Fits on training rows until held-out rows get worse: model, best rounds, grown rounds.

    Returns
    -------
    model, rounds
        The model is None if there is time to grow the rounds on all rows.
    """
    began = time.monotonic()
    model, best, n_grown = grow(*split)
    n_rows, n_training = sum(map(len, split)), len(split[0])
    seconds = best * (time.monotonic() - began) / max(n_grown, 1) * n_rows / n_training
    if current().is_over() or seconds > current().left:
        current().cut(best)
        return model, best
    current().find(best)
    return None, best


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

    def _look(
        self, target: NDArray[Any], grow: Callable[[IntArray, IntArray], tuple[Model, int, int]]
    ) -> tuple[Model | None, int]:
        """Rounds with the least loss on held-out rows; the model too where no time is left for another."""
        split = inner_holdout(
            target,
            share=self.holdout_share,
            seed=self.random_state,
            is_classification=is_classifier(self),
        )
        return look(split, grow)
