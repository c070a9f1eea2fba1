"""The answer: which model, how good it is, how sure that is, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from automl.durations import seconds_text
from automl.home import Home, RunFolder
from automl.metrics.intervals import Interval
from automl.metrics.words import (
    estimate_text,
    headline,
    index_words,
    interval_meaning,
    ordered,
    validated_words,
    words_of,
)
from automl.records import short_id
from automl.reports.command_line import command
from automl.reports.configuration_text import configuration_text
from automl.reports.figure import Cell, DataTable, Estimate, number
from automl.reports.page import BigNumber, Items, Numbers, Paragraph, Part, Section, Tabular
from automl.reports.run_choices import RunChoices
from automl.run_records.final import MADE_OF
from automl.run_records.result import RunResult
from automl.run_state import FINISHED
from automl.stages.notices import current_warnings
from automl.tracking.late_report import WAITING, registered_words

SCORE = "score"
"""Row of the index, beside the metrics."""
KEY, TITLE = "answer", "The answer"
MILLISECOND_ROWS = 1000.0
"""Rows in a second of one that takes a millisecond."""


def answer(choices: RunChoices, folder: RunFolder) -> Section:
    """Of a run that has a result; of others what is known so far."""
    if choices.result is None:
        return Section(KEY, "What is known so far", tuple(_so_far(choices, folder)))
    return Section(KEY, TITLE, tuple(_of_result(choices, choices.result, folder)))


def _of_result(choices: RunChoices, result: RunResult, folder: RunFolder) -> Iterator[Part]:
    if result.baseline is not None and result.baseline.notice:
        yield Paragraph(_sentence(result.baseline.notice), "notice")
    yield Paragraph(" ".join(_model_sentences(choices, result)))
    yield Numbers(tuple(_numbers(choices, result)))
    yield Tabular(_metric_table(choices, result))
    is_corrected = bool(_corrected(result))
    if is_corrected or (result.test is not None and result.test.intervals.metrics):
        yield Paragraph(interval_meaning(result.honest.n_trials if is_corrected else 0), "note")
    yield Paragraph(
        f"The score is what the search maximized: {index_words(result.metric)}, scaled so that "
        f"0 is chance (for numbers, the mean) and 1 is perfect.{_baseline_text(result)}",
        "note",
    )
    yield Paragraph(_honest_text(result), "note")
    remarks = (*current_warnings(result.warnings, folder), *result.given_up)
    if remarks:
        yield Paragraph("What to keep in mind:")
        yield Items(tuple(choices.shortened(_sentence(text)) for text in remarks))


def _model_sentences(choices: RunChoices, result: RunResult) -> Iterator[str]:
    members = [member for member in result.model.members if member.weight > 0]
    champion = choices.shortened(
        f"{configuration_text(result.champion.configuration)}, trial {result.champion.trial_id}"
    )
    if len(members) > 1:
        yield f"The model is an ensemble of {len(members)} trials; the best single one is {champion}."
    elif choices.has_ensemble and members and members[0].trial_id != result.champion.trial_id:
        yield (
            f"The model is {members[0].family}, trial {short_id(members[0].trial_id)}; the "
            f"selection's champion was {champion}."
        )
    else:
        yield f"The model is {champion}."
    yield f"It consists of {MADE_OF[result.model.kind]}."
    yield (
        f"It was chosen from {number(result.complete_trials)} complete trials of "
        f"{number(result.trials)}, of {result.families} families, in {seconds_text(result.seconds)}."
    )
    if choices.status.registered:
        yield registered_words(choices.status.registered)
    elif choices.status.registration == "pending":
        yield WAITING


def _numbers(choices: RunChoices, result: RunResult) -> Iterator[BigNumber]:
    validated = _validated(choices)
    name = headline(result.metric, result.metrics)
    if name:
        found = result.honest.of_metrics.get(name)
        more = validated
        if found is not None:
            more += f"; corrected {number(found.value, 3)}, {_ends(found.low, found.high)}"
        yield BigNumber(words_of(name).label, number(result.metrics[name]), more)
        if result.test is not None and name in result.test.metrics:
            interval = result.test.intervals.metrics.get(name)
            sure = "" if interval is None else f"; {_ends(*interval)}"
            rows = f"on {number(result.test.rows)} untouched test rows{sure}"
            yield BigNumber(
                f"{words_of(name).label}, test", number(result.test.metrics[name]), rows
            )
    yield BigNumber("score", number(result.score), f"{validated}; 0 chance, 1 perfect")
    honest = result.honest.of_model
    if honest is not None:
        yield BigNumber("honest score", number(honest.score), _ends(honest.low, honest.high))
    milliseconds = result.model.predict_ms
    pace = (
        f"; {number(MILLISECOND_ROWS / milliseconds, 2)} rows a second" if milliseconds > 0 else ""
    )
    yield BigNumber("prediction", f"{number(milliseconds, 2)} ms", f"per row, among many{pace}")
    yield BigNumber("model size", f"{number(result.model.size_mib, 2)} MiB", "on disk")


def _metric_table(choices: RunChoices, result: RunResult) -> DataTable:
    test = result.test
    known, corrected, tested = result.metrics, _corrected(result), _tested(result)
    given: dict[str, Mapping[str, Cell]] = {_validated(choices): {**known, SCORE: result.score}}
    if corrected:
        given["corrected [95 %]"] = corrected
    if test is not None:
        sure = " [95 %]" if test.intervals.metrics else ""
        given[f"{number(test.rows)} test rows{sure}"] = tested
    rows = [
        (
            SCORE if name == SCORE else words_of(name).label,
            *(column.get(name) for column in given.values()),
            "what was maximized" if name == SCORE else words_of(name).meaning,
        )
        for name in (*ordered(known), SCORE)
    ]
    columns = ("metric", *given, "what it says")
    caption = f"Every metric in its own units, of rows that the fitted models had not seen ({_folds_text(choices)})"
    return DataTable(caption, columns, tuple(rows))


def _corrected(result: RunResult) -> dict[str, Estimate]:
    """Score and metrics corrected for the choice, with their intervals; empty in records of earlier versions."""
    honest = result.honest.of_model
    if honest is None or not honest.metrics:
        return {}
    texts = {
        name: _estimate(metric.value, (metric.low, metric.high))
        for name, metric in honest.metrics.items()
    }
    return {**texts, SCORE: _estimate(honest.score, (honest.low, honest.high))}


def _tested(result: RunResult) -> dict[str, Cell]:
    """Score and metrics of the test rows, with intervals where they have one."""
    if result.test is None:
        return {}
    values = {**result.test.metrics, SCORE: result.test.score}
    found = result.test.intervals
    intervals = {**found.metrics, **({} if found.score is None else {SCORE: found.score})}
    return {
        name: _estimate(value, intervals[name]) if name in intervals else value
        for name, value in values.items()
    }


def _estimate(value: float, interval: Interval) -> Estimate:
    return Estimate(estimate_text(value, interval).replace("-", "\u2212"))


def _ends(low: float, high: float) -> str:
    return f"95 % interval {number(low, 3)} to {number(high, 3)}"


def _n_folds(choices: RunChoices) -> int:
    return int((choices.facts.get("data") or {}).get("folds") or 0)


def _validated(choices: RunChoices) -> str:
    return validated_words(_n_folds(choices))


def _folds_text(choices: RunChoices) -> str:
    n_folds = _n_folds(choices)
    return "one part is held out" if n_folds == 1 else f"{n_folds or 'several'} folds"


def _baseline_text(result: RunResult) -> str:
    baseline = result.baseline
    if baseline is None or not baseline.trial_id or baseline.is_constant:
        return ""
    return f" Predicting the same for every row scores {number(baseline.score)}."


def _honest_text(result: RunResult) -> str:
    honest = result.honest.of_model
    if honest is None:
        reason = result.honest.reason or "it was not estimated"
        return f"There is no honest score: {reason}."
    return (
        f"The honest score is the score without the luck of having been chosen among "
        f"{number(result.honest.n_trials)} trials: the choice was repeated on "
        f"{honest.n_bootstraps} bootstraps of the rows. Uncorrected it is {number(honest.naive)}. "
        "The interval is for new rows of this one model."
    )


def _so_far(choices: RunChoices, folder: RunFolder) -> Iterator[Part]:
    status = choices.status
    resume = command(Home(folder.path.parents[1]), "resume", choices.run_id)
    yield Paragraph(
        f"Run {choices.run_id} has no result: it is {status.status}."
        + (f" Continue it with {resume}." if status.is_resumable else ""),
        "notice",
    )
    if not choices.complete:
        yield Paragraph("No trial is complete yet, so that there is nothing to tell of a model.")
        return
    best = choices.complete[0]
    yield Paragraph(
        f"The best of {len(choices.complete)} complete trials so far is {short_id(best.id)}, "
        f"{configuration_text(best.configuration)}. It scores {number(best.achieved)} on the folds of the "
        "search. That it is the best of many makes this number too good."
    )
    columns = ("metric", _validated(choices), "what it says")
    rows = tuple(
        (words_of(name).label, best.metrics[name], words_of(name).meaning)
        for name in ordered(best.metrics)
    )
    if rows:
        yield Tabular(DataTable(f"Metrics of {short_id(best.id)}", columns, rows))
    if status.status == FINISHED:
        yield Paragraph("The record of its result cannot be read.", "note")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
