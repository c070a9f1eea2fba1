"""Evidence for a run's choice: the out-of-fold predictions of its trials and the records of the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.evaluation.journal import read as read_journal
from automl.evaluation.plan import EvaluationPlan
from automl.inference.calibration import Calibration
from automl.records import FloatArray, IntArray, Trial
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord, Share
from automl.selection.natural_metrics import NaturalMetrics
from automl.selection.preselection import SignatureClusters
from automl.selection.scored_rows import ScoredRows
from automl.selection.selection_records import SelectionRecord
from automl.settings import Settings
from automl.stages.final_plan import is_bag, member_milliseconds
from automl.stages.repeated_choice import Evidence


@dataclass(frozen=True)
class ChosenFrom:
    """Evidence for a run's choice, by names: small enough for a worker slot, which loads the predictions itself.

    Parameters
    ----------
    settings
        Of the run.
    is_halved
        Whether the choice was made on the rows of the candidates alone.
    members, record, clusters, limit, milliseconds, is_averaged, learned, base
        As in `Evidence`.
    versions : each n members
        Whose predictions are those of the members, by trial id, for each repeat of the folds.
    fresh : by position
        The same for the repeats of the fresh folds.
    """

    settings: Settings
    is_halved: bool
    members: Sequence[Trial]
    record: SelectionRecord
    clusters: Sequence[IntArray]
    limit: int
    versions: Sequence[Sequence[str]]
    fresh: Mapping[int, Sequence[str]]
    milliseconds: FloatArray
    is_averaged: bool
    learned: Sequence[Share] = ()
    base: Sequence[str] = ()
    calibration: Calibration | None = None

    @property
    def files(self) -> list[str]:
        """Ids of all trials whose predictions are loaded."""
        named = [*self.versions, *self.fresh.values()]
        return sorted({trial_id for ids in named for trial_id in ids})

    def evidence(self, plan: EvaluationPlan) -> Evidence:
        """With the predictions, of a run's plan and the files beside it."""
        rows, folds, inside = _places(plan, is_halved=self.is_halved)

        def loaded(ids: Sequence[str]) -> list[NDArray[Any]]:
            return [_taken(plan.predictions.load(trial_id), inside) for trial_id in ids]

        n_repeats = max([len(ids) for ids in self.fresh.values()], default=1)
        return Evidence(
            plan.index,
            self.settings,
            _scored_rows(plan, rows, [loaded(ids) for ids in self.versions]),
            list(self.members),
            self.record,
            list(self.clusters),
            self.limit,
            {member: loaded(ids) for member, ids in self.fresh.items()},
            folds[:n_repeats],
            self.milliseconds,
            self.is_averaged,
            self.learned,
            self.base,
            self.calibration,
        )


def chosen_from(
    session: Session,
    trials: Sequence[Trial],
    selection: ChampionRecord,
    ensemble: EnsembleRecord,
) -> ChosenFrom | None:
    """Evidence for the choice; None without predictions of the champion."""
    if session.settings.data_mode == "halves":
        return _halves(session, trials, selection)
    return _all_rows(session, trials, selection, ensemble)


def _all_rows(
    session: Session,
    trials: Sequence[Trial],
    selection: ChampionRecord,
    ensemble: EnsembleRecord,
) -> ChosenFrom | None:
    """Out-of-fold predictions of the search, and of the candidates on fresh folds."""
    store = session.plan.predictions
    members = [trial for trial in trials if trial.is_complete and store.has(trial.id)]
    ids = [trial.id for trial in members]
    if selection.champion not in ids:
        return None
    members += [trial for trial in ensemble.stack if store.has(trial.id)]
    inside = _places(session.plan, is_halved=False)[2]
    fresh = {}
    for trial_id, by_repeat in _fresh_trials(session).items():
        kept = [fresh_id for _, fresh_id in sorted(by_repeat.items()) if store.has(fresh_id)]
        whole = [name for name in kept if _is_whole(_taken(store.load(name), inside))]
        if trial_id in ids and whole:
            fresh[ids.index(trial_id)] = whole
    return ChosenFrom(
        session.settings,
        False,
        members,
        selection.selection,
        _positions(selection.clusters, ids),
        selection.screening.limit,
        [[trial.id for trial in members]],
        fresh,
        *_manner(session, members),
        ensemble.learned,
        [trial_id for trial_id in ensemble.base if trial_id in ids],
        ensemble.calibration,
    )


def _halves(
    session: Session, trials: Sequence[Trial], selection: ChampionRecord
) -> ChosenFrom | None:
    """Predictions of the candidates on H: what the tests chose from."""
    store = session.plan.predictions
    by_id = {trial.id: trial for trial in trials}
    fresh = _fresh_trials(session)
    repeats = range(len(session.plan.stage("candidates").folds))
    members, versions = [], []
    for candidate in selection.candidates:
        kept = [fresh.get(candidate.trial_id, {}).get(repeat, "") for repeat in repeats]
        if all(trial_id and store.has(trial_id) for trial_id in kept):
            members.append(by_id[candidate.trial_id])
            versions.append(kept)
    if selection.champion not in [trial.id for trial in members]:
        return None
    return ChosenFrom(
        session.settings,
        True,
        members,
        selection.selection,
        [np.array([place]) for place in range(len(members))],
        len(members),
        list(zip(*versions, strict=True)),
        dict(enumerate(versions)),
        *_manner(session, members),
    )


def _manner(session: Session, members: Sequence[Trial]) -> tuple[FloatArray, bool]:
    """Milliseconds of the members, and whether the final model averages fold models."""
    milliseconds = [member_milliseconds(session, trial) for trial in members]
    return np.array(milliseconds), is_bag(session)


def _places(plan: EvaluationPlan, *, is_halved: bool) -> tuple[IntArray, IntArray, IntArray]:
    """Rows of the table that were predicted, their fresh folds, and where they are in a prediction."""
    searched, fresh = plan.stage("search"), plan.stage("candidates")
    if is_halved:
        inside = np.flatnonzero((fresh.folds >= 0).all(axis=0))
        return fresh.rows[inside], fresh.folds[:, inside], inside
    inside = np.flatnonzero(searched.folds[0] >= 0)
    return searched.rows[inside], fresh.folds[:, inside], inside


def _taken(prediction: NDArray[Any], inside: IntArray) -> NDArray[Any]:
    """Some rows of a prediction; the map itself where it is all of them."""
    return prediction if len(inside) == len(prediction) else prediction[inside]


def _is_whole(prediction: NDArray[Any]) -> bool:
    return bool(np.isfinite(prediction.reshape(len(prediction), -1)[:, 0]).all())


def _scored_rows(
    plan: EvaluationPlan, rows: IntArray, versions: Sequence[Sequence[NDArray[Any]]]
) -> ScoredRows:
    table, index = plan.table, plan.index
    groups = None
    if table.groups is not None:
        groups = np.unique(np.asarray(table.groups)[rows], return_inverse=True)[1]
    elif len(np.unique(rows)) < len(rows):
        groups = np.unique(rows, return_inverse=True)[1]
    return ScoredRows(
        versions,
        np.asarray(table.y)[rows],
        index.score,
        plan.row_weights(rows),
        groups,
        takes_weights=index.takes_weights,
        metrics=NaturalMetrics(index),
        scores=index.scores,
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
