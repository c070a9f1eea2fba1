"""What a run chose from: the out-of-fold predictions of its trials and the records of its choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.evaluation.journal import read as read_journal
from automl.records import IntArray, Trial
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.selection.honest import ScoredRows
from automl.selection.preselection import SignatureClusters
from automl.stages.repeated_choice import Evidence


def evidence_of(
    session: Session,
    trials: Sequence[Trial],
    selection: ChampionRecord,
    ensemble: EnsembleRecord,
) -> Evidence | None:
    """What the choice was made from; None without predictions of the champion."""
    of_halves = session.settings.data_mode == "halves"
    makers = _halves if of_halves else _all_rows
    return makers(session, trials, selection, ensemble)


def _all_rows(
    session: Session,
    trials: Sequence[Trial],
    selection: ChampionRecord,
    ensemble: EnsembleRecord,
) -> Evidence | None:
    """Out-of-fold predictions of the search, and of the candidates on fresh folds."""
    store = session.plan.predictions
    members = [trial for trial in trials if trial.is_complete and store.has(trial.id)]
    ids = [trial.id for trial in members]
    if selection.champion not in ids:
        return None
    members += [trial for trial in ensemble.stack if store.has(trial.id)]
    stage = session.plan.stage("search")
    inside = np.flatnonzero(stage.folds[0] >= 0)
    predictions = [_taken(store.load(trial.id), inside) for trial in members]
    fresh_stage = session.plan.stage("candidates")
    fresh = {}
    for trial_id, by_repeat in _fresh_trials(session).items():
        loaded = [
            _taken(store.load(fresh_id), inside)
            for _, fresh_id in sorted(by_repeat.items())
            if store.has(fresh_id)
        ]
        whole = [p for p in loaded if np.isfinite(p.reshape(len(p), -1)[:, 0]).all()]
        if trial_id in ids and whole:
            fresh[ids.index(trial_id)] = whole
    return Evidence(
        session,
        _scored_rows(session, stage.rows[inside], [predictions]),
        members,
        selection.selection,
        _positions(selection.clusters, ids),
        selection.screening.limit,
        fresh,
        fresh_stage.folds[: max(map(len, fresh.values()), default=1), inside],
        ensemble.learned,
        [trial_id for trial_id in ensemble.base if trial_id in ids],
    )


def _halves(
    session: Session,
    trials: Sequence[Trial],
    selection: ChampionRecord,
    _ensemble: EnsembleRecord,
) -> Evidence | None:
    """Predictions of the candidates on H: what the tests chose from."""
    store = session.plan.predictions
    stage = session.plan.stage("candidates")
    by_id = {trial.id: trial for trial in trials}
    fresh = _fresh_trials(session)
    repeats = range(len(stage.folds))
    inside = np.flatnonzero((stage.folds >= 0).all(axis=0))
    members, versions = [], [[] for _ in repeats]  # type: ignore[var-annotated]
    for candidate in selection.candidates:
        kept = [fresh.get(candidate.trial_id, {}).get(repeat) for repeat in repeats]
        if all(trial_id is not None and store.has(trial_id) for trial_id in kept):
            members.append(by_id[candidate.trial_id])
            for version, trial_id in zip(versions, kept, strict=True):
                version.append(_taken(store.load(str(trial_id)), inside))
    ids = [trial.id for trial in members]
    if selection.champion not in ids:
        return None
    return Evidence(
        session,
        _scored_rows(session, stage.rows[inside], versions),
        members,
        selection.selection,
        [np.array([place]) for place in range(len(members))],
        len(members),
        {place: [version[place] for version in versions] for place in range(len(members))},
        stage.folds[:, inside],
    )


def _taken(prediction: NDArray[Any], inside: IntArray) -> NDArray[Any]:
    """Some rows of a prediction; the map itself where it is all of them."""
    return prediction if len(inside) == len(prediction) else prediction[inside]


def _scored_rows(
    session: Session, rows: IntArray, versions: Sequence[Sequence[NDArray[Any]]]
) -> ScoredRows:
    table, index = session.plan.table, session.plan.index
    groups = None
    if table.groups is not None:
        groups = np.unique(np.asarray(table.groups)[rows], return_inverse=True)[1]
    elif len(np.unique(rows)) < len(rows):
        groups = np.unique(rows, return_inverse=True)[1]
    return ScoredRows(
        versions,
        np.asarray(table.y)[rows],
        index.score,
        session.plan.row_weights(rows),
        groups,
        takes_weights=index.takes_weights,
    )


def _fresh_trials(session: Session) -> dict[str, dict[int, str]]:
    """Ids of the complete trials on fresh folds, by candidate and repeat."""
    ids: dict[str, dict[int, str]] = {}
    for record in read_journal(session.folder.journal):
        if record.get("type") != "trial" or record["trial"]["stage"] != "candidates":
            continue
        trial = Trial.from_json(record["trial"])
        if trial.is_complete and trial.folds:
            ids.setdefault(trial.origin, {})[trial.folds[0].repeat] = trial.id
    return ids


def _positions(groups: Sequence[SignatureClusters], ids: Sequence[str]) -> list[IntArray]:
    """Positions of the members of each cluster; those without predictions are left out."""
    places = {trial_id: place for place, trial_id in enumerate(ids)}
    by_cluster: dict[tuple[int, int], list[int]] = {}
    for number, group in enumerate(groups):
        for trial_id, cluster in zip(group.trial_ids, group.clusters, strict=True):
            if trial_id in places:
                by_cluster.setdefault((number, cluster), []).append(places[trial_id])
    return [np.array(positions) for positions in by_cluster.values()]
