"""What the runs of `coverage.py` say of the honest score.

    python benchmarks/evidence/coverage_report.py OUT_FOLDER/coverage.jsonl [--by budget]
        [--beside OTHER_FOLDER/coverage.jsonl]

`--by` reports apart what differs in a field of the lines, such as `budget`, `task` or `table`;
`--beside` leaves out the runs that another file has no score for, or holds back.

Covered is a test score within the 95 % interval, each half of which is widened by 1.96 times the
test half's own bootstrap error, in quadrature. Intervals of means are bootstrap intervals over the
data sets, each with all its runs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from automl.records import FloatArray

QUANTILE = 1.959964
RESAMPLES = 4_000
KINDS = ("single", "ensemble", "chosen")
LEAST_COVERAGE, MOST_COVERAGE = 0.90, 0.98
MOST_WIDTH = 1.5


def records(path: Path) -> list[dict[str, Any]]:
    """Lines of JSON; a last one that is not whole is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def names(path: Path) -> set[str]:
    """Runs that have a line."""
    return {record["name"] for record in records(path)}


def interval(
    values: FloatArray, tables: list[str], statistic: Callable[[FloatArray], float] = np.mean
) -> tuple[float, float]:
    """95 % interval of a statistic over runs, by a bootstrap over the tables."""
    rng = np.random.default_rng(0)
    groups = np.unique(tables, return_inverse=True)[1]
    members = [np.flatnonzero(groups == number) for number in range(groups.max() + 1)]
    found = [
        statistic(values[np.concatenate([members[i] for i in drawn])])
        for drawn in rng.integers(len(members), size=(RESAMPLES, len(members)))
    ]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def rows_of(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Honest score, test score and their errors, of the runs that have this kind."""
    rows = []
    for record in found:
        chosen = record["honest"]["chosen"] if kind == "chosen" else kind
        honest = record["honest"][chosen]
        if honest is not None:
            rows.append({**honest, "test": record[chosen], "table": record["table"]})
    return rows


def is_covered(row: dict[str, Any], low: str, high: str, score: str) -> bool:
    """Whether the test score lies in the widened interval."""
    error = QUANTILE * row["test"]["error"]
    least = row[score] - np.hypot(row[score] - row[low], error)
    most = row[score] + np.hypot(row[high] - row[score], error)
    return bool(least <= row["test"]["score"] <= most)


def withheld_line(found: list[dict[str, Any]], kind: str) -> str:
    """How many runs say that no estimate deserves belief."""
    n_none = len(found) - len(rows_of(found, kind))
    return f"{kind}: no estimate in {n_none} of {len(found)} runs" if n_none else ""


def lines_of(kind: str, rows: list[dict[str, Any]]) -> list[str]:
    """Coverage, width and bias of one kind."""
    if not rows:
        return []
    tables = [row["table"] for row in rows]
    covered = np.array([is_covered(row, "low", "high", "score") for row in rows], dtype=float)
    naive = np.array([is_covered(row, "naive_low", "naive_high", "naive") for row in rows])
    widths = np.array(
        [[row["high"] - row["low"], row["naive_high"] - row["naive_low"]] for row in rows]
    )
    ratio = widths[:, 0].mean() / widths[:, 1].mean()
    test = np.array([row["test"]["score"] for row in rows])
    bias = np.array([row["score"] for row in rows]) - test
    naive_bias = np.array([row["naive"] for row in rows]) - test
    low, high = interval(bias, tables)
    limit = abs(naive_bias.mean()) / 3
    is_fine = low <= 0 <= high or max(abs(low), abs(high)) <= limit
    is_covering = LEAST_COVERAGE <= covered.mean() <= MOST_COVERAGE
    return [
        f"{kind}: {len(rows)} runs on {len(set(tables))} tables",
        _line("coverage", covered.mean(), interval(covered, tables), is_covering),
        _line("coverage of the naive interval", naive.mean(), interval(naive * 1.0, tables)),
        f"  {'mean width / naive mean width':34} {ratio:8.4f}{_mark(ratio <= MOST_WIDTH)}",
        _line("bias of the naive score", naive_bias.mean(), interval(naive_bias, tables)),
        _line("bias of the honest score", bias.mean(), (low, high), is_fine),
        f"  {'a third of the naive bias':34} {limit:8.4f}",
        f"  {'root mean square, naive, honest':34} {_rms(naive_bias):8.4f} {_rms(bias):8.4f}",
    ]


def text(path: Path, by: str = "", beside: Path | None = None) -> str:
    """The report, of all runs or apart by a field of their lines."""
    found = records(path)
    if beside is not None:
        known = {record["name"]: record for record in records(beside)}
        found = [r for r in found if r["name"] in known and rows_of([known[r["name"]]], "chosen")]
    if not found:
        return "no runs yet"
    if not by:
        return report(found)
    values = sorted({str(record[by]) for record in found})
    parts = [[record for record in found if str(record[by]) == value] for value in values]
    return "\n".join(
        f"--- {by} {value}\n{report(part)}" for value, part in zip(values, parts, strict=True)
    )


def report(found: list[dict[str, Any]]) -> str:
    """Coverage, widths, biases, gains and seconds."""
    lines = []
    for kind in KINDS:
        lines += [withheld_line(found, kind), *lines_of(kind, rows_of(found, kind))]
    lines = [line for line in lines if line]
    tables = [record["table"] for record in found]
    gain = np.array([record["single"]["score"] - record["fold_models"] for record in found])
    lines.append(
        _line(
            "bag of the champion's fold models less one of them",
            gain.mean(),
            interval(gain, tables),
        )
    )
    known = [record for record in found if "gain" in (record["honest"]["single"] or {})]
    if known:
        foretold = np.array([record["honest"]["single"]["gain"] for record in known])
        bounds = interval(foretold, [record["table"] for record in known])
        lines.append(_line("the same as foretold by the honest score", foretold.mean(), bounds))
    seconds = np.array([record["honest_seconds"] for record in found])
    lines.append(
        f"seconds of an honest score: median {np.median(seconds):.2f}, most {seconds.max():.2f}"
    )
    return "\n".join(lines)


def _line(name: str, value: float, bounds: tuple[float, float], is_fine: bool | None = None) -> str:
    return f"  {name:34} {value:8.4f} [{bounds[0]:7.4f}, {bounds[1]:7.4f}]{_mark(is_fine)}"


def _mark(is_fine: bool | None) -> str:
    return "" if is_fine is None else "  as asked" if is_fine else "  NOT as asked"


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--by", default="", help="field of the lines")
    parser.add_argument("--beside", type=Path, help="only runs with a score there too")
    options = parser.parse_args()
    print(text(options.lines, options.by, options.beside))
