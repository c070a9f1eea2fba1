"""Which configurations deserve all rows: ``learning_curves.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. The portfolio's configurations are
fitted on growing shares of the rows and scored on one holdout, as in a run on a large table. A run begins slow
configurations on a ninth of the rows and lets the best third go on. Four rules choose this third:

- ``score``: the score on a ninth, as a run does;
- ``family``: the score that follows from it, if the family gains what it gains on other tables;
- ``curve``: the score that follows from a 27th and a ninth, by what such steps tell on other tables;
- ``both``: the step and the family together.

Other tables have the same kind of target. A line of OUT.jsonl is a table and a configuration. Finished ones are not
repeated. Prints for each rule the rank correlation of forecast and score on all rows, and what the best of the chosen
third and the best of the first two lose to the best of all.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import kept_lines
import numpy as np
from scipy.stats import spearmanr
from shared_rounds import prepared

from automl.estimators.allowance import Allowance, fitting_within
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import FoldData, fit_pipeline, preprocess_fold
from automl.evaluation.plan import EvaluationPlan
from automl.families.portfolio import portfolio
from automl.inference.prediction import raw_prediction
from automl.records import Configuration, FloatArray

SHARES = (1 / 27, 1 / 9, 1 / 3, 1.0)
LONGEST_SECONDS = 90.0
"""Of a fit that can stop between its rounds: a run limits its trials too."""
LEAST_ERROR = 1e-4
"""Least distance of a score from 1 that has a logarithm."""
PRIOR_CONFIGURATIONS = 4.0
"""Configurations for which what all families have in common counts, beside those of one family (by judgement)."""
LEAST_CONFIGURATIONS = 10
"""Of a table that is reported: of fewer a third is hardly a choice."""
KEYS = ("table", "configuration")
TABLES = (
    "adult", "electricity", "bank-marketing", "magic-telescope", "eeg-eye-state", "letter", "pendigits",
    "nursery", "diamonds", "beijing-pm25", "house_8L", "cal_housing", "bike-sharing", "pol",
)  # fmt: skip

Line = dict[str, Any]
Rule = Callable[[Sequence[Line], Sequence[Line]], FloatArray]


def fitted(plan: EvaluationPlan, configuration: Configuration, share: float) -> float:
    """Score on the holdout after a fit on a share of the other rows."""
    data = FoldData("search", 0, 0, share)
    part = preprocess_fold(plan, FoldCache(2**28), configuration, data)
    with fitting_within(Allowance(LONGEST_SECONDS)):
        pipeline = fit_pipeline(plan, configuration, part, data, 1.0)
    y = plan.table.y[plan.rows_of("search", 0, 0)[1]]
    prediction = raw_prediction(pipeline.estimator, part.validation, plan.table.n_classes or None)
    return float(plan.index.score(y, prediction, None))


def measured(
    data: Path, names: Sequence[str], known: Collection[tuple[Any, ...]]
) -> Iterator[Line]:
    """Every table and configuration that is not known yet."""
    for name in names:
        with prepared(data, name) as (plan, _):
            table = plan.table
            for configuration in portfolio(table.task, *table.frame.shape):
                if (name, configuration.id) in known:
                    continue
                started = time.process_time()
                scores = [fitted(plan, configuration, share) for share in SHARES]
                yield {
                    "table": name,
                    "kind": "classes" if table.n_classes else "numbers",
                    "rows": len(plan.rows_of("search", 0, 0)[0]),
                    "configuration": configuration.id,
                    "family": configuration.family,
                    "scores": scores,
                    "seconds": time.process_time() - started,
                }


def log_errors(lines: Sequence[Line]) -> FloatArray:
    """Logarithms of 1 - score, (n_lines, n_shares)."""
    return np.log(np.maximum(1.0 - np.array([line["scores"] for line in lines]), LEAST_ERROR))


def by_score(_others: Sequence[Line], own: Sequence[Line]) -> FloatArray:
    """Log error on a ninth."""
    return log_errors(own)[:, 1]


def by_family(others: Sequence[Line], own: Sequence[Line]) -> FloatArray:
    """The same with what the family gains on other tables."""
    known = log_errors(others)
    gains = family_means(others, known[:, -1] - known[:, 1])
    return log_errors(own)[:, 1] + [gains[line["family"]] for line in own]


def by_curve(others: Sequence[Line], own: Sequence[Line]) -> FloatArray:
    """By the step from a 27th to a ninth, in a line that other tables give."""
    return _by_steps(others, own)[0]


def by_both(others: Sequence[Line], own: Sequence[Line]) -> FloatArray:
    """By the same, and what it misses of the family."""
    forecast, missed = _by_steps(others, own)
    gains = family_means(others, missed)
    return forecast + [gains[line["family"]] for line in own]


def _by_steps(others: Sequence[Line], own: Sequence[Line]) -> tuple[FloatArray, FloatArray]:
    """Forecasts of log errors, and what the line misses of the others."""
    known, asked = log_errors(others), log_errors(own)
    step, gain = known[:, 1] - known[:, 0], known[:, -1] - known[:, 1]
    slope, constant = np.polyfit(step, gain, 1)
    forecast = asked[:, 1] + constant + slope * (asked[:, 1] - asked[:, 0])
    return forecast, gain - constant - slope * step


def family_means(lines: Sequence[Line], values: FloatArray) -> dict[str, float]:
    """Mean of each family, drawn to the mean of all."""
    mean = float(np.mean(values))
    of_family = defaultdict(list)
    for line, value in zip(lines, values, strict=True):
        of_family[line["family"]].append(value - mean)
    return defaultdict(
        lambda: mean,
        {
            family: mean + sum(rest) / (len(rest) + PRIOR_CONFIGURATIONS)
            for family, rest in of_family.items()
        },
    )


RULES: dict[str, Rule] = {
    "score": by_score,
    "family": by_family,
    "curve": by_curve,
    "both": by_both,
}


def report(lines: list[Line]) -> Iterator[str]:
    """A line for each table with the rank correlations, then the means of each rule."""
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for name in dict.fromkeys(line["table"] for line in lines):
        own = [line for line in lines if line["table"] == name]
        others = [
            line for line in lines if line["table"] != name and line["kind"] == own[0]["kind"]
        ]
        if len(own) < LEAST_CONFIGURATIONS or not others:
            continue
        scores = np.array([line["scores"][-1] for line in own])
        for rule, forecast in RULES.items():
            found[rule].append(judged(forecast(others, own), scores))
        cells = " | ".join("{:.2f}, {:.4f}, {:.4f}".format(*found[rule][-1]) for rule in RULES)
        yield f"| {name} | {own[0]['rows']:,} | {len(own)} | {cells} |"
    for rule, values in found.items():
        means = np.mean(values, axis=0)
        beside = np.array(values) - np.array(found["score"])
        errors = beside.std(axis=0, ddof=1) / len(beside) ** 0.5
        texts = [
            f"{label} {mean:.4f}, beside the score {change:+.4f} ({error:.4f})"
            for label, mean, change, error in zip(
                ("rank correlation", "loss of a third", "of two"),
                means,
                beside.mean(axis=0),
                errors,
                strict=True,
            )
        ]
        yield f"{rule}: {'; '.join(texts)}"


def judged(forecast: FloatArray, scores: FloatArray) -> tuple[float, float, float]:
    """Rank correlation with the scores on all rows, and what the best of a third and of the first two lose."""
    order = np.argsort(forecast, kind="stable")
    third, two = order[: -(-len(order) // 3)], order[:2]
    best = scores.max()
    return (
        float(spearmanr(-forecast, scores)[0]),
        float(best - scores[third].max()),
        float(best - scores[two].max()),
    )


if __name__ == "__main__":
    kept_lines.run(__doc__, TABLES, KEYS, measured, report)
