"""Tables of a comparison as rows of plain values, CSV files and one JSON document."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from automl.comparison.curves import Bands
from automl.comparison.folder import CellRecord
from automl.comparison.marks import Mark
from automl.comparison.plan import Cell
from automl.comparison.results import Comparison, Curves

Row = dict[str, Any]


def method_rows(comparison: Comparison) -> list[Row]:
    """One row for each method, the best expected rank first."""
    failed = [record.cell.method for record in comparison.failures]
    return [
        {
            "method": comparison.methods[k],
            "expected_rank": float(comparison.ranks.expected[k]),
            "mean_score": _mean(comparison.scores[k]),
            "wins": float(comparison.wins.frequency[k].sum() - 0.5) / (len(comparison.methods) - 1),
            "failures": failed.count(comparison.methods[k]),
        }
        for k in comparison.order
    ]


def pair_rows(comparison: Comparison) -> list[Row]:
    """One row for each pair of methods, the better expected rank named first."""
    rows = []
    for place, first in enumerate(comparison.order):
        for second in comparison.order[place + 1 :]:
            sign, pb = (
                comparison.sign_test(first, second),
                comparison.poisson_binomial(first, second),
            )
            rows.append(
                {
                    "first": comparison.methods[first],
                    "second": comparison.methods[second],
                    "winning_frequency": float(comparison.wins.frequency[first, second]),
                    "wins": sign.n_wins,
                    "losses": sign.n_losses,
                    "ties": sign.n_ties,
                    "sign_pvalue": sign.pvalue,
                    "sign": str(sign.mark),
                    "pb_probability": pb.probability,
                    "pb": str(pb.mark),
                }
            )
    return rows


def score_rows(comparison: Comparison) -> list[Row]:
    """One row for each data set: the mean test score of each method."""
    return [
        {
            "data_set": name,
            **{comparison.methods[k]: float(comparison.scores[k, d]) for k in comparison.order},
        }
        for d, name in enumerate(comparison.data_set_names)
    ]


def cell_rows(records: Mapping[Cell, CellRecord]) -> list[Row]:
    """One row for each cell: the long form."""
    return [
        {
            "method": cell.method,
            "data_set": cell.data_set,
            "seed": cell.seed,
            "status": record.status,
            "score": record.score,
            "validated_score": record.validated_score,
            "seconds": record.seconds,
            "predict_ms": record.predict_ms,
            "trials": len(record.trial_risks),
            "reason": record.reason,
            **{f"metric_{name}": value for name, value in record.metrics.items()},
        }
        for cell, record in records.items()
    ]


def curve_rows(made: Curves) -> list[Row]:
    """One row for each method and number of trials or moment."""
    measures: dict[str, Bands | None] = {
        "rank": made.rank,
        "to_best": made.to_best,
        "hyperparameter_rank": made.hyperparameter_rank,
    }
    rows = []
    for k, method in enumerate(made.methods):
        for t, step in enumerate(made.steps):
            row: Row = {"source": made.source, "method": method, made.unit: float(step)}
            for name, of in measures.items():
                if of is not None:
                    row[name] = float(of.mean[k, t])
                    row[f"{name}_low"] = float(of.low[k, t])
                    row[f"{name}_high"] = float(of.high[k, t])
            if made.probability is not None:
                for other, name in enumerate(made.methods):
                    if other != k:
                        row[f"pb_over_{name}"] = float(made.probability[k, other, t])
            rows.append(row)
    return rows


def frequency_rows(comparison: Comparison) -> list[Row]:
    """The table of L14: winning frequencies with the marks of both tests, and expected ranks.

    A cell reads ``0.82 ++/+``: the winning frequency, the mark of the Poisson-binomial test and
    that of the sign test, ``+`` for significant, ``++`` for highly significant, ``.`` for neither.
    """
    rows = []
    for first in comparison.order:
        row: Row = {"": comparison.methods[first]}
        for second in comparison.order:
            row[comparison.methods[second]] = _frequency_text(comparison, first, second)
        row["expected rank"] = f"{comparison.ranks.expected[first]:.2f}"
        rows.append(row)
    return rows


def _frequency_text(comparison: Comparison, first: int, second: int) -> str:
    text = f"{comparison.wins.frequency[first, second]:.2f}"
    if first == second:
        return text
    is_better = comparison.wins.frequency[first, second] > 0.5
    sign = comparison.sign_test(first, second).mark if is_better else Mark.NONE
    marks = [comparison.poisson_binomial(first, second).mark, sign]
    return text if not any(marks) else f"{text} {'/'.join(map(_short, marks))}"


def _short(mark: Mark) -> str:
    return {Mark.NONE: ".", Mark.SIGNIFICANT: "+", Mark.HIGHLY: "++"}[mark]


def to_json(comparison: Comparison, every: Sequence[Curves]) -> dict[str, Any]:
    """Everything that the tables say, as one document."""
    return {
        "methods": method_rows(comparison),
        "pairs": pair_rows(comparison),
        "scores": score_rows(comparison),
        "curves": [row for made in every for row in curve_rows(made)],
        "data_sets": len(comparison.data_set_names),
        "places": len(comparison.places),
        "left_out": [f"{data_set}, seed {seed}" for data_set, seed in comparison.left_out],
        "failures": [
            {"cell": str(record.cell), "reason": record.reason} for record in comparison.failures
        ],
    }


def write_tables(
    folder: Path,
    comparison: Comparison,
    records: Mapping[Cell, CellRecord],
    every: Sequence[Curves],
) -> None:
    """Write all tables as CSV files, and ``result.json`` beside their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in folder.glob("curves_*.csv"):  # it may be of records that are gone
        earlier.unlink()
    for name, rows in (
        ("methods", method_rows(comparison)),
        ("pairs", pair_rows(comparison)),
        ("scores", score_rows(comparison)),
        ("cells", cell_rows(records)),
        ("frequencies", frequency_rows(comparison)),
        *((f"curves_{made.name}", curve_rows(made)) for made in every),
    ):
        write_csv(folder / f"{name}.csv", rows)
    text = json.dumps(_finite(to_json(comparison, every)), indent=1)
    (folder.parent / "result.json").write_text(text, encoding="utf-8")


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with all columns that any of them has; what is missing is empty."""
    every = list(rows)
    columns = list(dict.fromkeys(key for row in every for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(every)


def _mean(scores: Any) -> float | None:
    """Mean of the data sets without failures; None if there are none."""
    there = scores[np.isfinite(scores)]
    return float(there.mean()) if len(there) else None


def _finite(value: Any) -> Any:
    """JSON has no numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
