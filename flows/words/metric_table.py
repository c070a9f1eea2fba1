"""Every metric of a result in its natural units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.metrics.words import ordered, validated_words, words_of
from automl_flows.words.rendering import emit, emit_table, text_of

SCORE = "score"
"""Row of the index, which the search maximizes."""
SCORE_MEANING = "what the search maximized; 0 is chance, 1 is perfect"


def show_result_metrics(result: Mapping[str, Any], n_folds: int) -> None:
    """Print cross-validated and test values of each metric of a run; nothing before there are any.

    Parameters
    ----------
    n_folds : of the run; 0 where it is not known
    """
    if not result.get("metrics"):
        return
    columns = {validated_words(n_folds): {**result["metrics"], SCORE: result.get("score")}}
    test = result.get("test")
    if test:
        columns[f"{test['rows']} test rows"] = {**test["metrics"], SCORE: test["score"]}
    emit("")
    show_metrics(columns)


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
        right=list(columns),
    )


def metric_lines(result: Mapping[str, Any]) -> list[str]:
    """``accuracy 0.84, test 0.86`` for each metric of a run."""
    tested = (result.get("test") or {}).get("metrics") or {}
    return [
        f"{words_of(name).label} {text_of(result['metrics'][name])}"
        + (f", test {text_of(tested[name])}" if name in tested else "")
        for name in ordered(result.get("metrics") or ())
    ]


def _label(name: str) -> str:
    return name if name == SCORE else words_of(name).label
