"""The whole choice of a run, repeated on drawn rows of what it chose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.calibrating import learn_calibration
from automl.ensembles.member_limits import is_fast_enough
from automl.ensembles.problem import EnsembleProblem
from automl.families.registry import get_family
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray, Trial
from automl.run_records.ensemble import Share
from automl.selection.bag_gain import bag_gain
from automl.selection.clusters import Candidate
from automl.selection.honest import Gain
from automl.selection.levels import replay
from automl.selection.scored_rows import Choice, ScoredRows
from automl.selection.selection_records import SelectionRecord
from automl.selection.tails import decided_by_few, unit_losses
from automl.settings import Settings
from automl.stages.blending import library_of
from automl.stages.membership import is_blendable, limited, method_of
from automl.stages.stacking import STAGE as STACK

FEW_CELLS = 4_000
"""Rows times classes up to which every block can afford `ENSEMBLES_PER_BLOCK`."""
ENSEMBLES_PER_BLOCK = 2
"""In how many bootstraps of a block an ensemble is learned, which takes most of the time; above
`FEW_CELLS` rows times classes in fewer, down to one."""

MEAN_ONLY = "generalization"
UNDEFINED = -1e9
"""Stands for a score that drawn rows do not define."""


@dataclass
class Evidence:
    """Predictions that the choice was made from, and how it is repeated on drawn rows.

    Parameters
    ----------
    index
        Of the run.
    settings
        Of the run.
    members
        Trials in the order of the predictions; those of the second layer at the end.
    record
        Of the selection: settings and winner.
    clusters : positions of members
        The best of each competes with the best of the others.
    limit
        How many of them at most.
    fresh : by position
        Predictions on the repeats of the fresh folds, for the members that have them.
    folds : (n_repeats, n)
        Folds of these repeats.
    milliseconds : (n members,)
        To predict a row in the final model.
    is_averaged
        Whether the final model averages the fold models of a member.
    learned
        Members of the ensemble with their weights.
    base
        Ids of the trials whose predictions the second layer takes.
    calibration
        Of the ensemble; where there is one, ensembles of drawn rows are calibrated on these.

    Attributes
    ----------
    final
        What was chosen from all rows, by kind.
    has_tests
        Whether the level tests and ranks are repeated. By the mean score alone the first of each
        ranking is the one with the best mean, whatever the tests say of the others.
    """

    index: PerformanceIndex
    settings: Settings
    rows: ScoredRows
    members: list[Trial]
    record: SelectionRecord
    clusters: list[IntArray]
    limit: int
    fresh: Mapping[int, Sequence[NDArray[Any]]]
    folds: IntArray
    milliseconds: FloatArray
    is_averaged: bool
    learned: Sequence[Share] = ()
    base: Sequence[str] = ()
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        cells = len(self.rows.y) * max(self.index.n_classes, 1)
        affordable = ENSEMBLES_PER_BLOCK * FEW_CELLS // cells
        self._n_ensembles = min(max(affordable, 1), ENSEMBLES_PER_BLOCK)
        criteria = {name for name, weight in self.record.settings.criteria.items() if weight > 0}
        self.has_tests = criteria != {MEAN_ONLY}
        self._places = {trial.id: place for place, trial in enumerate(self.members)}
        self._models = [place for place, trial in enumerate(self.members) if is_blendable(trial)]
        self._combine: Combine = self.settings.ensemble_combine
        sources = tuple(self._places[trial_id] for trial_id in self.base)
        self._inputs = [sources if trial.stage == STACK else () for trial in self.members]
        everything = np.ones(len(self.rows.y), dtype=np.float32)
        champion = self._weights({self.record.winner: 1.0})
        self.final = {"single": self._with_rule(Choice(champion), everything)}
        shares = {member.trial_id: member.weight for member in self.learned}
        if shares and set(shares) <= set(self._places):
            blend = Choice(
                self._weights(shares), combine=self._combine, calibration=self.calibration
            )
            self.final["ensemble"] = self._with_rule(blend, everything)

    def _weights(self, shares: Mapping[str, float]) -> FloatArray:
        weights = np.zeros(len(self.members))
        for trial_id, share in shares.items():
            weights[self._places[trial_id]] = share
        return np.asarray(weights / weights.sum())

    def choose(self, counts: FloatArray, rng: np.random.Generator) -> list[dict[str, Choice]]:
        """The champion from each bootstrap, and in some of them the ensemble; see `Chooser`."""
        by_search = self._scores(self.rows.versions, counts)
        by_fresh = {
            member: self._scores([[version] for version in versions], counts)[0]
            for member, versions in self.fresh.items()
        }
        by_fold = self._fold_scores(counts, by_search) if self.has_tests else None
        choices = []
        for i, drawn in enumerate(counts):
            fresh = {member: float(scores[i]) for member, scores in by_fresh.items()}
            champion = self._champion(
                by_search[:, i], fresh, None if by_fold is None else by_fold[i]
            )
            alone = Choice(np.eye(len(self.members))[champion])
            chosen = {"single": self._with_rule(alone, drawn)}
            if i < self._n_ensembles and "ensemble" in self.final:
                blend = self._ensemble(drawn, by_search[:, i], champion, rng)
                chosen["ensemble"] = self._with_rule(blend, drawn)
            choices.append(chosen)
        return choices

    def gains(self) -> dict[str, Gain]:
        """Gain of the final model's bags over the scores of single fold models, by kind.

        Nothing is counted for refits, which average nothing, nor for bags over growing windows of
        time. Members without fresh predictions, such as those of the second layer, gain nothing.
        """
        if not self.is_averaged or self.settings.time is not None:
            return {}
        return {
            kind: bag_gain(self.rows, self._repeats(), final) for kind, final in self.final.items()
        }

    def doubts(self) -> dict[str, str]:
        """Why the score of a final choice cannot be believed, for the kinds where it cannot.

        The losses are means over all predictions of a row: one that diverges on fresh folds only is
        seen too.
        """
        if not self.index.is_unbounded:
            return {}
        reasons = {}
        for kind, blends in self._everywhere().items():
            by_version = [self.index.row_losses(self.rows.y, blend) for blend in blends]
            reasons[kind] = decided_by_few(self._by_unit(np.mean(by_version, axis=0)))
        return {kind: doubt for kind, doubt in reasons.items() if doubt}

    def metric_doubts(self) -> dict[str, frozenset[str]]:
        """Metrics of the final choices that cannot be believed, as in `doubts`, by kind."""
        if self.index.task.is_classification:
            return {}
        doubtful = {}
        for kind, blends in self._everywhere().items():
            by_version = [self.index.metric_losses(self.rows.y, blend) for blend in blends]
            losses = {
                name: self._by_unit(np.mean([version[name] for version in by_version], axis=0))
                for name in by_version[0]
            }
            doubtful[kind] = frozenset(name for name in losses if decided_by_few(losses[name]))
        return doubtful

    # --- pieces -----------------------------------------------------------------------------------

    def _everywhere(self) -> dict[str, list[NDArray[Any]]]:
        """All predictions of the final choices, by kind."""
        rows = replace(self.rows, versions=[*self.rows.versions[1:], *self._repeats()])
        return {kind: rows.blends(final) for kind, final in self.final.items()}

    def _repeats(self) -> list[list[NDArray[Any]]]:
        """Predictions of the search, and those of each repeat of the fresh folds where there are any."""
        searched = list(self.rows.versions[0])
        repeats = [searched]
        for repeat in range(max(map(len, self.fresh.values()), default=0)):
            again = searched.copy()
            for member, versions in self.fresh.items():
                if repeat < len(versions):
                    again[member] = versions[repeat]
            repeats.append(again)
        return repeats

    def _by_unit(self, losses: FloatArray) -> FloatArray:
        """Weighted losses of rows, summed over those that are drawn together."""
        return unit_losses(losses, self.rows.sample_weight, self.rows.groups)

    def _champion(
        self, scores: FloatArray, fresh: Mapping[int, float], by_fold: FloatArray | None
    ) -> int:
        leaders = [int(group[scores[group].argmax()]) for group in self.clusters]
        leaders = sorted(leaders, key=lambda member: -scores[member])[: self.limit]
        if by_fold is None:
            return max(leaders, key=lambda member: fresh.get(member, scores[member]))
        return self._by_levels(leaders, by_fold)

    def _by_levels(self, leaders: Sequence[int], by_fold: FloatArray) -> int:
        """Winner of the level tests on the fold scores of the drawn rows, (n members, n folds)."""
        candidates = []
        by_trial = {candidate.trial_id: candidate for candidate in self.record.candidates}
        for member in leaders:
            trial = self.members[member]
            family = get_family(trial.configuration.family)
            candidates.append(
                Candidate(
                    trial.id,
                    trial.configuration,
                    tuple(map(float, by_fold[member])),
                    by_trial[trial.id].seconds if trial.id in by_trial else 0.0,
                    family.simplicity,
                    family.interpretability,
                )
            )
        winner = replay(replace(self.record, candidates=tuple(candidates)))
        return next(m for m in leaders if self.members[m].id == winner)

    def _fold_scores(self, counts: FloatArray, by_search: FloatArray) -> FloatArray:
        """(b, n members, n folds) scores of the drawn rows of each fresh fold.

        Of the search's predictions for members without fresh ones. A fold without a drawn row, or
        of a repeat that a member lacks, has the mean of the member's others; without any, the
        score `by_search`, (n members, b).
        """
        scores = np.array([self._scores_of_folds(i, counts) for i in range(len(self.members))])
        is_known = np.isfinite(scores)
        n_known = is_known.sum(axis=1)
        sums = np.where(is_known, scores, 0.0).sum(axis=1)
        means = np.where(n_known > 0, sums / np.maximum(n_known, 1), by_search)
        return np.asarray(np.where(is_known, scores, means[:, None]).transpose(2, 0, 1))

    def _scores_of_folds(self, member: int, counts: FloatArray) -> list[FloatArray]:
        """For each repeat and fold (b,), NaN where it is not known."""
        alone = [self.rows.versions[0][member]] * len(self.folds)
        versions = self.fresh.get(member, alone)
        scores = []
        for folds, version in zip_longest(self.folds, versions):
            for fold in range(int(self.folds.max()) + 1):
                values = np.full(len(counts), np.nan)
                inside = np.flatnonzero(folds == fold)
                part, drawn = self.rows.of(inside), counts[:, inside]
                weight = drawn if part.sample_weight is None else drawn * part.sample_weight
                is_drawn = weight.any(axis=1)
                if version is not None and is_drawn.any():
                    values[is_drawn] = self._score(version[inside], drawn[is_drawn], part)
                scores.append(values)
        return scores

    def _ensemble(
        self, drawn: FloatArray, scores: FloatArray, champion: int, rng: np.random.Generator
    ) -> Choice:
        method = method_of(self.settings)
        stacked = [i for i, trial in enumerate(self.members) if trial.stage == STACK]
        library = stacked
        if not method.is_second_layer:
            first = self._models[: len(self._models) - len(stacked)]
            trials = [self.members[i] for i in first]
            among = library_of(trials, method.library_size, scores[first])
            library = [first[i] for i in among]
            library += [i for i in (champion, *stacked) if i not in library]
        library = [i for i in library if self._is_fast(i)]
        if not library:
            return Choice(np.eye(len(self.members))[champion])
        problem = EnsembleProblem(
            [self.rows.versions[0][i] for i in library],
            self.rows.y,
            self.index,
            rng,
            rows=np.repeat(np.arange(len(drawn)), drawn.astype(np.intp)),
            sample_weight=self.rows.sample_weight,
            groups=[self.members[i].configuration.family for i in library],
            combine=self._combine,
        )
        weights: FloatArray = np.zeros(len(self.members))
        weights[library] = method.weights(problem)
        weights = limited(weights, self.settings, self.milliseconds, self._inputs)
        return self._calibrated(Choice(weights, combine=self._combine), drawn)

    def _calibrated(self, choice: Choice, drawn: FloatArray) -> Choice:
        """The choice, calibrated on the drawn rows where the run's own ensemble is."""
        if self.calibration is None:
            return choice
        rows, weight = self._drawn(drawn)
        prediction = np.mean(self.rows.blends(choice), axis=0)[rows]
        learned = learn_calibration(prediction, self.rows.y[rows], weight)
        return replace(choice, calibration=learned)

    def _is_fast(self, member: int) -> bool:
        limit = self.settings.max_predict_ms
        return is_fast_enough(member, self.milliseconds, limit, self._inputs)

    def _with_rule(self, choice: Choice, drawn: FloatArray) -> Choice:
        """The choice with the decision rule that is best on the drawn rows."""
        if not self.index.learns_threshold:
            return replace(choice, rule=self.index.rule)
        rows, weight = self._drawn(drawn)
        prediction = np.mean(self.rows.blends(choice), axis=0)[rows]
        return replace(choice, rule=self.index.learn_rule(self.rows.y[rows], prediction, weight))

    def _drawn(self, drawn: FloatArray) -> tuple[IntArray, FloatArray]:
        """Rows that were drawn, and their weights."""
        rows = np.flatnonzero(drawn)
        weight = drawn[rows]
        if self.rows.sample_weight is not None:
            weight = weight * self.rows.sample_weight[rows]
        return rows, weight

    def _scores(self, versions: Sequence[Sequence[NDArray[Any]]], counts: FloatArray) -> FloatArray:
        """(n members, b) in-bag scores, mean over the versions."""
        scores = [[self._score(p, counts) for p in version] for version in versions]
        return np.asarray(np.nan_to_num(np.mean(scores, axis=0), nan=UNDEFINED))

    def _score(
        self, prediction: NDArray[Any], counts: FloatArray, rows: ScoredRows | None = None
    ) -> FloatArray:
        rows = rows or self.rows
        if not self.index.takes_weights:
            return rows.scores_under([prediction], counts)
        weights = counts if rows.sample_weight is None else counts * rows.sample_weight
        return self.index.learned_scores(rows.y, prediction[None], weights)
