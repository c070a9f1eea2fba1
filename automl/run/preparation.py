"""From settings to a run folder: table, test rows, folds, score, facts."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

import automl
from automl.data.readers import read_table
from automl.data.splits import fold_rows, split_test
from automl.data.table import Table, prepare_table, prepare_test_table
from automl.data_facts import LEARNED_COLUMNS, VALUE_COUNTS
from automl.errors import DataError, SettingsError
from automl.evaluation.machine_limits import capacity_mib
from automl.evaluation.plan import EvaluationPlan, PlanSettings, StageRows
from automl.experience.fingerprints import fingerprint, layout
from automl.home import RunFolder
from automl.inference.combining import check_combination
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.optimizers.registry import get_optimizer
from automl.preprocessing.matrix_facts import matrix_facts
from automl.records import IntArray
from automl.run.challenge import NO_ROWS, has_champion, hold_back
from automl.run.fold_plan import plan_folds
from automl.run.search_spaces import keep_priors
from automl.run.value_counts import CountsVerdict, decide_counts
from automl.settings import Settings
from automl.settings.presets import usual_value

CACHE_SHARE = 0.1
"""Share of the memory, for preprocessed folds that all workers share (by judgement)."""


def prepare(
    folder: RunFolder,
    settings: Settings,
    *,
    frame: pd.DataFrame | None = None,
    slots: int | None = None,
) -> dict[str, Any]:
    """Read, check and split the table, plan the folds and write all of it into the run folder.

    Parameters
    ----------
    frame
        The table itself, instead of the source in the settings.
    slots
        Trials at a time; by default those of this machine.

    Returns
    -------
        The `data` part of `run.json`.

    Raises
    ------
    DataError
        With every problem of the table.
    SettingsError
        If a setting does not fit the table.
    """
    is_challenger = has_champion(settings, folder.path.parents[1])
    if is_challenger and frame is None:
        frame = read_table(settings.table)
        frame.attrs["source"] = settings.table
    table = prepare_table(
        settings.table if frame is None else frame,
        target=settings.target,
        task=settings.task,
        roles=settings.roles,
        groups=settings.groups,
        time=settings.time,
        weights=settings.weights,
        positive=settings.positive,
        n_folds=settings.folds,
        strict=settings.strict,
    )
    if settings.class_weight != "none" and not table.task.is_classification:
        raise SettingsError(
            f"setting class_weight: {settings.class_weight} needs classes; target column "
            f"{table.target!r} is numeric",
            setting="class_weight",
        )
    _check_beta(settings, table)
    _check_target_bins(settings, table)
    _check_combination(settings, table)
    table_digest = table.digest
    known_by = {"fingerprint": fingerprint(table), "layout": layout(table)}
    test_rows = _test_positions(table, settings)
    held: IntArray = NO_ROWS
    if settings.challenge:
        held = hold_back(folder, settings, frame if is_challenger else None, table, test_rows)
    table, test = _separate(table, settings, test_rows, held)
    stages = plan_folds(table, settings, slots=slots)
    index = build_index(
        settings.metric,
        task=table.task,
        y_all=table.y,
        n_classes=table.n_classes or None,
        beta=settings.beta,
        positive=table.positive if settings.positive is not None else None,
        sample_weight=table.weights,
        cost_matrix=settings.cost_matrix,
        brier_baseline="random_labels" if settings.preset == "thesis" else "frequencies",
        decision=settings.decision,
    )
    _check_decision(settings, index)
    _check_weights(settings, table, index, stages["search"])
    keep_priors(folder, settings)
    table.write(folder.table)
    if test is not None:
        test.write(folder.test)
    verdict = decide_counts(table, settings, stages["search"], index)
    matrix = matrix_facts(table.frame, value_counts=verdict.is_counted)
    notes = [*table.notes, *_notes_on_weights(table, index), *verdict.notes]
    EvaluationPlan.write(
        folder.path,
        settings=_plan_settings(settings, table, matrix, verdict),
        index=index,
        stages=stages,
    )
    return {
        "digest": table.digest,
        "table_digest": table_digest,
        **known_by,
        "rows": len(table),
        "columns": table.frame.shape[1],
        LEARNED_COLUMNS: len(table.schema.columns),
        "matrix": matrix,
        VALUE_COUNTS: verdict.is_counted,
        "task": str(table.task),
        "classes": None if table.classes is None else list(table.classes),
        "target": table.target,
        "notes": list(dict.fromkeys([*notes, *(() if test is None else test.notes)])),
        "test_rows": 0 if test is None else len(test),
        "metric": _measure(index),
        "baselines": dict(index.baselines),
        "folds": stages["search"].jobs_per_repeat,
        "training_rows": _n_training_rows(stages["search"], settings),
    }


def _check_beta(settings: Settings, table: Table) -> None:
    if settings.beta != 1.0 and not table.task.is_classification:
        raise SettingsError(
            f"setting beta: {settings.beta:g} needs classes, F-beta is a metric of them; target "
            f"column {table.target!r} is numeric",
            setting="beta",
        )


def _check_decision(settings: Settings, index: PerformanceIndex) -> None:
    """Refuse one that was asked for where there is no threshold to learn."""
    is_asked = settings.decision != usual_value(settings.preset, "decision")
    if is_asked and not replace(index, decision="learned").learns_threshold:
        raise SettingsError(
            f"setting decision: {settings.decision!r} has no effect: a threshold is learned, or given, "
            f"of two classes only, and for a metric that depends on labels; metric {index.name} has "
            f"none here",
            setting="decision",
        )


def _check_weights(
    settings: Settings, table: Table, index: PerformanceIndex, stage: StageRows
) -> None:
    if table.weights is None or not index.takes_weights:
        return
    weights = table.weights[stage.rows]
    for repeat, fold in stage.jobs:
        rows = stage.folds[repeat] == fold
        if not weights[rows].any():
            raise DataError(
                f"weights column {settings.weights!r}: all {rows.sum()} rows of fold {fold + 1} of "
                f"{stage.jobs_per_repeat} have the weight 0, so no model can be scored on it; weights above 0 "
                "are needed there, or other folds",
                column=settings.weights,
            )


def _notes_on_weights(table: Table, index: PerformanceIndex) -> list[str]:
    if table.weights is None or index.takes_weights:
        return []
    return [
        f"models are fitted with the row weights, but {index.name} takes none: scores count all rows alike"
    ]


def _measure(index: PerformanceIndex) -> str:
    """What scores are called: those by another beta must not be taken for the same."""
    is_told = index.reads("beta") and index.beta != 1.0
    return f"{index.name}, beta {index.beta:g}" if is_told else index.name


def _check_target_bins(settings: Settings, table: Table) -> None:
    if settings.target_bins and table.task.is_classification:
        raise SettingsError(
            f"setting target_bins: {settings.target_bins} bins need a numeric target; target column "
            f"{table.target!r} is of classes, by which folds are stratified",
            setting="target_bins",
        )


def _check_combination(settings: Settings, table: Table) -> None:
    try:
        check_combination(settings.ensemble_combine, is_classification=table.task.is_classification)
    except ValueError as error:
        raise SettingsError(
            f"setting ensemble_combine: {error}; target column {table.target!r} is "
            f"{'of classes' if table.task.is_classification else 'numeric'}",
            setting="ensemble_combine",
        ) from None


def _n_training_rows(stage: StageRows, settings: Settings) -> int:
    """Rows that the first fit learns from."""
    return len(fold_rows(stage.folds[0], 0, time=settings.time is not None)[0])


def _test_positions(table: Table, settings: Settings) -> IntArray:
    """Rows of the table that nothing but the test score may touch; none if they are another table."""
    if settings.test is not None or not settings.test_share:
        return NO_ROWS
    training, test = split_test(
        table.y,
        table.task,
        share=settings.test_share,
        seed=settings.seed,
        groups=table.groups,
        time=table.time,
        n_folds=settings.folds,
    )
    if table.task.is_classification:
        _refuse_lost_classes(table, training)
    return test


def _separate(
    table: Table, settings: Settings, test: IntArray, held: IntArray
) -> tuple[Table, Table | None]:
    """Training rows and test rows; those held back are in neither."""
    training = table
    if len(test) or len(held):
        training = table.subset(np.setdiff1d(np.arange(len(table)), np.union1d(test, held)))
    if settings.test is not None:
        return training, _test_table(settings.test, training, strict=settings.strict)
    return training, table.subset(test) if len(test) else None


def _test_table(source: str, training: Table, *, strict: bool) -> Table:
    """The table of the setting `test`; an error names that setting, so that the training table is not blamed."""
    try:
        return prepare_test_table(source, training, strict=strict)
    except DataError as error:
        raise DataError(error.message, **{**error.fields, "setting": "test"}) from None


def _refuse_lost_classes(table: Table, training: IntArray) -> None:
    counts = np.bincount(table.y[training], minlength=table.n_classes)
    lost = [label for label, n in zip(table.classes or (), counts, strict=True) if n == 0]
    if lost:
        raise SettingsError(
            f"setting test_share: no training row is left of class {lost[0]!r}; use a smaller share"
        )


def _plan_settings(
    settings: Settings, table: Table, matrix: Mapping[str, float], verdict: CountsVerdict
) -> PlanSettings:
    return PlanSettings(
        seed=settings.seed,
        threads=settings.threads,
        time_ordered=table.time is not None,
        class_weight=settings.class_weight,
        family_folder=settings.family_folder,
        keep_models=settings.data_mode == "all",
        cache_mib=CACHE_SHARE * capacity_mib(),
        predictions_quota_mib=settings.predictions_quota_mib,
        n_bootstraps=get_optimizer(settings.optimizer).n_bootstraps,
        matrix=matrix,
        trust=settings.trust,
        value_counts=verdict.is_counted,
    )


def versions() -> dict[str, str]:
    """Versions that a result depends on."""
    found = {"python": platform.python_version(), "automl-flows": automl.__version__}
    for name in ("numpy", "scipy", "pandas", "scikit-learn", "lightgbm", "xgboost", "catboost"):
        with suppress(PackageNotFoundError):  # the last two are extras
            found[name] = version(name)
    return found
