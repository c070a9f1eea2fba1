"""Task of learning from a folder of tables: one for each table.

Everything passes through the home, which all workers must see: a task returns only a few plain
values. What a table has already been tried with is not run again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from automl.errors import AutoMLError, InterruptedRunError, ServiceError
from automl.home import Home

Record = dict[str, Any]


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="experience of {name}")
def learn_experience_of_table(
    home: str, name: str, data: Record, conditions: Record | None = None
) -> Record:
    """Try a table with the list of configurations, and add what they gave to the home's experience.

    The status is `learned` or `known`, `failed` where the table cannot be used, or `open` where an
    outside service kept it from being tried.

    Parameters
    ----------
    data : settings that belong to the table: `table`, `target`, `task`, ...
    conditions : see `automl.table_studies.conditions.Conditions`
    """
    from automl.table_studies.conditions import Conditions
    from automl.table_studies.learned_folder import LearnedFolder
    from automl.table_studies.one_table import Request, learn_table

    request = Request(name, data, Conditions(**(conditions or {})))
    try:
        outcome = learn_table(LearnedFolder(Home(Path(home))), request)
    except InterruptedRunError:
        raise
    except ServiceError as error:
        get_run_logger().warning("%s is not learned: %s", name, error.message)
        return {"status": "open", "reason": error.message}
    except AutoMLError as error:
        get_run_logger().info("%s cannot be used: %s", name, error.message)
        return {"status": "failed", "reason": " ".join(error.message.split())}
    get_run_logger().info("%s: %s trials", name, outcome.n_new)
    return {"status": "learned" if outcome.n_new else "known", **outcome.summary()}
