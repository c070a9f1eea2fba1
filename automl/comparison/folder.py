"""Folder of a comparison: its plan, and one record for each finished cell.

::

    OUT/
      plan.json                            methods, data sets, seeds; grows when more are added
      addresses.json                       of tables whose address may hold a secret, while cells are open
      cells/METHOD/DATA_SET/seed-S.json    record of a cell: there whole or not at all
      cells/METHOD/DATA_SET/seed-S.npz     its test rows: truth, predictions, weights, ...
      runs/METHOD/DATA_SET/seed-S/         home of a run under way; removed with the record
      tables/  pictures/  result.json      made from the records, at any time again

A cell is finished when its record is there. The record is written after the rows, and holds their
digest: a file that was cut short or changed is noticed, and the cell counts as not run. Records are
never changed, and cells never read each other's, so any number of processes may add to a folder.
Whoever writes such records, this program or another, has them compared by the same tables.
"""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from automl.comparison.plan import ADDRESSES, Cell, ComparisonPlan
from automl.content_digests import content_digest
from automl.durable import write_whole
from automl.errors import AutoMLWarning, DataError, SettingsError, reason_of
from automl.record_files import StageRecords
from automl.records import FloatArray, IntArray

FORMAT = 1
"""Format of records and plan of a comparison; others are refused with both numbers."""
ADDRESSES_FILE = "addresses.json"


@dataclass(frozen=True)
class CellRecord:
    """The outcome of a cell.

    Parameters
    ----------
    status
        `failed` has a reason and no score.
    score : at most 1
        On the test rows: 0 is the baseline, 1 is ideal.
    metrics
        On the test rows, natural sign.
    validated_score
        Of the run itself, by its own folds and metric.
    seconds
        Wall time of the run.
    predict_ms
        Milliseconds to predict one row.
    index
        JSON form of the performance index that judges the test rows.
    threshold : in [0, 1]
        Two classes: the model predicts class 1 where its probability is greater.
    trial_risks : (T,), None if a trial is not complete
        1 - validated score of each trial, in the order of their decisions.
    trial_seconds : (T,)
        When each trial ended, from the start of the run.
    facts
        Whatever else is worth knowing: settings, run, versions, members.
    """

    cell: Cell
    status: Literal["finished", "failed"]
    reason: str = ""
    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    validated_score: float | None = None
    seconds: float = 0.0
    predict_ms: float | None = None
    index: Mapping[str, Any] | None = None
    threshold: float = 0.5
    trial_risks: tuple[float | None, ...] = ()
    trial_seconds: tuple[float, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def risk(self) -> float:
        """1 - score on the test rows: 0 is ideal, 1 is the baseline; infinite for a failure."""
        return float("inf") if self.score is None else 1.0 - self.score

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "format": FORMAT}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`.

        Raises
        ------
        SettingsError
            If it was written by a later version.
        """
        values = {key: value for key, value in data.items() if key not in {"rows", "format"}}
        if data.get("format") != FORMAT:
            raise SettingsError(
                f"a record of a comparison has format {data.get('format')!r}; expected {FORMAT}"
            )
        for key in ("trial_risks", "trial_seconds"):
            values[key] = tuple(values.get(key, ()))
        return cls(**{**values, "cell": Cell(**data["cell"])})


@dataclass(frozen=True)
class CellRows:
    """Predictions of a cell for each test row; the same rows in the same order for all methods of a place.

    Parameters
    ----------
    y : (n,), codes or values
        Truth.
    prediction : (n, K) probabilities or (n,) values
    weights : (n,), non-negative, or None
        Weights that the rows have of their own.
    steps : (C,), ascending, or None
        Numbers of trials after which the method had another answer.
    step_predictions : (C, n, K) or (C, n), or None
        Its answer after each of these; from a step on until the next one.
    step_labels : (C, n), codes, or None
    labels : (n,), codes, or None
        As the models decide. None for regression, and in cells of versions that did not keep them.
    """

    y: NDArray[Any]
    prediction: FloatArray
    weights: FloatArray | None = None
    steps: IntArray | None = None
    step_predictions: FloatArray | None = None
    step_labels: IntArray | None = None
    labels: IntArray | None = None


class ComparisonFolder:
    """Plan and records of a comparison on disk.

    Parameters
    ----------
    path
        Made with the first thing that is written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def tables(self) -> Path:
        """Tables as CSV files."""
        return self.path / "tables"

    @property
    def page(self) -> Path:
        """The page of the comparison."""
        return self.path / "report.html"

    @property
    def pictures(self) -> Path:
        """Pictures as PNG files."""
        return self.path / "pictures"

    def run_home(self, cell: Cell) -> Path:
        """State folder of the run of a cell while it is under way."""
        return self.path / "runs" / cell.method / cell.data_set / _stem(cell)

    def write_plan(self, plan: ComparisonPlan) -> None:
        """Write or replace the plan, with the public addresses of the tables alone.

        The whole ones lie beside it, for the owner's eyes only, until `forget_addresses`: cells read
        their tables in other processes, and later.
        """
        public = plan.public
        self._write_addresses(
            {
                name: {key: data[key] for key in ADDRESSES if key in data}
                for name, data in plan.data_sets.items()
                if data != public.data_sets[name]
            }
        )
        StageRecords(self.path).write("plan", {**public.to_json(), "format": FORMAT})

    def forget_addresses(self) -> None:
        """Remove what may be a secret in the addresses of the tables, when no cell is open any more."""
        (self.path / ADDRESSES_FILE).unlink(missing_ok=True)

    def _write_addresses(self, addresses: Mapping[str, Mapping[str, str]]) -> None:
        self.forget_addresses()
        if not addresses:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(self.path / ADDRESSES_FILE, flags, 0o600), "w") as file:
            json.dump(addresses, file)

    def _read_addresses(self) -> dict[str, dict[str, str]]:
        try:
            addresses: dict[str, dict[str, str]] = json.loads(
                (self.path / ADDRESSES_FILE).read_text()
            )
        except (FileNotFoundError, ValueError):
            return {}
        return addresses

    def read_plan(self) -> ComparisonPlan | None:
        """The plan, or None if there is none.

        Raises
        ------
        SettingsError
            If it is damaged or of another version.
        """
        path = self.path / "plan.json"
        try:
            content = dict(json.loads(path.read_text(encoding="utf-8")))
            written = content.pop("format", None)
            for name, addresses in self._read_addresses().items():
                if name in content["data_sets"]:
                    content["data_sets"][name] |= addresses
            plan = ComparisonPlan.from_json(content)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise SettingsError(f"{path} is not the plan of a comparison: {error}") from None
        if written != FORMAT:
            raise SettingsError(f"{path} has format {written!r}; expected {FORMAT}")
        return plan

    def write(self, record: CellRecord, rows: CellRows | None = None) -> None:
        """Add the record of a cell; durable when this returns.

        Raises
        ------
        ValueError
            If the rows of a finished cell are missing.
        ServiceError
            If it cannot be written.
        """
        content = record.to_json()
        if record.status == "finished" and rows is None:
            raise ValueError(f"{record.cell}: a finished cell needs its test rows")
        if rows is not None:
            packed = _packed(rows)
            content["rows"] = content_digest(packed)
            write_whole(self._rows_file(record.cell), [packed], "the test rows", makes_folder=True)
        self._records(record.cell).write(_stem(record.cell), content)

    def read(self, cell: Cell) -> CellRecord | None:
        """Record of a cell, or None if there is no complete one.

        Warns
        -----
        AutoMLWarning
            If the record or its rows are damaged.
        """
        content = self._records(cell).read(_stem(cell))
        if content is None:
            return None
        if "rows" in content and content["rows"] != self._digest(cell):
            _warn_of_damage(self._rows_file(cell))
            return None
        return CellRecord.from_json(content)

    def read_rows(self, cell: Cell) -> CellRows:
        """Test rows of a finished cell.

        Raises
        ------
        DataError
            If there are none that can be read.
        """
        try:
            with np.load(self._rows_file(cell), allow_pickle=False) as arrays:
                return CellRows(**{name: arrays[name] for name in arrays.files})
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{self._rows_file(cell)} cannot be read: {reason_of(error)}") from None

    def remove(self, cell: Cell) -> None:
        """Forget a cell, so that it is run again."""
        for path in (self._rows_file(cell).with_suffix(".json"), self._rows_file(cell)):
            path.unlink(missing_ok=True)

    def _records(self, cell: Cell) -> StageRecords:
        return StageRecords(self._rows_file(cell).parent)

    def _rows_file(self, cell: Cell) -> Path:
        return self.path / "cells" / cell.method / cell.data_set / f"{_stem(cell)}.npz"

    def _digest(self, cell: Cell) -> str:
        try:
            content = self._rows_file(cell).read_bytes()
        except OSError:
            return ""
        return content_digest(content)


@cache
def _warn_of_damage(path: Path) -> None:
    """Say so once, however often the record is looked at."""
    warnings.warn(
        f"{path} is missing or damaged; the cell counts as not run", AutoMLWarning, stacklevel=3
    )


def _stem(cell: Cell) -> str:
    return f"seed-{cell.seed}"


def _packed(rows: CellRows) -> bytes:
    stream = io.BytesIO()
    arrays: dict[str, Any] = {
        name: value for name, value in vars(rows).items() if value is not None
    }
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()
