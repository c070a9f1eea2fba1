"""How a pipeline is fitted inside a worker: equal arguments give equal pipelines in any process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from automl.data.splits import share_of_rows
from automl.evaluation.cache import FoldCache, PreprocessedFold
from automl.evaluation.plan import EvaluationPlan
from automl.families.registry import get_family
from automl.inference.model import FittedPipeline
from automl.preprocessing.pipeline import TablePreprocessor, build_preprocessor
from automl.randomness import Purpose, integer_seed, stream
from automl.records import Configuration, IntArray, JsonScalar, Trial

LOOKING_FOLDS = 2
"""Folds that look for their number of rounds. With one the score is worse where it finds a poor number; see
``benchmarks/seconds``."""
LEAST_SHARING_ROWS = 1000
"""Rows of a table whose folds share their rounds. With fewer the number is too uncertain to be that of others,
and the seconds saved are few; see ``benchmarks/seconds``."""
REFIT = 2**20
"""In place of the keys of a fold, for a fit on all rows."""


@dataclass(frozen=True)
class FoldData:
    """Which rows a fold learns from."""

    stage: str
    repeat: int
    fold: int
    row_share: float = 1.0


@dataclass
class SharedRounds:
    """How many rounds of boosting the folds of a trial take.

    The first folds hold rows out to find the best number; LightGBM and XGBoost then fit all their
    rows. The other folds take the geometric mean of what those found, as they take every other
    hyperparameter. Each looks for its own on a small table, and in time order, where the first ones
    learn from fewer rows.

    Parameters
    ----------
    given : that an earlier trial of the configuration kept when its time was over, or None
    is_shared : whether what the first folds find is taken by the others
    found : so far
    """

    given: int | None
    is_shared: bool
    found: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, plan: EvaluationPlan, given: int | None) -> SharedRounds:
        """Before the first fold of a trial."""
        is_large = len(plan.table) >= LEAST_SHARING_ROWS
        return cls(given, is_shared=is_large and not plan.settings.time_ordered)

    @property
    def known(self) -> int | None:
        """What the next fold takes; None if it looks for its own."""
        if self.given is not None or not self.n_missing:
            return self.given or _typical(self.found)
        return None

    @property
    def n_missing(self) -> int:
        """Folds that are still to find a number."""
        return LOOKING_FOLDS - len(self.found)

    def learn(self, found: int | None) -> None:
        """Take what a fold found; the first numbers count."""
        if self.is_shared and self.n_missing and found is not None:
            self.found.append(found)


def rounds_on_all_rows(plan: EvaluationPlan, trial: Trial) -> int | None:
    """Rounds of boosting of a fit on all rows: the geometric mean of what the folds of a trial found.

    None where none was looked for, or in time order, where folds learn from fewer rows: the fit
    looks for its own.
    """
    found = [fold.found_rounds for fold in trial.folds if fold.found_rounds is not None]
    if trial.most_rounds is not None or plan.settings.time_ordered or not found:
        return trial.most_rounds
    return _typical(found)


def _typical(rounds: Sequence[int]) -> int:
    return round(float(np.exp(np.mean(np.log(rounds)))))


def fit_fold(
    plan: EvaluationPlan,
    cache: FoldCache,
    configuration: Configuration,
    *,
    stage: str,
    repeat: int,
    fold: int,
    row_share: float = 1.0,
    iteration_share: float = 1.0,
) -> tuple[FittedPipeline, Any]:
    """Fitted pipeline of one fold, and the preprocessed validation rows.

    Equal arguments give equal pipelines in any process.
    """
    data = FoldData(stage, repeat, fold, row_share)
    part = preprocess_fold(plan, cache, configuration, data)
    return fit_pipeline(plan, configuration, part, data, iteration_share), part.validation


def preprocess_fold(
    plan: EvaluationPlan, cache: FoldCache, configuration: Configuration, data: FoldData
) -> PreprocessedFold:
    """Matrices of a fold, from the cache where they are there."""
    key = (data, configuration.preprocessing)
    cached = cache.get(key)
    if cached is not None:
        return cached
    training, validation = training_rows(plan, data)
    seed = integer_seed(plan.settings.seed, Purpose.ESTIMATOR, data.repeat, data.fold)
    preprocessor = new_preprocessor(plan, configuration, seed)
    learned, judged = (plan.table.frame.iloc[rows] for rows in (training, validation))
    texts = _components(preprocessor, cache, data, learned, judged)
    part = PreprocessedFold(
        preprocessor,
        preprocessor.fit_transform(learned, plan.table.y[training], components=texts.training),
        preprocessor.transform(judged, components=texts.validation),
    )
    cache.put(key, part)
    return part


def new_preprocessor(
    plan: EvaluationPlan, configuration: Configuration, seed: int
) -> TablePreprocessor:
    """Unfitted preprocessor of a configuration, with what the plan says for all of them."""
    common: dict[str, JsonScalar] = {"prep.value_counts": plan.settings.value_counts}
    return build_preprocessor({**common, **dict(configuration.preprocessing)}, seed=seed)


def _components(
    preprocessor: TablePreprocessor,
    cache: FoldCache,
    data: FoldData,
    training: pd.DataFrame,
    validation: pd.DataFrame,
) -> PreprocessedFold:
    """Components of a fold's texts, which do not depend on the other choices: fitted once, kept in the cache."""
    encoder = preprocessor.text_encoder
    key = (data, "texts", None if encoder is None else encoder.method)
    fold = cache.get(key)
    if fold is None:
        components = preprocessor.fit_texts(training)
        fold = PreprocessedFold(
            preprocessor.text_encoder, components, preprocessor.components(validation)
        )
        if components.size:
            cache.put(key, fold)
    preprocessor.text_encoder = fold.preprocessor
    return fold


def fit_pipeline(
    plan: EvaluationPlan,
    configuration: Configuration,
    part: PreprocessedFold,
    data: FoldData,
    iteration_share: float,
) -> FittedPipeline:
    """Pipeline of a configuration on a fold whose matrices are there."""
    rows, _ = training_rows(plan, data)
    keys = data.repeat, data.fold
    estimator = fit_estimator(
        plan, configuration, part.training, rows, keys, iteration_share=iteration_share
    )
    return FittedPipeline(part.preprocessor, estimator)


def fit_estimator(
    plan: EvaluationPlan,
    configuration: Configuration,
    matrix: Any,
    rows: IntArray,
    keys: tuple[int, ...],
    *,
    iteration_share: float = 1.0,
) -> Any:
    """Estimator fitted on table rows that `matrix` holds preprocessed.

    Parameters
    ----------
    matrix : (n_rows, n_columns)
    rows : (n_rows,), positions in the table
        Whose targets and weights are taken.
    keys
        Tell this fit's seed from those of other fits of the configuration.
    """
    family, table, settings = get_family(configuration.family), plan.table, plan.settings
    estimator = family.build(
        configuration,
        task=table.task,
        n_rows=len(rows),
        n_columns=matrix.shape[1],
        n_classes=table.n_classes,
        seed=integer_seed(settings.seed, Purpose.ESTIMATOR, int(configuration.id, 16), *keys),
        threads=settings.threads,
        iteration_share=iteration_share,
    )
    weights = None if plan.weights is None else plan.weights[rows]
    return family.fit(estimator, matrix, table.y[rows], sample_weight=weights)


def training_rows(plan: EvaluationPlan, data: FoldData) -> tuple[IntArray, IntArray]:
    """Positions in the table of the training and validation rows of a fold."""
    stage = plan.stage(data.stage)
    training, validation = plan.rows_of(data.stage, data.repeat, data.fold)
    if data.row_share < 1.0:
        rng = stream(plan.settings.seed, Purpose.SAMPLE, data.repeat, data.fold)
        table = plan.table
        y = table.y[stage.rows[training]] if table.n_classes else None
        training = training[share_of_rows(len(training), data.row_share, y=y, rng=rng)]
    return stage.rows[training], stage.rows[validation]


@lru_cache(maxsize=1)
def open_run(context: str) -> tuple[EvaluationPlan, FoldCache]:
    """Plan of a run folder and its cache, which the jobs of a worker share."""
    plan = EvaluationPlan(context)
    return plan, FoldCache(plan.settings.cache_mib * 2**20)
