"""Checks that the record of a selection adds up, from nothing but the record.

Every score, cluster, p-value, verdict, rank, promotion and disposition is computed again, by other
code than made it; shared are the statistical tests, which are pure functions, and the wording of the
dispositions. What depended on the clock is checked for consistency alone: which candidates could
still be afforded on fresh folds, and which of them failed there. What was measured or given follows
from nothing else (configurations, seconds, limits that did not bind); that none of it was changed
since, its digest tells.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from automl.records import FloatArray, IntArray
from automl.selection.dispositions import Disposition, Place, Status
from automl.selection.recomputation import recomputed_decisions
from automl.selection.record_digest import DIGEST, record_digest
from automl.statistics.paired import corrected_t
from automl.statistics.results import TestResult

Record = Mapping[str, Any]
TOLERANCE = 1e-8
"""Relative: what another order of adding may change; records hold all digits."""


def check(record: Record) -> list[str]:
    """Problems of the record of a run's selection, one sentence each; empty if it adds up.

    Parameters
    ----------
    record
        As `automl.stages.champion.select_champion` makes it, in plain JSON form.
    """
    try:
        return [*_Check(record).problems(), *check_tree(record)] or list(_changed(record))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return [f"the record cannot be read: {type(error).__name__} {error}"]


def _changed(record: Record) -> Iterator[str]:
    """Whether something was changed that nothing else contradicts."""
    stated, expected = record.get(DIGEST), record_digest(record)
    if stated != expected:
        yield f"the record was changed: its digest is {stated}, but its content gives {expected}"


def check_tree(record: Record) -> list[str]:
    """Problems of the tests, ranks and verdicts at all nodes, and of the winner.

    Parameters
    ----------
    record
        `candidates`, `settings`, `decisions` and `winner`.
    """
    try:
        again = recomputed_decisions(record["candidates"], record["settings"])
        problems = list(_differences("decisions", again, record["decisions"]))
        winner = again[-1]["members"][0]["trial_id"]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return [f"the decisions cannot be recomputed: {type(error).__name__} {error}"]
    return problems + [
        f"{key} is {record.get(key)}; the decisions give {winner}"
        for key in ("winner", "champion")
        if record.get(key, winner if key == "champion" else None) != winner
    ]


class _Check:
    """One record, and what has been computed again of it so far."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.rows: dict[str, Record] = {row["trial_id"]: row for row in record["trials"]}
        self.complete = {i: row for i, row in self.rows.items() if row["status"] == "complete"}
        self.screening, self.scoring = record["screening"], record["scoring"]
        self.expected: dict[str, Disposition] = {}
        self.clusters: dict[str, dict[str, Any]] = {}
        self.n_scores = 0

    def problems(self) -> Iterator[str]:
        """Problems in the order of the line; each part also fills `expected`."""
        yield from self._trials()
        yield from self._eligible()
        for group in self.record["clusters"]:
            yield from self._cluster(group)
        yield from self._screened()
        yield from self._scored()
        yield from self._candidates()
        self._selected()
        yield from self._dispositions()

    def _trials(self) -> Iterator[str]:
        rows = self.record["fold_rows"]
        if len(self.rows) < len(self.record["trials"]):
            yield "trials: an id occurs twice"
        for trial_id, row in self.rows.items():
            scores, is_complete = row["fold_scores"], trial_id in self.complete
            if row["signature"].split("/")[0] != row["family"]:
                yield f"trial {trial_id}: signature {row['signature']} is not of {row['family']}"
            if is_complete and len(scores) != len(rows):
                yield f"trial {trial_id}: {len(scores)} fold scores, {len(rows)} expected"
            elif is_complete and row["score"] is None:
                yield f"trial {trial_id} is complete and has no score"
            elif row["score"] is not None and not scores:
                yield f"trial {trial_id} has a score and no fold scores"
            elif row["score"] is not None:
                weights = rows[: len(scores)]
                mean = math.fsum(s * w for s, w in zip(scores, weights, strict=True)) / sum(weights)
                if not _equal(mean, row["score"]):
                    yield f"trial {trial_id}: score {row['score']}, its folds give {mean}"
            if not is_complete:
                detail = row.get("detail", "")
                self.expected[trial_id] = Disposition(row["status"], Place.SEARCH, detail=detail)

    def _eligible(self) -> Iterator[str]:
        """Every complete trial that is fast enough is in one cluster of its own signature."""
        limit = self.record["max_predict_ms"]
        eligible = set(self.complete)
        if limit is not None:
            speeds = {trial_id: row["predict_ms"] for trial_id, row in self.complete.items()}
            eligible = {i for i, speed in speeds.items() if speed <= limit}
            useful = {i: speed for i, speed in speeds.items() if self.complete[i]["score"] > 0}
            if not eligible & useful.keys() and (useful or not eligible):
                open_to = useful or speeds
                eligible.add(min(open_to, key=lambda trial_id: open_to[trial_id]))
            for trial_id in self.complete.keys() - eligible:
                self.expected[trial_id] = Disposition(
                    Status.TOO_SLOW, Place.LIMITS, predict_ms=speeds[trial_id], limit=limit
                )
        grouped = Counter(i for group in self.record["clusters"] for i in group["trial_ids"])
        for trial_id in sorted(eligible ^ set(grouped)):
            has = "is in a cluster" if trial_id in grouped else "is in no cluster"
            yield f"trial {trial_id} {has}"
        yield from (f"trial {i} is in {n} clusters" for i, n in grouped.items() if n > 1)
        order = [i for i in self.rows if i in grouped]
        for group in self.record["clusters"]:
            ids, signature = group["trial_ids"], group["signature"]
            if ids != [i for i in order if self.rows[i]["signature"] == signature]:
                yield f"clusters of {signature}: the trials are not those of this signature in their order"

    def _cluster(self, group: Record) -> Iterator[str]:
        """Points are nearest to their own cluster's mean; the best of each is the one recorded."""
        name, ids, best = f"clusters of {group['signature']}", group["trial_ids"], group["best"]
        numbers = np.array(group["clusters"])
        points = _standardized(np.array(group["points"], dtype=float).reshape(len(ids), -1))
        expected = min(self.record["k"], len({tuple(point.round(9)) for point in points}))
        if sorted(set(numbers.tolist())) != list(range(1, expected + 1)) or len(best) != expected:
            yield f"{name}: {len(set(numbers.tolist()))} clusters, {expected} expected"
            return
        for i in _misplaced(points, numbers):
            yield f"{name}: trial {ids[i]} is nearer to another cluster than to its own"
        scores = np.array([self.rows[trial_id]["score"] for trial_id in ids])
        leaders = [
            int(np.argmax(np.where(numbers == i + 1, scores, -np.inf))) for i in range(expected)
        ]
        if [ids[i] for i in leaders] != best:
            yield f"{name}: the best are {', '.join(ids[i] for i in leaders)}; not {', '.join(best)}"
        if leaders != sorted(leaders, key=lambda position: (-scores[position], position)):
            yield f"{name}: the clusters are not numbered by their best scores"
        for trial_id, number in zip(ids, numbers.tolist(), strict=True):
            cluster = {
                "cluster": number,
                "cluster_size": int((numbers == number).sum()),
                "cluster_best": ids[leaders[number - 1]],
            }
            self.clusters[trial_id] = cluster
            if trial_id != cluster["cluster_best"]:
                self.expected[trial_id] = Disposition(
                    Status.NOT_BEST_OF_CLUSTER, Place.CLUSTERS, **cluster
                )

    def _screened(self) -> Iterator[str]:
        """The best of the clusters in their order, and who of them goes on."""
        screening, ids = self.screening, self.screening["trial_ids"]
        best = {trial_id for group in self.record["clusters"] for trial_id in group["best"]}
        if set(ids) != best or len(ids) != len(best):
            yield "screening: the trials are not the best of each cluster"
            return
        scores = [np.array(self.rows[trial_id]["fold_scores"]) for trial_id in ids]
        means = [float(values.mean()) for values in scores]
        if any(first < second - 1e-12 for first, second in pairwise(means)):
            yield "screening: the trials are not in the order of their mean scores"
        if screening["test"]:
            yield from self._tested(scores)
            return
        numbers = [screening[key] for key in ("pvalues", "statistics", "alpha", "test_train_ratio")]
        if screening["kept"] != ids or screening["limit"] != len(ids) or numbers != [None] * 4:
            yield "screening: without a test all trials must go on, without p-values"

    def _tested(self, scores: Sequence[FloatArray]) -> Iterator[str]:
        """One-sided tests against the best trial, whose level all ordered pairs share."""
        screening, ids, alpha = self.screening, self.screening["trial_ids"], self.screening["alpha"]
        leaf, least = self.record["settings"]["alpha"]["leaf"], 2.0 ** -len(scores[0])
        stated = leaf / (len(ids) * (len(ids) - 1)) if least < leaf else 0.0
        if not _equal(alpha, stated):
            yield f"screening: alpha is {alpha}; divided among all ordered pairs it is {stated}"
        pvalues, statistics = [1.0], [0.0]
        for values in scores[1:]:
            test = _worse_than(scores[0], values, screening["test_train_ratio"])
            pvalues.append(test.pvalue)
            statistics.append(test.statistic)
        yield from _differences("screening p-values", pvalues, screening["pvalues"])
        yield from _differences("screening statistics", statistics, screening["statistics"])
        equals = [trial_id for trial_id, p in zip(ids, pvalues, strict=True) if p >= alpha]
        if screening["kept"] != equals[: screening["limit"]]:
            yield "screening: the trials that go on do not follow from the p-values and the limit"
        for trial_id, pvalue, statistic in zip(ids, pvalues, statistics, strict=True):
            is_equal = trial_id in equals
            self.expected[trial_id] = Disposition(
                Status.OVER_LIMIT if is_equal else Status.SCREENED_OUT,
                Place.SCREENING,
                test=screening["test"],
                against=ids[0],
                statistic=statistic,
                pvalue=pvalue,
                alpha=alpha,
                number=equals.index(trial_id) + 1 if is_equal else None,
                n_left=len(equals),
                limit=screening["limit"] if is_equal else None,
            )

    def _scored(self) -> Iterator[str]:
        """Candidates with scores on fresh folds, the leaders, and those with all scores."""
        scoring, kept = self.scoring, self.screening["kept"]
        planned, scored = scoring["planned"], scoring["scored"]
        if not planned or planned != [trial_id for trial_id in kept if trial_id in planned]:
            yield "scoring: the trials are not the screened ones in their order"
        n_first = scoring["repeats"] * scoring["folds_per_repeat"]
        n_extra = scoring["extra_repeats"] * scoring["folds_per_repeat"]
        n_further = scoring.get("further_repeats", 0) * scoring["folds_per_repeat"]
        for trial_id, scores in scored.items():
            most = n_first + n_further + (n_extra if trial_id in scoring["leaders"] else 0)
            if len(scores) > (most if trial_id in planned else 0):
                yield f"scoring: {len(scores)} scores of {trial_id}, for which {most} were planned"
        means = {i: float(np.mean(scored[i][:n_first])) for i in planned if scored.get(i)}
        order = sorted(means, key=lambda trial_id: -means[trial_id])
        is_fresh = scoring["source"] == "fresh folds"
        leaders = order[:2] if scoring["extra_repeats"] and is_fresh else []
        if scoring["leaders"] != leaders:
            yield f"scoring: the leaders are {', '.join(leaders) or 'none'}"
        most = n_first + n_extra
        numbers = {i: min(len(scored.get(i, ())), most) for i in leaders or planned}
        self.n_scores = max(
            (n for n in numbers.values() if 2 * _n_at_least(numbers, n) > _n_at_least(numbers, 1)),
            default=0,
        )
        whole = [i for i, number in numbers.items() if number >= self.n_scores > 0]
        if whole and n_further and self.n_scores == most:
            self.n_scores = min(len(scored[i]) for i in whole)
        if (
            (scoring["compared"] != whole)
            if is_fresh
            else bool(whole) or scoring["compared"] != kept[:1]
        ):
            yield "scoring: the compared candidates are not those with as many scores as most have"
        for trial_id in kept:
            disposition = Disposition(
                Status.UNSCORED if trial_id in planned else Status.UNAFFORDABLE, Place.SCORING
            )
            if leaders and trial_id in order and trial_id not in leaders:
                number = order.index(trial_id) + 1
                disposition = Disposition(
                    Status.BEHIND,
                    Place.SCORING,
                    score=means[trial_id],
                    number=number,
                    n_left=len(order),
                    limit=len(leaders),
                )
            self.expected[trial_id] = disposition

    def _candidates(self) -> Iterator[str]:
        """The candidates of the selection are those that were scored, with these scores."""
        is_fresh = self.scoring["source"] == "fresh folds"
        candidates = self.record["candidates"]
        if [entry["trial_id"] for entry in candidates] != self.scoring["compared"]:
            yield "candidates: they are not those named by the scoring"
        for entry in candidates:
            trial_id, configuration = entry["trial_id"], entry["configuration"]
            row = self.rows[trial_id]
            fresh = self.scoring["scored"].get(trial_id, [])[: self.n_scores]
            if entry["scores"] != (fresh if is_fresh else row["fold_scores"]):
                yield f"candidate {trial_id}: its scores are not the measured ones"
            if "/".join((configuration["family"], *configuration["path"])) != row["signature"]:
                yield f"candidate {trial_id}: its configuration is not that of the trial"

    def _selected(self) -> None:
        """Dispositions that the decisions, computed again, give."""
        again = recomputed_decisions(self.record["candidates"], self.record["settings"])
        for decision in again:
            members = decision["members"]
            best = min(members, key=lambda m: (-m["mean_score"], m["trial_id"]))["trial_id"]
            n_left = sum(member["rank"] is not None for member in members)
            for position, member in enumerate(members):
                is_kept = member["rank"] is not None
                self.expected[member["trial_id"]] = Disposition(
                    _status(member["verdict"], position),
                    Place.SELECTION,
                    node=decision["node"],
                    level=decision["level"],
                    **_evidence(decision, member, best),
                    alpha=decision["alpha"],
                    number=position + 1 if is_kept else None,
                    n_left=n_left,
                    limit=decision["top_n"] if is_kept else None,
                    rank=member["rank"],
                )

    def _dispositions(self) -> Iterator[str]:
        """Every trial has exactly one, and it is the one that follows from the record."""
        stated = self.record["dispositions"]
        for trial_id in sorted(stated.keys() - self.rows.keys()):
            yield f"disposition of {trial_id}, which is not a trial of the run"
        for trial_id in self.rows:
            if trial_id not in stated:
                yield f"trial {trial_id} has no disposition"
                continue
            expected = self.expected[trial_id].to_json() | self.clusters.get(trial_id, {})
            yield from _differences(f"disposition of {trial_id}", expected, stated[trial_id])


def _n_at_least(numbers: Mapping[str, int], least: int) -> int:
    return sum(number >= least for number in numbers.values())


def _standardized(points: FloatArray) -> FloatArray:
    deviation = points.std(axis=0)
    return np.asarray((points - points.mean(axis=0)) / np.where(deviation > 1e-12, deviation, 1.0))


def _misplaced(points: FloatArray, numbers: IntArray) -> list[int]:
    """Positions of the points that are nearer to the mean of another cluster than to their own."""
    means = np.stack([points[numbers == i].mean(axis=0) for i in np.unique(numbers)])
    distances = ((points[:, None] - means) ** 2).sum(axis=2)
    own = distances[np.arange(len(points)), numbers - 1]
    return [int(i) for i in np.flatnonzero(own > distances.min(axis=1) + 1e-6)]


def _worse_than(best: FloatArray, other: FloatArray, ratio: float) -> TestResult:
    """One-sided test that the best is better; none for a single fold."""
    if len(best) < 2:
        return TestResult("", 0.0, 1.0)
    return corrected_t(best, other, test_train_ratio=ratio, alternative="greater")


def _status(verdict: str, position: int) -> str:
    if verdict != "promoted":
        return verdict
    return Status.FINALIST if position else Status.WINNER


def _evidence(decision: Record, member: Record, best: str) -> dict[str, Any]:
    """Test of the pair, or the one that told no member from another."""
    if "posterior" in member and member["trial_id"] != best:
        probability = float(member["posterior"]["greater"])
        return {"test": decision["post_hoc"], "against": best, "probability": probability}
    if member["pvalue"] is not None and member["trial_id"] != best:
        numbers = {key: member[key] for key in ("statistic", "pvalue")}
        return {"test": decision["post_hoc"], "against": best, **_floats(numbers)}
    if decision["post_hoc"] or not decision["tests"]:
        return {}
    last = decision["tests"][-1]
    numbers = {key: last[key] for key in ("statistic", "pvalue")}
    return {"test": last["name"], **_floats(numbers)}


def _floats(numbers: Mapping[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in numbers.items()}


def _differences(name: str, expected: Any, stated: Any) -> Iterator[str]:
    """Where two pieces of JSON differ, numbers by more than rounding; keys and positions in words."""
    if isinstance(expected, Mapping) and isinstance(stated, Mapping):
        for key in sorted(expected.keys() | stated.keys()):
            if key in expected and key in stated:
                yield from _differences(f"{name}, {key}", expected[key], stated[key])
            else:
                side = "is missing" if key in expected else "is not expected"
                yield f"{name}, {key} {side}"
    elif _is_list(expected) and _is_list(stated):
        if len(expected) != len(stated):
            yield f"{name}: {len(stated)} entries, {len(expected)} expected"
            return
        for number, (one, other) in enumerate(zip(expected, stated, strict=True), 1):
            label = (
                other.get("trial_id") or other.get("node") if isinstance(other, dict) else number
            )
            yield from _differences(f"{name}, {label}", one, other)
    elif not _equal(expected, stated):
        yield f"{name}: {stated!r}, {expected!r} expected"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    numbers = [_number(value) for value in (first, second)]
    if None in numbers:
        return bool(first == second)
    one, other = numbers
    assert one is not None
    assert other is not None
    return near(one, other)


def near(first: float, second: float) -> bool:
    """Whether two numbers are equal but for rounding."""
    return first == second or math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=1e-12)


def _number(value: Any) -> float | None:
    """A number, or the text of one that JSON has no form for."""
    if isinstance(value, int | float):
        return float(value)
    return float(value) if value in ("inf", "-inf") else None
