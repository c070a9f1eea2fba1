"""Rows that are there more than once, in the table or among training and test rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.digests import close_digests, n_close_repeats, whole_columns
from automl.data.findings import Findings
from automl.records import IntArray


def note_other_targets(
    typed: pd.DataFrame, digests: NDArray[np.uint64], findings: Findings
) -> None:
    """Note rows that equal an earlier one in all features but not in the target, or but for rounding."""
    n_others = n_close_repeats(typed) - int(pd.Series(digests).duplicated().sum())
    if n_others > 0:
        findings.notes.append(
            f"{n_others} of {len(typed)} rows have the features of an earlier row, with another target or rounded"
        )


def equal_rows(
    digests: NDArray[np.uint64], min_rows: int, findings: Findings, *, in_time_order: bool
) -> IntArray | None:
    """Group codes of equal rows; None if there are none, or so many that folds would suffer."""
    codes, distinct = pd.factorize(digests)
    n_repeated = len(digests) - len(distinct)
    if not n_repeated:
        return None
    note = f"{n_repeated} of {len(digests)} rows repeat an earlier row"
    largest = int(np.bincount(codes).max())
    few = len(distinct) < 2 * min_rows or largest > max(5, len(digests) / min_rows)
    if in_time_order or few:
        findings.notes.append(f"{note}; they are not kept together in one fold")
        return None
    findings.notes.append(f"{note}; equal rows are kept together in one fold")
    return codes.astype(np.int64)


def notes_on_shared_rows(
    digests: NDArray[np.uint64],
    known_digests: NDArray[np.uint64],
    frame: pd.DataFrame,
    known_frame: pd.DataFrame,
) -> list[str]:
    """Sentences on test rows that are training rows, or are so but for the target or rounding.

    Parameters
    ----------
    digests, known_digests : (n_rows,), (n_training_rows,)
        Of the used columns and the target.
    frame, known_frame : (n_rows, n_features), (n_training_rows, n_features)
        Typed.
    """
    is_shared = np.isin(digests, known_digests)
    whole = whole_columns(known_frame)
    is_close = np.isin(close_digests(frame, whole), close_digests(known_frame, whole))
    n_shared, n_close = int(is_shared.sum()), int((is_close & ~is_shared).sum())
    of = f"of {len(frame)} test rows"
    notes = []
    if n_shared:
        notes.append(f"{n_shared} {of} are also among the training rows")
    if n_close:
        notes.append(
            f"{n_close} {of} have the features of a training row, with another target or rounded"
        )
    return notes
