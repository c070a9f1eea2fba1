"""A checked, typed table: the only form of data that anything after reading sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.content_digests import new_digest
from automl.data import storage
from automl.data.checks import CheckedTable, Columns, check_later_table, check_table
from automl.data.digests import digest_frame
from automl.data.readers import load_source, source_name
from automl.data.repeats import notes_on_shared_rows
from automl.data.shifts import shift_of_test_rows
from automl.errors import DataError
from automl.inference.labels import label_text
from automl.inference.readings import Reading
from automl.inference.schema import TableSchema
from automl.records import BoolArray, FloatArray, IntArray, Task

_ARRAYS = ("y", "row_digests", "weights", "groups", "time")


@dataclass(frozen=True, eq=False)
class Table:
    """Features, target and what belongs to the rows.

    Parameters
    ----------
    frame : (n_rows, n_features)
        Typed frame of the features: ``float64`` and ``category`` columns, RangeIndex.
    y : (n_rows,)
        int32 class codes (positions in `class_labels`), or float64 values.
    columns
        Names of the target and of the columns for weights, groups and time.
    schema
        Makes the same typed frame of any later raw rows.
    class_labels : (n_classes,), sorted, of the original type
        None for regression.
    positive : 0 or 1
        Position of the positive class of a binary target; None otherwise.
    weights : (n_rows,), >= 0
    groups : (n_rows,), codes from 0
        Rows to be kept together: those of one group or, where no group column is given, equal rows that look like copies.
    time : (n_rows,)
        Orders the rows: the column's number, or days since 1970-01-01.
    row_digests : (n_rows,), uint64
        Equal for rows with equal used features and target.
    digest
        Of the whole raw content, whatever file format held it.
    notes
        What was dropped, counted, made of odd values or noticed, one sentence each.
    target_reading
        How the numbers of the target are read, where they are more than plain numbers.
    """

    frame: pd.DataFrame
    y: NDArray[Any]
    task: Task
    columns: Columns
    schema: TableSchema
    digest: str
    row_digests: NDArray[np.uint64]
    class_labels: NDArray[Any] | None = None
    positive: int | None = None
    weights: FloatArray | None = None
    groups: IntArray | None = None
    time: FloatArray | None = None
    notes: tuple[str, ...] = ()
    target_reading: Reading | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def target(self) -> str:
        """Name of the target column."""
        return self.columns.target

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return 0 if self.class_labels is None else len(self.class_labels)

    @cached_property
    def classes(self) -> tuple[str, ...] | None:
        """Class labels as texts, for names of columns and messages."""
        if self.class_labels is None:
            return None
        return tuple(label_text(label) for label in self.class_labels)

    def subset(self, rows: IntArray | BoolArray) -> Table:
        """The table of some rows, in the order of `rows`; schema, labels and codes stay the same.

        Parameters
        ----------
        rows : (n_subset,) positions, repeats allowed, or (n_rows,) booleans
        """
        positions = np.arange(len(self))[rows]
        digest = new_digest(self.digest.encode())
        digest.update(positions.astype(np.int64).tobytes())

        def picked(array: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if array is None else array[positions]

        return replace(
            self,
            frame=self.frame.iloc[positions].reset_index(drop=True),
            digest=digest.hexdigest(),
            y=self.y[positions],
            row_digests=self.row_digests[positions],
            weights=picked(self.weights),
            groups=picked(self.groups),
            time=picked(self.time),
        )

    def write(self, folder: str | Path) -> Path:
        """Write the memory-mappable form; the manifest comes last. Returns the folder."""
        path = Path(folder)
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        storage.write_arrays(path, {**arrays, **storage.frame_arrays(self.frame, self.schema)})
        labels = self.class_labels
        manifest = {
            "task": str(self.task),
            "columns": self.columns.to_json(),
            "schema": self.schema.to_json(),
            "class_labels": None if labels is None else labels.tolist(),
            "label_dtype": None if labels is None else labels.dtype.str,
            "positive": self.positive,
            "digest": self.digest,
            "notes": list(self.notes),
            "target_reading": None
            if self.target_reading is None
            else self.target_reading.to_json(),
        }
        storage.write_manifest(path, manifest)
        return path

    @classmethod
    def load(cls, folder: str | Path) -> Table:
        """Read-only view of a written table; numbers stay in the memory map.

        Raises
        ------
        DataError
            If the folder holds no complete table.
        """
        path = Path(folder)
        manifest = storage.read_manifest(path)
        arrays = {name: storage.read_array(path, name) for name in (*_ARRAYS, "numeric", "codes")}
        numeric, codes, y = arrays.pop("numeric"), arrays.pop("codes"), arrays.pop("y")
        texts = [storage.read_array(path, name) for name in ("texts", "text_bytes")]
        digests = arrays.pop("row_digests")
        if numeric is None or codes is None or y is None or digests is None:
            raise DataError(f"{path} holds no complete table: an array file is missing")
        schema = TableSchema.from_json(manifest["schema"])
        return cls(
            frame=storage.frame_of_arrays(numeric, codes, schema, *texts),
            y=y,
            row_digests=digests,
            task=Task(manifest["task"]),
            columns=Columns(**manifest["columns"]),
            schema=schema,
            class_labels=_labels(manifest),
            positive=manifest["positive"],
            digest=manifest["digest"],
            notes=tuple(manifest["notes"]),
            target_reading=_target_reading(manifest),
            **arrays,
        )


def prepare_table(
    source: str | Path | pd.DataFrame,
    *,
    target: str,
    task: str = "auto",
    roles: Mapping[str, str] | None = None,
    groups: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    positive: object = None,
    n_folds: int = 5,
    min_rows: int = 10,
    strict: bool = False,
) -> Table:
    """Read, check and type a table of training rows.

    Parameters
    ----------
    source
        See `automl.data.readers.read_table`.
    task
        `auto`, `classification`, `binary`, `multiclass` or `regression`; see `automl.data.target`.
    roles
        Role by column name, instead of the detected one; see `automl.data.roles.Role`.
    groups, time, weights
        Columns that say which rows belong together, how they are ordered, how much each counts.
    positive
        Label of the positive class of a binary target, compared as text.
    n_folds
        There must be as many rows and, with `groups` or `time`, groups or more times than this.
    min_rows
        Least number of rows with a target.
    strict
        Refuse what is odd, instead of taking it with a note.

    Raises
    ------
    SettingsError
        If a setting cannot be meant: an unknown task or role, a role for a column that is not there.
    DataError
        With every problem of the table.
    ServiceError
        If a remote source cannot be reached.
    """
    raw, oddities = load_source(source)
    columns = Columns(target=target, groups=groups, time=time, weights=weights)
    checked = check_table(
        raw,
        columns=columns,
        source=source_name(source),
        task=task,
        roles=roles,
        positive=positive,
        n_folds=n_folds,
        min_rows=min_rows,
        oddities=oddities,
        strict=strict,
    )
    return _typed(checked, digest_frame(raw), columns)


def prepare_test_table(
    source: str | Path | pd.DataFrame, table: Table, *, strict: bool = False
) -> Table:
    """Read, check and type rows with the same columns and labels as the training rows in `table`.

    Parameters
    ----------
    strict
        Refuse what is odd about the source, instead of taking it with a note.

    Raises
    ------
    DataError
        With every problem: missing columns, labels that the training rows lack, wrong values.
    ServiceError
        If a remote source cannot be reached.
    """
    typed = later_table(source, table, strict=strict)
    notes = [
        *notes_on_shared_rows(typed.row_digests, table.row_digests, typed.frame, table.frame),
        shift_of_test_rows(*_with_target(table, typed)),
    ]
    return replace(typed, notes=(*typed.notes, *filter(None, notes)))


def later_table(source: str | Path | pd.DataFrame, table: Table, *, strict: bool = False) -> Table:
    """As `prepare_test_table`, without a look at what the rows have in common with the training rows.

    Raises
    ------
    DataError, ServiceError
        As there.
    """
    raw, oddities = load_source(source)
    checked = check_later_table(
        raw,
        columns=table.columns,
        source=source_name(source),
        schema=table.schema,
        task=table.task,
        class_labels=table.class_labels,
        positive=table.positive,
        target_reading=table.target_reading,
        oddities=oddities,
        strict=strict,
    )
    return _typed(checked, digest_frame(raw), table.columns)


def _with_target(table: Table, test: Table) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns of both that can be compared: no dates, which are later ones in most test rows."""
    names = [column.name for column in table.schema.columns if column.role != "date"]
    targets = [
        pd.Series(part.y if part.class_labels is None else part.class_labels.astype(str)[part.y])
        for part in (table, test)
    ]
    parts = zip((table, test), targets, strict=True)
    train_frame, test_frame = (part.frame[names].assign(**{table.target: y}) for part, y in parts)
    return train_frame, test_frame


def _typed(checked: CheckedTable, digest: str, columns: Columns) -> Table:
    return Table(
        frame=checked.frame,
        y=checked.target.y,
        task=checked.target.task,
        columns=columns,
        schema=checked.schema,
        digest=digest,
        row_digests=checked.row_digests,
        class_labels=checked.target.class_labels,
        positive=checked.target.positive,
        weights=checked.weights,
        groups=checked.groups,
        time=checked.time,
        notes=tuple(checked.notes),
        target_reading=checked.target_reading,
    )


def _target_reading(manifest: Mapping[str, Any]) -> Reading | None:
    data = manifest.get("target_reading")
    return None if data is None else Reading.from_json(data)


def _labels(manifest: Mapping[str, Any]) -> NDArray[Any] | None:
    if manifest["class_labels"] is None:
        return None
    return np.array(manifest["class_labels"], dtype=np.dtype(manifest["label_dtype"]))
