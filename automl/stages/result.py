"""Content of a result: leaderboard, champion, scores, ledger, and what was given up."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from automl.bandits.registry import allocator_name
from automl.experience.snapshot import ExperienceRecord
from automl.families.registry import CONSTANT
from automl.optimizers.registry import optimizer_name
from automl.origins import FLOOR, INITIAL_DESIGN
from automl.records import Trial
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalMember, FinalRecord
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.result import (
    BesideDefaults,
    DeployedModel,
    FamilyScore,
    KnownBefore,
    LeaderboardRow,
    ResultChampion,
    RunResult,
)
from automl.run_records.search import SearchRecord
from automl.selection.defaults import boost_row_of_run
from automl.selection.dispositions import Disposition, Status
from automl.settings import Settings
from automl.settings.presets import usual_value
from automl.stages.notices import baseline_of
from automl.stages.recipes import followed
from automl.stages.stacking import STAGE as STACK

FEW_TRIALS = 20
"""Complete ones, below which a result says so: most of them are the families' defaults (by judgement)."""
_FOUND_WORSE = (Status.WORSE, Status.SCREENED_OUT)
_FLOOR_WORDS = {
    CONSTANT: "predicting the same for every row",
    "lightgbm": "a default LightGBM",
}


def make_result(
    session: Session,
    trials: Sequence[Trial],
    *,
    search: SearchRecord,
    selection: ChampionRecord,
    ensemble: EnsembleRecord,
    honest: HonestRecord,
    final: FinalRecord,
    promotion: PromotionRecord | None,
) -> RunResult:
    """Result of a run, before its registration is known.

    Parameters
    ----------
    trials
        Of the search.
    """
    data = session.folder.read_facts()["data"]
    champion = _trial(trials, selection.champion)
    return RunResult(
        run_id=session.run_id,
        problem=session.settings.problem,
        task=data["task"],
        metric=data["metric"],
        champion=ResultChampion(
            champion.id, champion.configuration.family, champion.configuration, champion.score
        ),
        score=final.score,
        baseline=baseline_of(session.plan.index, trials, final),
        metrics=final.metrics,
        honest=honest,
        test=final.test,
        leaderboard=leaderboard([*trials, *ensemble.stack], selection, honest, final),
        trials=len(trials),
        complete_trials=sum(trial.is_complete for trial in trials),
        families=len({t.configuration.family for t in trials}),
        untried=search.untried,
        defaults=beside_defaults(search, champion),
        model=DeployedModel(
            final.bundle,
            final.kind,
            final.members,
            final.predict_ms,
            final.size_mib,
            final.threshold,
        ),
        given_up=tuple(dict.fromkeys(session.given_up)),
        warnings=(
            *session.warnings,
            *unasked(session.settings, trials),
            *never_partial(session.settings, trials),
            *([] if followed(session) else few_trials(session.settings, trials)),
            *remarks(trials, champion, selection.dispositions, final.members),
        ),
        experience=known_before(session),
        reproducible=session.is_reproducible,
        seconds=session.ledger.elapsed,
        promotion=promotion,
    )


def beside_defaults(search: SearchRecord, champion: Trial) -> BesideDefaults | None:
    """The families' defaults beside the champion, all by the folds of the search; None without any.

    References
    ----------
    .. [1] Bermúdez-Chacón, table 5.1.
    """
    if not search.defaults:
        return None
    row = boost_row_of_run("", search.defaults, champion)
    return BesideDefaults(
        worst=FamilyScore(row.worst_default, row.worst),
        best=FamilyScore(row.best_default, row.best),
        chosen=FamilyScore(row.family, row.score),
        boost=row.boost,
        n=row.n_defaults,
        missing={family: search.defaults[family].reason for family in row.missing},
    )


def known_before(session: Session) -> KnownBefore:
    """Digest, entries and trials of what the run knew of other data."""
    record = ExperienceRecord.read(session.folder) or ExperienceRecord()
    return KnownBefore(record.digest, len(record.entries), record.trials)


def leaderboard(
    trials: Sequence[Trial], selection: ChampionRecord, honest: HonestRecord, final: FinalRecord
) -> tuple[LeaderboardRow, ...]:
    """Every trial of both layers, best first, with what became of it; incomplete ones at the end.

    `honest` is the champion's score corrected for the choice; that of the ensemble, which is no
    trial, is in the result's `honest`.
    """
    texts = disposition_texts(trials, selection, final)
    ordered = sorted(
        trials,
        key=lambda t: (not t.is_complete, -(t.score if t.score is not None else -9e9), t.index),
    )
    corrected = None if honest.single is None else honest.single.score
    return tuple(
        LeaderboardRow(
            rank=rank,
            trial_id=trial.id,
            family=trial.configuration.family,
            score=trial.score,
            honest=corrected if trial.id == selection.champion else None,
            std=statistics.stdev(trial.fold_scores) if len(trial.folds) > 1 else None,
            fit_seconds=trial.fit_seconds,
            predict_ms=trial.predict_milliseconds,
            status=texts[trial.id],
            origin=trial.origin,
        )
        for rank, trial in enumerate(ordered, 1)
    )


def disposition_texts(
    trials: Sequence[Trial], selection: ChampionRecord, final: FinalRecord
) -> dict[str, str]:
    """A few words per trial: what the selection says, and that it is in the ensemble."""
    weights = {member.trial_id: member.weight for member in final.members}
    texts = {}
    for trial in trials:
        weight = weights.get(trial.id)
        if trial.stage == STACK:
            texts[trial.id] = "second layer: " + ("ensemble member" if weight else "not taken")
            continue
        text = selection.dispositions[trial.id].label
        if trial.id == selection.champion and not weight:
            use = "replaced by the ensemble" if weight is None else "an input of the second layer"
            text = f"champion, {use}"
        elif trial.id != selection.champion and weight is not None:
            text = f"{'ensemble member' if weight else 'input of the second layer'}; {text}"
        texts[trial.id] = text
    return texts


def unasked(settings: Settings, trials: Sequence[Trial]) -> list[str]:
    """A sentence for an optimizer or allocator that the preset has not, where none of the trials is its."""
    optimizer = optimizer_name(settings.optimizer)
    if any(trial.origin in {optimizer, INITIAL_DESIGN} for trial in trials):
        return []
    asked = {
        "optimizer": f"{optimizer} proposed none of the trials",
        "allocator": f"{allocator_name(settings.allocator)} chose the family of none of the optimizer's trials",
    }
    return [
        f"setting {name}: {sentence}; all were among those that a search begins with: more trials, or "
        "portfolio: false, leave it turns"
        for name, sentence in asked.items()
        if getattr(settings, name) != usual_value(settings.preset, name)
    ]


def never_partial(settings: Settings, trials: Sequence[Trial]) -> list[str]:
    """A sentence for a fidelity that the preset has not, where none of the trials was partial."""
    is_asked = settings.fidelity != usual_value(settings.preset, "fidelity")
    if not is_asked or any(not trial.fidelity.is_full for trial in trials):
        return []
    return [
        f"setting fidelity: no trial was partial; {settings.fidelity} skips shares that leave too little of this table"
    ]


def few_trials(settings: Settings, trials: Sequence[Trial]) -> list[str]:
    """A sentence where a choice was made among few trials."""
    n_complete = sum(trial.is_complete for trial in trials)
    if n_complete >= FEW_TRIALS:
        return []
    words = "trial was" if n_complete == 1 else "trials were"
    more = "more time" if settings.trials is None else "more trials"
    return [f"only {n_complete} {words} completed; {more} would make the choice mean more"]


def remarks(
    trials: Sequence[Trial],
    champion: Trial,
    dispositions: Mapping[str, Disposition],
    members: Sequence[FinalMember],
) -> list[str]:
    """Plain words where the result deserves little trust.

    Parameters
    ----------
    dispositions
        By trial id: the tests may have found a floor to be worse.
    members
        Of the final model.
    """
    sentences = []
    complete = [trial for trial in trials if trial.is_complete]
    if champion.most_rounds is not None:
        sentences.append(f"the champion may not be the best one: {champion.reason}")
    like = [
        _FLOOR_WORDS[floor.configuration.family]
        for floor in _floors(complete)
        if champion.configuration.family != CONSTANT
        and floor.id != champion.id
        and dispositions[floor.id].status not in _FOUND_WORSE
        and _is_like(champion, floor)
    ]
    subject = _champion_words(champion, members)
    sentences += [f"{subject} is indistinguishable from {words} on these folds" for words in like]
    return sentences


def _floors(trials: Sequence[Trial]) -> list[Trial]:
    """The floors that a champion is to be better than, the first of each family."""
    floors = {t.configuration.family: t for t in reversed(trials) if t.origin == FLOOR}
    return [floors[family] for family in _FLOOR_WORDS if family in floors]


def _champion_words(champion: Trial, members: Sequence[FinalMember]) -> str:
    """The champion, and what is deployed in its place."""
    deployed = [member for member in members if member.weight > 0]
    if len(deployed) > 1:
        return "the champion, in whose place an ensemble is deployed,"
    if deployed and deployed[0].trial_id != champion.id:
        return f"the champion, in whose place trial {deployed[0].trial_id} is deployed,"
    return "the champion"


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
