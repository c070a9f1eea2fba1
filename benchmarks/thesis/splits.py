"""How much a default's score depends on the division of the rows, and which baseline of Brier the printed ones have.

    python benchmarks/thesis/splits.py DATA_FOLDER OUT_FOLDER [--seeds 20]
        [--pairs mfeat-zernike:lda,mfeat-morphological:lda,mfeat-factors:lda,letter:knn]

The pairs of the default are the four rows of table 5.1 whose optimized score equals the best default: there
the printed number is that of one known model, without hyperparameters or with the default ones, whose
defaults have not changed since. Each is scored on 3 x 10 folds of half H for several divisions, and of all rows.
Prints the mean and the standard deviation over the divisions for each way to compute the index, and how many of
these deviations away the printed score is.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import year_2013
from defaults import plan_of, raw_matrix
from printed import printed_rows, sources
from report import BASELINES, index_scores

from automl.data.splits import fold_rows, make_folds, split_halves
from automl.inference.prediction import raw_prediction
from automl.metrics.building import build_index
from automl.records import FloatArray, IntArray
from automl.reports.boost_tables import markdown

PAIRS = "mfeat-zernike:lda,mfeat-morphological:lda,mfeat-factors:lda,letter:knn"
SHARES = (0.5, 0.25, 1.0)
N_REPEATS, N_FOLDS = 3, 10


def fold_metrics(
    family: str, X: FloatArray, y: IntArray, n_classes: int, task: Any, seed: int
) -> Iterator[dict[str, float]]:
    """Metrics of each fold, natural sign."""
    index = build_index(task=task, y_all=y, n_classes=n_classes)
    for repeat in range(N_REPEATS):
        folds = make_folds(y, task, n_folds=N_FOLDS, repeat=repeat, seed=seed)
        for fold in range(N_FOLDS):
            training, validation = fold_rows(folds, fold)
            model = year_2013.fitted(family, X[training], y[training], seed=seed)
            prediction = raw_prediction(model, X[validation], n_classes)
            wrong = prediction.argmax(axis=1) != y[validation]
            metrics = index.metrics(y[validation], prediction)
            yield {**metrics, "brier_of_labels": 2.0 * float(wrong.mean())}


def record_of(source: Any, out: Path, family: str, share: float, seed: int) -> dict[str, Any]:
    """Fold metrics on one share of the rows, kept in a file."""
    file = out / "splits" / f"{source.name}.{family}.{share:g}.{seed}.json"
    if file.exists():
        known: dict[str, Any] = json.loads(file.read_text())
        return known
    table = plan_of(source, out, "half").table
    rows: IntArray = np.arange(len(table))
    if share < 1.0:
        rows = split_halves(table.y, table.task, seed=seed, share=1.0 - share).selection
    y = table.y[rows]
    found = list(
        fold_metrics(family, raw_matrix(table)[rows], y, table.n_classes, table.task, seed)
    )
    shares = np.bincount(y, minlength=table.n_classes) / len(y)
    folds = {name: [fold[name] for fold in found] for name in found[0]}
    record = {"concentration": float(shares @ shares), "classes": table.n_classes, "folds": folds}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record))
    return record


def mean_score(record: dict[str, Any], baseline: str, brier: str) -> float:
    """Mean index of the folds with one of the baselines."""
    spread = 1.0 - record["concentration"]
    baselines = {
        "accuracy": record["concentration"],
        "f_beta": 1.0 / record["classes"],
        "mcc": 0.0,
        "brier": spread if baseline == "frequencies" else 2.0 * spread,
    }
    return float(index_scores(baselines, record["folds"], brier).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--pairs", default=PAIRS)
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # classes with fewer rows than folds are known
    cells = []
    for pair, share in product(options.pairs.split(","), map(float, options.shares.split(","))):
        table, _, family = pair.partition(":")
        source = sources(options.data, options.out, [table])[0]
        n_seeds = options.seeds if share < 1.0 else 1
        records = [record_of(source, options.out, family, share, s) for s in range(n_seeds)]
        printed = printed_rows()[table].best
        for baseline, brier in product(BASELINES, ("brier", "brier_of_labels")):
            scores = np.array([mean_score(r, baseline, brier) for r in records])
            spread = float(scores.std(ddof=1)) if len(scores) > 1 else float("nan")
            cells.append(
                {
                    "data set": table,
                    "family": family,
                    "share of the rows": f"{share:g}",
                    "baseline of Brier": baseline,
                    "read for Brier": "probabilities" if brier == "brier" else "labels",
                    "mean": f"{scores.mean():.4f}",
                    "deviation": f"{spread:.4f}",
                    "printed": f"{printed:.4f}",
                    "printed in deviations": f"{(printed - scores.mean()) / spread:+.1f}",
                }
            )
    print(markdown(cells))
    (options.out / "splits.md").write_text(markdown(cells))


if __name__ == "__main__":
    main()
