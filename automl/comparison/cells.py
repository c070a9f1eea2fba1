"""One cell of a comparison: a whole run without tracking, judged on test rows it never saw."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from automl.comparison.folder import CellRecord, CellRows, ComparisonFolder
from automl.comparison.incumbents import answers_over_trials
from automl.comparison.plan import Cell, ComparisonPlan
from automl.data.table import Table
from automl.errors import AutoMLError, InterruptedRunError, ServiceError
from automl.evaluation.machine_limits import usable_cores
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.installation import read_key
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.records import Trial
from automl.run.beginning import begin, reopen
from automl.run.local_slots import MakeSlots, local_slots
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalRecord
from automl.run_records.search import SearchRecord
from automl.settings import Settings
from automl.stages.line import Line, close_line, open_line


def run_cell(
    folder: ComparisonFolder,
    plan: ComparisonPlan,
    cell: Cell,
    *,
    n_side_by_side: int = 1,
    with_curve: bool = True,
    make_slots: MakeSlots = local_slots,
) -> CellRecord:
    """Record of a cell: the existing one, or that of a new run.

    A run that was interrupted is continued. What goes wrong in the run becomes its record.

    Parameters
    ----------
    n_side_by_side
        Cells that run at a time on this machine: they share its cores, unless the method says how
        many workers it wants.
    with_curve
        Whether the best models on the way are judged on the test rows too.
    make_slots
        Makes the slots of the run.

    Raises
    ------
    InterruptedRunError
        If the run is being stopped.
    ServiceError
        If the record cannot be written, another process drives the run, or a remote table cannot
        be reached; the cell then has no record and is run the next time.
    """
    existing = folder.read(cell)
    if existing is not None:
        return existing
    record, rows = _attempt(
        folder, plan, cell, n_side_by_side, with_curve=with_curve, make_slots=make_slots
    )
    folder.write(record, rows)
    _remove_run(folder, cell)
    return record


def _remove_run(folder: ComparisonFolder, cell: Cell) -> None:
    """Remove the run's home, and the folders above it that are empty then."""
    home = folder.run_home(cell)
    shutil.rmtree(home, ignore_errors=True)
    with contextlib.suppress(OSError):  # another cell is in it, or has just removed it
        for above in list(home.parents)[:3]:
            above.rmdir()


def _attempt(
    folder: ComparisonFolder,
    plan: ComparisonPlan,
    cell: Cell,
    n_side_by_side: int,
    *,
    with_curve: bool,
    make_slots: MakeSlots,
) -> tuple[CellRecord, CellRows | None]:
    try:
        settings = _shared(plan.settings(cell), n_side_by_side)
        session = _session(settings, Home(folder.run_home(cell)), make_slots)
        line = open_line(session)
        try:
            return _run(line, plan, cell, with_curve=with_curve)
        finally:
            close_line(line)
            session.release()
    except (InterruptedRunError, ServiceError):
        raise
    except AutoMLError as error:
        return CellRecord(cell, "failed", " ".join(error.message.split())), None
    except Exception as error:  # noqa: BLE001 - a cell that fails must not end the others
        reason = f"internal error ({type(error).__name__}): {' '.join(str(error).split())}"
        return CellRecord(cell, "failed", reason[:500]), None


def _shared(settings: Settings, n_side_by_side: int) -> Settings:
    """Settings with this cell's part of the cores, if it is to run here."""
    if settings.workers or settings.cluster or n_side_by_side <= 1:
        return settings
    return settings.model_copy(update={"workers": max(usable_cores() // n_side_by_side, 1)})


def _session(settings: Settings, home: Home, make_slots: MakeSlots) -> Session:
    """The session of an interrupted run of this cell, else a new one.

    Raises
    ------
    ServiceError
        If another process drives the run.
    """
    for folder in reversed(home.run_folders()):
        if folder.is_driven():
            raise ServiceError(f"run {folder.run_id} of this cell is driven by another process")
        if "data" in folder.read_facts():
            return reopen(folder.run_id, home, make_slots=make_slots)
    return begin(settings, home, make_slots=make_slots)


def _run(
    line: Line, plan: ComparisonPlan, cell: Cell, *, with_curve: bool
) -> tuple[CellRecord, CellRows]:
    session = line.session
    line.finish_search()
    final = line.record(FinalRecord)
    seconds = session.ledger.elapsed
    test = Table.load(session.folder.test)
    model = load_bundle(session.folder.bundle, key=read_key(), run=session.run_id)
    prediction = model.raw_typed(test.frame)
    index = _judge(session, plan, cell)
    labels = model.codes(prediction)
    curve = answers_over_trials(session, line.trials, test) if with_curve else (None, None, None)
    weights = None if test.weights is None else np.asarray(test.weights)
    record = CellRecord(
        cell,
        "finished",
        score=index.score(test.y, prediction, weights, labels=labels),
        metrics=index.metrics(test.y, prediction, weights, labels=labels),
        validated_score=line.record(EnsembleRecord).score,
        seconds=seconds,
        predict_ms=final.predict_ms,
        index=index.to_json(),
        threshold=float(getattr(model, "threshold_", 0.5)),
        facts={**_facts(session, line.trials, final), **_gain(line)},
        **_trials(session, line.trials),
    )
    return record, CellRows(np.array(test.y), prediction, weights, *curve, labels=labels)


def _judge(session: Session, plan: ComparisonPlan, cell: Cell) -> PerformanceIndex:
    """The common metric, with its baseline from the training rows; the same for all methods."""
    table, data = session.plan.table, plan.data_sets[cell.data_set]
    return build_index(
        plan.metric if isinstance(plan.metric, str) else dict(plan.metric),
        task=table.task,
        y_all=table.y,
        n_classes=table.n_classes or None,
        beta=plan.beta,
        positive=table.positive if data.get("positive") is not None else None,
        sample_weight=table.weights,
        cost_matrix=data.get("cost_matrix"),
    )


def _trials(session: Session, trials: Sequence[Trial]) -> dict[str, Any]:
    started = session.folder.read_facts()["started_at"]
    ordered = sorted(trials, key=lambda trial: trial.index)
    return {
        "trial_risks": tuple(
            1.0 - trial.score if trial.is_complete and trial.score is not None else None
            for trial in ordered
        ),
        "trial_seconds": tuple(
            trial.started_at + trial.spent_seconds - started for trial in ordered
        ),
    }


def _gain(line: Line) -> dict[str, Any]:
    """Scores of the families' defaults and of the champion, all on the search folds."""
    search, champion = line.record(SearchRecord), line.record(ChampionRecord).champion
    chosen = next(trial for trial in line.trials if trial.id == champion)
    return {
        "defaults": {family: default.score for family, default in search.defaults.items()},
        "champion": {"family": chosen.configuration.family, "score": chosen.score},
    }


def _facts(session: Session, trials: Sequence[Trial], final: FinalRecord) -> dict[str, Any]:
    facts = session.folder.read_facts()
    data = facts["data"]
    return {
        "run_id": session.run_id,
        "settings": facts["settings"],
        "versions": facts["versions"],
        "task": data["task"],
        "rows": data["rows"],
        "test_rows": data["test_rows"],
        "trials": len(trials),
        "complete_trials": sum(trial.is_complete for trial in trials),
        "kind": final.kind,
        "members": final.to_json()["members"],
        "index_of_run": session.plan.index.to_json(),
        "given_up": list(session.given_up),
        "warnings": list(session.warnings),
    }
