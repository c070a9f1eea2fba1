"""Saved views of an experiment: MLflow's page lists them under *Views*, and opens one that an address names.

MLflow 3.17 keeps a view in a tag of the experiment, `mlflow.sharedViewState.KEY`, as JSON with a name
and the state of the page as text. Without a view the page shows the newest runs of every level, and
no metric.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from automl.tracking.layout import KIND_TAG

VIEW_TAG = "mlflow.sharedViewState."
VIEW_PARAMETER = "viewStateShareKey"
"""Parameter of an address of the experiment's page: the key of a view."""
NAME_COLUMN, CREATED_COLUMN = "attributes.`Run Name`", "runDateAndNestInfo"
"""Columns of every list, as MLflow's page calls them."""
NAME_PIXELS = 380
"""Shows 55 characters, as many as problem, time and model of most runs have; MLflow's own 190 cut them."""


@dataclass(frozen=True)
class View:
    """Which runs of an experiment are shown, in which order, and with which columns.

    Parameters
    ----------
    name : that people choose it by
    kind : of the runs, as their tag says
    condition : that they meet besides, as MLflow's search reads it
    order : metric; the greatest comes first
    metrics, tags : columns after the name
    """

    key: str
    name: str
    kind: str
    order: str
    metrics: tuple[str, ...]
    tags: tuple[str, ...] = ()
    condition: str = ""

    def value(self, headlines: tuple[str, ...]) -> str:
        """The tag's value.

        Parameters
        ----------
        headlines : metrics in natural units that come before the others
        """
        now = round(1000 * time.time())
        columns = [
            *(
                f"metrics.`{name}`"
                for name in dict.fromkeys((self.order, *headlines, *self.metrics))
            ),
            *(f"tags.`{name}`" for name in self.tags),
        ]
        conditions = [f"tags.`{KIND_TAG}` = '{self.kind}'", self.condition]
        state = {
            "searchFilter": " and ".join(filter(None, conditions)),
            "orderByKey": f"metrics.`{self.order}`",
            "orderByAsc": False,
            "selectedColumns": columns,
            "columnOrder": [NAME_COLUMN, CREATED_COLUMN, *columns],
            "columnWidths": {NAME_COLUMN: NAME_PIXELS},
        }
        envelope = {
            "name": self.name,
            "createdAt": now,
            "updatedAt": now,
            "state": json.dumps(state),
        }
        return json.dumps(envelope)


RUNS = View(
    key="automl-runs",
    name="Training runs, best first",
    kind="run",
    order="honest_score",
    metrics=("honest_low", "honest_high", "model_score", "predict_milliseconds", "trials"),
)
TRIALS = View(
    key="automl-trials",
    name="Trials, best first",
    kind="trial",
    order="score",
    metrics=("fit_seconds", "predict_milliseconds"),
    tags=("automl.disposition",),
    condition="tags.`automl.stage` = 'search'",
)
VIEWS = (TRIALS, RUNS)
"""The last one is made last, and so listed first."""


def view_tags(task: str) -> Mapping[str, str]:
    """Tags of an experiment that hold its views.

    Parameters
    ----------
    task : of the problem
    """
    headlines = ("r2", "rmse") if task == "regression" else ("accuracy", "roc_auc")
    return {f"{VIEW_TAG}{view.key}": view.value(headlines) for view in VIEWS}
