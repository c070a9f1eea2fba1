"""Candidates of each signature, scored on folds that the search never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from automl.families.registry import get_family
from automl.randomness import Purpose, integer_seed
from automl.records import Trial
from automl.run.search_spaces import space_of
from automl.run.session import Session
from automl.run_records.candidates import (
    CandidateScores,
    CandidatesRecord,
    ChosenCandidates,
    ScoredCandidate,
)
from automl.selection.clusters import kmeans_clusters
from automl.selection.preselection import (
    FRESH,
    SEARCH,
    ScoringRecord,
    ScreeningRecord,
    SignatureClusters,
    rounded,
)
from automl.selection.screening import screen, screening_alpha
from automl.selection.selection_records import Level, SelectionSettings
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.stages.candidate_plan import (
    CandidatePlan,
    afford,
    expected_work,
    fold_seconds_of,
    with_further_repeats,
)
from automl.stages.final_plan import member_milliseconds
from automl.stages.fresh_folds import FreshFolds
from automl.stages.notices import baseline_score
from automl.stages.recipes import followed


def find_candidates(session: Session, trials: Sequence[Trial]) -> CandidatesRecord:
    """Candidates of each signature, and their scores on fresh folds.

    Parameters
    ----------
    trials
        Of the search.
    """
    chosen = choose_candidates(session, trials)
    if followed(session):
        best = next(trial for trial in trials if trial.id == chosen.trial_ids[0])
        return CandidatesRecord.of(chosen, _by_search(session, CandidatePlan(), best, {}))
    return CandidatesRecord.of(chosen, score_candidates(session, trials, chosen.trial_ids))


def choose_candidates(session: Session, trials: Sequence[Trial]) -> ChosenCandidates:
    """Best trial of each k-means cluster of each signature, screened by the paired test.

    Parameters
    ----------
    trials
        Of the search.
    """
    eligible = _fast_enough(session, [trial for trial in trials if trial.is_complete])
    clusters = _clusters(session, eligible)
    leaders = {trial_id for group in clusters for trial_id in group.best}
    screening = _screened(session, [trial for trial in eligible if trial.id in leaders])
    return ChosenCandidates(screening.kept, tuple(clusters), screening)


def _screened(session: Session, leaders: Sequence[Trial]) -> ScreeningRecord:
    """All of them in the order of their mean scores where the limit, or B14's way, spares none."""
    scores = np.array([trial.fold_scores for trial in leaders])
    order = [int(i) for i in np.argsort(-scores.mean(axis=1), kind="stable")]
    ordered = tuple(leaders[i].id for i in order)
    limit = session.settings.candidate_limit
    if session.settings.selection_test == "thesis" or len(leaders) <= limit:
        return ScreeningRecord(ordered, ordered, len(leaders))
    stated = SelectionSettings.build(alpha=session.settings.alpha).alpha[Level.LEAF]
    alpha = screening_alpha(stated, *scores.shape)
    ratio = session.plan.test_train_ratio("search")
    screening = screen(scores[order], alpha=alpha, limit=limit, test_train_ratio=ratio)
    return ScreeningRecord(
        ordered,
        tuple(ordered[i] for i in screening.kept),
        limit,
        "corrected t, one-sided",
        screening.statistics,
        screening.pvalues,
        alpha,
        ratio,
    )


def score_candidates(
    session: Session, trials: Sequence[Trial], chosen: Sequence[str]
) -> CandidateScores:
    """Scores of the candidates on fresh folds, as many as the ledger allows.

    Parameters
    ----------
    chosen
        Trial ids, best first.
    """
    by_id = {trial.id: trial for trial in trials}
    candidates = [by_id[trial_id] for trial_id in chosen]
    plan, given_up = afford(session, candidates)
    if session.ledger.total is None or not session.settings.may_read_clock:
        plan = with_further_repeats(session, plan, *expected_work(session, trials, candidates))
    session.given_up += given_up
    session.is_reproducible &= session.is_timed or not given_up
    if not plan.repeats:
        return _by_search(session, plan, candidates[0], {})
    planned = [candidates[position] for position in plan.chosen]
    kept = plan.repeats + plan.extra_repeats
    scorer = FreshFolds(session, planned, plan.chosen, n_kept=kept)
    fast_first = sorted(
        range(len(planned)), key=lambda position: fold_seconds_of(planned[position])
    )
    scorer.run(range(plan.repeats), fast_first)
    leaders: Sequence[int] = ()
    if plan.extra_repeats:
        leaders = scorer.leaders(2, plan.repeats)
        scorer.run(range(plan.repeats, kept), leaders)
    compared, n_scores, missing = scorer.compared(leaders, kept)
    session.given_up += [
        f"candidate {trial.id} could not be scored on all fresh folds" for trial in missing
    ]
    n_scores = _further(session, plan, scorer, compared, n_scores)
    scored = scorer.scored(plan.n_repeats)
    if not compared:
        return _by_search(session, plan, candidates[0], scored)
    scoring = replace(
        _scoring(session, plan, planned, scored),
        leaders=tuple(planned[position].id for position in leaders),
        compared=tuple(planned[position].id for position in compared),
    )
    return CandidateScores(
        tuple(scorer.entry(position, n_scores) for position in compared), scoring
    )


def _further(
    session: Session,
    plan: CandidatePlan,
    scorer: FreshFolds,
    compared: Sequence[int],
    n_scores: int,
) -> int:
    """Scores that all who are compared have, with those of further repeats."""
    per_repeat = session.plan.stage("candidates").jobs_per_repeat
    wanted = plan.repeats + plan.extra_repeats
    if compared and n_scores == wanted * per_repeat and plan.further_repeats:
        n_scores = scorer.run_further(range(wanted, plan.n_repeats), compared)
        wanted = plan.n_repeats
    if compared and n_scores < wanted * per_repeat:
        session.given_up.append(
            f"{n_scores // per_repeat} of {wanted} planned repeats of the fresh folds"
        )
    return n_scores


def _scoring(
    session: Session,
    plan: CandidatePlan,
    planned: Sequence[Trial],
    scored: Mapping[str, tuple[float, ...]],
) -> ScoringRecord:
    return ScoringRecord(
        planned=tuple(trial.id for trial in planned),
        repeats=plan.repeats,
        extra_repeats=plan.extra_repeats,
        folds_per_repeat=session.plan.stage("candidates").jobs_per_repeat,
        scored=scored,
        leaders=(),
        compared=(),
        source=FRESH,
        further_repeats=plan.further_repeats,
    )


def _by_search(
    session: Session, plan: CandidatePlan, best: Trial, scored: Mapping[str, tuple[float, ...]]
) -> CandidateScores:
    """The best trial of the search as the only candidate, with its scores of the search."""
    only = ScoredCandidate(best.id, tuple(best.fold_scores), fold_seconds_of(best))
    scoring = _scoring(session, plan, [best], scored)
    return CandidateScores((only,), replace(scoring, compared=(best.id,), source=SEARCH))


def _fast_enough(session: Session, complete: Sequence[Trial]) -> list[Trial]:
    """Trials within the limit of the time to predict.

    Where none of them is better than the constant, the fastest one that is, or else that there is,
    is let in: a run ends with a model that is of use, and says that it is over the limit.
    """
    limit = session.settings.max_predict_ms
    if limit is None:
        return list(complete)
    speeds = [member_milliseconds(session, trial) for trial in complete]
    fast = [i for i, speed in enumerate(speeds) if speed <= limit]
    least = baseline_score(complete)
    useful = [i for i, trial in enumerate(complete) if trial.achieved > least]
    if set(fast) & set(useful) or (fast and not useful):
        return [complete[i] for i in fast]
    fastest = min(useful or range(len(complete)), key=speeds.__getitem__)
    session.warnings.append(
        f"no trial met the limit of the time to predict: none {'better than the baseline ' if fast else ''}"
        f"predicts a row within {limit:g} ms; the fastest one"
        f"{' better than the baseline' if useful else ''}, {complete[fastest].configuration.family} in "
        f"{speeds[fastest]:.3g} ms, became a candidate"
    )
    return [complete[i] for i in sorted([*fast, fastest])]


def _clusters(session: Session, complete: Sequence[Trial]) -> list[SignatureClusters]:
    """Clusters of each signature (B14, section 3.5.1)."""
    by_signature: dict[str, list[Trial]] = {}
    for trial in complete:
        by_signature.setdefault(trial.configuration.signature, []).append(trial)
    seed = integer_seed(session.settings.seed, Purpose.CANDIDATES)
    groups = []
    for signature, members in by_signature.items():
        family = get_family(members[0].configuration.family)
        encoder = ConfigurationEncoder(space_of(session.plan, family, session.settings))
        points = rounded(encoder.fit_transform([t.configuration for t in members]))
        scores = [trial.achieved for trial in members]
        clusters = kmeans_clusters(
            points, scores, k=session.settings.candidates_per_signature, seed=seed
        )
        groups.append(
            SignatureClusters(
                signature,
                encoder.feature_names,
                tuple(trial.id for trial in members),
                tuple(tuple(map(float, point)) for point in points),
                clusters.numbers,
                tuple(members[i].id for i in clusters.leaders),
            )
        )
    return groups
