"""Everything about a comparison that can be wrong is found here, before anything is started."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from automl.addresses import public_address
from automl.comparison.folder import ComparisonFolder
from automl.comparison.plan import Cell, ComparisonPlan
from automl.data.collections import target_of
from automl.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from automl.settings import Settings

_PREPARED_BY = {
    "adapt_folds",
    "budget_seconds",
    "candidate_repeats",
    "candidate_scores",
    "class_weight",
    "cost_matrix",
    "data_mode",
    "ensemble_combine",
    "folds",
    "halves",
    "holdout_above_rows",
    "metric",
    "preset",
    "search_share",
    "trials",
}
"""Settings of a method that the reading and splitting of a table depends on."""

LOCK_SECONDS = 0.5
"""Who holds the comparison for longer drives it."""

Say = Callable[[str], None]


@contextmanager
def only_one(folder: ComparisonFolder) -> Iterator[None]:
    """Hold the comparison; released by the system when the process dies.

    Raises
    ------
    SettingsError
        If another process holds it.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.path / "lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise SettingsError(f"another process runs the comparison in {folder.path}") from None
    try:
        yield
    finally:
        lock.release()


def checked_plan(plan: ComparisonPlan, folder: ComparisonFolder, say: Say) -> ComparisonPlan:
    """The plan with targets and digests of its tables, joined with what the folder has already.

    Every table is read, checked and split for every method, in a folder that is deleted.

    Raises
    ------
    SettingsError
        If a setting of a method cannot be used, or the folder holds another comparison.
    DataError
        With every problem of a table.
    """
    if len(plan.methods) < 2:
        raise SettingsError(f"at least two methods are needed; got {', '.join(plan.methods)}")
    data_sets, digests = {}, {}
    for name, data in plan.data_sets.items():
        frame = _read(str(data["table"]))
        complete = {**data, "target": data.get("target") or _target(frame, data, say)}
        data_sets[name] = complete
        digests[name] = _check(replace(plan, data_sets={name: complete}), name, frame)
    checked = replace(plan, data_sets=data_sets, digests=digests)
    plan_there = folder.read_plan()
    return checked if plan_there is None else plan_there.joined(checked, str(folder.path))


def _read(source: str) -> pd.DataFrame:
    from automl.data.readers import read_table

    frame = read_table(source)
    frame.attrs["source"] = source
    return frame


def _target(frame: pd.DataFrame, data: Mapping[str, Any], say: Say) -> str:
    target = target_of(list(frame.columns), str(data["table"]))
    say(f"target of {public_address(str(data['table']))}: {target}")
    return target


def _check(plan: ComparisonPlan, data_set: str, frame: pd.DataFrame) -> str:
    """Check all methods on one table; its digest."""
    from automl.run.choices import check_names

    prepared: dict[str, str] = {}
    every = {f"method {name}": plan.settings(Cell(name, data_set, 0)) for name in plan.methods}
    judged = next(iter(every.values())).model_copy(update={"metric": plan.metric})
    for method, settings in {**every, "the common metric": judged}.items():
        key = settings.model_dump_json(include=_PREPARED_BY)
        try:
            check_names(settings)
            if key not in prepared:
                prepared[key] = _prepare(settings, frame)
        except SettingsError as error:
            raise SettingsError(
                f"{method} on data set {data_set}: {error.message}", **error.fields
            ) from None
        except DataError as error:
            raise DataError(
                f"data set {data_set}: {error.message}", problems=error.problems
            ) from None
    return next(iter(prepared.values()))


def _prepare(settings: Settings, frame: pd.DataFrame) -> str:
    from automl.home import RunFolder
    from automl.run.preparation import prepare
    from automl.run.workers import check_workers

    check_workers(settings)
    with tempfile.TemporaryDirectory(prefix="automl-compare-") as name:
        return str(prepare(RunFolder(Path(name)), settings, frame=frame)["table_digest"])
