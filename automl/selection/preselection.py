"""The way from all trials of a search to the candidates that the tests compare, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from automl.records import FloatArray, Trial
from automl.selection.dispositions import Disposition, Place, Status, json_number

FRESH, SEARCH = "fresh folds", "search folds"
"""Where the scores of the candidates come from; those of the search where there was no time."""


@dataclass(frozen=True)
class SignatureClusters:
    """Complete trials of one signature, and how they were put into clusters.

    Parameters
    ----------
    signature
        Family and choices.
    columns : (n columns,)
        Names of the encoded hyperparameters; constant ones are left out.
    trial_ids : (n trials,)
        In the order of the decisions.
    points : (n trials, n columns)
        Encoded configurations.
    clusters : (n trials,), from 1
        1 holds the best trial.
    best : (n clusters,)
        Trial id of the best of each cluster, in the order of their numbers.
    """

    signature: str
    columns: tuple[str, ...]
    trial_ids: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    clusters: tuple[int, ...]
    best: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**self.__dict__, "points": [list(point) for point in self.points]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(
            data["signature"],
            tuple(data["columns"]),
            tuple(data["trial_ids"]),
            tuple(tuple(point) for point in data["points"]),
            tuple(data["clusters"]),
            tuple(data["best"]),
        )


@dataclass(frozen=True)
class ScreeningRecord:
    """Which of the clusters' best are worth fresh folds.

    Parameters
    ----------
    trial_ids : (n,)
        Best of every cluster of every signature, by their mean score, best first.
    kept
        Those that go on, best first.
    limit : positive
        How many go on at most.
    test
        One-sided test that the first is better; empty if all go on.
    statistics, pvalues : (n,) or None
    alpha, test_train_ratio : or None
    """

    trial_ids: tuple[str, ...]
    kept: tuple[str, ...]
    limit: int
    test: str = ""
    statistics: tuple[float, ...] | None = None
    pvalues: tuple[float, ...] | None = None
    alpha: float | None = None
    test_train_ratio: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        statistics = self.statistics and [json_number(value) for value in self.statistics]
        return {**self.__dict__, "statistics": statistics}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        lists = {
            key: data[key] and tuple(map(float, data[key])) for key in ("statistics", "pvalues")
        }
        ids = {key: tuple(data[key]) for key in ("trial_ids", "kept")}
        return cls(**{**data, **lists, **ids})


@dataclass(frozen=True)
class ScoringRecord:
    """Scores on folds that the search never saw.

    Parameters
    ----------
    planned
        Trial ids that could be afforded, best of the search first.
    repeats, extra_repeats
        Repeats of the folds for all of them, and further ones for the `leaders` alone.
    folds_per_repeat : positive
    scored
        Scores of each by trial id, in the order of repeats and folds; fewer where it failed.
    leaders
        The two best on the first `repeats`, where there are further repeats; else empty.
    compared
        Trial ids of the candidates of the selection: those with at least the `common_number` of
        scores, on the first of which they are compared.
    source
        `fresh folds`; `search folds` where nothing could be scored and the best trial of the
        search is the only candidate.
    further_repeats
        Repeats that the compared ones have besides, since they are cheap; they are compared on as
        many of these scores as all of them have.
    """

    planned: tuple[str, ...]
    repeats: int
    extra_repeats: int
    folds_per_repeat: int
    scored: Mapping[str, tuple[float, ...]]
    leaders: tuple[str, ...]
    compared: tuple[str, ...]
    source: str = FRESH
    further_repeats: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**self.__dict__, "scored": {key: list(s) for key, s in self.scored.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        ids = {key: tuple(data[key]) for key in ("planned", "leaders", "compared")}
        scored = {key: tuple(scores) for key, scores in data["scored"].items()}
        return cls(**{**data, **ids, "scored": scored})


def trial_row(trial: Trial, *, predict_ms: float | None = None) -> dict[str, Any]:
    """A trial in the record of a selection.

    Parameters
    ----------
    predict_ms
        Milliseconds to predict a row where a limit makes them part of the evidence, else None.
    """
    row = {
        "trial_id": trial.id,
        "family": trial.configuration.family,
        "signature": trial.configuration.signature,
        "status": str(trial.status),
        "score": trial.score,
        "fold_scores": list(trial.fold_scores),
    }
    detail = trial.reason or trial.fidelity.text
    if not trial.is_complete and detail:
        row["detail"] = detail
    return row if predict_ms is None else {**row, "predict_ms": predict_ms}


def dispositions_before(
    trials: Sequence[Mapping[str, Any]],
    clusters: Sequence[SignatureClusters],
    screening: ScreeningRecord,
    scoring: ScoringRecord,
    *,
    max_predict_ms: float | None,
) -> dict[str, Disposition]:
    """Dispositions of all trials that are not among the candidates of the selection, by trial id.

    Parameters
    ----------
    trials
        See `trial_row`.
    max_predict_ms
        Limit of the milliseconds to predict one row.
    """
    dispositions: dict[str, Disposition] = {}
    for row in trials:
        if row["status"] != "complete":
            dispositions[row["trial_id"]] = Disposition(
                row["status"], Place.SEARCH, detail=row.get("detail", "")
            )
        elif max_predict_ms is not None:
            dispositions[row["trial_id"]] = Disposition(
                Status.TOO_SLOW,
                Place.LIMITS,
                predict_ms=row["predict_ms"],
                limit=max_predict_ms,
            )
    for group in clusters:
        dispositions |= _of_clusters(group)
    dispositions |= _of_screening(screening)
    dispositions |= _of_scoring(screening, scoring)
    return {
        trial_id: one for trial_id, one in dispositions.items() if trial_id not in scoring.compared
    }


def _of_clusters(group: SignatureClusters) -> dict[str, Disposition]:
    return {
        trial_id: Disposition(Status.NOT_BEST_OF_CLUSTER, Place.CLUSTERS, **cluster)
        for trial_id, cluster in cluster_of(group).items()
        if trial_id not in group.best
    }


def cluster_of(group: SignatureClusters) -> dict[str, dict[str, Any]]:
    """The fields of a disposition that tell the cluster, by trial id."""
    return {
        trial_id: {
            "cluster": number,
            "cluster_size": group.clusters.count(number),
            "cluster_best": group.best[number - 1],
        }
        for trial_id, number in zip(group.trial_ids, group.clusters, strict=True)
    }


def _of_screening(screening: ScreeningRecord) -> dict[str, Disposition]:
    if screening.pvalues is None or screening.statistics is None or screening.alpha is None:
        return {}
    equals = [
        trial_id
        for trial_id, pvalue in zip(screening.trial_ids, screening.pvalues, strict=True)
        if pvalue >= screening.alpha
    ]
    dispositions = {}
    for i, trial_id in enumerate(screening.trial_ids):
        is_equal = trial_id in equals
        dispositions[trial_id] = Disposition(
            Status.OVER_LIMIT if is_equal else Status.SCREENED_OUT,
            Place.SCREENING,
            test=screening.test,
            against=screening.trial_ids[0],
            statistic=screening.statistics[i],
            pvalue=screening.pvalues[i],
            alpha=screening.alpha,
            number=equals.index(trial_id) + 1 if is_equal else None,
            n_left=len(equals),
            limit=screening.limit if is_equal else None,
        )
    return dispositions


def _of_scoring(screening: ScreeningRecord, scoring: ScoringRecord) -> dict[str, Disposition]:
    dispositions = {}
    means = means_on_first_folds(scoring)
    first = sorted(means, key=lambda trial_id: -means[trial_id])
    for trial_id in screening.kept:
        status = Status.UNSCORED
        numbers: dict[str, Any] = {}
        if trial_id not in scoring.planned:
            status = Status.UNAFFORDABLE
        elif scoring.leaders and trial_id in first and trial_id not in scoring.leaders:
            status = Status.BEHIND
            numbers = {"number": first.index(trial_id) + 1, "n_left": len(first)}
            numbers |= {"limit": len(scoring.leaders), "score": means[trial_id]}
        dispositions[trial_id] = Disposition(status, Place.SCORING, **numbers)
    return dispositions


def common_number(numbers: Sequence[int]) -> int:
    """Greatest number of scores that more than half of those with any have; 0 if none has any."""
    some = sorted((number for number in numbers if number), reverse=True)
    return some[len(some) // 2] if some else 0


def means_on_first_folds(scoring: ScoringRecord) -> dict[str, float]:
    """Mean scores on the first `repeats` of the planned trials that have any, by trial id."""
    n_first = scoring.repeats * scoring.folds_per_repeat
    return {
        trial_id: float(np.mean(scores))
        for trial_id in scoring.planned
        if (scores := scoring.scored.get(trial_id, ())[:n_first])
    }


def rounded(encoded: FloatArray) -> FloatArray:
    """Encoded configurations with the digits that a record keeps."""
    return np.asarray(encoded.round(6) + 0.0)
