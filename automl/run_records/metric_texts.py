"""Scores and metrics of a result with their intervals, as people read them."""

from __future__ import annotations

from automl.metrics.words import estimate_text
from automl.run_records.final import UntouchedScore
from automl.run_records.honest import HonestRecord

SCORE = "score"
"""Name of the index, which the search maximizes, beside those of the metrics."""


def corrected_texts(honest: HonestRecord | None) -> dict[str, str]:
    """``0.958 [0.940, 0.972]`` of the score and each metric that is corrected for the choice, by name.

    Empty in records of earlier versions, whose metrics are not corrected.
    """
    if honest is None or honest.of_model is None or not honest.of_metrics:
        return {}
    score = honest.of_model
    texts = {
        name: estimate_text(metric.value, (metric.low, metric.high))
        for name, metric in honest.of_metrics.items()
    }
    return {**texts, SCORE: estimate_text(score.score, (score.low, score.high))}


def tested_texts(test: UntouchedScore | None) -> dict[str, str]:
    """The same of the test rows, of what has an interval there."""
    if test is None:
        return {}
    texts = {
        name: estimate_text(test.metrics[name], interval)
        for name, interval in test.intervals.metrics.items()
    }
    whole = test.intervals.score
    return texts if whole is None else {**texts, SCORE: estimate_text(test.score, whole)}
