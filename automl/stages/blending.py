"""The best blend of a library of trials, and the evidence for it.

The weights of every fold and those that go into the model come from the same work, and have equal
shares of the time. A bag after the first counts once it is learned for all of them, so that what is
deployed is what was compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.calibrating import learn_calibration
from automl.ensembles.deadline import Deadline
from automl.ensembles.diversity import diverse_library
from automl.ensembles.evidence import Judge, cross_fitted_scores, decide_ensemble, other_rows
from automl.ensembles.library import MOST_CELLS
from automl.ensembles.member_limits import is_fast_enough, only_effective
from automl.ensembles.problem import EnsembleProblem
from automl.ensembles.registry import get_ensemble
from automl.errors import DataError
from automl.evaluation.fold_models import models_mib
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine, combined
from automl.listing import counted
from automl.metrics.decisions import OutOfFold
from automl.randomness import Purpose, stream
from automl.records import FloatArray, IntArray, Trial
from automl.run.session import Session
from automl.run_records.ensemble import BlendScores, EnsembleEvidence
from automl.stages.blend_scores import describe_blend
from automl.stages.final_plan import is_bag, member_milliseconds
from automl.stages.membership import limited, method_of
from automl.stages.stacking import HOLDOUT_PARTS, second_layer_folds

MOST_SINGLES = 60
"""Best trials among which the best one of some folds is looked for."""

EVALUATIONS = 2_500
"""Blends that a bag of 60 members tries."""
CELL_SECONDS = 1e-9
"""For a cell of a blend to be added and divided, on an idle core. A bag takes 0.4 to 1.0 of what is
planned, on 1,600 to 3,400 rows of log loss or area under the curve."""
PROBED = 4
"""Made-up blends whose scoring is timed: two milliseconds for the area under the curve of 10,000 rows."""

FULL_EVALUATIONS = 200
"""Evaluations on all rows of what a sample proposes."""

LEAST_SECONDS = 1.0
"""Taken even where the plan has nothing left: an ensemble is worth more than a second, 0.017 of the
index on 23 tables, and one bag of 60 members takes a twentieth of it on a thousand rows."""


class Blender:
    """Out-of-fold predictions of a library of trials and what can be blended of them.

    Parameters
    ----------
    library
        Trials of the first layer.
    base, stack
        Those whose predictions the second layer takes, and its trials; empty without one.
    """

    def __init__(
        self,
        session: Session,
        library: Sequence[Trial],
        base: Sequence[Trial],
        stack: Sequence[Trial],
        store: PredictionStore,
    ) -> None:
        self._session = session
        self.members = [*library, *stack]
        self._n_first = len(library)
        sources = tuple(library.index(trial) for trial in base)
        self._inputs = [*([()] * len(library)), *([sources] * len(stack))]
        self._method = method_of(session.settings)
        self._combine: Combine = session.settings.ensemble_combine
        stage = session.plan.stage("search")
        self._y = session.plan.table.y[stage.rows]
        self._weights = session.plan.row_weights(stage.rows)
        self._predictions: list[NDArray[Any]] = [
            np.asarray(store.load(trial.id)) for trial in self.members
        ]
        self._folds: IntArray = stage.folds[0]
        self._inside = np.flatnonzero(self._folds >= 0)
        self._milliseconds = milliseconds_of(session, self.members)
        self._eligible = self._find_eligible()

    def is_possible(self) -> bool:
        """Whether there is something to weight, and folds for the evidence."""
        if len(self.members) < 2 or not len(self._eligible):
            return False
        try:
            self._folds = second_layer_folds(self._session.plan)
        except DataError as error:
            self._session.given_up.append(f"no ensemble: the holdout cannot be divided ({error})")
            return False
        return True

    def decide(
        self, champion: FloatArray
    ) -> tuple[EnsembleEvidence, FloatArray, Calibration | None]:
        """Evidence for the blend, and weights and calibration learned on all rows.

        Parameters
        ----------
        champion : (n members,)
            All weight on the champion.
        """
        session, started = self._session, time.monotonic()
        parts, n_bags = self._learned()
        weights = parts[-1]
        scores, gain = self._cross_fitted(parts[:-1])
        calibration = self._calibration(weights) if gain is not None and gain > 0 else None
        decision = decide_ensemble(
            scores,
            self._best_single_scores(),
            learned_score=self.describe(weights, calibration).score,
            replaced_score=self.describe(champion).score,
            test_train_ratio=session.plan.test_train_ratio("search"),
            alpha=session.settings.ensemble_alpha,
        )
        seconds = time.monotonic() - started
        return EnsembleEvidence(decision, n_bags, seconds, gain), weights, calibration

    def _cross_fitted(self, by_fold: FloatArray) -> tuple[FloatArray, float | None]:
        """Fold scores of blends that never saw the fold, and what calibration adds to their mean.

        They are those with calibration where it adds something. None where there is nothing to calibrate.
        """

        def scores(judge: Judge) -> FloatArray:
            return cross_fitted_scores(
                self._predictions, judge, self._folds, by_fold, combine=self._combine
            )

        plain = scores(self._judge)
        if not self._can_calibrate:
            return plain, None
        surer = scores(self._judge_calibrated)
        gain = float(surer.mean() - plain.mean())
        return (surer if gain > 0 else plain), gain

    @property
    def _can_calibrate(self) -> bool:
        is_wanted = self._session.settings.ensemble_calibration and self._combine == "mean"
        return is_wanted and self._session.plan.index.task.is_classification

    def describe(self, weights: FloatArray, calibration: Calibration | None = None) -> BlendScores:
        """Decision rule and scores of a blend, see `describe_blend`."""
        shares = {self.members[i].id: float(weights[i]) for i in np.flatnonzero(weights)}
        described = describe_blend(self._session.plan, shares, self._combine, calibration)
        assert described is not None  # the library holds trials whose predictions were kept
        return described

    def _judge(self, prediction: NDArray[Any], judged: IntArray, others: IntArray) -> float:
        """Score of a blend on some rows by the decision rule of others."""
        folds = np.full(len(self._y), -1)
        folds[others], folds[judged] = 1, 0
        return self._out_of_fold(prediction, folds).score(0)

    def _judge_calibrated(
        self, prediction: NDArray[Any], judged: IntArray, others: IntArray
    ) -> float:
        """As `_judge`, of a blend that is calibrated on the others."""
        surer = np.array(prediction)
        inside = np.r_[judged, others]
        surer[inside] = self._learn_calibration(prediction, others).apply(prediction[inside])
        return self._judge(surer, judged, others)

    def _calibration(self, weights: FloatArray) -> Calibration:
        """That of the blend, learned on all rows."""
        blended = combined(self._predictions, weights, self._combine)
        return self._learn_calibration(blended, self._inside)

    def _learn_calibration(self, prediction: NDArray[Any], rows: IntArray) -> Calibration:
        weights = None if self._weights is None else self._weights[rows]
        return learn_calibration(prediction[rows], self._y[rows], weights)

    def _out_of_fold(self, prediction: NDArray[Any], folds: IntArray) -> OutOfFold:
        index = self._session.plan.index
        return OutOfFold(index, self._y, prediction, folds, self._weights)

    def _best_single_scores(self) -> FloatArray:
        """Fold scores of the member of the first layer that is best on all other folds.

        The champion's own scores were among the reasons to choose it; the best single member of
        the other folds has no such advantage over the ensemble. The limit of the time to predict
        holds for it too.
        """
        singles = [i for i in range(self._n_first) if self._is_fast(i)][:MOST_SINGLES]
        scores = np.stack(
            [self._out_of_fold(self._predictions[i], self._folds).scores() for i in singles]
        )
        others = (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)
        best = others.argmax(axis=0)
        return np.asarray(scores[best, np.arange(scores.shape[1])])

    def _find_eligible(self) -> IntArray:
        """Members that may have weight: of the layer that the method wants, and fast enough alone.

        And whose fold models are there, or can be in time: a member that the final model must leave
        out would make another blend of it than the one that was compared.
        """
        session, stacked = self._session, range(self._n_first, len(self.members))
        if self._method.is_second_layer:
            return np.array([i for i in stacked if self._is_fast(i)], dtype=int)
        rebuilt = rebuildable(session, self.members[: self._n_first])
        if len(rebuilt) < self._n_first:
            session.cut_short(
                f"{self._n_first - len(rebuilt)} of {self._n_first} trials have no weight in the "
                "ensemble: no time to fit again the fold models that were not kept"
            )
        return np.array([i for i in (*rebuilt, *stacked) if self._is_fast(i)], dtype=int)

    def _is_fast(self, member: int) -> bool:
        limit = self._session.settings.max_predict_ms
        return is_fast_enough(member, self._milliseconds, limit, self._inputs)

    def _learned(self) -> tuple[FloatArray, int]:
        """Weights, and the number of bags that they are means of.

        The weights, (n folds + 1, n members), are those of all other folds for each, and last those
        of all rows.
        """
        parts = [*other_rows(self._folds), self._inside]
        deadline, started = self._deadline(), time.monotonic()
        bags = [self._bag(0, parts, deadline)]
        longest = time.monotonic() - started
        while len(bags) < self._method.n_bags and deadline.has_time(longest):
            started = time.monotonic()
            bag = self._bag(len(bags), parts, deadline)
            if not deadline.has_time():
                break
            bags.append(bag)
            longest = max(longest, time.monotonic() - started)
        if len(bags) < self._method.n_bags:
            self._session.cut_short(
                f"the ensemble's weights are means of {counted(len(bags), 'bag')}, not {self._method.n_bags}"
            )
        return np.stack([self._limited(w) for w in np.mean(bags, axis=0)]), len(bags)

    def _bag(self, number: int, parts: Sequence[IntArray], deadline: Deadline) -> FloatArray:
        """Weights for each part of the rows, each learned in an equal share of the time that is left."""
        weights: FloatArray = np.zeros((len(parts), len(self.members)))
        for place, rows in enumerate(parts):
            own = deadline.share(1 / (len(parts) - place))
            weights[place, self._eligible] = self._learn(number, place, rows, own)
            if not own.has_time():
                self._session.cut_short()
        return weights

    def _learn(self, bag: int, place: int, rows: IntArray, deadline: Deadline) -> FloatArray:
        problem = EnsembleProblem(
            [self._predictions[i] for i in self._eligible],
            self._y,
            self._session.plan.index,
            self._stream(bag, place, rows),
            rows=rows,
            sample_weight=self._weights,
            groups=[self.members[i].configuration.family for i in self._eligible],
            combine=self._combine,
            deadline=deadline,
        )
        return self._method.weights(problem, bag)

    def _stream(self, bag: int, place: int, rows: IntArray) -> np.random.Generator:
        """Generator of one learning; of all rows it draws the bootstraps that trials are scored on.

        So the ensemble of ESMBO takes the best of all trials on the bootstrap of each history, as
        Algorithm 2 has it (`automl.optimizers.esmbo`).
        """
        seed = self._session.settings.seed
        if self._method.draws_bootstraps and rows is self._inside:
            return stream(seed, Purpose.BOOTSTRAP)
        return stream(seed, Purpose.ENSEMBLE, bag, place)

    def _limited(self, weights: FloatArray) -> FloatArray:
        kept = limited(weights, self._session.settings, self._milliseconds, self._inputs)
        return only_effective(kept, self._combine)

    def _deadline(self) -> Deadline:
        """Deadline of all learning; none under a budget of trials."""
        left = self._session.ledger.left_for("ensemble")
        return Deadline(None if left is None else time.monotonic() + max(left, LEAST_SECONDS))


def milliseconds_of(session: Session, trials: Sequence[Trial]) -> FloatArray:
    """(n,) per row in the final model."""
    return np.array([member_milliseconds(session, trial) for trial in trials])


def bag_seconds(session: Session, n_trials: int) -> float:
    """Seconds that one bag is expected to take, for all folds and for all rows.

    Parameters
    ----------
    n_trials
        Complete trials of the search.
    """
    library_size = get_ensemble(session.settings.ensemble).library_size or n_trials
    share = min(n_trials, library_size) / MOST_SINGLES
    stage = session.plan.stage("search")
    cells = len(stage.rows) * max(session.plan.table.n_classes, 1)
    n_quick = min(cells, MOST_CELLS)
    quick = CELL_SECONDS * n_quick + evaluation_seconds(session.plan)
    full = quick * cells / n_quick if cells > MOST_CELLS else 0.0
    n_parts = max(stage.jobs_per_repeat, HOLDOUT_PARTS) + 1
    return share * n_parts * (EVALUATIONS * quick + FULL_EVALUATIONS * full)


@lru_cache(maxsize=4)
def evaluation_seconds(plan: EvaluationPlan) -> float:
    """Processor seconds that scoring a blend takes, on as many rows as propose, with made-up predictions.

    Metrics differ by a factor of ten and more: areas sort the rows, and thresholds are learned. Trials
    that run beside it do not count: the ledger's slowness does.
    """
    stage, table = plan.stage("search"), plan.table
    n_rows = min(len(stage.rows), max(MOST_CELLS // max(table.n_classes, 1), 1))
    places = np.linspace(0, len(stage.rows) - 1, n_rows).astype(int)
    y = table.y[stage.rows[places]]
    rng = np.random.default_rng(0)
    if table.n_classes:
        made_up = rng.dirichlet(np.ones(table.n_classes), (PROBED, n_rows))
    else:
        made_up = rng.choice(y, (PROBED, n_rows))
    seconds = []
    for _ in range(2):  # the first pass may import
        started = time.thread_time()
        with suppress(ValueError):  # undefined on these rows
            plan.index.learned_scores(y, made_up.astype(np.float32))
        seconds.append((time.thread_time() - started) / PROBED)
    return min(seconds)


def library_of(
    trials: Sequence[Trial], size: int | None, scores: FloatArray | None = None
) -> IntArray:
    """Positions of the trials that an ensemble of so many chooses from; see `diverse_library`.

    Parameters
    ----------
    scores : (n trials,), maximized
        In place of the trials' own.
    """
    return diverse_library(
        np.array([trial.achieved for trial in trials]) if scores is None else scores,
        [trial.configuration.family for trial in trials],
        [trial.configuration.preprocessing for trial in trials],
        size,
    )


def rebuildable(session: Session, trials: Sequence[Trial]) -> list[int]:
    """Positions of the trials whose fold models are kept, or can be fitted again in time.

    As far as the seconds that no stage has claimed pay for them all, in their order. All of them
    where there is no limit, or where the final model is fitted again in any case.

    Parameters
    ----------
    trials
        Of the first layer.
    """
    left = session.ledger.left_for("ensemble")
    if left is None or not is_bag(session):
        return list(range(len(trials)))
    capacity = max(left - session.ledger.planned.get("ensemble", 0.0), 0.0) * session.pool.n_slots
    positions = []
    for position, trial in enumerate(trials):
        needed = 0.0 if models_mib(session.folder.path, trial.id) else trial.seconds
        if needed <= capacity:
            positions.append(position)
            capacity -= needed
    return positions
