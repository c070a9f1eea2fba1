"""The champion of a problem beside a new version of its table, and what is to be done again."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.table import Table, later_table
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.home import Home, RunFolder
from automl.inference.column_schema import ColumnSchema
from automl.inference.columns import stored_kind
from automl.inference.labels import encode_labels, missing_targets
from automl.inference.model import TableModel
from automl.inference.raw_table import Column
from automl.inference.reference import ColumnReference, TrainingReference, typed_values
from automl.inference.schema import TableSchema
from automl.monitoring.drift import movement, movements_of
from automl.monitoring.drift_report import (
    DriftReport,
    SchemaChange,
    Shift,
    Tried,
    score_shift,
    shifts,
)
from automl.monitoring.ladder import choose_rung
from automl.randomness import Purpose, stream
from automl.records import BoolArray, FloatArray, IntArray
from automl.run.challenge import rows_folder
from automl.run.finished_runs import finished_runs
from automl.run_records.final import FinalRecord
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.selection.correction import NORMAL_QUANTILE
from automl.statistics.block_jackknife import blocks_of
from automl.tracking.model_registry import champion_bundle


def report_drift(name: str, raw: pd.DataFrame, home: Home, *, trust: bool = False) -> DriftReport:
    """Report of a problem's champion and a new table, with the rung that it asks for.

    Parameters
    ----------
    trust
        Whether pickles of others may be read.

    Raises
    ------
    ServiceError
        If the registry is needed and away: what to do is not known then.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AutoMLWarning)  # the training itself says them
            report = _report(name, raw, home, trust=trust)
    except (DataError, SettingsError) as error:
        report = DriftReport("", obstacle=error.message)
    choice = choose_rung(report)
    return replace(report, rung=choice.rung, reason=choice.reason)


def _report(name: str, raw: pd.DataFrame, home: Home, *, trust: bool) -> DriftReport:
    champion = champion_bundle(name, home.path)
    folder = home.runs / champion.run_id
    if not champion.run_id or not (folder / "table").is_dir():
        return DriftReport(
            champion.label, obstacle=f"the training rows of {champion.label} are not in {home.path}"
        )
    plan = EvaluationPlan(folder)
    change = schema_change(plan.table, raw)
    report = DriftReport(champion.label, champion.run_id, len(plan.table), schema=change)
    if report.schema.sentence:
        return report
    rows = later_table(raw, plan.table)
    is_fresh = ~np.isin(rows.row_digests, _seen_rows(RunFolder(folder), plan.table))
    fresh = rows.subset(is_fresh)
    report = replace(report, fresh_rows=len(fresh))
    if not len(fresh):
        return report
    blocks = _blocks(plan.table, raw, fresh, is_fresh)
    report = _measured(report, champion.load(trust=trust), plan, fresh, blocks)
    return replace(report, tried=_tried(name, champion.label, raw, home))


def _tried(name: str, champion: str, raw: pd.DataFrame, home: Home) -> Tried | None:
    """The newest run of a problem, if its model left the alias to this champion and its schema is that of the table."""
    folder = next(reversed(finished_runs(home, name)), None)
    promotion = None if folder is None else PromotionRecord.read(folder)
    if folder is None or promotion is None or not folder.table.is_dir():
        return None
    if promotion.promote or promotion.champion != champion:
        return None
    training = EvaluationPlan(folder.path).table
    try:
        rows = later_table(raw, training)
    except DataError:
        return None
    n_fresh = int(np.count_nonzero(~np.isin(rows.row_digests, _seen_rows(folder, training))))
    return Tried(folder.run_id, len(training), n_fresh)


def _seen_rows(folder: RunFolder, training: Table) -> NDArray[np.uint64]:
    """Digests of the rows that the run had, whether it trained on them or held them back."""
    others = [path for path in (folder.test, rows_folder(folder)) if path.is_dir()]
    return np.concatenate([training.row_digests, *(Table.load(p).row_digests for p in others)])


def _measured(
    report: DriftReport,
    model: TableModel,
    plan: EvaluationPlan,
    fresh: Table,
    blocks: IntArray,
) -> DriftReport:
    """The report with what the fresh rows say."""
    training, reference = plan.table, model.reference
    reference = reference or TrainingReference.fit(training.schema, training.frame)
    expected, error = expectation(RunFolder(plan.folder))
    prediction = model.raw_typed(fresh.frame)
    score = score_shift(
        plan.index,
        fresh.y,
        prediction,
        model.codes(prediction),
        blocks,
        expected=expected,
        expected_standard_error=error,
        n_training=len(training),
        weights=fresh.weights if plan.index.takes_weights else None,
    )
    columns = _columns(reference, training, fresh)
    return replace(report, columns=columns, label=_label(training, fresh), score=score)


def _columns(reference: TrainingReference, training: Table, fresh: Table) -> tuple[Shift, ...]:
    schema = training.schema
    return shifts(
        movements_of(schema, reference, fresh.frame),
        reference.columns,
        {column.name: typed_values(column, fresh.frame) for column in schema.columns},
        {column.name: typed_values(column, training.frame) for column in schema.columns},
        reference.rows,
    )


def _label(training: Table, fresh: Table) -> Shift:
    name, values = training.target, [_targets(table) for table in (training, fresh)]
    if training.classes is None:
        known = ColumnReference.of_numbers(values[0].to_numpy(dtype=np.float64))
    else:
        known = ColumnReference.of_texts(values[0])
    moved = movement(name, known, values[1], len(training))
    return shifts([moved], {name: known}, {name: values[1]}, {name: values[0]}, len(training))[0]


def _targets(table: Table) -> pd.Series:
    if table.classes is None:
        return pd.Series(table.y)
    return pd.Series(np.array(table.classes, dtype=object)[table.y])


def expectation(folder: RunFolder) -> tuple[float, float | None]:
    """Score that a run expects of its model on new rows, and its standard error; None if that is not known.

    The honest score where there is one, else the validated one.

    Raises
    ------
    DataError
        If the run has neither.
    """
    honest = (HonestRecord.read(folder) or HonestRecord()).of_model
    if honest is not None and math.isfinite(honest.high - honest.low):
        return honest.score, (honest.high - honest.low) / (2 * NORMAL_QUANTILE)
    final = FinalRecord.read(folder)
    if final is None or not math.isfinite(final.score):
        raise DataError(f"run {folder.run_id} has no score to compare with")
    return final.score, None


def _blocks(training: Table, raw: pd.DataFrame, fresh: Table, is_fresh: BoolArray) -> IntArray:
    """(n_fresh,) blocks of rows that belong together, as a promotion has them."""
    kept = raw[~missing_targets(Column(raw[training.target]))]
    if len(kept) != len(is_fresh):
        raise DataError("the rows of the table could not be matched to those that were read")
    units: NDArray[Any] = fresh.row_digests
    order, columns = None, training.columns
    if columns.groups in kept:
        units = pd.factorize(kept[columns.groups], use_na_sentinel=False)[0][is_fresh]
    if columns.time in kept:
        order = _order(kept[columns.time])[is_fresh]
    return blocks_of(units, order, rng=stream(0, Purpose.BOOTSTRAP, len(fresh)))


def _order(values: pd.Series) -> FloatArray:
    """(n,) numbers that grow with time; a value that cannot be read is the first."""
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.isna().mean() > 0.5:
        numbers = pd.to_datetime(values, errors="coerce", format="mixed", utc=True)
    return np.asarray(numbers.rank().fillna(0.0), dtype=np.float64)


def schema_change(training: Table, raw: pd.DataFrame) -> SchemaChange:
    """Parts of a raw table that the champion cannot follow.

    Raises
    ------
    DataError
        If the target column is not there.
    """
    if training.target not in raw.columns:
        raise DataError(f"the table lacks the target column {training.target!r}")
    schema, names = training.schema, set(map(str, raw.columns))
    own = {name for name in vars(training.columns).values() if name is not None}
    known = {*schema.names, *schema.ignored, *own}
    there = [column for column in schema.columns if column.name in names]
    return SchemaChange(
        missing=tuple(name for name in schema.names if name not in names),
        new=tuple(sorted(names - known)),
        unreadable=tuple(column.name for column in there if _is_other(column, raw)),
        classes=_new_classes(training, raw[training.target]),
    )


def _is_other(column: ColumnSchema, raw: pd.DataFrame) -> bool:
    """Whether the values are of another kind: unreadable, or of another type and all unknown."""
    try:
        typed = TableSchema((column,)).transform(raw[[column.name]])
    except DataError:
        return True
    if column.role != "nominal" or stored_kind(raw[column.name]) == column.stored:
        return False
    codes = typed[column.outputs[0]].cat.codes.to_numpy()
    seen = codes[codes >= 0]
    return bool(len(seen) and (seen == len(column.categories)).all())


def _new_classes(training: Table, target: pd.Series) -> tuple[str, ...]:
    if training.class_labels is None:
        return ()
    values = target[~missing_targets(Column(target))]
    is_new = encode_labels(values, training.class_labels) < 0
    return tuple(sorted(set(map(str, values[is_new]))))
