"""Tasks that read and divide tables. Each also works as ``name.fn(...)``, without any Prefect server.

Nothing is cached or persisted: frames pass between the tasks of one flow in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import task_run

from automl.data import division, readers
from automl.data import roles as data_roles
from automl.inference.schema import TableSchema


def _run_name() -> str:
    return f"read {readers.source_name(task_run.parameters['source'])}"


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name=_run_name)
def read_table(source: str | Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Raw frame of a file, a URI, ``sklearn:NAME`` or ``openml:NAME``.

    Raises
    ------
    DataError
        If the source is not a readable table.
    """
    return readers.read_table(source, columns=columns)


@task(cache_policy=NO_CACHE, persist_result=False)
def detect_roles(frame: pd.DataFrame, overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """Role of every column: numeric, nominal, date, text, id or ignored."""
    roles = data_roles.detect_roles(frame, overrides)
    return {name: str(column.role) for name, column in roles.items()}


@task(cache_policy=NO_CACHE, persist_result=False)
def type_columns(frame: pd.DataFrame, schema: TableSchema) -> pd.DataFrame:
    """Typed frame of raw rows: float64 and category columns, dates as parts.

    Raises
    ------
    DataError
        With every missing column and every column with values of a wrong type.
    """
    return schema.transform(frame)


fit_schema = task(cache_policy=NO_CACHE, persist_result=False)(data_roles.fit_schema)
split_test = task(cache_policy=NO_CACHE, persist_result=False)(division.split_test)
make_folds = task(cache_policy=NO_CACHE, persist_result=False)(division.make_folds)
