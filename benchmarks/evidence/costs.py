"""Cost of the chosen model on untouched rows, beside LightGBM with a rule of its own.

    python benchmarks/evidence/costs.py DATA_FOLDER OUT_FOLDER [--tables credit-g,churn] [--seeds 3]
        [--trials 40] [--report]

Missing a class costs as much more than missing the most frequent one as it is rarer. Three tenths of
the rows are set aside; the others are searched for the metric `cost`. The rivals are LightGBM's
defaults on the same rows, fitted to all of them, with three rules: the most probable class, the least
expected cost, and for two classes the threshold that costs least on its predictions by five folds.

One JSON file per (table, seed) is written to OUT_FOLDER; what has one is not made again.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from data_sets import data_settings, read_catalog
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from automl.data.table import Table
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.inference.decision import DecisionRule
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray
from automl.run.beginning import begin
from automl.run_records.final import FinalRecord
from automl.settings import Settings
from automl.stages.line import Line

TABLES = ("credit-g", "churn", "cmc", "page-blocks")
RIVALS = ("most probable", "least expected cost", "tuned")
TEST_SHARE = 0.3


def costs_of(labels: pd.Series) -> FloatArray:
    """(K, K) [true, predicted] in the order of the sorted labels: n of the most frequent class / n."""
    counts = labels.astype(str).value_counts().sort_index().to_numpy(float)
    costs = np.repeat((counts.max() / counts)[:, None], len(counts), axis=1)
    np.fill_diagonal(costs, 0.0)
    return costs


def settings_of(data: Path, name: str, seed: int, trials: int) -> Settings:
    """Settings of a run, with its costs."""
    made = data_settings(data, read_catalog(data).loc[name], name)
    labels = pd.read_csv(made["table"])[made["target"]]
    return Settings(
        **made,
        metric="cost",
        cost_matrix=costs_of(labels).tolist(),
        test_share=TEST_SHARE,
        trials=trials,
        seed=seed,
        experience=False,
    )


def cell(settings: Settings, folder: Path) -> dict[str, Any]:
    """Mean costs of a test row: of the run's model, and of the rivals."""
    shutil.rmtree(folder, ignore_errors=True)
    session = begin(settings, Home(folder))
    try:
        line = Line(session)
        line.finish_search()
        final = line.record(FinalRecord)
        test, train = Table.load(session.folder.test), session.plan.table
        model = load_bundle(session.folder.bundle)
        raw = model.raw_typed(test.frame)
        index = session.plan.index
        found = {
            "ours": cost_of(index, test.y, model.codes(raw)),
            "ours, most probable": cost_of(index, test.y, raw.argmax(axis=1)),
            "foretold": final.metrics["cost"],
            "members": [member.family for member in final.members],
        }
    finally:
        session.close()
        session.release()
    return found | rivals(train, test, index, settings.seed)


def rivals(train: Table, test: Table, index: PerformanceIndex, seed: int) -> dict[str, float]:
    """Mean costs of LightGBM's defaults by each rule."""
    model = lightgbm.LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    out_of_fold = cross_val_predict(model, train.frame, train.y, cv=folds, method="predict_proba")
    probabilities = model.fit(train.frame, train.y).predict_proba(test.frame)
    rule = index.rule
    assert rule is not None
    found = {
        "most probable": cost_of(index, test.y, probabilities.argmax(axis=1)),
        "least expected cost": cost_of(index, test.y, rule.codes(probabilities)),
    }
    if index.n_classes == 2:
        cuts = np.unique(out_of_fold[:, 1])
        fitted = [cost_of(index, train.y, DecisionRule(c).codes(out_of_fold)) for c in cuts]
        best = DecisionRule(float(cuts[int(np.argmin(fitted))]))
        found["tuned"] = cost_of(index, test.y, best.codes(probabilities))
    return found


def cost_of(index: PerformanceIndex, y: IntArray, labels: IntArray | None) -> float:
    """Mean cost of a row."""
    assert index.costs is not None
    return float(index.costs[y, labels].mean())


def report(out: Path) -> str:
    """Mean costs by table, and the difference to the best rival with its standard error."""
    cells = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    if not cells:
        return "no results"
    rows = pd.DataFrame(cells)
    names = ["ours", "ours, most probable", "foretold", *(r for r in RIVALS if r in rows)]
    lines = ["| table | runs | " + " | ".join(names) + " | ours - best rival |"]
    lines.append("|---" * (len(names) + 3) + "|")
    for table, of_table in rows.groupby("table"):
        means = [of_table[name].mean() for name in names]
        best = min((r for r in RIVALS if r in rows), key=lambda r: of_table[r].mean())
        gaps = of_table["ours"] - of_table[best]
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else float("nan")
        cells_text = " | ".join("" if np.isnan(m) else f"{m:.3f}" for m in means)
        lines.append(
            f"| {table} | {len(of_table)} | {cells_text} | {gaps.mean():+.3f} ± {error:.3f} ({best}) |"
        )
    return "\n".join(lines)


def main() -> None:
    """Make what is missing, then print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--report", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for seed in range(0 if asked.report else asked.seeds):
        for name in asked.tables.split(","):
            path = asked.out / f"{name}-{seed}.json"
            if not path.exists():
                settings = settings_of(asked.data, name, seed, asked.trials)
                found = cell(settings, asked.out / "runs" / path.stem)
                path.write_text(json.dumps({"table": name, "seed": seed, **found}))
    print(report(asked.out))


if __name__ == "__main__":
    main()
