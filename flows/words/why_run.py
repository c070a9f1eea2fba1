"""The story of a run, in a dozen lines: what was tried, what was dropped where and why, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from automl.data_facts import learned_columns
from automl.ensembles.evidence import EnsembleDecision
from automl.listing import counted, first_few
from automl.metrics.words import index_words
from automl.origins import INITIAL_DESIGN, RESERVED
from automl.records import short_id
from automl.reports.configuration_text import configuration_text
from automl.reports.decision_table import untested
from automl.reports.run_choices import RunChoices
from automl.run.stage_table import STAGES
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.promotion import PromotionRecord
from automl.selection.dispositions import Status, number_text
from automl.selection.preselection import FRESH
from automl.selection.selection_records import (
    Level,
    LevelDecision,
    Member,
    SelectionRecord,
    Verdict,
)
from automl_flows.words.why_trial import test_numbers

MOST_REASONS = 3
"""Named before the others are counted: the story of a run stays a dozen lines."""
MOST_SHOWN = 8
"""Families, and members of the root, that are named before the others are counted."""


def facts_of(choices: RunChoices) -> dict[str, str]:
    """The run and its story, line by line."""
    return {"run": choices.run_id, **story_of(choices)}


def story_of(choices: RunChoices) -> dict[str, str]:
    """Lines by what they are about; what is not known yet has none."""
    parts: dict[str, Callable[[RunChoices], str]] = {
        "data": _data,
        "search": _search,
        "failures": _failures,
        "clusters": _clusters,
        "screening": _screening,
        "fresh folds": _fresh_folds,
        "leaves": lambda k: _level(k, Level.LEAF, "leaf", "leaves"),
        "categories": lambda k: _level(k, Level.CATEGORY, "category", "categories"),
        "families": lambda k: _level(k, Level.FAMILY, "family", "families"),
        "root": _root,
        "champion": _champion,
        "how sure": _how_sure,
        "ensemble": _ensemble,
        "honest score": _honest,
        "given up": _given_up,
        "next": _next,
    }
    lines = {about: choices.shortened(tell(choices)) for about, tell in parts.items()}
    return {about: text for about, text in lines.items() if text}


def _data(choices: RunChoices) -> str:
    data = choices.facts.get("data") or {}
    if not data:
        return ""
    classes, folds = data.get("classes"), data.get("folds")
    kind = f"{data.get('task')}" + (f", {len(classes)} classes" if classes else "")
    measure = f"It maximizes {index_words(str(data.get('metric')))}"
    return (
        f"The run learns from {data.get('rows')} rows with {learned_columns(data)} columns. It predicts "
        f"{data.get('target')} ({kind}). {measure}{f' on {folds} folds' if folds else ''}."
    )


def _search(choices: RunChoices) -> str:
    if not choices.searched:
        return "No trial has ended yet."
    counts = Counter(trial.configuration.family for trial in choices.searched)
    best: dict[str, float] = {}
    for trial in choices.complete:
        best.setdefault(trial.configuration.family, trial.achieved)
    order = sorted(counts, key=lambda family: -best.get(family, float("-inf")))
    told = [
        f"{family} {counts[family]}" + (f" (best {best[family]:.4f})" if family in best else "")
        for family in order
    ]
    tried = (
        f"The search tried {_count(choices.searched, 'configuration')} of "
        f"{_count(counts, 'family', 'families')}: {first_few(told, MOST_SHOWN)}."
    )
    return f"{tried} {_choosers(choices)}".rstrip()


def _choosers(choices: RunChoices) -> str:
    """What chose the families of the proposals; nothing where the optimizer was never asked."""
    search = choices.search
    known = {"", *RESERVED} - {INITIAL_DESIGN}
    is_asked = any(trial.origin not in known for trial in choices.searched)
    if search is None or not search.allocator or not is_asked:
        return ""
    if search.joined_families:
        return "The optimizer chose the families of its proposals."
    return f"The allocator {search.allocator} chose the families of the optimizer's proposals."


def _failures(choices: RunChoices) -> str:
    ended = [trial for trial in choices.searched if not trial.is_complete]
    if not ended:
        return "All trials were completed." if choices.searched else ""
    kinds = Counter(str(trial.status).replace("_", " ") for trial in ended)
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    reasons = Counter(
        trial.reason for trial in ended if trial.reason and str(trial.status) != "raced"
    ).most_common(MOST_REASONS)
    why = "; ".join(f"{reason} ({number})" for reason, number in reasons)
    text = f"{len(choices.complete)} trials were completed. The others: {told}."
    return f"{text} Most frequent reasons: {why}." if why else text


def _clusters(choices: RunChoices) -> str:
    groups = () if choices.candidates is None else choices.candidates.clusters
    if not groups:
        return ""
    n_trials = sum(len(group.trial_ids) for group in groups)
    n_clusters = sum(len(group.best) for group in groups)
    too_slow = _number(choices, Status.TOO_SLOW)
    slow = f" {too_slow} more predict too slowly." if too_slow else ""
    return (
        f"{n_trials} complete trials of {_count(groups, 'signature')} fell into {n_clusters} clusters "
        f"of similar configurations. The best of each went on.{slow}"
    )


def _screening(choices: RunChoices) -> str:
    if choices.candidates is None:
        return ""
    screening = choices.candidates.screening
    n_all, n_kept = len(screening.trial_ids), len(screening.kept)
    if not screening.test:
        return f"All {n_all} became candidates without a screening."
    if not screening.alpha:
        return (
            f"So few folds cannot prove a difference. The best {n_kept} of {n_all} became "
            f"candidates (limit {screening.limit})."
        )
    n_worse = sum(pvalue < screening.alpha for pvalue in screening.pvalues or ())
    return (
        f"{n_worse} of {n_all} {'is' if n_worse == 1 else 'are'} clearly worse than "
        f"{short_id(screening.trial_ids[0])} on the search folds ({screening.test}, "
        f"p < {number_text(screening.alpha)}). The best {n_kept} of the other {n_all - n_worse} became "
        f"candidates (limit {screening.limit})."
    )


def _has_fresh_scores(choices: RunChoices) -> bool:
    return choices.candidates is not None and choices.candidates.scoring.source == FRESH


def _fresh_folds(choices: RunChoices) -> str:
    if choices.candidates is None:
        return ""
    scoring = choices.candidates.scoring
    if not _has_fresh_scores(choices):
        return "The run scored no candidate on fresh folds. The best trial of the search is the only one."
    scores = min(len(scoring.scored[trial_id]) for trial_id in scoring.compared)
    missing = len(scoring.planned) - len(scoring.compared)
    text = (
        f"{len(scoring.compared)} candidates have {scores} scores each on folds that the search "
        "never saw."
    )
    if scoring.leaders:
        first = scoring.repeats * scoring.folds_per_repeat
        return f"{text} They led {len(scoring.planned)} candidates after {first} folds."
    return f"{text} {missing} more do not have scores on all of them." if missing else text


def _level(choices: RunChoices, level: Level, one: str, many: str) -> str:
    decisions = () if choices.selection is None else choices.selection.decisions
    contested = [d for d in decisions if d.level == level and len(d.members) > 1]
    if not contested:
        return ""
    verdicts = Counter(member.verdict for decision in contested for member in decision.members)
    dropped = [
        f"{short_id(member.trial_id)} at {decision.node} ({member.chance})"
        for decision in contested
        for member in decision.members
        if member.verdict is Verdict.WORSE
    ]
    place = one if len(contested) == 1 else many
    text = f"{verdicts.total()} candidates competed at {len(contested)} {place}."
    if dropped:
        text += f" Tests found worse than the best: {first_few(dropped, MOST_REASONS)}."
    else:
        text += " No test dropped any."
    if verdicts[Verdict.OUTRANKED]:
        text += f" The ranking left out {verdicts[Verdict.OUTRANKED]}."
    return f"{text} {verdicts[Verdict.PROMOTED]} went on."


def _root(choices: RunChoices) -> str:
    selection, root = choices.selection, choices.root
    if selection is None or root is None:
        return ""
    is_alone = len(root.members) == 1
    told = "; ".join(
        _member_text(member, is_best=member.trial_id == root.best and not is_alone)
        for member in root.members[:MOST_SHOWN]
    )
    others = Counter(member.verdict for member in root.members[MOST_SHOWN:])
    told += "".join(f"; {number} more {verdict}" for verdict, number in others.items())
    if is_alone:
        return f"Only {told} reached the root."
    test = _root_test(root, selection.selection)
    return (
        f"{_count(root.members, 'candidate')} reached the root (test: {test}, alpha {root.alpha:g}). "
        f"Mean scores: {told}."
    )


def _root_test(root: LevelDecision, selection: SelectionRecord) -> str:
    """The test of pairs, that of all with its numbers, or why there is none."""
    if root.post_hoc:
        return root.post_hoc
    if not root.tests:
        return f"no test ({untested(root, selection)})"
    return f"{root.tests[-1].name}, {test_numbers(root.tests[-1])}"


def _member_text(member: Member, *, is_best: bool) -> str:
    chance = "the best" if is_best else member.chance
    verdict = "" if member.verdict is Verdict.PROMOTED else str(member.verdict)
    score = f"{short_id(member.trial_id)} {member.mean_score:.4f}"
    return ", ".join(filter(None, (score, chance, verdict)))


def _champion(choices: RunChoices) -> str:
    trial = choices.trials.get(choices.champion)
    if trial is None:
        return ""
    members = choices.root.members if choices.root and _has_fresh_scores(choices) else ()
    own = next((member for member in members if member.trial_id == choices.champion), None)
    fresh = (
        f" On the folds that compared the candidates it scored {own.mean_score:.4f}." if own else ""
    )
    score = (
        "It has no score." if trial.score is None else f"It scored {trial.score:.4f} in the search."
    )
    return f"{short_id(trial.id)} is {configuration_text(trial.configuration)}. {score}{fresh}"


def _how_sure(choices: RunChoices) -> str:
    if choices.root is None:
        return ""
    members = choices.root.members
    equal = [
        member.trial_id
        for member in members
        if member.verdict is not Verdict.WORSE and member.trial_id != choices.champion
    ]
    if not equal:
        is_alone = len(members) == 1
        return (
            "No other candidate reached the root."
            if is_alone
            else "Tests found all others at the root worse."
        )
    names = ", ".join(f"{short_id(trial_id)} ({_family(choices, trial_id)})" for trial_id in equal)
    return f"No test at the root separates it from {names}. The ranking decided."


def _family(choices: RunChoices, trial_id: str) -> str:
    trial = choices.trials.get(trial_id)
    return trial.configuration.family if trial else ""


def _ensemble(choices: RunChoices) -> str:
    ensemble = choices.ensemble
    if ensemble is None:
        return ""
    if ensemble.recipe:
        return f"Nothing was chosen. {_recipe_members(ensemble)} run {ensemble.recipe}."
    if ensemble.evidence is None:
        return "There is none. The champion alone is the model."
    return _decided_ensemble(choices, ensemble, ensemble.evidence.decision)


def _decided_ensemble(
    choices: RunChoices, ensemble: EnsembleRecord, decision: EnsembleDecision
) -> str:
    numbers = _evidence_text(decision)
    if [member.trial_id for member in ensemble.learned] == [choices.champion]:
        return "The ensemble gave all the weight to the champion, which is the model."
    if not ensemble.replaced_champion:
        return f"The champion alone is the model. {_refused_ensemble(decision, numbers)}"
    if len(ensemble.members) == 1:
        (alone,) = ensemble.shares
        trial = choices.trials.get(alone)
        layer = " of the second layer" if trial is not None and trial.stage != "search" else ""
        return f"{short_id(alone)}{layer} replaced the champion: {numbers}."
    return (
        f"An ensemble of {len(ensemble.members)} replaced the champion: {numbers}. "
        f"Its weights: {_weights(ensemble)}."
    )


def _refused_ensemble(decision: EnsembleDecision, numbers: str) -> str:
    if not decision.objection:
        return f"No ensemble is better: {numbers}."
    return f"An ensemble passed the test: {numbers}. But {decision.objection}."


def _weights(ensemble: EnsembleRecord) -> str:
    return ", ".join(f"{short_id(m.trial_id)} {m.weight:.2f}" for m in ensemble.members)


def _recipe_members(ensemble: EnsembleRecord) -> str:
    """Subject and verb of a sentence on whose members these are."""
    if len(ensemble.members) == 1:
        return "The model has the configuration of"
    return f"The members ({_weights(ensemble)}) and their weights are those of"


def _evidence_text(decision: EnsembleDecision) -> str:
    return (
        f"its difference to the best single model is {decision.difference:+.4g} on folds that its weights "
        f"never saw (one-sided corrected t, statistic {number_text(decision.statistic)}, "
        f"p = {number_text(decision.pvalue)}, alpha {decision.alpha:g})"
    )


def _honest(choices: RunChoices) -> str:
    honest = choices.honest
    if honest is None:
        return ""
    chosen = honest.of_model
    if chosen is None:
        return f"There is none: {honest.reason or 'it was not estimated'}."
    bag = f" The bag of fold models adds {chosen.gain:+.4f}." if chosen.gain else ""
    return (
        f"It is {chosen.score:.4f}, with a 95 % interval from {chosen.low:.4f} to {chosen.high:.4f}. The "
        f"uncorrected score is {chosen.naive:.4f}. The choice among {honest.n_trials} trials adds "
        f"{0.0 - chosen.bias:+.4f} ({chosen.n_bootstraps} bootstraps).{bag}"
    )


def _given_up(choices: RunChoices) -> str:
    return " ".join(f"{text[:1].upper()}{text[1:]}." for text in dict.fromkeys(choices.given_up))


def _next(choices: RunChoices) -> str:
    """Missing parts of a run that is not finished."""
    if choices.result is not None:
        return ""
    is_challenge = bool((choices.facts.get("settings") or {}).get("challenge"))
    stages = [s for s in STAGES[1:] if is_challenge or s.record is not PromotionRecord]
    missing = [stage.name for stage in stages if choices.record(stage.record) is None]
    return f"The run is {choices.status.status}. Still to come: {', '.join(missing)}."


def _number(choices: RunChoices, status: str) -> int:
    return sum(disposition.status == status for disposition in choices.dispositions.values())


def _count(things: Sequence[Any] | Mapping[Any, Any], one: str, many: str = "") -> str:
    return counted(len(things), one, many)
