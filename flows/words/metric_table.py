"""Every metric of a result in its natural units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.metrics.words import (
    estimate_text,
    interval_meaning,
    ordered,
    validated_words,
    words_of,
)
from automl_flows.words.rendering import emit, emit_table, text_of

SCORE = "score"
"""Row of the index, which the search maximizes."""
CORRECTED = "corrected [95 %]"
"""Column of values that are corrected for the choice."""
SCORE_MEANING = "what the search maximized; 0 is chance, 1 is perfect"


def show_result_metrics(result: Mapping[str, Any], n_folds: int) -> None:
    """Print cross-validated, corrected and test values of each metric of a run; nothing before there are any.

    Parameters
    ----------
    n_folds : of the run; 0 where it is not known
    """
    if not result.get("metrics"):
        return
    columns = {validated_words(n_folds): {**result["metrics"], SCORE: result.get("score")}}
    corrected, tested = corrected_texts(result), tested_texts(result)
    if corrected:
        columns[CORRECTED] = corrected
    test = result.get("test")
    if test:
        column = f"{test['rows']} test rows{' [95 %]' if tested else ''}"
        columns[column] = {**test["metrics"], SCORE: test["score"], **tested}
    emit("")
    show_metrics(columns)
    if corrected or tested:
        emit(interval_meaning(result["honest"]["n_trials"] if corrected else 0))


def corrected_texts(result: Mapping[str, Any]) -> dict[str, str]:
    """``0.958 [0.940, 0.972]`` of the score and each metric that is corrected for the choice, by name."""
    honest = result.get("honest") or {}
    found = honest.get(honest.get("chosen")) or {}
    texts = {
        name: estimate_text(metric["value"], (metric["low"], metric["high"]))
        for name, metric in (found.get("metrics") or {}).items()
    }
    if texts:
        texts[SCORE] = estimate_text(found["score"], (found["low"], found["high"]))
    return texts


def tested_texts(result: Mapping[str, Any]) -> dict[str, str]:
    """The same of the test rows, of what has an interval there."""
    test = result.get("test") or {}
    intervals = test.get("intervals") or {}
    texts = {
        name: estimate_text(test["metrics"][name], interval)
        for name, interval in (intervals.get("metrics") or {}).items()
    }
    if intervals.get("score"):
        texts[SCORE] = estimate_text(test["score"], intervals["score"])
    return texts


def show_metrics(columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line for each metric, the index last.

    Parameters
    ----------
    columns : values by metric, by the name of the column
    """
    known = {name for values in columns.values() for name in values}
    names = [*ordered(known - {SCORE}), *(known & {SCORE})]
    emit_table(
        ["metric", *columns, "what it says"],
        [
            (
                _label(name),
                *(text_of(values.get(name)) for values in columns.values()),
                SCORE_MEANING if name == SCORE else words_of(name).meaning,
            )
            for name in names
        ],
        right=[name for name, values in columns.items() if not _is_text(values)],
    )


def metric_lines(result: Mapping[str, Any]) -> list[str]:
    """``accuracy 0.84, corrected 0.83 [0.80, 0.86], test 0.86 [0.81, 0.90]`` for each metric of a run."""
    tested = {**((result.get("test") or {}).get("metrics") or {}), **tested_texts(result)}
    corrected = corrected_texts(result)
    return [
        f"{words_of(name).label} {text_of(result['metrics'][name])}"
        + (f", corrected {corrected[name]}" if name in corrected else "")
        + (f", test {text_of(tested[name])}" if name in tested else "")
        for name in ordered(result.get("metrics") or ())
    ]


def trained_on_text(n_trained_on: int | None, n_rows: int) -> str:
    """What scores on rows are worth that the model was fitted on; empty where it was on none, or that is not known."""
    if not n_trained_on:
        return ""
    return (
        f"the model was fitted on {n_trained_on} of these {n_rows} rows, so the values are too good"
    )


def _is_text(values: Mapping[str, Any]) -> bool:
    """Whether a column has values with intervals, whose first digits are to be below each other."""
    return any(isinstance(value, str) for value in values.values())


def _label(name: str) -> str:
    return name if name == SCORE else words_of(name).label
