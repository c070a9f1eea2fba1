"""Descriptions for MLflow's pages of a run, its model and its problem: Markdown, from the records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from automl.addresses import public_address
from automl.data_facts import learned_columns
from automl.home import RunFolder
from automl.listing import first_few
from automl.metrics.words import (
    headline,
    index_words,
    ordered,
    validated_words,
    words_of,
)
from automl.records import short_id
from automl.run_records.final import FinalMember, FinalRecord
from automl.run_records.honest import HonestRecord
from automl.run_records.metric_texts import SCORE, corrected_texts, tested_texts
from automl.run_records.promotion import PromotionRecord
from automl.run_records.result import RunResult
from automl.run_state import RUNNING, state_of
from automl.tracking.layout import PARAM_CHARACTERS, REPORT, SETTINGS, run_name
from automl.tracking.mirror_process import registration
from automl.tracking.promotion_facts import promotion_lines

CONSTANT = "score of a constant"
"""Row of a table beside the metrics."""
MOST_FAMILIES = 12
"""Most families of an ensemble, that are named: more are no sentence any more (by judgement)."""
MOST_CLASSES = 8
"""Most classes of a target, that are named: a description is one field of a page (by judgement)."""


@dataclass(frozen=True)
class Described:
    """The records of a run that descriptions are made of; None if the run has none.

    Parameters
    ----------
    facts : content of `run.json`
    """

    folder: RunFolder
    facts: Mapping[str, Any]
    final: FinalRecord | None
    result: RunResult | None
    honest: HonestRecord | None
    promotion: PromotionRecord | None

    @classmethod
    def of(cls, folder: RunFolder, facts: Mapping[str, Any]) -> Described:
        """Records in the folder of a run."""
        return cls(
            folder,
            facts,
            FinalRecord.read(folder),
            RunResult.read(folder),
            HonestRecord.read(folder),
            PromotionRecord.read(folder),
        )

    @property
    def model(self) -> str:
        """The model in a word or three; empty before there is one."""
        return "" if self.final is None else model_title(self.final.members)

    @property
    def name(self) -> str:
        """Name of the parent run."""
        return run_name(self.facts, self.model)


def model_title(members: Sequence[FinalMember]) -> str:
    """``lightgbm``, or ``ensemble of 9``; empty without members."""
    weighted = [member for member in members if member.weight > 0]
    if len(weighted) == 1:
        return weighted[0].family
    return f"ensemble of {len(weighted)}" if weighted else ""


def composition(members: Sequence[FinalMember]) -> str:
    """Families with their share of the model, the greatest first: ``qda 0.38 (6 models), mlp 0.21``."""
    shares: dict[str, list[float]] = {}
    for member in members:
        if member.weight > 0:
            shares.setdefault(member.family, []).append(member.weight)
    greatest = sorted(shares.items(), key=lambda item: -sum(item[1]))
    return first_few((_share(family, own) for family, own in greatest), MOST_FAMILIES)


def _share(family: str, weights: Sequence[float]) -> str:
    count = f" ({len(weights)} models)" if len(weights) > 1 else ""
    return f"{family} {sum(weights):.2f}{count}"


def model_params(run: Described) -> dict[str, str]:
    """Members of the logged model; for a single trial its hyperparameters too."""
    if run.final is None:
        return {}
    params = {
        "model": run.model,
        "families": composition(run.final.members),
        "final": run.final.kind,
        "target": str(run.facts["settings"]["target"]),
    }
    if run.final.threshold is not None:
        params["threshold"] = f"{run.final.threshold:.6g}"
    champion = None if run.result is None else run.result.champion
    weighted = [member.trial_id for member in run.final.members if member.weight > 0]
    if champion is not None and weighted == [champion.trial_id]:
        params |= {name: str(value) for name, value in champion.configuration.values.items()}
    return {name: value[:PARAM_CHARACTERS] for name, value in params.items()}


def run_description(run: Described) -> str:
    """Description of the parent run: the report in a few lines, and where more is."""
    if run.final is None:
        return "\n\n".join(_without_model(run))
    return "\n\n".join(
        [
            *_answer(run),
            *_registration(run),
            *_where(run),
            *_flow_runs(run.folder),
            *_metric_table(run),
        ]
    )


def version_description(run: Described) -> str:
    """Description of a registered version, whose page has the aliases beside it."""
    made = f"Made by the run {run.name} (`{run.folder.run_id}`)."
    told = registration(run.folder)
    is_unseen = told.is_champion and run.promotion is not None and not run.promotion.promote
    decided = told.alias_stays or (told.alias_reason if is_unseen else "")
    promoted = [_sentence(decided)] if decided else promotion_lines(run.promotion)
    return "\n\n".join([*_answer(run), *promoted, made, *_metric_table(run)])


def problem_description(facts: Mapping[str, Any]) -> str:
    """Description of a registered model or an experiment: which question its versions answer."""
    data = facts.get("data") or {}
    count = learned_columns(data)
    columns = f"{count} columns" if count else "the columns"
    table = public_address(str(facts["settings"]["table"]))
    return f"Predicts {_target(facts)} from {columns} of `{table}`."


def _answer(run: Described) -> Iterator[str]:
    """Description of the model: its kind, its target, its quality and its cost."""
    result, final = run.result, run.final
    if result is not None and result.baseline is not None and result.baseline.notice:
        yield _sentence(result.baseline.notice)
    yield " ".join([*_model(run), _predicts(run.facts)])
    yield " ".join([*_headline(run), *honest_sentences(run.honest)])
    if final is not None:
        yield (
            f"A row takes {final.predict_ms:.2g} ms to predict among many. The model takes "
            f"{final.size_mib:.3g} MiB."
        )


def _model(run: Described) -> Iterator[str]:
    if run.final is None or not run.model:
        return
    made = run.final.made_of
    if run.model.startswith("ensemble"):
        yield f"**{_sentence(run.model)[:-1]}**, by share: {composition(run.final.members)}. It consists of {made}."
    else:
        weighted = next(member for member in run.final.members if member.weight > 0)
        trial = short_id(weighted.trial_id)
        yield f"**{run.model}**, trial {trial}. It consists of {made}."
    second = [member for member in run.final.members if member.inputs]
    if second:
        names = ", ".join(f"{m.family} {short_id(m.trial_id)}" for m in second)
        inputs = ", ".join(map(short_id, second[0].inputs))
        yield f"Second layer: {names}, over the predictions of {inputs}."


def _predicts(facts: Mapping[str, Any]) -> str:
    data = facts.get("data") or {}
    count = learned_columns(data)
    columns = f" from {count} columns" if count else ""
    return f"It predicts {_target(facts)}{columns}, learned from {data.get('rows')} rows."


def _target(facts: Mapping[str, Any]) -> str:
    classes = (facts.get("data") or {}).get("classes")
    kind = f" (one of {first_few(classes, MOST_CLASSES)})" if classes else ""
    return f"`{facts['settings']['target']}`{kind}"


def _metric_table(run: Described) -> Iterator[str]:
    """Every metric in its natural units; the score that was maximized comes last."""
    result = run.result
    if result is None:
        return
    test = result.test if run.final is None else run.final.test
    folds = int((run.facts.get("data") or {}).get("folds") or 0)
    corrected = corrected_texts(run.honest)
    columns = {validated_words(folds): {k: _number(v) for k, v in result.metrics.items()}}
    columns[validated_words(folds)][SCORE] = _number(result.score)
    if result.baseline is not None:
        columns[validated_words(folds)][CONSTANT] = _number(result.baseline.score)
    if corrected:
        columns["corrected [95 %]"] = corrected
    if test is not None:
        sure = " [95 %]" if test.intervals.metrics else ""
        plain = {
            name: _number(value) for name, value in {**test.metrics, SCORE: test.score}.items()
        }
        columns[f"{test.rows} test rows{sure}"] = {**plain, **tested_texts(test)}
    names = [*ordered(result.metrics), SCORE, *([CONSTANT] if result.baseline else [])]
    heads = ["metric", *columns]
    lines = [_cells(heads), _cells(["---"] * len(heads))]
    for name in names:
        label = name if name in {SCORE, CONSTANT} else words_of(name).label
        lines.append(_cells([label, *(values.get(name, "") for values in columns.values())]))
    yield "\n".join(lines)
    yield (
        f"The score is what was maximized: {index_words(result.metric)}, scaled so that 0 is chance "
        "and 1 is perfect."
    )


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _headline(run: Described) -> Iterator[str]:
    """The metric that everybody knows, and the score."""
    if run.result is None:
        return
    name = headline(run.result.metric, run.result.metrics)
    folds = int((run.facts.get("data") or {}).get("folds") or 0)
    known = f"{words_of(name).label} {run.result.metrics[name]:.4g}, " if name else ""
    found = f"{known}score {run.result.score:.4g}, {validated_words(folds)}"
    yield _sentence(found)
    corrected = corrected_texts(run.honest).get(name)
    if corrected:
        yield (
            f"Corrected for the choice, {words_of(name).label} is **{corrected}**, with a 95 % interval for new rows "
            "of this one model."
        )


def honest_sentences(honest: HonestRecord | None) -> Iterator[str]:
    """The honest score of the model, or why there is none; nothing for runs of earlier versions."""
    if honest is None:
        return
    score = honest.of_model
    if score is not None and math.isfinite(score.score):
        yield (
            f"Honest score: **{score.score:.3f}**, 95 % interval {score.low:.3f} to {score.high:.3f}. It is "
            f"corrected for the choice among {honest.n_trials} trials."
        )
    elif honest.reason:
        yield f"No honest score: {honest.reason}."


def _registration(run: Described) -> Iterator[str]:
    """Which version the model became, and why it has its alias or none."""
    told = registration(run.folder)
    if told.registered is None:
        state = "is not registered" if told.status == "off" else "is not registered yet"
        yield _sentence(f"the model {state}{f': {told.reason}' if told.reason else ''}")
        return
    label, _, alias = told.registered.partition("@")
    given = f"got the alias `{alias}`" if alias else "got no alias"
    why = f" Reason: {told.alias_reason}." if told.alias_reason else ""
    yield f"It was registered as `{label}` and {given}.{why}"


def _where(run: Described) -> Iterator[str]:
    report = f"The artifact `{REPORT}` explains the choice. " if run.folder.report.is_file() else ""
    yield f"{report}The artifact `{SETTINGS}` has all settings. The run's id is `{run.folder.run_id}`."


def _without_model(run: Described) -> Iterator[str]:
    state = state_of(run.folder, dict(run.facts))
    if state.status == RUNNING:
        yield "This run has not ended. Its description is completed at its end."
    else:
        yield f"This run has no model: it is {state.status}."
    yield problem_description(run.facts)
    yield from _where(run)
    yield from _flow_runs(run.folder)


def _flow_runs(folder: RunFolder) -> Iterator[str]:
    """Where the flow runs of the attempts are, as the flows noted it."""
    try:
        notes = json.loads((folder.path / "orchestrator.json").read_text(encoding="utf-8"))
        flow_runs = [
            (note["flow_run"], public_address(note.get("page") or ""))
            for note in notes.values()
            if note.get("flow_run")
        ]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return
    if flow_runs:
        shown = (f"[{run}]({page})" if page else f"`{run}`" for run, page in flow_runs)
        local = "" if all(page for _, page in flow_runs) else ", on the page that `automl ui` opens"
        yield f"Flow run in Prefect: {', '.join(shown)}{local}."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
