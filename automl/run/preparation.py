"""From settings to a run folder: table, test rows, folds, score, facts."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from automl.data.readers import read_table
from automl.data.splits import distinct_rows, fold_rows, make_folds, split_halves, split_test
from automl.data.table import Table, prepare_table, prepare_test_table
from automl.errors import AutoMLWarning, SettingsError
from automl.evaluation.machine_limits import capacity_mib, usable_cores
from automl.evaluation.plan import EvaluationPlan, PlanSettings, StageName, StageRows
from automl.experience.fingerprints import fingerprint, layout
from automl.home import RunFolder
from automl.inference.combining import check_combination
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.optimizers.registry import get_optimizer
from automl.preprocessing.matrix_facts import matrix_facts
from automl.records import IntArray
from automl.run.challenge import NO_ROWS, has_champion, hold_back
from automl.run.search_spaces import keep_priors
from automl.settings import Settings
from automl.settings.presets import usual_value

CACHE_SHARE = 0.1
"""Of the memory, for preprocessed folds that all workers share (by judgement)."""
WANTED_TRIALS = 12
"""The floors, defaults of some families and a few more; with fewer there is no search (by judgement)."""
LEAST_FOLDS = 3
"""Fewer would be two: one holdout costs half of them, and trains on more rows."""
LIGHTGBM_SECONDS_PER_CELL = 2e-6
"""Of a default LightGBM, by rows times columns of the training part; its order of magnitude decides."""
CLASS_EXPONENT = 0.7
"""Of the number of classes: seconds grow with it, less than in proportion."""
MOST_PER_CORE = 4
"""Workers or threads for each core; more only wait for each other."""


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
    keep_priors(folder, settings)
    table.write(folder.table)
    if test is not None:
        test.write(folder.test)
    matrix = matrix_facts(table.frame)
    notes = [*table.notes, *_notes_on_weights(table, index)]
    EvaluationPlan.write(
        folder.path, settings=_plan_settings(settings, table, matrix), index=index, stages=stages
    )
    return {
        "digest": table.digest,
        "table_digest": table_digest,
        **known_by,
        "rows": len(table),
        "columns": table.frame.shape[1],
        "matrix": matrix,
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


def plan_folds(
    table: Table, settings: Settings, *, slots: int | None = None
) -> dict[StageName, StageRows]:
    """Rows and folds of the search and of the candidates on folds that the search never saw.

    With `data_mode` halves the search runs on S and the candidates on H (B14, section 3.3).
    """
    everything, scheme = np.arange(len(table)), fold_scheme(table, settings, slots=slots)
    searched = range(settings.search_repeats)
    if settings.data_mode == "halves":
        halves = split_halves(
            table.y,
            table.task,
            seed=settings.seed,
            mode=settings.halves,
            share=settings.search_share,
            groups=table.groups,
            time=table.time,
        )
        first = 0 if settings.halves != "all" else settings.search_repeats
        return {
            "search": _stage_rows(table, settings, halves.search, scheme, repeats=searched),
            "candidates": _stage_rows(
                table,
                settings,
                halves.selection,
                scheme,
                repeats=range(first, first + settings.first_candidate_repeats),
            ),
        }
    n_fresh = most_repeats(scheme, settings)
    fresh = range(settings.search_repeats, settings.search_repeats + n_fresh)
    return {
        "search": _stage_rows(table, settings, everything, scheme, repeats=searched),
        "candidates": _stage_rows(table, settings, everything, scheme, repeats=fresh),
    }


@dataclass(frozen=True)
class FoldScheme:
    """Number of folds, and whether only the first of them is validated."""

    n_folds: int
    is_holdout: bool

    @property
    def per_repeat(self) -> int:
        """Fits of one repeat."""
        return 1 if self.is_holdout else self.n_folds


def fold_scheme(table: Table, settings: Settings, *, slots: int | None = None) -> FoldScheme:
    """Folds that let a time budget pay for a dozen slow trials.

    One holdout above `holdout_above_rows`. With `adapt_folds` and a time budget, the number of
    folds falls to 3, and then to one holdout, as long as `WANTED_TRIALS` trials of a default
    LightGBM are not expected to fit into the search. The expectation depends on the table's size
    and the slots alone, never on how busy the machine is.

    Parameters
    ----------
    slots
        Trials at a time; by default those of this machine.
    """
    n_rows, n_columns = table.frame.shape
    if settings.holdout_above_rows is not None and n_rows > settings.holdout_above_rows:
        return FoldScheme(settings.folds, is_holdout=True)
    if not settings.adapt_folds or settings.trials is not None or settings.seconds is None:
        return FoldScheme(settings.folds, is_holdout=False)
    outputs = table.n_classes**CLASS_EXPONENT if table.n_classes > 2 else 1.0
    fit_seconds = LIGHTGBM_SECONDS_PER_CELL * n_rows * n_columns * outputs
    slot_seconds = settings.seconds * (1 - settings.reserve) * (slots or n_slots(settings))
    affordable = slot_seconds / (WANTED_TRIALS * fit_seconds * settings.search_repeats)
    if affordable >= settings.folds:
        return FoldScheme(settings.folds, is_holdout=False)
    if affordable >= LEAST_FOLDS:
        return FoldScheme(min(settings.folds, LEAST_FOLDS), is_holdout=False)
    return FoldScheme(settings.folds, is_holdout=True)


def n_slots(settings: Settings) -> int:
    """Trials at a time; a run that is resumed on fewer cores has fewer."""
    n_cores = usable_cores()
    as_many_as_fit = max(n_cores // settings.threads, 1)
    return min(settings.workers or as_many_as_fit, MOST_PER_CORE * n_cores)


def check_workers(settings: Settings) -> None:
    """Refuse numbers of workers and threads that cannot be meant for this machine, if it runs the trials.

    Raises
    ------
    SettingsError
        If either is above `MOST_PER_CORE` for each core.

    Warns
    -----
    AutoMLWarning
        If there are more threads of all workers than cores.
    """
    if settings.cluster is not None:
        return
    n_cores = usable_cores()
    there = f"{n_cores} core{'s' if n_cores > 1 else ''} of this machine"
    most = MOST_PER_CORE * n_cores
    for name, wanted in (("workers", settings.workers), ("threads", settings.threads)):
        if wanted > most:
            raise SettingsError(
                f"setting {name}: at most {most} can share the {there}; got {wanted}", setting=name
            )
    n_workers, n_threads = n_slots(settings), settings.threads
    if n_workers * n_threads > n_cores:
        each = f" with {n_threads} threads each" if n_threads > 1 else ""
        warnings.warn(
            f"{n_workers} worker{'s' if n_workers > 1 else ''}{each} share the {there}; "
            "trials take longer than with a core for each",
            AutoMLWarning,
            stacklevel=2,
        )


def kept_repeats(per_repeat: int, settings: Settings) -> int:
    """Repeats with fresh folds whose predictions are kept: so many that two have ten paired scores.

    Parameters
    ----------
    per_repeat : positive
        Fits of one repeat.
    """
    return max(settings.first_candidate_repeats, -(-10 // per_repeat))


def most_repeats(scheme: FoldScheme, settings: Settings) -> int:
    """Repeats with fresh folds that are dealt out in advance, for candidates that may be cheap.

    No further ones for one holdout, since the table is large then, nor in time order, where
    repeats hold nearly the same rows.
    """
    kept = kept_repeats(scheme.per_repeat, settings)
    if settings.candidate_repeats is not None or scheme.is_holdout or settings.time is not None:
        return kept
    return max(kept, settings.candidate_scores // scheme.per_repeat)


def _stage_rows(
    table: Table, settings: Settings, rows: IntArray, scheme: FoldScheme, *, repeats: range
) -> StageRows:
    groups = None if table.groups is None else table.groups[rows]
    if len(distinct_rows(rows)) < len(rows) and groups is None:
        groups = np.unique(rows, return_inverse=True)[1]
    folds = [
        make_folds(
            table.y[rows],
            table.task,
            n_folds=scheme.n_folds,
            repeat=repeat,
            seed=settings.seed,
            groups=groups,
            time=None if table.time is None else table.time[rows],
            holdout=scheme.is_holdout,
            target_bins=settings.target_bins or None,
            labels=table.classes,
        )
        for repeat in repeats
    ]
    return StageRows(rows, np.stack(folds).astype(np.int16))


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
        return training, prepare_test_table(settings.test, training, strict=settings.strict)
    return training, table.subset(test) if len(test) else None


def _refuse_lost_classes(table: Table, training: IntArray) -> None:
    counts = np.bincount(table.y[training], minlength=table.n_classes)
    lost = [label for label, n in zip(table.classes or (), counts, strict=True) if n == 0]
    if lost:
        raise SettingsError(
            f"setting test_share: no training row is left of class {lost[0]!r}; use a smaller share"
        )


def _plan_settings(settings: Settings, table: Table, matrix: Mapping[str, float]) -> PlanSettings:
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
    )


def versions() -> dict[str, str]:
    """Versions that a result depends on."""
    names = ("numpy", "scipy", "pandas", "scikit-learn", "lightgbm")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
