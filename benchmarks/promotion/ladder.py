"""What the ladder of retrainings saves and costs on streams whose change is known.

    python benchmarks/promotion/ladder.py

Two classes by a linear score of six columns; a drop of 500 rows in each of ten periods, the table is the last
4,000 rows. Ridge classifiers of 16 configurations stand for a search. The drift functions and the rule are those
of the program (`automl/monitoring`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from automl.inference.reference import ColumnReference
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.monitoring.drift import movement
from automl.monitoring.drift_report import DriftReport, SchemaChange, Shift, score_shift, shifts
from automl.monitoring.ladder import RUNGS, Rung, choose_rung
from automl.records import FloatArray, IntArray, Task
from automl.statistics.block_jackknife import blocks_of

STREAMS, PERIODS, CHANGE = 20, 10, 5
"""The change is in an odd drop, when the number of new rows alone does not ask for a refit."""
ROWS, DROP, TEST_ROWS, FOLDS = 4000, 500, 4000, 4
KINDS = {"none": "", "covariate": "refit", "label": "refit", "concept": "warm", "schema": "search"}
"""Streams, and the right rung of the drop that brings the change."""
COSTS = {"keep": 0.0, "refit": 0.05, "warm": 0.25, "search": 1.0}
"""Of a whole search; those of the refit and of the warm search are the program's own budgets."""
RIDGES = tuple(10.0**k for k in range(-2, 6))
CONFIGURATIONS = [(ridge, squares) for squares in (False, True) for ridge in RIDGES]
N_WARM = 4
COLUMNS, LABEL_SHARE = 6, 0.8
SEED = 22


@dataclass(frozen=True)
class Rows:
    """Columns (n, k) and classes (n,)."""

    x: FloatArray
    y: IntArray


@dataclass(frozen=True)
class Champion:
    """A fitted configuration, what it was fitted on, and its cross-validated score."""

    place: int
    coefficients: FloatArray
    rows: Rows
    index: PerformanceIndex
    expected: float

    def predict(self, x: FloatArray) -> FloatArray:
        """(n, 2) probabilities."""
        found = _features(x[:, : self.rows.x.shape[1]], self.place) @ self.coefficients
        second = np.clip((found + 1) / 2, 0.0, 1.0)
        return np.column_stack([1 - second, second])

    def score(self, rows: Rows) -> float:
        """Performance index."""
        return self.index.score(rows.y, self.predict(rows.x))


@dataclass
class Tally:
    """What a kind of stream came to."""

    right: int = 0
    judged: int = 0
    changes: int = 0
    cost: float = 0.0
    scores: list[tuple[float, float]] = field(default_factory=list)
    rungs: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count another one in."""
        self.right += other.right
        self.judged += other.judged
        self.changes += other.changes
        self.cost += other.cost
        self.scores += other.scores
        self.rungs += other.rungs


def rows_of(kind: str, period: int, n_rows: int, rng: np.random.Generator) -> Rows:
    """Rows of a period; from `CHANGE` on they are changed."""
    kind = kind if period >= CHANGE else "none"
    n_columns = COLUMNS + (kind == "schema")
    n_drawn = 5 * n_rows if kind == "label" else n_rows
    x = rng.standard_normal((n_drawn, n_columns))
    if kind == "covariate":
        x[:, :2] += np.array([0.8, 0.8])
    weights = np.array([1.5, -1.5, 1.0, -0.5, 0.5, 0.0, 1.5][:n_columns])
    if kind == "concept":
        weights[[2, 4, 5]] = [-0.5, -0.5, 1.0]
    y = (x @ weights + 0.8 * rng.logistic(size=n_drawn) > 0).astype(np.int32)
    if kind != "label":
        return Rows(x, y)
    n_second = rng.binomial(n_rows, LABEL_SHARE)
    kept = [np.flatnonzero(y == 0)[: n_rows - n_second], np.flatnonzero(y == 1)[:n_second]]
    return Rows(x[np.concatenate(kept)], y[np.concatenate(kept)])


def joined(first: Rows, second: Rows) -> Rows:
    """The newest rows of both; a column that the first lacks has its mean there."""
    gap = second.x.shape[1] - first.x.shape[1]
    x = np.concatenate([np.pad(first.x, ((0, 0), (0, gap))), second.x])
    return Rows(x[-ROWS:], np.concatenate([first.y, second.y])[-ROWS:])


def fitted(rows: Rows, places: list[int], rng: np.random.Generator) -> Champion:
    """The best of these configurations by cross-validation, fitted on all rows."""
    index = build_index("balanced_accuracy", task=Task.BINARY, y_all=rows.y, n_classes=2)
    folds = rng.permutation(len(rows.y)) % FOLDS
    blank = Champion(0, np.empty(0), rows, index, float("nan"))
    scores = np.zeros((len(places), FOLDS))
    for fold in range(FOLDS):
        train, held = _pick(rows, folds != fold), _pick(rows, folds == fold)
        for i, place in enumerate(places):
            found = replace(blank, place=place, coefficients=_coefficients(train, place))
            scores[i, fold] = found.score(held)
    best = int(scores.mean(axis=1).argmax())
    whole = _coefficients(rows, places[best])
    return replace(
        blank, place=places[best], coefficients=whole, expected=float(scores[best].mean())
    )


def report_of(champion: Champion, fresh: Rows, rng: np.random.Generator) -> DriftReport:
    """Report as the program makes it."""
    training = champion.rows
    n, k = training.x.shape
    report = DriftReport("stream/1", training_rows=n, fresh_rows=len(fresh.y))
    if fresh.x.shape[1] != k:
        return replace(report, schema=SchemaChange(new=(f"x{k}",)))
    prediction = champion.predict(fresh.x)
    score = score_shift(
        champion.index,
        fresh.y,
        prediction,
        prediction.argmax(axis=1),
        blocks_of(np.arange(len(fresh.y)), rng=rng),
        expected=champion.expected,
        expected_standard_error=None,
        n_training=n,
    )
    columns = {f"x{i}": (training.x[:, i], fresh.x[:, i]) for i in range(k)}
    label = {"y": (training.y.astype(str), fresh.y.astype(str))}
    return replace(report, columns=_shifts(columns), label=_shifts(label)[0], score=score)


def _shifts(columns: dict[str, tuple[FloatArray, FloatArray]]) -> tuple[Shift, ...]:
    training = {name: pd.Series(pair[0]) for name, pair in columns.items()}
    fresh = {name: pd.Series(pair[1]) for name, pair in columns.items()}
    known = {
        name: ColumnReference.of_numbers(v.to_numpy())
        if v.dtype == float
        else ColumnReference.of_texts(v)
        for name, v in training.items()
    }
    n = len(next(iter(training.values())))
    moved = [movement(name, known[name], values, n) for name, values in fresh.items()]
    return shifts(moved, known, fresh, training, n)


def climbed(rung: Rung, champion: Champion, table: Rows, rng: np.random.Generator) -> Champion:
    """The champion after a rung."""
    if rung == "keep":
        return champion
    every = sorted(range(len(CONFIGURATIONS)), key=lambda place: abs(place - champion.place))
    n_tried = {"refit": 1, "warm": N_WARM, "search": len(every)}[rung]
    return fitted(table, every[:n_tried], rng)


def run(kind: str, stream: int, tally: Tally) -> None:
    """One stream; rungs are judged up to the change, compute and scores over all periods."""
    rng = np.random.default_rng([SEED, list(KINDS).index(kind), stream])
    table = rows_of("none", 0, ROWS, rng)
    champion = always = fitted(table, list(range(len(CONFIGURATIONS))), rng)
    fresh: Rows | None = None
    for period in range(1, PERIODS + 1):
        drop = rows_of(kind, period, DROP, rng)
        table = joined(table, drop)
        fresh = drop if fresh is None else joined(fresh, drop)
        report = report_of(champion, fresh, rng)
        rung = choose_rung(report).rung
        _judge(kind, period, report, rung, tally)
        champion = climbed(rung, champion, table, rng)
        always = climbed("search", always, table, rng)
        fresh = fresh if rung == "keep" else None
        test = rows_of(kind, period, TEST_ROWS, rng)
        tally.scores.append((champion.score(test), always.score(test)))


def _judge(kind: str, period: int, report: DriftReport, rung: Rung, tally: Tally) -> None:
    tally.rungs[rung] += 1
    tally.cost += COSTS[rung]
    if kind != "none" and period > CHANGE:
        return
    quiet = choose_rung(replace(report, schema=SchemaChange(), columns=(), label=None, score=None))
    is_change = period == CHANGE and kind != "none"
    is_right = rung == (KINDS[kind] if is_change else quiet.rung)
    if is_change and KINDS[kind] == "refit":
        is_right &= bool(report.moved)
    tally.judged += 1
    tally.right += is_right
    tally.changes += is_right and is_change


def _pick(rows: Rows, kept: FloatArray) -> Rows:
    return Rows(rows.x[kept], rows.y[kept])


def _features(x: FloatArray, place: int) -> FloatArray:
    parts = [np.ones((len(x), 1)), x]
    return np.concatenate([*parts, x**2] if CONFIGURATIONS[place][1] else parts, axis=1)


def _coefficients(rows: Rows, place: int) -> FloatArray:
    z = _features(rows.x, place)
    penalty = CONFIGURATIONS[place][0] * np.eye(z.shape[1])
    return np.asarray(np.linalg.solve(z.T @ z + penalty, z.T @ (2.0 * rows.y - 1.0)))


def _line(kind: str, tally: Tally, n_streams: int, at_change: str) -> str:
    ours, full = np.mean(tally.scores, axis=0)
    counts = " | ".join(str(tally.rungs[rung]) for rung in RUNGS)
    share, compute = tally.right / tally.judged, tally.cost / (n_streams * PERIODS)
    return (
        f"| {kind} | {share:.1%} | {at_change} | {counts} | {compute:.1%} "
        f"| {ours:.4f} | {full:.4f} | {(full - ours) / full:.2%} |"
    )


def main() -> None:
    """Print the table."""
    print("| stream | right rung | right at the change | " + " | ".join(RUNGS), end=" | ")
    print("compute | score | always in full | loss |\n|" + "---|" * 11)
    total = Tally()
    for kind in KINDS:
        before, tally = total.changes, Tally()
        for stream in range(STREAMS):
            run(kind, stream, tally)
        total.add(tally)
        found = f"{total.changes - before} of {STREAMS}" if KINDS[kind] else ""
        print(_line(kind, tally, STREAMS, found), flush=True)
    n_changes = STREAMS * (len(KINDS) - 1)
    print(_line("all", total, STREAMS * len(KINDS), f"{total.changes} of {n_changes}"))


if __name__ == "__main__":
    main()
