"""Whole numbers that name the rows instead of measuring something.

Two signs, of numbers that (nearly) no two rows share: independent draws from so narrow a range would have met, or
they are spread over their range as evenly as numbers that were drawn or dealt out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from automl.data.findings import Findings
from automl.data.roles import MIN_ROWS_FOR_ID, NEARLY_UNIQUE, ColumnRole, Role
from automl.inference.columns import are_whole
from automl.inference.raw_table import RawTable
from automl.records import FloatArray

CHANCE = 1e-9
"""Probability of so few repeats: small beside the columns that are ever looked at."""
LARGEST = 2.0**53
"""Whole numbers beyond are not exact."""
MIN_ROWS_FOR_EVEN = 100
"""In fewer rows numbers at even steps are as likely doses or years (by judgement)."""
MIN_STEPS_FOR_EVEN = 10_000
"""Counts and codes of a few thousand steps are even by chance too often."""
EVEN_CHANCE = 0.01
"""Limit of a p-value below which values are not even; one identifier in a hundred is missed."""


def check_identifiers(raw: RawTable, roles: Mapping[str, ColumnRole], findings: Findings) -> None:
    """Note numeric columns that look like identifiers; those with a given role are meant."""
    for name, role in roles.items():
        if role.role is not Role.NUMERIC or role.is_given:
            continue
        if names_rows(raw[name].read(role.reading).values):
            findings.notes.append(
                f"column {name!r} holds whole numbers that no two rows share, like an identifier; if it names "
                "the rows, give it the role id"
            )


def names_rows(values: FloatArray) -> bool:
    """Whether numbers, one for each row, look like identifiers.

    Parameters
    ----------
    values : (n_rows,)
        Not a number where missing.
    """
    n_rows = len(values)
    if n_rows < MIN_ROWS_FOR_ID or not are_whole(values) or np.abs(values).max() > LARGEST:
        return False
    steps = np.sort((values - values.min()).astype(np.int64))
    steps = steps[np.append(True, steps[1:] > steps[:-1])]
    if len(steps) < NEARLY_UNIQUE * n_rows:
        return False
    n_steps = int(steps[-1] // np.gcd.reduce(steps)) + 1
    return _would_have_met(n_rows, n_rows - len(steps), n_steps) or _is_even(steps, n_rows, n_steps)


def _would_have_met(n_rows: int, n_repeats: int, n_values: int) -> bool:
    """Whether so few repeats are next to impossible for independent draws from `n_values` values.

    Draws from equally likely values repeat least, so this holds for values of any distribution.
    """
    from scipy.stats import poisson  # slow to import

    expected = n_rows + n_values * np.expm1(n_rows * np.log1p(-1.0 / n_values))
    return bool(poisson.cdf(n_repeats, expected) < CHANCE)


def _is_even(steps: np.ndarray, n_rows: int, n_steps: int) -> bool:
    if n_rows < MIN_ROWS_FOR_EVEN or len(steps) < n_rows or n_steps < MIN_STEPS_FOR_EVEN:
        return False
    from scipy.stats import kstest  # slow to import

    return bool(kstest(steps / steps[-1], "uniform").pvalue > EVEN_CHANCE)
