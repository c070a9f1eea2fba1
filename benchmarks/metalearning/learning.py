"""What a meta-learner predicts for data sets it has not seen (van Hoof, sections 6.2 and 6.3).

    python benchmarks/metalearning/learning.py METADATA OUT [--share 0.2] [--flows flow_forest ...]
        [--tables 30]

Leaves out one data set after the other, and learns from `--share` of the runs of each of the others,
a fixed random choice; judged by all runs of the one left out. A data set is a file in
OUT/learning/FLOW; finished ones are not repeated. `--tables` leaves out so many alone, in a
fixed random order; all by default. `OUT/predictions/FLOW` keeps what the meta-learner
expects of the configurations, for `starting.py`, and `OUT/importances` what each feature tells it. ``report.py OUT`` prints the tables.

Learners: LightGBM, 500 trees at a rate of 0.05, of 4 and of 16 leaves, from nothing, meta-features,
hyperparameters or both; `knn`, the five nearest runs of the nearest data set; `knn_lightgbm`,
LightGBM on the nearest data set alone. Each with the accuracy itself as target, and with the
accuracy standardized per data set.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
from flow_tables import FLOWS, FlowData, stored_flow, usable_numbers
from scipy.stats import kendalltau

from automl.randomness import Purpose, stream
from automl.recommendation.meta_learner import ScoreBoosting
from automl.recommendation.nearest_data_sets import NearestRuns, nearest_data_sets
from automl.records import FloatArray

LEAVES = (4, 16)
TARGETS = ("accuracy", "standardized")
KEPT = "both/standardized/4"
"""What the warm starts are made from."""


def write_once(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(text)
    draft.rename(path)


def judged(truth: FloatArray, predicted: FloatArray) -> dict[str, float]:
    """Root mean squared error, and Kendall's tau-b, 0 for predictions that are all equal."""
    tau = float(kendalltau(predicted, truth).statistic)
    rmse = float(np.sqrt(np.mean((truth - predicted) ** 2)))
    return {"rmse": rmse, "tau": tau if math.isfinite(tau) else 0.0}


def leave_out(data: FlowData, number: int, share: float) -> dict[str, FloatArray]:
    """Predictions for all runs of a data set by learner, learned from the others."""
    test = data.rows(number)
    sample = data.sample(share)
    train = sample[data.task[sample] != number]
    found: dict[str, FloatArray] = {}
    for target in TARGETS:
        y = data.scores if target == "accuracy" else data.y
        found[f"none/{target}"] = np.full(len(test), y[train].mean())
        for leaves in LEAVES:
            name = f"{target}/{leaves}"
            if target == "accuracy":  # standardized, all data sets have the same mean
                found[f"meta/{name}"] = from_meta_features(data, number, y, leaves, len(test))
            for kind in ("configuration", "both"):
                rng = stream(0, Purpose.SAMPLE, number, leaves)
                model = ScoreBoosting(n_leaves=leaves)
                model.fit(inputs(data, train, kind), y[train], rng=rng)
                found[f"{kind}/{name}"] = model.predict(inputs(data, test, kind))
        near = nearest(data, number)
        near_rows = data.rows(near)
        runs = NearestRuns().fit(data.X[near_rows], y[near_rows])
        found[f"knn/{target}"] = runs.predict(data.X[test])
        boosting = ScoreBoosting().fit(
            data.X[near_rows], y[near_rows], rng=stream(0, Purpose.SAMPLE)
        )
        found[f"knn_lightgbm/{target}"] = boosting.predict(data.X[test])
    return found


def inputs(data: FlowData, rows: FloatArray, kind: str) -> FloatArray:
    """Encodings, beside the meta-features if both are wanted."""
    if kind == "configuration":
        return data.X[rows]
    return np.concatenate([data.X[rows], data.meta[data.task[rows]]], axis=1)


def from_meta_features(
    data: FlowData, number: int, y: FloatArray, leaves: int, n_test: int
) -> FloatArray:
    """Prediction from meta-features alone, (n_test,), all equal.

    The runs of a data set have one input, so that their mean with their number as weight teaches a
    squared loss the same.
    """
    others = np.flatnonzero(np.arange(len(data.tables)) != number)
    counts = np.bincount(data.task)
    means = np.bincount(data.task, y) / counts
    model = ScoreBoosting(n_leaves=leaves, leaf_rows=1)
    rng = stream(0, Purpose.SAMPLE, number, leaves)
    model.fit(data.meta[others], means[others], rng=rng, weights=counts[others].astype(float))
    return np.full(n_test, float(model.predict(data.meta[[number]])[0]))


def nearest(data: FlowData, number: int) -> int:
    """The data set whose meta-features are most like those of another, by Euclid's distance."""
    others = np.flatnonzero(np.arange(len(data.tables)) != number)
    return int(others[nearest_data_sets(data.meta[others], data.meta[number], order=2.0)[0]])


def study(data: FlowData, number: int, share: float, out: Path) -> None:
    """Leave one data set out and write what came of it."""
    path = out / "learning" / data.flow / f"{data.names[number]}.json"
    if path.exists():
        return
    started = time.process_time()
    found = leave_out(data, number, share)
    test = data.rows(number)
    entry = {
        name: judged((data.scores if "accuracy" in name else data.y)[test], predicted)
        for name, predicted in found.items()
    }
    kept = [round(float(value), 6) for value in found[KEPT]]
    write_once(out / "predictions" / data.flow / path.name, json.dumps(kept))
    seconds = time.process_time() - started
    write_once(path, json.dumps({"share": share, "seconds": seconds, "learners": entry}))
    print(f"{data.flow} {data.names[number]}: {seconds:.1f} s", flush=True)


def importances(data: FlowData, share: float, out: Path) -> None:
    """Write how much each feature tells a meta-learner of all data sets (H18, figure 6.3)."""
    path = out / "importances" / f"{data.flow}.json"
    if path.exists():
        return
    sample = data.sample(share)
    model = ScoreBoosting().fit(
        inputs(data, sample, "both"), data.y[sample], rng=stream(0, Purpose.SAMPLE)
    )
    names = (*data.names_of_x, *data.meta_names)
    found = dict(zip(names, model.importances.tolist(), strict=True))
    write_once(path, json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--tables", type=int)
    parser.add_argument("--flows", nargs="+", default=list(FLOWS), choices=FLOWS)
    arguments = parser.parse_args()
    for flow in arguments.flows:
        data = stored_flow(arguments.metadata, flow, arguments.out)
        numbers = range(len(data.tables))
        if arguments.tables is not None:
            numbers = usable_numbers(data)[: arguments.tables]
        for number in numbers:
            study(data, number, arguments.share, arguments.out)
        importances(data, arguments.share, arguments.out)


if __name__ == "__main__":
    main()
