"""What a finished run says: leaderboard, champion, scores, ledger, and what was given up."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from automl.optimizers.registry import optimizer_name
from automl.origins import FLOOR
from automl.records import Trial
from automl.run.memory import STAGE as EXPERIENCE
from automl.run.session import Session
from automl.selection.defaults import DefaultTrial, boost_row_of_run
from automl.selection.dispositions import Disposition, Status
from automl.settings import Settings
from automl.settings.presets import usual_value
from automl.stages.notices import CONSTANT, Baseline
from automl.stages.stacking import STAGE as STACK

FEW_TRIALS = 20
_FOUND_WORSE = (Status.WORSE, Status.SCREENED_OUT)
_FLOORS = {
    CONSTANT: "predicting the same for every row",
    "lightgbm": "a default LightGBM",
}
HONEST = ("single", "ensemble", "chosen", "n_bootstraps", "n_trials", "reason")


def make_result(
    session: Session, trials: Sequence[Trial], stages: Mapping[str, Any]
) -> dict[str, Any]:
    """Result of a run, before its registration is known.

    Parameters
    ----------
    trials
        Of the search.
    stages
        Records of `search`, `candidates`, `selection`, `ensemble`, `honest` and `final`.
    """
    final, ensemble = stages["final"], stages["ensemble"]
    facts = session.folder.read_facts()
    champion = _trial(trials, stages["selection"]["champion"])
    return {
        "run_id": session.run_id,
        "problem": session.settings.problem,
        "task": facts["data"]["task"],
        "metric": facts["data"]["metric"],
        "champion": {
            "trial_id": champion.id,
            "family": champion.configuration.family,
            "configuration": champion.configuration.to_json(),
            "score": champion.score,
        },
        "score": final["score"],
        "baseline": Baseline.of(session.plan.index, trials, final).to_json(),
        "metrics": final["metrics"],
        "honest": {key: stages["honest"][key] for key in HONEST},
        "test": final["test"],
        "leaderboard": leaderboard([*trials, *stack_of(ensemble)], stages),
        "trials": len(trials),
        "complete_trials": sum(trial.is_complete for trial in trials),
        "families": len({t.configuration.family for t in trials}),
        "untried": stages["search"].get("untried", {}),
        "defaults": beside_defaults(stages["search"], champion),
        "model": {
            "bundle": final["bundle"],
            "kind": final["kind"],
            "members": final["members"],
            "predict_ms": final["predict_ms"],
            "size_mib": final["size_mib"],
            "threshold": final["threshold"],
        },
        "given_up": list(dict.fromkeys(session.given_up)),
        "warnings": [
            *session.warnings,
            *unasked(session.settings, trials),
            *remarks(trials, champion, stages["selection"]),
        ],
        "experience": experience_of(session),
        "reproducible": session.is_reproducible,
    }


def beside_defaults(search: Mapping[str, Any], champion: Trial) -> dict[str, Any] | None:
    """The families' defaults beside the champion, all by the folds of the search; None without any.

    `boost` is (chosen - best) / best; None where the best default is not above the baseline.

    Parameters
    ----------
    search
        Record of the search.

    References
    ----------
    .. [1] Bermúdez-Chacón, table 5.1 (SPEC P4).
    """
    known = {
        family: DefaultTrial.from_json(record)
        for family, record in search.get("defaults", {}).items()
    }
    if not known:
        return None
    row = boost_row_of_run("", known, champion)
    return {
        "worst": {"family": row.worst_default, "score": row.worst},
        "best": {"family": row.best_default, "score": row.best},
        "chosen": {"family": row.family, "score": row.score},
        "boost": row.boost,
        "n": row.n_defaults,
        "missing": {family: known[family].reason for family in row.missing},
    }


def experience_of(session: Session) -> dict[str, Any]:
    """Digest, entries and trials of what the run knew of other data."""
    record = session.records.read(EXPERIENCE) or {}
    return {
        "digest": record.get("digest", ""),
        "entries": len(record.get("entries", ())),
        "trials": record.get("trials", 0),
    }


def stack_of(ensemble: Mapping[str, Any]) -> list[Trial]:
    """Trials of the second layer in a record of the ensemble stage."""
    return [Trial.from_json(data) for data in ensemble.get("stack") or ()]


def leaderboard(trials: Sequence[Trial], stages: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every trial of both layers, best first, with what became of it; incomplete ones at the end.

    `honest` is the champion's score corrected for the choice; that of the ensemble, which is no
    trial, is in the result's `honest`.
    """
    dispositions = disposition_texts(trials, stages)
    champion = stages["selection"]["champion"]
    single = stages.get("honest", {}).get("single") or {}
    ordered = sorted(
        trials,
        key=lambda t: (not t.is_complete, -(t.score if t.score is not None else -9e9), t.index),
    )
    return [
        {
            "rank": rank,
            "trial_id": trial.id,
            "family": trial.configuration.family,
            "score": trial.score,
            "honest": single.get("score") if trial.id == champion else None,
            "std": statistics.stdev(trial.fold_scores) if len(trial.folds) > 1 else None,
            "fit_seconds": trial.fit_seconds,
            "predict_ms": trial.predict_milliseconds,
            "status": dispositions[trial.id],
            "origin": trial.origin,
        }
        for rank, trial in enumerate(ordered, 1)
    ]


def disposition_texts(trials: Sequence[Trial], stages: Mapping[str, Any]) -> dict[str, str]:
    """A few words per trial: what the selection says, and that it is in the ensemble."""
    decided = stages["selection"]["dispositions"]
    weights = {member["trial_id"]: member["weight"] for member in stages["final"]["members"]}
    champion = stages["selection"]["champion"]
    texts = {}
    for trial in trials:
        weight = weights.get(trial.id)
        if trial.stage == STACK:
            texts[trial.id] = "second layer: " + ("ensemble member" if weight else "not taken")
            continue
        text = Disposition.from_json(decided[trial.id]).label
        if trial.id == champion and not weight:
            use = "replaced by the ensemble" if weight is None else "an input of the second layer"
            text = f"champion, {use}"
        elif trial.id != champion and weight is not None:
            text = f"{'ensemble member' if weight else 'input of the second layer'}; {text}"
        texts[trial.id] = text
    return texts


def unasked(settings: Settings, trials: Sequence[Trial]) -> list[str]:
    """A sentence for an optimizer or allocator that the preset has not, where none of the trials is its."""
    optimizer = optimizer_name(settings.optimizer)
    if any(trial.origin == optimizer for trial in trials):
        return []
    asked = {
        "optimizer": f"{optimizer} proposed none of the trials",
        "allocator": f"{settings.allocator} chose the family of none of the optimizer's trials",
    }
    return [
        f"setting {name}: {sentence}; all were among those that a search begins with: more trials, or "
        "portfolio: false, leave it turns"
        for name, sentence in asked.items()
        if getattr(settings, name) != usual_value(settings.preset, name)
    ]


def remarks(trials: Sequence[Trial], champion: Trial, selection: Mapping[str, Any]) -> list[str]:
    """Plain words where the result deserves little trust.

    Parameters
    ----------
    selection
        Record of the selection, whose tests may have found a floor to be worse.
    """
    found = []
    complete = [trial for trial in trials if trial.is_complete]
    if len(complete) < FEW_TRIALS:
        found.append(
            f"only {len(complete)} trials were completed; more time or fewer families would "
            "make the choice mean more"
        )
    if champion.most_rounds is not None:
        found.append(f"the champion is not what it could be: {champion.reason}")
    dispositions = selection.get("dispositions", {})
    for family, words in _FLOORS.items():
        floor = next(
            (t for t in complete if t.origin == FLOOR and t.configuration.family == family), None
        )
        if floor is None or floor.id == champion.id:
            continue
        is_worse = dispositions[floor.id]["status"] in _FOUND_WORSE
        if not is_worse and _is_like(champion, floor):
            found.append(f"the champion is indistinguishable from {words} on these folds")
    return found


def _is_like(champion: Trial, floor: Trial) -> bool:
    from automl.statistics.paired import corrected_t

    n_folds = sum(fold.repeat == 0 for fold in champion.folds)
    if n_folds < 2 or len(champion.folds) != len(floor.folds):
        return False
    ratio = 1.0 / (n_folds - 1)
    test = corrected_t(champion.fold_scores, floor.fold_scores, test_train_ratio=ratio)
    return bool(test.pvalue >= 0.05)


def _trial(trials: Sequence[Trial], trial_id: str) -> Trial:
    return next(trial for trial in trials if trial.id == trial_id)
