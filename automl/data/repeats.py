"""Rows that are there more than once, in the table or among training and test rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.digests import close_digests, n_close_repeats, whole_columns
from automl.data.findings import Findings
from automl.records import IntArray

COPIED_SHARE = 0.5
"""Share from which repeats look like copies: of the repeated rows, those in their order of before, or of the
different rows of one class, those that occur more than once. In order, two of 47 public tables with
equal rows have more (0.58 and 0.88), the others at most 0.12."""
OTHERS_SHARE = 0.1
"""Most of the different rows of the other classes that may occur more than once where one was oversampled. By
judgement: where rows are equal by chance, they are so in all classes."""
SAME_TIMES_SHARE = 0.9
"""Least share of the different rows that occur equally often where a whole table was doubled (by judgement)."""


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
    digests: NDArray[np.uint64],
    classes: IntArray | None,
    min_rows: int,
    findings: Findings,
    *,
    in_time_order: bool,
) -> IntArray | None:
    """Group codes of equal rows that look like copies.

    None where no rows are equal, or so many that folds would suffer, or where rows are equal by
    chance: the rows to come will then be equal to known ones as often, and folds that never have this
    prefer models that cannot use it.

    Parameters
    ----------
    digests : (n_rows,)
        Of the used columns and the target.
    classes : (n_rows,), or None for regression
    min_rows
        Fewest rows of a table.
    """
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
    if not (
        are_copied_in_order(codes) or is_doubled(codes) or is_oversampled(codes, classes, min_rows)
    ):
        findings.notes.append(f"{note}; taken for chance, they may be in different folds")
        return None
    findings.notes.append(f"{note} and look like copies; equal rows are kept together in one fold")
    return codes.astype(np.int64)


def are_copied_in_order(codes: IntArray) -> bool:
    """Whether repeated rows come in the same order as the rows that they repeat, as after a second export.

    Parameters
    ----------
    codes : (n_rows,)
        Equal for equal rows, 0 to one less than there are different ones.
    """
    _, first = np.unique(codes, return_index=True)
    earlier = first[codes]
    is_repeat = earlier < np.arange(len(codes))
    follows = is_repeat[1:] & is_repeat[:-1] & (np.diff(earlier) == 1)
    return bool(follows.any() and follows.sum() >= COPIED_SHARE * is_repeat.sum())


def is_doubled(codes: IntArray) -> bool:
    """Whether nearly all different rows occur equally often, twice or more.

    Parameters
    ----------
    codes : (n_rows,)
        As in `are_copied_in_order`.
    """
    times = np.bincount(np.bincount(codes))
    return bool(times.argmax() > 1 and times.max() >= SAME_TIMES_SHARE * times.sum())


def is_oversampled(codes: IntArray, classes: IntArray | None, min_rows: int) -> bool:
    """Whether most different rows of one class occur more than once, and few of the others do.

    Parameters
    ----------
    codes : (n_rows,)
        As in `are_copied_in_order`; equal rows have one class.
    classes : (n_rows,), or None for regression, where there is none to be oversampled
    min_rows
        Classes with fewer rows tell nothing.
    """
    if classes is None:
        return False
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    is_repeated, kinds = counts > 1, classes[first]
    for kind in np.flatnonzero(np.bincount(classes) >= min_rows):
        own, others = is_repeated[kinds == kind], is_repeated[kinds != kind]
        if own.mean() > COPIED_SHARE and len(others) and others.mean() <= OTHERS_SHARE:
            return True
    return False


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
