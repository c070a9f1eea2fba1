"""The story of a run, in a dozen lines: what was tried, what was dropped where and why, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from automl.run.stage_table import STAGES
from automl.run_records.promotion import PromotionRecord
from automl.selection.dispositions import Status, member_chance, number_text
from automl_flows.words.decision_table import untested
from automl_flows.words.results import short_id
from automl_flows.words.run_choices import Known
from automl_flows.words.why_trial import configuration_text

MOST_REASONS = 3
MOST_FAMILIES = MOST_MEMBERS = 8


def story_of(known: Known) -> dict[str, str]:
    """Lines by what they are about; what is not known yet has none."""
    parts: dict[str, Callable[[Known], str]] = {
        "data": _data,
        "search": _search,
        "failures": _failures,
        "clusters": _clusters,
        "screening": _screening,
        "fresh folds": _fresh_folds,
        "leaves": lambda k: _level(k, "leaf", "leaf", "leaves"),
        "categories": lambda k: _level(k, "category", "category", "categories"),
        "families": lambda k: _level(k, "family", "family", "families"),
        "root": _root,
        "champion": _champion,
        "how sure": _how_sure,
        "ensemble": _ensemble,
        "honest score": _honest,
        "given up": _given_up,
        "next": _next,
    }
    found = {about: known.shortened(tell(known)) for about, tell in parts.items()}
    return {about: text for about, text in found.items() if text}


def _data(known: Known) -> str:
    data = known.facts.get("data") or {}
    if not data:
        return ""
    classes = data.get("classes")
    kind = f"{data.get('task')}" + (f" with {len(classes)} classes" if classes else "")
    folds = data.get("folds")
    return (
        f"{data.get('rows')} rows and {data.get('columns')} columns; {data.get('target')} is to be "
        f"predicted ({kind}), scored by {data.get('metric')}"
        + (f" on {folds} folds" if folds else "")
    )


def _search(known: Known) -> str:
    if not known.searched:
        return "no trial has ended yet"
    counts = Counter(trial.configuration.family for trial in known.searched)
    best: dict[str, float] = {}
    for trial in known.complete:
        best.setdefault(trial.configuration.family, trial.achieved)
    order = sorted(counts, key=lambda family: -best.get(family, float("-inf")))
    told = [
        f"{family} {counts[family]}" + (f" (best {best[family]:.4f})" if family in best else "")
        for family in order[:MOST_FAMILIES]
    ]
    more = f" and {len(order) - MOST_FAMILIES} more" if len(order) > MOST_FAMILIES else ""
    return (
        f"{len(known.searched)} trials of {_count(counts, 'family', 'families')}: "
        f"{', '.join(told)}{more}"
    )


def _failures(known: Known) -> str:
    ended = [trial for trial in known.searched if not trial.is_complete]
    if not ended:
        return "all trials were completed" if known.searched else ""
    kinds = Counter(str(trial.status).replace("_", " ") for trial in ended)
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    reasons = Counter(
        trial.reason for trial in ended if trial.reason and str(trial.status) != "raced"
    ).most_common(MOST_REASONS)
    why = "; ".join(f"{reason} ({number})" for reason, number in reasons)
    text = f"{len(known.complete)} trials were completed; the others: {told}"
    return f"{text}; most often: {why}" if why else text


def _clusters(known: Known) -> str:
    groups = known.stages["candidates"].get("clusters") or ()
    if not groups:
        return ""
    n_trials = sum(len(group["trial_ids"]) for group in groups)
    n_clusters = sum(len(group["best"]) for group in groups)
    too_slow = _number(known, Status.TOO_SLOW)
    slow = f"; {too_slow} more predict too slowly" if too_slow else ""
    return (
        f"{n_trials} complete trials of {_count(groups, 'signature')} fell into {n_clusters} clusters "
        f"of similar configurations, and the best of each went on{slow}"
    )


def _screening(known: Known) -> str:
    found = known.stages["candidates"].get("screening") or {}
    if not found:
        return ""
    n_all, n_kept = len(found["trial_ids"]), len(found["kept"])
    if not found["test"]:
        return f"all {n_all} became candidates without a screening"
    alpha, pvalues = found["alpha"], found["pvalues"]
    if not alpha:
        return (
            f"a test on so few folds can prove nothing; the best {n_kept} of {n_all} became "
            f"candidates (limit {found['limit']})"
        )
    n_worse = sum(pvalue < alpha for pvalue in pvalues)
    return (
        f"{n_worse} of {n_all} {'is' if n_worse == 1 else 'are'} clearly worse than "
        f"{short_id(found['trial_ids'][0])} on the folds of the search ({found['test']}, "
        f"p < {number_text(alpha)}); the best {n_kept} of the other {n_all - n_worse} became "
        f"candidates (limit {found['limit']})"
    )


def _fresh_folds(known: Known) -> str:
    found = known.stages["candidates"].get("scoring") or {}
    if not found:
        return ""
    if found["source"] != "fresh folds":
        return "no candidate could be scored on fresh folds; the best of the search is the only one"
    compared = found["compared"]
    scores = min(len(found["scored"][trial_id]) for trial_id in compared)
    missing = len(found["planned"]) - len(compared)
    text = (
        f"{len(compared)} candidates have {scores} scores each on folds that the search never saw"
    )
    if found["leaders"]:
        first = found["repeats"] * found["folds_per_repeat"]
        return f"{text}; they led {len(found['planned'])} after {first} folds"
    return f"{text}; {missing} could not be scored on all of them" if missing else text


def _level(known: Known, level: str, one: str, many: str) -> str:
    decisions = [d for d in known.stages["selection"].get("decisions") or () if d["level"] == level]
    contested = [d for d in decisions if len(d["members"]) > 1]
    if not contested:
        return ""
    verdicts = Counter(m["verdict"] for d in contested for m in d["members"])
    n_members = sum(verdicts.values())
    dropped = [
        f"{short_id(m['trial_id'])} at {d['node']} ({member_chance(m)})"
        for d in contested
        for m in d["members"]
        if m["verdict"] == "worse"
    ]
    text = f"at {len(contested)} {one if len(contested) == 1 else many} {n_members} candidates met"
    if dropped:
        more = f" and {len(dropped) - MOST_REASONS} more" if len(dropped) > MOST_REASONS else ""
        text += f"; worse than the best by test: {', '.join(dropped[:MOST_REASONS])}{more}"
    else:
        text += "; no test dropped any"
    if verdicts["outranked"]:
        text += f"; {verdicts['outranked']} outranked"
    return f"{text}; {verdicts['promoted']} went on"


def _root(known: Known) -> str:
    decisions = known.stages["selection"].get("decisions")
    if not decisions:
        return ""
    root = decisions[-1]
    best = min(root["members"], key=lambda m: (-m["mean_score"], m["trial_id"]))
    shown = root["members"][:MOST_MEMBERS]
    is_alone = len(root["members"]) == 1
    told = "; ".join(_member_text(m, is_best=m is best and not is_alone) for m in shown)
    others = Counter(member["verdict"] for member in root["members"][MOST_MEMBERS:])
    told += "".join(f"; {number} more {verdict}" for verdict, number in others.items())
    if is_alone:
        return f"only {told} got there"
    test = root["post_hoc"] or (root["tests"][-1]["name"] if root["tests"] else "no test")
    if test == "no test":
        test += f" ({untested(root, known.stages['selection'])})"
    if not root["post_hoc"] and root["tests"]:
        last = root["tests"][-1]
        test += f", statistic {number_text(float(last['statistic']))}, p = {number_text(last['pvalue'])}"
    return f"{_count(root['members'], 'candidate')} by {test}, alpha {root['alpha']:g}: {told}"


def _member_text(member: Mapping[str, Any], *, is_best: bool) -> str:
    chance = "the best" if is_best else member_chance(member)
    verdict = "" if member["verdict"] == "promoted" else member["verdict"]
    score = f"{short_id(member['trial_id'])} {member['mean_score']:.4f}"
    return ", ".join(filter(None, (score, chance, verdict)))


def _champion(known: Known) -> str:
    trial = known.trials.get(known.champion)
    if trial is None:
        return ""
    own = next(
        (
            member
            for member in known.stages["selection"]["decisions"][-1]["members"]
            if member["trial_id"] == known.champion
        ),
        None,
    )
    fresh = f", {own['mean_score']:.4f} where the candidates were compared" if own else ""
    score = f"{trial.score:.4f} in the search" if trial.score is not None else "no score"
    return f"{short_id(trial.id)}, {configuration_text(trial.configuration)}: {score}{fresh}"


def _how_sure(known: Known) -> str:
    decisions = known.stages["selection"].get("decisions")
    if not decisions:
        return ""
    members = decisions[-1]["members"]
    equal = [m for m in members if m["verdict"] != "worse" and m["trial_id"] != known.champion]
    if not equal:
        is_alone = len(members) == 1
        return (
            "nothing was left to compare it with at the root"
            if is_alone
            else "all others at the root are worse by test"
        )
    names = ", ".join(f"{short_id(m['trial_id'])} ({_family(known, m['trial_id'])})" for m in equal)
    return f"no test at the root told it from {names}; the ranking decided among them"


def _family(known: Known, trial_id: str) -> str:
    trial = known.trials.get(trial_id)
    return trial.configuration.family if trial else ""


def _ensemble(known: Known) -> str:
    found = known.stages["ensemble"]
    if not found:
        return ""
    evidence = found.get("evidence")
    if not evidence:
        return "there is none; the champion alone is the model"
    numbers = (
        f"difference {evidence['difference']:+.4g} to the best single model on folds that its weights "
        f"have not seen, one-sided corrected t, statistic {number_text(float(evidence['statistic']))}, "
        f"p = {number_text(evidence['pvalue'])}, alpha {evidence['alpha']:g}"
    )
    if [member["trial_id"] for member in found.get("learned") or ()] == [known.champion]:
        return "the champion alone is the model; the ensemble gave all the weight to it"
    if not found["replaced_champion"]:
        return f"the champion alone is the model, no ensemble is better: {numbers}"
    members = ", ".join(
        f"{short_id(member['trial_id'])} {member['weight']:.2f}" for member in found["members"]
    )
    if len(found["members"]) == 1:
        trial = known.trials.get(found["members"][0]["trial_id"])
        layer = " of the second layer" if trial is not None and trial.stage != "search" else ""
        return f"{members.split()[0]}{layer} replaced the champion: {numbers}"
    return f"an ensemble of {len(found['members'])} replaced the champion ({members}): {numbers}"


def _honest(known: Known) -> str:
    found = known.stages["honest"]
    if not found:
        return ""
    chosen = found.get(found.get("chosen", "single")) or {}
    if not chosen:
        return f"none: {found.get('reason') or 'it was not estimated'}"
    gain = chosen.get("gain", 0.0)
    bag = f" and {gain:+.4f} for the bag of fold models" if gain else ""
    return (
        f"{chosen['score']:.4f}, 95 % interval {chosen['low']:.4f} to {chosen['high']:.4f}, with "
        f"{0.0 - chosen['bias']:+.4f} for the choice among {found['n_trials']} trials "
        f"({found['n_bootstraps']} bootstraps){bag}; uncorrected it would be {chosen['naive']:.4f}"
    )


def _given_up(known: Known) -> str:
    texts = known.stages["result"].get("given_up")
    if texts is None:
        texts = [t for record in known.stages.values() for t in record.get("stage_given_up") or ()]
    return "; ".join(dict.fromkeys(texts))


def _next(known: Known) -> str:
    """What is missing of a run that is not finished."""
    if known.stages["result"]:
        return ""
    is_challenge = bool((known.facts.get("settings") or {}).get("challenge"))
    after_search = STAGES[1:]
    names = [s.name for s in after_search if is_challenge or s.record is not PromotionRecord]
    missing = [name for name in names if not known.stages[name]]
    return f"the run is {known.status.status}; still to come: {', '.join(missing)}"


def _number(known: Known, status: str) -> int:
    return sum(disposition.status == status for disposition in known.dispositions.values())


def _count(things: Sequence[Any] | Mapping[Any, Any], one: str, many: str = "") -> str:
    return f"{len(things)} {one if len(things) == 1 else many or one + 's'}"
