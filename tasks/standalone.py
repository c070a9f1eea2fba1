"""Parts of the line on a frame, outside of any run: one configuration, selection, blend, score.

Each gives the numbers that a run would give, because it goes through the same code.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from automl.data.division import encoded_target
from automl.data.findings import Findings, listed
from automl.data.labelled_rows import labelled_for, left_out_among
from automl.data.row_columns import read_weights
from automl.data.target import EncodedTarget
from automl.ensembles.problem import EnsembleProblem
from automl.ensembles.registry import get_ensemble
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.trial import TrialSummary, evaluate, folds_of, search_payload
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.inference.columns import with_table_names
from automl.inference.combining import Combine, check_combination
from automl.inference.labels import encode_labels
from automl.inference.model import TableModel
from automl.inference.raw_table import Column
from automl.metrics.building import IndexSpec
from automl.origins import GIVEN
from automl.randomness import Purpose, stream
from automl.records import Configuration, Task, Trial, TrialStatus
from automl.run.preparation import prepare
from automl.selection.clusters import Candidate
from automl.selection.levels import select
from automl.selection.selection_records import SelectionRecord
from automl.settings.sources import resolve_settings
from automl.significance import Normality, Procedure, WantedSplit, choose_split, parse_alpha
from automl_tasks.given_predictions import as_arrays, encode, index_of

MODEL_NAME = "single"
EVALUATION_SETTINGS = (
    "task", "roles", "strict", "groups", "time", "weights", "class_weight", "positive",
    "metric", "beta", "cost_matrix", "decision", "folds", "search_repeats", "target_bins",
    "holdout_above_rows", "preset", "seed", "threads",
)  # fmt: skip
"""Settings of a run that bear on one configuration: those of its table, its score and its folds."""


@dataclass(frozen=True)
class Evaluation:
    """Results of the folds of one configuration.

    Parameters
    ----------
    trial
        Status, score, fold results and metrics.
    predictions : (n_rows, n_classes) or (n_rows,), float32
        Out of fold; NaN in rows that were never validated (in time order the first ones).
    labels : (n_rows,)
        Target of these rows, in original labels; rows without a target are left out.
    classes : (n_classes,)
        Labels in the order of the columns of `predictions`; None for regression.
    """

    trial: Trial
    predictions: NDArray[np.float32]
    labels: NDArray[Any]
    classes: NDArray[Any] | None

    @property
    def score(self) -> float:
        """Row-weighted mean of the fold scores; 0 is the baseline, 1 is ideal."""
        assert self.trial.score is not None
        return self.trial.score

    @property
    def fold_scores(self) -> tuple[float, ...]:
        """Score of each fold."""
        return self.trial.fold_scores


def evaluate_configuration(
    frame: pd.DataFrame | str | Path,
    target: str,
    family: str,
    values: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Evaluation:
    """Cross-validated score, metrics and out-of-fold predictions of one configuration.

    It runs in this process, without limits of time and memory.

    Parameters
    ----------
    frame
        Raw table, or a source that `read_table` takes.
    values
        Hyperparameters by name, `prep.*` included; absent ones take their defaults.
    settings
        Settings of a run, of those in `EVALUATION_SETTINGS`.

    Raises
    ------
    DataError
        With every problem of the table.
    SettingsError
        If a setting, the family or a value is not usable, or a setting has no effect on one configuration.

    Warns
    -----
    AutoMLWarning
        With the number of rows without a target, which are left out.
    """
    given = {"table": "frame", "target": target, **settings}
    resolved = resolve_settings(given, environment={})
    _refuse_idle(settings)
    with tempfile.TemporaryDirectory(prefix="automl-") as folder:
        given_frame = frame if isinstance(frame, pd.DataFrame) else None
        if given_frame is None:
            resolved = resolved.model_copy(update={"table": str(frame)})
        facts = prepare(RunFolder(Path(folder)), resolved, frame=given_frame)
        for note in left_out_among(facts["notes"]):
            warnings.warn(note, AutoMLWarning, stacklevel=2)
        plan = EvaluationPlan(folder)
        configuration = _configuration(plan, family, values or {})
        trial = _evaluate(plan, configuration)
        predictions = np.array(plan.predictions.load(MODEL_NAME))
        labels, y = plan.table.class_labels, np.array(plan.table.y)
    return Evaluation(trial, predictions, y if labels is None else labels[y], labels)


def _refuse_idle(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if name not in EVALUATION_SETTINGS:
            raise SettingsError(
                f"setting {name}: {value!r} has no effect: one configuration is evaluated, nothing is "
                "searched, chosen or kept",
                setting=name,
            )


def select_models(
    scores: Mapping[str, Sequence[float]],
    families: Mapping[str, str] | None = None,
    *,
    alpha: float | Mapping[str, float] = 0.05,
    top_n: int | Mapping[str, int] = 3,
    test: Procedure = "closed",
    normality: Normality = "kolmogorov_smirnov",
    alpha_split: WantedSplit = "auto",
    rope: float = 0.01,
    test_train_ratio: float | None = None,
) -> SelectionRecord:
    """Statistical selection among models: `winner`, and every decision with its test.

    Parameters
    ----------
    scores : each (n_folds,), maximized
        By the model's name, all on the same folds.
    families
        Family by the model's name: models are compared within their family first. None: all together.
    alpha : in (0, 1)
        One value, or values by level: a family's models are its `leaf`, then comes the `root`.
    top_n : positive
        How many go on: one number, or numbers by level. The `leaf` is each family.
    test
        `closed`, `paired`, `mcb`, `bayesian`, `friedman` or `thesis`, as the setting `selection_test` of a run.
    normality
        `kolmogorov_smirnov` or `lilliefors`, for `thesis`.
    alpha_split
        As the setting of a run: `auto` is `tree` for `closed`, `paired` and `mcb` with one
        alpha, else `level`.
    rope : non-negative
        Greatest difference of scores that means nothing in practice, for `bayesian`.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold, for all tests but `friedman` and `thesis`; None: 1 / (n_folds - 1),
        give 1 / (k - 1) where k folds were repeated.

    Raises
    ------
    SettingsError
        If a setting is not usable.
    DataError
        If there are no scores, scores of different lengths, or scores that are not finite.
    """
    candidates = [
        Candidate(name, Configuration((families or {}).get(name, "all")), tuple(values))
        for name, values in scores.items()
    ]
    n_folds = max((len(candidate.scores) for candidate in candidates), default=0)
    ratio = 1.0 / max(n_folds - 1, 1) if test_train_ratio is None else test_train_ratio
    try:
        alphas = parse_alpha(alpha)
        return select(
            candidates,
            alpha=alphas,
            top_n=top_n,
            test=test,
            normality=normality,
            test_train_ratio=ratio,
            alpha_split=choose_split(alpha_split, test, alphas),
            rope=rope,
        )
    except SettingsError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from None


def weigh_models(
    predictions: Mapping[str, ArrayLike],
    labels: ArrayLike,
    *,
    method: str = "greedy",
    combine: Combine = "mean",
    metric: IndexSpec = "index",
    task: str = "auto",
    seed: int = 0,
) -> dict[str, float]:
    """Weights of an ensemble by out-of-fold predictions, by the model's name; they sum to one.

    Parameters
    ----------
    predictions : each (n_rows, n_classes) or (n_rows,)
        By the model's name; columns in the sorted order of the labels. Of two classes a vector may hold the
        probabilities of the second one. Rows where any is NaN are left out.
    labels : (n_rows,)
        Original labels or numbers.
    method
        A name that `automl ensembles` lists and that needs no second layer, or ``single``: the best one alone.
    combine
        How the predictions will become one: ``mean``, ``median`` of values, ``vote`` of classes.

    Raises
    ------
    DataError
        If shapes do not fit, or no row is left.
    SettingsError
        If the metric, the method or the combination is not usable.
    """
    chosen = get_ensemble(method)
    if chosen.is_second_layer:
        raise SettingsError(
            f"ensemble {method} makes models of a second layer and needs a run; "
            "predictions alone can be weighted by another one",
            setting="ensemble",
        )
    encoded = encode(labels, task)
    arrays = as_arrays(predictions, encoded)
    try:
        check_combination(combine, is_classification=encoded.class_labels is not None)
    except ValueError as error:
        raise SettingsError(str(error), setting="combine") from None
    present = np.logical_and.reduce(
        [np.isfinite(array.reshape(len(array), -1)).all(axis=1) for array in arrays.values()]
    )
    if not present.any():
        raise DataError("no row has predictions of all models")
    y = encoded.y[present]
    index = index_of(metric, encoded, y)
    arrays_present = [array[present] for array in arrays.values()]
    streams = [stream(seed, Purpose.ENSEMBLE, bag) for bag in range(chosen.n_bags)]
    bags = [
        chosen.weights(EnsembleProblem(arrays_present, y, index, rng, combine=combine), bag)
        for bag, rng in enumerate(streams)
    ]
    weights = np.mean(bags, axis=0)
    return dict(zip(arrays, map(float, weights), strict=True))


def score(
    model: TableModel,
    frame: pd.DataFrame,
    *,
    metric: IndexSpec = "index",
    weights: str | None = None,
) -> dict[str, float]:
    """Score and every metric of a model on rows with a target; the others are left out.

    Parameters
    ----------
    frame
        Raw rows with the model's columns and its target.
    weights
        Column of sample weights.

    Returns
    -------
    ``score`` (the index with its baseline from these rows), and every metric with its natural sign.

    Raises
    ------
    DataError
        If a column is missing, no row has a target, or a label is not among the model's classes.

    Warns
    -----
    AutoMLWarning
        With the number of rows without a target.
    """
    findings, frame = Findings("the frame"), with_table_names(frame)
    for part, name in (("target", model.target), ("weights", weights)):
        if name is not None and name not in frame.columns:
            findings.problems.append(f"there is no {part} column {name!r}")
    findings.raise_problems()
    raw = labelled_for(model, frame, findings)
    series = raw[model.target].series
    frame = frame.iloc[series.index.to_numpy()]
    sizes = read_weights(raw, weights, findings)
    classes = None if model.task == "regression" else model.classes_
    encoded = _later_target(series, Task(model.task), classes, findings)
    findings.raise_problems()
    index = index_of(metric, encoded, encoded.y, sizes)
    prediction = model.raw(frame if weights is None else _without(frame, weights, model))
    labels = model.codes(prediction)
    return {
        "score": index.score(encoded.y, prediction, sizes, labels=labels),
        **index.metrics(encoded.y, prediction, sizes, labels=labels),
    }


# --- pieces ---------------------------------------------------------------------------------------


def _later_target(
    series: pd.Series, task: Task, classes: NDArray[Any] | None, findings: Findings
) -> EncodedTarget:
    if classes is None:
        return encoded_target(Column(series), "regression", findings)
    codes = encode_labels(series, classes)
    unknown = codes < 0
    if unknown.any():
        shown = listed(dict.fromkeys(series[unknown]))
        findings.problems.append(
            f"target column {series.name!r} holds labels that the model lacks: {shown}"
        )
    return EncodedTarget(task, codes, classes)


def _without(frame: pd.DataFrame, column: str, model: TableModel) -> pd.DataFrame:
    return frame if column in model.schema.names else frame.drop(columns=column)


def _configuration(plan: EvaluationPlan, name: str, values: Mapping[str, Any]) -> Configuration:
    family, table = get_family(name), plan.table
    n_columns = table.frame.shape[1]
    training, _ = plan.rows_of("search", 0, 0)
    reason = family.supports(table.task, len(training), n_columns, table.n_classes)
    if reason:
        raise SettingsError(reason)
    return family.space(table.task).with_facts(**plan.facts).complete(values)


def _evaluate(plan: EvaluationPlan, configuration: Configuration) -> Trial:
    payload = search_payload(plan, configuration, save_as=MODEL_NAME)
    results = list(evaluate(str(plan.folder), payload))
    folds = folds_of(results)
    summary = next(result for result in results if isinstance(result, TrialSummary))
    return Trial(
        MODEL_NAME,
        0,
        configuration,
        TrialStatus.COMPLETE,
        plan.index.aggregate([f.score for f in folds], [f.rows for f in folds]),
        folds,
        metrics=dict(summary.metrics),
        seconds=sum(f.fit_seconds + f.predict_seconds for f in folds),
        origin=GIVEN,
    )
