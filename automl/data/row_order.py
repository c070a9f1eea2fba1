"""Whether the rows have an order that random folds would leak, and what changes along it.

Rows sorted by the target say nothing of the kind; what the target explains is left out everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from automl.data.column_scores import ColumnScores, neighbor_likeness, target_strata
from automl.data.findings import Findings, listed
from automl.data.roles import ColumnRole, Role
from automl.data.shifts import MAX_ROWS, shift_along_rows
from automl.data.standstills import standstills
from automl.data.stretches import errs_more_on_stretches
from automl.data.target import EncodedTarget
from automl.inference.raw_table import RawTable
from automl.records import FloatArray, IntArray

MIN_ROWS = 50
"""In fewer rows an order in time cannot be told from chance."""
MIN_TIMES = 20
"""Different values of a column that is a time: with fewer it is a group, such as a year (by judgement)."""
LIKENESS = 0.1
"""Correlation with the neighbours below which folds at random gain next to nothing."""
DEVIATIONS = 5.0
"""Standard deviations of a random order, beyond which the likeness is no chance in any of many columns."""
SORTED_CORRELATION = 0.98
"""Correlation of the target's ranks and the row numbers: a table that was sorted, but for a few rows added later."""


@dataclass(frozen=True)
class RowOrder:
    """Order of the rows by a time.

    Parameters
    ----------
    positions : (n_rows,)
        Of the rows, earliest first.
    column
        That gives it; empty for the order in the table.
    """

    positions: IntArray
    column: str = ""

    @property
    def where(self) -> str:
        """Words for a sentence on rows in this order."""
        return f" in the order of {self.column!r}" if self.column else ""


def check_row_order(
    raw: RawTable,
    typed: pd.DataFrame,
    roles: Mapping[str, ColumnRole],
    target: EncodedTarget,
    findings: Findings,
    *,
    time: FloatArray | None = None,
    time_column: str | None = None,
    has_groups: bool = False,
) -> None:
    """Note an order in time that was not given, columns that change along it, and columns that stop changing.

    Parameters
    ----------
    raw, typed : of n_rows rows
        The table as it came and as models see it.
    time : (n_rows,)
        Time of the rows, where a column of it is given.
    has_groups
        Whether the user says which rows belong together.
    """
    if len(typed) < MIN_ROWS:
        return
    strata = target_strata(target.y, is_classification=target.class_labels is not None)
    names = [name for name, role in roles.items() if role.role in (Role.NUMERIC, Role.NOMINAL)]
    features = typed[names]
    if time is None:
        dates = _dates(raw, roles)
        orders = [
            RowOrder(np.arange(len(typed))),
            *(_by_date(name, days) for name, days in dates.items()),
        ]
        if not has_groups:
            _note_time(features, orders, target, strata, findings)
    else:
        orders = [RowOrder(_sorted_positions(time), time_column or "")]
    sorted_names = frozenset(name for name in names if _is_rising(features[name]))
    for order in orders:
        still = standstills(features, strata, order.positions)
        findings.notes.extend(
            standstill.sentence(len(features), order.where) for standstill in still
        )
        skipped = sorted_names | {standstill.column for standstill in still}
        shift = shift_along_rows(features, strata, order.positions, order.where, skipped)
        if shift:
            findings.notes.append(shift)


def _note_time(
    features: pd.DataFrame,
    orders: list[RowOrder],
    target: EncodedTarget,
    strata: IntArray,
    findings: Findings,
) -> None:
    scores = _target_scores(target)
    for order in orders[1:]:
        if _is_like(_sample(scores, order)):
            findings.notes.append(
                f"rows close in date column {order.column!r} have similar targets; folds at random score too high "
                f"for later rows: give --time {order.column!r}"
            )
            return
    rows = orders[0]
    if _is_sorted_by(target, strata) or not _is_like(_sample(scores, rows)):
        return
    rising = [name for name in features.columns if _is_rising(features[name])]
    if rising:
        findings.notes.append(
            f"rows close in column {rising[0]!r}, by which they are sorted, have similar targets; if it is a time, give "
            f"--time {rising[0]!r}: folds at random score too high for later rows"
        )
        return
    alike = _alike_columns(features, strata, rows)
    if alike and errs_more_on_stretches(features, scores, strata):
        findings.notes.append(
            f"rows that follow each other have similar targets and similar values in {listed(alike, 3)}; folds at random "
            "score too high if rows are in order of time, give its column as --time, or come in groups, --groups"
        )


def _target_scores(target: EncodedTarget) -> FloatArray:
    if target.class_labels is None:
        return pd.Series(target.y).rank().to_numpy(dtype=np.float64)[:, None]
    scores: FloatArray = np.eye(len(target.class_labels))[target.y]
    return scores


def _sample(scores: FloatArray, order: RowOrder) -> FloatArray:
    return scores[order.positions[:: len(scores) // MAX_ROWS + 1]]


def _is_like(scores: FloatArray) -> bool:
    """Whether rows have targets like those of the rows around them, all classes weighted by their spread."""
    likeness = neighbor_likeness(scores)
    weights = scores.var(axis=0)
    mean = float(likeness @ weights / weights.sum()) if weights.sum() > 0 else 0.0
    return mean >= LIKENESS and mean * np.sqrt(len(scores)) >= DEVIATIONS


def _alike_columns(features: pd.DataFrame, strata: IntArray, order: RowOrder) -> list[str]:
    """Columns that rows share with their neighbours beyond what their targets explain, likest first."""
    chosen = order.positions[:: len(features) // MAX_ROWS + 1]
    scores = ColumnScores.of(features.iloc[chosen]).within(strata[chosen])
    likeness = neighbor_likeness(scores.values)
    is_alike = (likeness >= LIKENESS) & (likeness * np.sqrt(len(chosen)) >= DEVIATIONS)
    strongest = scores.strongest(np.where(is_alike, likeness, 0.0))
    return [str(features.columns[place]) for place in strongest]


def _is_sorted_by(target: EncodedTarget, strata: IntArray) -> bool:
    """Whether the rows are sorted by the target, perhaps in two parts."""
    if target.class_labels is not None:
        return int((np.diff(strata) != 0).sum()) <= 2 * len(target.class_labels) + 1
    ranks = pd.Series(target.y).rank().to_numpy()
    return abs(float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])) >= SORTED_CORRELATION


def _is_rising(series: pd.Series) -> bool:
    """Whether the values never fall and are many."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return False
    values = series.dropna().to_numpy(dtype=np.float64)
    return bool((values[1:] >= values[:-1]).all()) and len(np.unique(values)) >= MIN_TIMES


def _dates(raw: RawTable, roles: Mapping[str, ColumnRole]) -> dict[str, FloatArray]:
    """Days of the date columns that say of nearly every row when it was."""
    dates: dict[str, FloatArray] = {}
    for name, role in roles.items():
        if role.role is Role.DATE:
            days = raw[name].read(role.reading).values
            if np.isnan(days).mean() < 0.05 and len(np.unique(days)) >= MIN_TIMES:
                dates[name] = days
    return dates


def _by_date(name: str, days: FloatArray) -> RowOrder:
    return RowOrder(_sorted_positions(days), name)


def _sorted_positions(times: FloatArray) -> IntArray:
    """Positions by time; rows of one time in random order, so that theirs in the table does not count."""
    shuffled = np.random.default_rng(0).permutation(len(times))
    return shuffled[np.argsort(times[shuffled], kind="stable")]
