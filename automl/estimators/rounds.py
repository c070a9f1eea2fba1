"""How many rounds a boosted fit grows: known from before, by its learning rate, or found on held-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from automl.estimators.allowance import current
from automl.estimators.holdout import IntArray

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
