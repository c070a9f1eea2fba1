"""Results of a comparison: ranks, wins, tests and curves, from the records of its cells."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from automl.comparison.curves import (
    Bands,
    against_best,
    bands,
    best_so_far,
    hyperparameter_ranks,
    rank_curves,
)
from automl.comparison.folder import CellRecord, CellRows, ComparisonFolder
from automl.comparison.plan import Cell
from automl.comparison.poisson_binomial import (
    PoissonBinomialTest,
    Reweighting,
    drawn_risks_of_scores,
    poisson_binomial_test,
    winning_probabilities,
)
from automl.comparison.ranks import (
    ExpectedRank,
    WinningFrequency,
    data_set_means,
    expected_rank,
    method_ranks,
    winning_frequency,
)
from automl.comparison.sign import SignTest, sign_test_of_wins
from automl.errors import DataError
from automl.inference.decision import DecisionRule
from automl.metrics.index import PerformanceIndex
from automl.randomness import Purpose, stream
from automl.records import FloatArray, IntArray

Place = tuple[str, int]
Unit = Literal["trials", "seconds"]
N_DRAWS = 1000
"""Reweightings of the test rows: a probability has a standard error of at most 0.016."""
N_MOMENTS = 80
"""Points of a curve over seconds, at equal ratios: a picture shows no finer ones."""
N_DRAWS_OF_CURVES = 200
"""Fewer than for one comparison, since every moment of a curve is one; the standard error is at most
0.035."""


@dataclass(frozen=True)
class Comparison:
    """Methods compared in the places that all of them have finished.

    Parameters
    ----------
    methods : K names, in the order of the plan
    places : P of (data set, seed)
    risks : (K, P)
        1 - score on the test rows, infinite for failures.
    probabilities : (K, K, P)
        p_d of the Poisson-binomial test: row has the lower risk than column.
    left_out : places that some method lacks
    failures : records of cells that failed
    """

    methods: list[str]
    places: list[Place]
    risks: FloatArray
    probabilities: FloatArray
    left_out: list[Place]
    failures: list[CellRecord]

    @property
    def data_sets(self) -> list[str]:
        """Data set of each place, (P,)."""
        return [data_set for data_set, _ in self.places]

    @cached_property
    def data_set_names(self) -> list[str]:
        """L different data sets, in the order of the places."""
        return list(dict.fromkeys(self.data_sets))

    @cached_property
    def ranks(self) -> ExpectedRank:
        """Expected ranks."""
        return expected_rank(self.risks, data_sets=self.data_sets)

    @cached_property
    def wins(self) -> WinningFrequency:
        """Winning frequencies."""
        return winning_frequency(self.risks, data_sets=self.data_sets)

    @cached_property
    def order(self) -> list[int]:
        """Positions of the methods, the best expected rank first."""
        return [int(k) for k in np.argsort(self.ranks.expected, kind="stable")]

    @cached_property
    def scores(self) -> FloatArray:
        """Mean test score of each method on each data set, (K, L); NaN where a seed failed."""
        scores = data_set_means(1.0 - self.risks, self.data_sets)
        return np.where(np.isfinite(scores), scores, np.nan)

    def sign_test(self, first: int, second: int) -> SignTest:
        """Sign test of two methods by their positions."""
        return sign_test_of_wins(self.wins.wins[first, second])

    def poisson_binomial(self, first: int, second: int) -> PoissonBinomialTest:
        """Poisson-binomial test of two methods by their positions."""
        means = data_set_means(self.probabilities[first, second], self.data_sets)
        return poisson_binomial_test(means)


@dataclass(frozen=True)
class Curves:
    """Methods over trials or seconds, in places where all methods have a curve.

    Parameters
    ----------
    methods : K names
    source
        `test`: the best validated model so far, judged on the test rows; `validation`: its
        validated score.
    steps : (T,), ascending
        Numbers of trials, or seconds from the start of the run.
    rank : (K, T)
        Average rank with its bands.
    to_best
        Risk minus the best one known in the place, by any method at any time, with its bands.
    hyperparameter_rank
        Average hyperparameter rank; only of `validation`.
    probability : (K, K, T), or None
        Pr(row > column) by the Poisson-binomial test; only of `test`.
    unit
        Of the steps.
    """

    methods: list[str]
    source: str
    steps: FloatArray
    rank: Bands
    to_best: Bands
    hyperparameter_rank: Bands | None = None
    probability: FloatArray | None = None
    unit: Unit = "trials"

    @property
    def name(self) -> str:
        """For files."""
        return self.source if self.unit == "trials" else f"{self.source}_{self.unit}"


def compare(
    folder: ComparisonFolder,
    records: Mapping[Cell, CellRecord],
    *,
    reweighting: Reweighting = "dirichlet",
    n_draws: int = N_DRAWS,
) -> Comparison:
    """Ranks, wins and tests of the methods from the records of their cells.

    A failed cell is the worst of its place. Places that some method has no record of are left out.

    Raises
    ------
    DataError
        If no place is there for all of at least two methods, or methods have other test rows.
    """
    methods, places, left_out = common_places(records)
    drawn = _Drawing(folder, reweighting, n_draws)
    probabilities = [
        winning_probabilities(drawn.of_final([records[Cell(m, *place)] for m in methods]))
        for place in places
    ]
    return Comparison(
        methods,
        places,
        np.array([[records[Cell(m, *place)].risk for place in places] for m in methods]),
        np.stack(probabilities, axis=2),
        left_out,
        [record for record in records.values() if record.status == "failed"],
    )


def common_places(records: Mapping[Cell, CellRecord]) -> tuple[list[str], list[Place], list[Place]]:
    """Methods, places that all of them have a record of, and the other places.

    Raises
    ------
    DataError
        If no place is there for all of at least two methods.
    """
    methods = list(dict.fromkeys(cell.method for cell in records))
    every = list(dict.fromkeys((cell.data_set, cell.seed) for cell in records))
    places = [place for place in every if all(Cell(m, *place) in records for m in methods)]
    if len(methods) < 2 or not places:
        raise DataError(
            f"a comparison needs at least two methods and a data set that all of them have; got "
            f"{len(methods)} methods, and {len(places)} of {len(every)} places are complete"
        )
    return methods, places, [place for place in every if place not in places]


@dataclass(frozen=True)
class _Drawing:
    """Risks under random weights of the test rows, the same weights for all methods of a place."""

    folder: ComparisonFolder
    reweighting: Reweighting
    n_draws: int

    def of_final(self, cells: Sequence[CellRecord]) -> FloatArray:
        """Risks of the final models of one place, (draws, K); infinite for failures.

        Raises
        ------
        DataError
            If the cells have different test rows.
        """
        drawn = np.full((self.n_draws, len(cells)), np.inf)
        truth: Any = None
        for k, record in enumerate(cells):
            if record.index is None:
                continue
            rows = self.folder.read_rows(record.cell)
            truth = rows.y if truth is None else truth
            if not np.array_equal(truth, rows.y):
                raise DataError(
                    f"{record.cell}: its test rows differ from those of the other methods"
                )
            drawn[:, k] = self.of(record, rows, rows.prediction, _labels(record, rows))
        return drawn

    def of(
        self,
        record: CellRecord,
        rows: CellRows,
        prediction: FloatArray,
        labels: IntArray | None = None,
    ) -> FloatArray:
        """Risks of one answer, (draws,)."""
        index = _index(record)

        def scores(y: Any, answer: Any, weights: FloatArray) -> FloatArray:
            codes = None if labels is None else labels[None]
            return index.scores(y, answer[None], weights, labels=codes)

        def repeated(y: Any, answer: Any, weights: FloatArray) -> FloatArray:
            """Rows as often as drawn, for a scorer that takes no weights."""
            drawn = [np.repeat(np.arange(len(y)), counts.astype(int)) for counts in weights]
            return np.array([index.score(y[places], answer[places]) for places in drawn])

        return drawn_risks_of_scores(
            scores if index.takes_weights else repeated,
            rows.y,
            [prediction],
            rng=_generator(record.cell),
            n_draws=self.n_draws,
            reweighting=self.reweighting if index.takes_weights else "bootstrap",
            sample_weight=rows.weights if index.takes_weights else None,
        )[:, 0]


def _index(record: CellRecord) -> PerformanceIndex:
    assert record.index is not None
    return PerformanceIndex.from_json(record.index)


def _generator(cell: Cell) -> np.random.Generator:
    digest = hashlib.blake2b(f"{cell.data_set}/{cell.seed}".encode(), digest_size=4).digest()
    return stream(0, Purpose.BOOTSTRAP, int.from_bytes(digest))


def curves(
    folder: ComparisonFolder,
    records: Mapping[Cell, CellRecord],
    comparison: Comparison,
    *,
    reweighting: Reweighting = "dirichlet",
    n_draws: int = N_DRAWS_OF_CURVES,
) -> list[Curves]:
    """Curves over trials and seconds by validated scores, and on test rows where records have them.

    Methods without a complete trial anywhere are left out, then the places where one of the others
    failed, or has no complete trial.
    """
    methods = [
        method
        for method in comparison.methods
        if any(_has_curves(records, [method], place) for place in comparison.places)
    ]
    places = [place for place in comparison.places if _has_curves(records, methods, place)]
    if len(methods) < 2 or not places:
        return []
    units: tuple[Unit, ...] = ("trials", "seconds")
    made = [_validation(records, methods, places, unit) for unit in units]
    drawing = _Drawing(folder, reweighting, n_draws)
    shown = [_Answers(drawing, [records[Cell(m, *p)] for m in methods]) for p in places]
    if complete := [answers for answers in shown if answers.are_there]:
        made.append(_test(methods, complete))
    return made


def _has_curves(records: Mapping[Cell, CellRecord], methods: Sequence[str], place: Place) -> bool:
    cells = [records[Cell(method, *place)] for method in methods]
    return all(any(risk is not None for risk in cell.trial_risks) for cell in cells)


def _validation(
    records: Mapping[Cell, CellRecord], methods: list[str], places: Sequence[Place], unit: Unit
) -> Curves:
    """Ranks, hyperparameter ranks and distance to the best known, by validated scores."""
    cells = [[records[Cell(method, *place)] for place in places] for method in methods]
    moments = [[_moments(one, unit) for one in own] for own in cells]
    trials = [[_finite_or_inf(one.trial_risks) for one in own] for own in cells]
    steps = _grid([at for own in moments for at in own], unit)
    best = np.array(
        [
            [_best_at(steps, at, risks) for at, risks in zip(*own, strict=True)]
            for own in zip(moments, trials, strict=True)
        ]
    )
    is_there = np.isfinite(best).all(axis=(0, 1))
    best = best[:, :, is_there]
    tested = [np.concatenate([own[p] for own in trials]) for p in range(len(places))]
    names = [data_set for data_set, _ in places]
    return Curves(
        methods,
        "validation",
        steps[is_there],
        _bands(rank_curves(best), names),
        _bands(against_best(best, best.min(axis=(0, 2))), names),
        _bands(hyperparameter_ranks(best, tested), names),
        unit=unit,
    )


def _moments(record: CellRecord, unit: Unit) -> FloatArray:
    """When each trial ended."""
    if unit == "seconds":
        return np.asarray(record.trial_seconds, dtype=np.float64)
    return np.arange(1.0, len(record.trial_risks) + 1.0)


def _grid(moments: Sequence[FloatArray], unit: Unit) -> FloatArray:
    """Every number of trials, or moments from the first end of a trial to the last one."""
    last = max(float(at.max()) for at in moments)
    if unit == "trials":
        return np.arange(1.0, last + 1.0)
    first = max(min(float(at.min()) for at in moments), last / 1000.0)
    return np.geomspace(first, last, N_MOMENTS)


def _best_at(steps: FloatArray, moments: FloatArray, risks: FloatArray) -> FloatArray:
    """Lowest risk of the trials that had ended at each step; infinite before the first."""
    order = np.argsort(moments, kind="stable")
    best = np.concatenate([[np.inf], best_so_far(risks[order])])
    return np.asarray(best[np.searchsorted(moments[order], steps, side="right")])


def _test(methods: list[str], places: Sequence[_Answers]) -> Curves:
    """Ranks, distance to the best known and Poisson-binomial test of the answers so far."""
    begin = max(place.begin for place in places)
    changes = {step for place in places for step in place.changes if step > begin}
    steps = np.array(sorted({begin, *changes, *(max(p.length, begin) for p in places)}), float)
    risks, wins = zip(*(place.over(steps) for place in places), strict=True)
    names = [place.data_set for place in places]
    by_data_set = data_set_means(np.stack(wins, axis=3), names)
    probability = np.apply_along_axis(
        lambda p: poisson_binomial_test(p).probability, 3, by_data_set
    )
    at = np.stack(risks, axis=1)
    return Curves(
        methods,
        "test",
        steps,
        _bands(method_ranks(at), names),
        _bands(against_best(at, at.min(axis=(0, 2))), names),
        probability=probability,
    )


def _labels(record: CellRecord, rows: CellRows) -> IntArray | None:
    """The model's labels; of cells that did not keep them by the threshold in the record."""
    if rows.labels is None and rows.prediction.ndim == 2 and rows.prediction.shape[1] == 2:
        return DecisionRule(record.threshold).codes(rows.prediction)
    return rows.labels


class _Answers:
    """Answers of the methods over time in one place."""

    def __init__(self, drawing: _Drawing, records: Sequence[CellRecord]) -> None:
        self._drawing, self._records = drawing, records
        self._rows = [drawing.folder.read_rows(record.cell) for record in records]
        self.data_set = records[0].cell.data_set
        self.length = max(len(record.trial_risks) for record in records)

    @property
    def are_there(self) -> bool:
        """Whether all methods have answers over time."""
        return all(rows.steps is not None for rows in self._rows)

    @property
    def begin(self) -> int:
        """Number of trials after which all methods have an answer."""
        return max(int(steps[0]) for steps in self._steps())

    @property
    def changes(self) -> set[int]:
        """Numbers of trials after which some method has another answer."""
        return {int(step) for steps in self._steps() for step in steps}

    def _steps(self) -> list[IntArray]:
        return [rows.steps for rows in self._rows if rows.steps is not None]

    def over(self, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Risks (K, T) and winning probabilities (K, K, T)."""
        risks, drawn = [], []
        for record, rows in zip(self._records, self._rows, strict=True):
            assert rows.steps is not None
            assert rows.step_predictions is not None
            at = np.searchsorted(rows.steps, steps, side="right") - 1
            index, answers = _index(record), rows.step_predictions
            labels = [None] * len(answers) if rows.step_labels is None else list(rows.step_labels)
            pairs = list(zip(answers, labels, strict=True))
            scored = [index.score(rows.y, a, rows.weights, labels=codes) for a, codes in pairs]
            risks.append(1.0 - np.array(scored)[at])
            drawn.append(np.stack([self._drawing.of(record, rows, *pair) for pair in pairs])[at])
        every = np.stack(drawn, axis=2)
        wins = np.stack([winning_probabilities(of_step) for of_step in every], axis=2)
        return np.stack(risks), wins


def _finite_or_inf(risks: Sequence[float | None]) -> FloatArray:
    return np.array([np.inf if risk is None else risk for risk in risks])


def _bands(values: FloatArray, data_sets: Sequence[str]) -> Bands:
    return bands(values, data_sets, rng=stream(0, Purpose.BOOTSTRAP))
