"""What fewer histogram bins on small tables cost and save: ``bins.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. The defaults of three boosting
families are fitted on the folds of an ordinary run, with all the bins that they were asked for and with
`useful_bins` of them: everything else, the rows and the seeds too, is the same. One process, one thread.

A line of OUT.jsonl is a table, a family and a kind, with the mean loss over the folds (log loss, or mean
squared error), the performance index and the processor seconds of the fits. Finished ones are not
repeated. Prints the ratios of useful to all bins: of the loss and of the seconds, geometric means over
the tables with their standard errors of logarithms, and the mean difference of the index.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import kept_lines
import numpy as np

from automl.data.collections import find_data_sets
from automl.data.readers import read_table
from automl.estimators import boosting, extreme_boosting
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import fit_fold
from automl.evaluation.plan import EvaluationPlan
from automl.families.family import Family
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.inference.prediction import raw_prediction
from automl.records import FloatArray
from automl.run.preparation import prepare
from automl.settings.sources import resolve_settings
from automl.table_studies.facts import target_for

FAMILIES = ("lightgbm", "xgboost", "hist_gradient_boosting")
OWN_BINS = {"hist_gradient_boosting": 255}
"""What scikit-learn takes by itself; the bins of the others are arguments of `useful_bins`."""
KEYS = ("table", "family", "kind")
TABLES = (
    "vehicle", "qsar-biodeg", "yeast", "concrete", "airfoil", "segment", "wine-quality-red",
    "mfeat-fourier", "phoneme", "wall-following",
)  # fmt: skip
FOLDS = 3


def plan_of(data: Path, name: str, folder: Path) -> EvaluationPlan:
    """Folds of an ordinary run on a table."""
    found = find_data_sets([str(data)])[name]
    target = target_for(found, read_table(str(found["table"])))
    given = {**found, "target": target, "folds": FOLDS, "seed": 1}
    prepare(RunFolder(folder), resolve_settings(given, environment={}))
    return EvaluationPlan(folder)


def loss(y: Any, prediction: FloatArray, *, has_classes: bool) -> float:
    """Log loss, or mean squared error."""
    if not has_classes:
        return float(np.mean((prediction - y) ** 2))
    return float(-np.mean(np.log(np.clip(prediction[np.arange(len(y)), y], 1e-15, 1.0))))


def measure(plan: EvaluationPlan, family: str) -> dict[str, float]:
    """Mean loss and index of a family's default, and processor seconds."""
    table = plan.table
    losses, scores, used = [], [], 0.0
    configuration = get_family(family).space(table.task).default()
    for repeat, fold in plan.stage("search").jobs:
        started = time.process_time()
        pipeline, validation = fit_fold(
            plan, FoldCache(0), configuration, stage="search", repeat=repeat, fold=fold
        )
        used += time.process_time() - started
        prediction = raw_prediction(pipeline.estimator, validation, table.n_classes or None)
        y = table.y[plan.rows_of("search", repeat, fold)[1]]
        losses.append(loss(y, prediction, has_classes=bool(table.n_classes)))
        scores.append(plan.index.score(y, prediction, None))
    return {"loss": float(np.mean(losses)), "score": float(np.mean(scores)), "seconds": used}


@contextlib.contextmanager
def all_bins() -> Iterator[None]:
    """Everything has as many bins as it was asked for, or as its library takes by itself."""
    build = Family.build

    def with_all(self: Family, *given: Any, **named: Any) -> Any:
        estimator = build(self, *given, **named)
        if self.name in OWN_BINS:
            estimator.set_params(max_bins=OWN_BINS[self.name])
        return estimator

    def everything(most: int, *_: Any, **__: Any) -> int:
        return most

    with (
        mock.patch.object(Family, "build", with_all),
        mock.patch.object(boosting, "useful_bins", everything),
        mock.patch.object(extreme_boosting, "useful_bins", everything),
    ):
        yield


KINDS = {"all": all_bins, "useful": contextlib.nullcontext}


def measured(
    data: Path, tables: list[str], known: set[tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table, family and kind that is not known yet."""
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            plan = plan_of(data, name, Path(folder))
            for family in FAMILIES:
                for kind, circumstances in KINDS.items():
                    if (name, family, kind) not in known:
                        with circumstances():
                            found = measure(plan, family)
                        yield {"table": name, "family": family, "kind": kind, **found}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Ratios of useful to all bins, by family and over all."""
    found = {(line["table"], line["family"], line["kind"]): line for line in lines}
    pairs = {
        key[:2]: (found[(*key[:2], "useful")], found[key])
        for key in found
        if key[2] == "all" and (*key[:2], "useful") in found
    }
    for family in (*FAMILIES, ""):
        chosen = [pair for key, pair in pairs.items() if family in ("", key[1])]
        if not chosen:
            continue
        logs = {
            name: np.log([useful[name] / everything[name] for useful, everything in chosen])
            for name in ("loss", "seconds")
        }
        gain = np.mean([useful["score"] - everything["score"] for useful, everything in chosen])
        parts = ", ".join(
            f"{name} x {np.exp(found.mean()):.3f} (± {found.std(ddof=1) / len(found) ** 0.5:.3f})"
            for name, found in logs.items()
        )
        yield f"{family or 'all':<24} {len(chosen):3d} tables: {parts}, index {gain:+.4f}"


if __name__ == "__main__":
    kept_lines.run(__doc__, tuple(TABLES), KEYS, measured, report)
