"""Raw frames divided into training rows, test rows and folds, as a run divides its table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from automl.data import splits
from automl.data.column_checks import value_problem
from automl.data.findings import Findings, nearest
from automl.data.labelled_rows import labelled
from automl.data.row_columns import read_groups, read_time
from automl.data.target import EncodedTarget, encode_target
from automl.data.target_readings import read_target, target_reading
from automl.errors import SettingsError
from automl.inference.labels import label_text, missing_targets
from automl.inference.raw_table import Column, RawTable
from automl.listing import counted
from automl.records import FloatArray, IntArray


def split_test(
    frame: pd.DataFrame,
    target: str,
    share: float = 0.3,
    *,
    task: str = "auto",
    seed: int = 0,
    groups: str | None = None,
    time: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows and test rows of a raw frame, with their own index.

    Test rows are stratified, groups whole, in time order the last ones. Rows without a target are left out.

    Raises
    ------
    DataError
        If the target or another named column is not usable, with every problem.
    SettingsError
        If `share` leaves no row on one side.

    Warns
    -----
    AutoMLWarning
        With the number of rows without a target.
    """
    facts = _row_facts(frame, target, task=task, groups=groups, time=time, n_folds=2)
    training, test = splits.split_test(
        facts.target.y,
        facts.target.task,
        share=share,
        seed=seed,
        groups=facts.groups,
        time=facts.time,
    )
    return frame.iloc[facts.rows[training]], frame.iloc[facts.rows[test]]


def make_folds(
    frame: pd.DataFrame,
    target: str,
    n_folds: int = 5,
    *,
    repeat: int = 0,
    task: str = "auto",
    seed: int = 0,
    groups: str | None = None,
    time: str | None = None,
) -> pd.Series:
    """Fold number of each row of a raw frame that has a target, with the frame's index; -1 only trains.

    Raises
    ------
    DataError
        If the target or another named column is not usable, with every problem.
    SettingsError
        If there are fewer rows than folds.

    Warns
    -----
    AutoMLWarning
        With the number of rows without a target.
    """
    facts = _row_facts(frame, target, task=task, groups=groups, time=time, n_folds=n_folds)
    labels = facts.target.class_labels
    folds = splits.make_folds(
        facts.target.y,
        facts.target.task,
        n_folds=n_folds,
        repeat=repeat,
        seed=seed,
        groups=facts.groups,
        time=facts.time,
        labels=None if labels is None else [label_text(label) for label in labels],
    )
    return pd.Series(folds, index=frame.index[facts.rows], name="fold")


@dataclass(frozen=True)
class _RowFacts:
    """Facts of the rows with a target; `rows` are their positions in the frame."""

    rows: IntArray
    target: EncodedTarget
    groups: IntArray | None
    time: FloatArray | None


def _row_facts(
    frame: pd.DataFrame,
    target: str,
    *,
    task: str,
    groups: str | None,
    time: str | None,
    n_folds: int,
) -> _RowFacts:
    if groups and time:
        raise SettingsError("groups and time cannot be combined; give one of them")
    findings = Findings("the frame")
    for part, name in {"target": target, "groups": groups, "time": time}.items():
        if name is not None and name not in frame.columns:
            hint = nearest(name, frame.columns)
            findings.problems.append(f"there is no {part} column {name!r}{hint}")
    findings.raise_problems()
    raw = labelled(RawTable.of(frame.reset_index(drop=True)), target, task, findings)
    has_target = not findings.problems
    codes = read_groups(raw, groups, n_folds, findings)
    times = read_time(raw, time, n_folds, findings)
    if not has_target:
        findings.raise_problems()
    encoded = encoded_target(raw[target], task, findings)
    rows: IntArray = raw[target].series.index.to_numpy()
    return _RowFacts(rows, encoded, codes, times)


def encoded_target(column: Column, task: str, findings: Findings | None = None) -> EncodedTarget:
    """Codes or values of a target in which nothing is missing.

    Raises
    ------
    DataError
        With everything in `findings` and what is wrong with the target.
    """
    findings = findings or Findings("the labels")
    if not value_problem(column):
        column = read_target(column, target_reading(column, task, findings))
    n_missing = int(missing_targets(column).sum())
    if n_missing:
        findings.problems.append(
            f"target column {column.name!r} is empty in {counted(n_missing, 'row')}; drop them first"
        )
    findings.raise_problems()
    encoded = encode_target(column, task=task, positive=None, findings=findings)
    findings.raise_problems()
    assert encoded is not None
    return encoded
