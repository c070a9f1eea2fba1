"""A few sentences about a trial: what it was and how it scored, what became of it and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from automl.origins import INITIAL_DESIGN
from automl.records import Trial, TrialStatus, short_id
from automl.reports.configuration_text import configuration_text
from automl.reports.run_choices import RunChoices
from automl.run_records.search import SearchRecord
from automl.selection.dispositions import Disposition, Place, Status, number_text
from automl.statistics.results import TestResult

_ORIGINS = {
    "floor": "It is a floor, a model that every run has to beat.",
    "default": "It is the default of its family.",
    "initial_design": "It belongs to the initial design of its optimizer.",
    "past": "It was among the best that is known of this data set, from an earlier run or from the package.",
    "knowledge": "It comes from the portfolio learned from other data sets.",
    "portfolio": "It comes from the portfolio.",
    "given": "The run was given its configuration.",
}
_UNCOMPARED = "the run compared it with no other trial"
_ENDS = {
    "failed": f"It failed, so {_UNCOMPARED}",
    "crashed": f"Its process crashed, so {_UNCOMPARED}",
    "killed": f"Something outside the run killed its process twice, so {_UNCOMPARED}",
    "timed_out": f"It ran out of time, so {_UNCOMPARED}",
    "out_of_memory": f"It ran out of memory, so {_UNCOMPARED}",
    "raced": "The run ended it early as hopeless, before any test of the selection",
    "partial": "It is a partial trial, and the run never compares these with complete ones",
}
_FATES: Mapping[str, str] = {
    Status.TOO_SLOW: "It predicts a row in {predict_ms} ms, and the limit is {limit} ms. The run left it "
    "out before any test",
    Status.NOT_BEST_OF_CLUSTER: "{cluster_best} scored better in the same k-means cluster (number "
    "{cluster}, {cluster_size} trials). Only the best trial of each cluster goes on",
    Status.SCREENED_OUT: "The screening dropped it. On the search folds it is clearly worse than "
    "{against} ({evidence}, below {alpha})",
    Status.OVER_LIMIT: "The screening did not find it clearly worse than {against} ({evidence}, {bound}). "
    "It ranked number {number} of {n_left} such trials, and {limit} go on",
    Status.UNAFFORDABLE: "It became a candidate. The run had no time left to score it on fresh folds, so "
    "no test has judged it",
    Status.UNSCORED: "It became a candidate. The run could not score it on all fresh folds, so no test "
    "has judged it",
    Status.BEHIND: "On the first fresh folds it ranked number {number} of {n_left} candidates, with a mean "
    "of {score}. The run scored only the first {limit} further, so no test has judged it",
    Status.WORSE: "A test dropped it at {where}. It is worse than {against} there ({evidence}, "
    "{limit_of_chance})",
    Status.OUTRANKED: "At {where}, {untold}. It ranked number {number} of {n_left}, and only {limit} "
    "{go} on",
    Status.FINALIST: "It reached {where}, where {untold}. It ranked number {number} of {n_left}",
    Status.WINNER: "It is the champion. At {where} it ranked first of {n_left} that no test found "
    "worse than the best",
}


@dataclass(frozen=True)
class TrialStory:
    """Story of a trial and its disposition.

    Parameters
    ----------
    configuration : values of its hyperparameters, by name
    fresh_scores : on folds that the search never saw; None if it has none
    disposition : None before the selection, and of a trial that was not part of the search
    role : in the model, see `_role`
    weight : in the model; None if it is no member
    text : a few sentences
    """

    run_id: str
    trial_id: str
    family: str
    signature: str
    configuration: Mapping[str, Any]
    status: str
    score: float | None
    fresh_scores: list[float] | None
    disposition: Disposition | None
    role: str
    weight: float | None
    text: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**self.__dict__, "disposition": self.disposition and self.disposition.to_json()}


def why_trial(choices: RunChoices, trial: Trial) -> TrialStory:
    """Story of a trial and its disposition."""
    if trial.stage == "search":
        sentences = [_what(choices, trial), _fate(choices, trial)]
    elif trial.stage == "candidates":
        sentences = _of_fresh_folds(choices, trial)
    else:
        sentences = _of_second_layer(choices, trial)
    return TrialStory(
        run_id=choices.run_id,
        trial_id=trial.id,
        family=trial.configuration.family,
        signature=trial.configuration.signature,
        configuration=dict(trial.configuration.values),
        status=str(trial.status),
        score=trial.score,
        fresh_scores=_fresh_scores(choices).get(trial.id),
        disposition=choices.dispositions.get(trial.id),
        role=_role(choices, trial.id),
        weight=choices.weights.get(trial.id),
        text=choices.shortened(" ".join(sentences)),
    )


def _what(choices: RunChoices, trial: Trial) -> str:
    sentences = (
        f"Trial {short_id(trial.id)} is {configuration_text(trial.configuration)}.",
        _ORIGINS.get(trial.origin) or _proposer(choices.search, trial.origin),
        _family_of_design(choices.search) if trial.origin == INITIAL_DESIGN else "",
        _score_text(choices, trial),
    )
    return " ".join(filter(None, sentences))


def _proposer(search: SearchRecord | None, optimizer: str) -> str:
    """What chose the family of a trial, and what its values."""
    if not optimizer:
        return ""
    if search is None or not search.allocator:
        return f"{optimizer} proposed it."
    if search.joined_families:
        return f"{optimizer} chose its family and its values."
    return f"{search.allocator} chose its family and {optimizer} its values."


def _family_of_design(search: SearchRecord | None) -> str:
    """What chose the family of a trial of an initial design."""
    if search is None or not search.allocator or search.joined_families:
        return ""
    return f"{search.allocator} chose its family."


def _score_text(choices: RunChoices, trial: Trial) -> str:
    n_folds = len(trial.folds)
    folds = f"{n_folds} fold{'s' if n_folds != 1 else ''}"
    if trial.score is None:
        return "It has no score."
    if trial.status is TrialStatus.PARTIAL:
        return f"It scored {trial.score:.4f}."
    if not trial.is_complete:
        return f"It scored {trial.score:.4f} on {folds} before it ended."
    place = [t.id for t in choices.complete].index(trial.id) + 1
    text = (
        f"It scored {trial.score:.4f} on {folds}, number {place} of {len(choices.complete)} complete "
        "trials."
    )
    fresh = _fresh_scores(choices).get(trial.id)
    if fresh:
        text += f" On {len(fresh)} fresh folds it scored {sum(fresh) / len(fresh):.4f}."
    return text


def _fresh_scores(choices: RunChoices) -> dict[str, list[float]]:
    """Scores on fresh folds by trial id."""
    records = (choices.selection, choices.candidates)
    by_record = (dict(record.scoring.scored) for record in records if record is not None)
    return {key: [*scores] for key, scores in next(filter(None, by_record), {}).items()}


def _fate(choices: RunChoices, trial: Trial) -> str:
    disposition = choices.dispositions.get(trial.id)
    if not trial.is_complete:
        detail = trial.reason or trial.fidelity.text
        return _ENDS.get(str(trial.status), "It ended early") + (f": {detail}." if detail else ".")
    if disposition is None:
        return _undecided(choices, trial)
    if choices.ensemble is not None and choices.ensemble.recipe:
        return _of_recipe(choices, trial, choices.ensemble.recipe)
    text = _FATES[disposition.status].format(**_words(disposition))
    if disposition.status == Status.WINNER:
        text = _won(choices, text)
    if disposition.status == Status.UNSCORED:
        text += _what_failed(choices, trial)
    return " ".join(filter(None, (f"{text}.", _role_text(choices, trial.id))))


def _of_recipe(choices: RunChoices, trial: Trial, run: str) -> str:
    """What became of a trial of a run that chose nothing."""
    followed = f"The run compared no trials: its model is that of run {run} on other rows."
    return " ".join(filter(None, (followed, _role_text(choices, trial.id))))


def _undecided(choices: RunChoices, trial: Trial) -> str:
    status = choices.status
    if choices.selection is not None:
        return (
            "An earlier version made the run, and its record does not say what became of the trial."
        )
    if choices.candidates is not None and trial.id in choices.candidates.trial_ids:
        return f"It is a candidate. The run is {status.status}, and no test has judged it yet."
    if choices.candidates is not None:
        return (
            f"It did not become a candidate. The run is {status.status}, and the tests are to come."
        )
    return f"Nothing is decided about it yet. The run is {status.status}, and it has no candidates so far."


def _words(disposition: Disposition) -> dict[str, str]:
    """Values for the sentences."""
    values = {
        key: value if isinstance(value, str) else number_text(value)
        for key, value in disposition.__dict__.items()
    }
    evidence = (
        f"{disposition.test}, {disposition.numbers}" if disposition.test else "without a test"
    )
    node = (
        "the root" if disposition.node == "root" else f"the {disposition.level} {disposition.node}"
    )
    untold = "it met no other candidate"
    if disposition.test and disposition.against:
        untold = f"no test separates it from {disposition.against} ({evidence})"
    elif disposition.test:
        untold = f"no test separates any candidate from the best ({evidence})"
    elif disposition.place == Place.SELECTION and disposition.n_left != 1:
        untold = "it had the highest mean"
    return {
        **values,
        "evidence": evidence,
        "limit_of_chance": _limit_of_chance(disposition),
        "where": node,
        "untold": untold,
        "go": "goes" if disposition.limit == 1 else "go",
        "bound": f"not below {values['alpha']}"
        if disposition.alpha
        else "too few folds for a proof",
    }


def _limit_of_chance(disposition: Disposition) -> str:
    """What the p-value fell below, or the probability of being worse exceeded."""
    alpha = disposition.alpha or 0.0
    if disposition.probability is not None:
        return f"above {number_text(1.0 - alpha)}"
    return f"below {number_text(alpha)}"


def _what_failed(choices: RunChoices, candidate: Trial) -> str:
    """What the trials of a candidate on fresh folds say that were not completed."""
    reasons = (
        trial.reason or str(trial.status)
        for trial in choices.trials.values()
        if trial.stage == "candidates" and trial.origin == candidate.id and not trial.is_complete
    )
    reason = next(reasons, "")
    return f" ({reason})" if reason else ""


def _won(choices: RunChoices, text: str) -> str:
    """How the champion won, with the member that came nearest and whether a test told them apart."""
    decision = choices.root
    others = [m for m in decision.members if m.trial_id != choices.champion] if decision else []
    if decision is None or not others:
        return "It is the champion. No other candidate reached the root"
    nearest = max(others, key=lambda member: member.mean_score)
    text += f". {short_id(nearest.trial_id)} has the next best mean"
    if decision.post_hoc and (chance := nearest.chance):
        if nearest.statistic is not None:
            chance = f"statistic {number_text(nearest.statistic)}, {chance}"
        return f"{text} ({decision.post_hoc}, {chance})"
    if decision.tests:
        last = decision.tests[-1]
        return f"{text} ({last.name} of all, {test_numbers(last)})"
    return text


def test_numbers(test: TestResult) -> str:
    """Statistic and p-value of a test."""
    return f"statistic {number_text(test.statistic)}, p = {number_text(test.pvalue)}"


def _role(choices: RunChoices, trial_id: str) -> str:
    """`champion`, `ensemble member`, `input of the second layer`, or nothing; two with a comma."""
    weight = choices.weights.get(trial_id)
    has_ensemble = weight is not None and choices.has_ensemble
    names = {
        "champion": trial_id == choices.champion,
        "ensemble member": has_ensemble and bool(weight),
        "input of the second layer": has_ensemble and not weight,
    }
    return ", ".join(name for name, holds in names.items() if holds)


def _role_text(choices: RunChoices, trial_id: str) -> str:
    """A sentence about its part in the model; empty without any."""
    if not choices.has_ensemble:
        is_model = trial_id == choices.champion and bool(choices.weights)
        return "It is the model." if is_model else ""
    weight = choices.weights.get(trial_id)
    if weight:
        return f"It is a member of the ensemble, with weight {number_text(weight)}."
    if weight is not None:
        return "Models of the second layer take its predictions."
    return "The ensemble replaced it." if trial_id == choices.champion else ""


def _of_fresh_folds(choices: RunChoices, trial: Trial) -> list[str]:
    """Of the trial that scored a candidate on a repeat of the fresh folds: the candidate's fate."""
    candidate = choices.trials.get(trial.origin)
    repeats = sorted({result.repeat for result in trial.folds})
    where = f"repeat {repeats[0] + 1} of the fresh folds" if repeats else "fresh folds"
    first = f"Trial {short_id(trial.id)} is candidate {short_id(trial.origin)} on {where}."
    told = [first, _bare_score(trial)]
    return told if candidate is None else [*told, "The candidate:", _fate(choices, candidate)]


def _bare_score(trial: Trial) -> str:
    return "It has no score." if trial.score is None else f"It scored {trial.score:.4f}."


def _of_second_layer(choices: RunChoices, trial: Trial) -> list[str]:
    base = () if choices.ensemble is None else choices.ensemble.base
    weight = choices.weights.get(trial.id)
    fate = "It has no part in the model."
    if weight:
        fate = f"It is a member of the ensemble, with weight {number_text(weight)}."
    return [
        f"Trial {short_id(trial.id)} is {configuration_text(trial.configuration)} of the second layer.",
        f"It learns from the predictions of {len(base)} trials.",
        _bare_score(trial),
        fate,
    ]
