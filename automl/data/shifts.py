"""Columns whose distribution is another one in the test rows, or in later rows of the table."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pandas as pd

from automl.data.column_scores import ColumnScores
from automl.data.findings import listed
from automl.inference.column_schema import UNSEEN
from automl.records import FloatArray, IntArray

MAX_ROWS = 20_000
"""Rows at equal distances that are looked at: a difference of `LEAST_DIFFERENCE` shows in far fewer."""
MIN_ROWS = 20
"""Rows on either side: the mean of fewer is mostly chance."""
CHANCE = 0.01
"""Probability of any difference of a test table without one."""
ROW_CHANCE = 1e-6
"""Probability of any change along rows in random order; lower, since real rows are seldom in quite random order."""
LEAST_DIFFERENCE = 0.1
"""Smallest difference of mean scores from 0 to 1; a smaller one is of no consequence, however sure (by judgement)."""
LEAST_ROW_DIFFERENCE = 0.15
"""Smallest difference of mean ranks, in [0, 1]: less is of no use to know, however certain it is in many rows."""
LEAST_SHARE = 0.05
"""Share of the rows, on either side of a cut: what a few rows at an end do is no change (by judgement)."""


def shift_of_test_rows(train: pd.DataFrame, test: pd.DataFrame) -> str:
    """Sentence on the columns that differ between training rows and test rows; empty if none do.

    Parameters
    ----------
    train, test : (any number of rows, n_columns)
        The same columns of numbers and categories.
    """
    if min(len(train), len(test)) < MIN_ROWS:
        return ""
    train, test = thinned(train), thinned(test)
    together = pd.concat([_plain(train), _plain(test)], ignore_index=True)
    scores = ColumnScores.of(together)
    if not scores.values.shape[1]:
        return ""
    is_test = np.arange(len(together)) >= len(train)
    differences = _differences(scores, is_test)
    shifted = scores.strongest(differences)
    if not shifted:
        return ""
    column = next(iter(shifted))
    before, after = together.iloc[: len(train), column], together.iloc[len(train) :, column]
    facts = f"{_described(before, after)} in the training rows"
    return _sentence(together, list(shifted), "in the test rows", "in the test rows", facts)


def shift_along_rows(
    frame: pd.DataFrame,
    strata: IntArray,
    order: IntArray,
    where: str = "",
    skipped: frozenset[str] = frozenset(),
) -> str:
    """Sentence on the columns that change along the rows by more than the target explains.

    Parameters
    ----------
    frame : (n_rows, n_columns)
        Numbers and categories.
    strata : (n_rows,)
        Codes of rows with similar targets.
    order : (n_rows,)
        Positions of the rows in their order.
    where
        Names another order than that of the rows.
    """
    order = order[:: len(order) // MAX_ROWS + 1]
    if len(order) < MIN_ROWS:
        return ""
    ordered = _plain(frame.iloc[order])
    ordered = ordered[[name for name in ordered.columns if name not in skipped]]
    scores = ColumnScores.of(ordered).within(strata[order])
    if not scores.values.shape[1]:
        return ""
    strength, cuts = _changes(scores.values)
    shifted = scores.strongest(strength)
    if not shifted:
        return ""
    column, score = next(iter(shifted.items()))
    cut = int(cuts[score])
    row = cut * (len(frame) // MAX_ROWS + 1) + 1
    facts = f"{_described(ordered.iloc[:cut, column], ordered.iloc[cut:, column])} before"
    since = f"from about row {row} on{where}"
    return _sentence(ordered, list(shifted), f"in later rows{where}", since, facts)


def thinned(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows at equal distances, at most `MAX_ROWS`."""
    return frame.iloc[:: len(frame) // MAX_ROWS + 1]


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Categories as texts: those of two frames need not have the same codes."""
    categories = frame.select_dtypes("category").columns
    return frame.astype(dict.fromkeys(categories, object))


def _differences(scores: ColumnScores, is_test: np.ndarray) -> FloatArray:
    """Difference of the means where it is large and no chance; 0 elsewhere."""
    values = scores.values
    difference = np.abs(values[is_test].mean(axis=0) - values[~is_test].mean(axis=0))
    n_test = int(is_test.sum())
    error = values.std(axis=0) * np.sqrt(1 / n_test + 1 / (len(values) - n_test))
    limit = NormalDist().inv_cdf(1 - CHANCE / (2 * values.shape[1]))
    return np.where(
        (difference > limit * error) & (difference >= LEAST_DIFFERENCE), difference, 0.0
    )


def _changes(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Change of the mean at the cut where it is clearest, 0 where it is small or may be chance; and the cuts."""
    n_rows, n_scores = values.shape
    sums = np.cumsum(values - values.mean(axis=0), axis=0)
    lowest = max(int(LEAST_SHARE * n_rows), 1)
    inside = np.abs(sums[lowest - 1 : n_rows - lowest])
    cuts = inside.argmax(axis=0) + lowest
    largest = inside.max(axis=0)
    spread = _spread(values)
    bridge = np.divide(largest, spread * np.sqrt(n_rows), out=np.zeros(n_scores), where=spread > 0)
    limit = np.sqrt(np.log(2 * n_scores / ROW_CHANCE) / 2)
    difference = largest * n_rows / (cuts * (n_rows - cuts))
    return np.where((bridge > limit) & (difference >= LEAST_ROW_DIFFERENCE), difference, 0.0), cuts


def _spread(values: FloatArray) -> FloatArray:
    """Deviation of the scores; where rows that follow each other are alike, as much more as their sums vary.

    The variance of sums of neighbouring rows is estimated from differences of blocks that follow each other,
    which neither one change nor a slow trend adds much to.
    """
    size = int(2 * np.cbrt(len(values)))
    n_blocks = len(values) // size
    blocks = values[: n_blocks * size].reshape(n_blocks, size, -1).mean(axis=1)
    long_run = size * (np.diff(blocks, axis=0) ** 2).mean(axis=0) / 2
    spread: FloatArray = np.sqrt(np.maximum(values.var(axis=0), long_run))
    return spread


def _sentence(frame: pd.DataFrame, places: list[int], where: str, since: str, facts: str) -> str:
    names = [str(frame.columns[place]) for place in places]
    if len(names) == 1:
        return f"column {names[0]!r} is distributed differently {since}: {facts}"
    return (
        f"{len(names)} columns are distributed differently {where}: {listed(names)}; {names[0]!r} "
        f"{since}: {facts}"
    )


def _described(before: pd.Series, after: pd.Series) -> str:
    """What is most different, after and before, such as ``median 3, 5``."""
    missing = after.isna().mean() - before.isna().mean()
    if abs(missing) >= LEAST_DIFFERENCE:
        return f"{after.isna().mean():.0%} missing, {before.isna().mean():.0%}"
    if pd.api.types.is_numeric_dtype(before.dtype):
        first, second = (part.quantile([0.25, 0.75]).to_list() for part in (before, after))
        return f"its middle half is {_span(second)}, {_span(first)}"
    shares = [part.value_counts(normalize=True) for part in (before, after)]
    change = shares[1].sub(shares[0], fill_value=0.0)
    category = change.abs().idxmax()
    shown = "new categories" if category == UNSEEN else repr(category)
    return f"{shares[1].get(category, 0.0):.0%} are {shown}, {shares[0].get(category, 0.0):.0%}"


def _span(quartiles: list[float]) -> str:
    return f"{quartiles[0]:.4g} to {quartiles[1]:.4g}"
