"""`AutoML`: training in one call, as a scikit-learn style estimator."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from automl.alternatives import ClassWeighting
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.home import Home, default_home
from automl.inference.model import TableModel
from automl.run.choices import check_names
from automl.settings import PresetName, Settings
from automl.settings.data import WantedTask
from automl.settings.sources import resolve_settings
from automl_flows.environment import prepare_environment

TABLE = "frame"


class AutoML(BaseEstimator):  # type: ignore[misc]
    """Search, select, fit and register a model for a table.

    Every parameter is a setting of `automl train` with the same name. None takes the value of the
    environment variable ``AUTOML_*`` or else of the preset, as a missing option of the command does.

    Parameters
    ----------
    budget : seconds, or a text such as ``90s`` or ``10m``
        Wall time of `fit` as a whole; 10 minutes unless `trials` is given.
    trials
        Number of trials instead of a time budget. The run is then reproducible.
    preset
        `thesis`, `fast`, `balanced` or `best`.
    metric
        ``index``, a metric's name, weights by name, or ``FILE.py:NAME``.
    task
        `auto`, `binary`, `multiclass` or `regression`.
    families, exclude
        Only these families; families left out.
    optimizer
        How each family is searched: a name of ``automl optimizers``, or the parts of a composition.
    allocator
        Which family gets the next trial: a name of ``automl allocators``, or `auto`.
    ensemble
        How models are blended: a name of ``automl ensembles``, or `none`.
    alpha : in (0, 1)
        Significance level of the selection, or levels by name: leaf, category, family, root.
    roles
        Role by column name, instead of the detected one.
    groups, time
        Column whose groups stay together; column that orders the rows.
    class_weight
        `none` or `balanced`.
    positive
        Label of the positive class of a binary target.
    cost_matrix : (n_classes, n_classes)
        Cost of predicting column j for true class i.
    test_share : in [0, 0.9)
        Share of the rows that are kept for the test score in ``result_["test"]``.
    max_predict_ms : milliseconds
        Longest time to predict one row.
    seed
        Root of all randomness.
    name
        Problem and model name in the registry; default: ``frame-`` and the target's name.
    home
        State folder; default: `AUTOML_HOME` or ./automl-home.
    workers
        Trials at a time; default: one per core.
    settings
        Any other setting by name, such as ``{"folds": 8}``.
    verbose
        Whether progress is shown on stderr.

    Attributes
    ----------
    model_ : TableModel
        The final model. It takes raw frames and works without this class.
    result_ : dict
        The record of the run, as `automl train --json` prints it.
    leaderboard_ : DataFrame
        Every trial, best first, and what happened to it.
    run_id_ : str
        For `automl show`, `automl predict` and `automl resume`.
    classes_ : (n_classes,)
        Original labels; not there for regression.
    feature_names_in_ : (n_features_in_,)
        Columns that `fit` has seen, without the target.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from automl_flows import AutoML
    >>> patients = load_diabetes(as_frame=True).frame
    >>> model = AutoML(budget="2m").fit(patients, target="target")
    >>> model.predict(patients.head(3)).shape
    (3,)
    """

    def __init__(
        self,
        *,
        budget: float | str | None = None,
        trials: int | None = None,
        preset: PresetName | None = None,
        metric: str | Mapping[str, float] | None = None,
        task: WantedTask | None = None,
        families: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        optimizer: str | Mapping[str, Any] | None = None,
        allocator: str | None = None,
        ensemble: str | None = None,
        alpha: float | Mapping[str, float] | None = None,
        roles: Mapping[str, str] | None = None,
        groups: str | None = None,
        time: str | None = None,
        class_weight: ClassWeighting | None = None,
        positive: Any = None,
        cost_matrix: ArrayLike | None = None,
        test_share: float | None = None,
        max_predict_ms: float | None = None,
        workers: int | None = None,
        seed: int | None = None,
        name: str | None = None,
        home: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.budget = budget
        self.trials = trials
        self.preset = preset
        self.metric = metric
        self.task = task
        self.families = families
        self.exclude = exclude
        self.optimizer = optimizer
        self.allocator = allocator
        self.ensemble = ensemble
        self.alpha = alpha
        self.roles = roles
        self.groups = groups
        self.time = time
        self.class_weight = class_weight
        self.positive = positive
        self.cost_matrix = cost_matrix
        self.test_share = test_share
        self.max_predict_ms = max_predict_ms
        self.workers = workers
        self.seed = seed
        self.name = name
        self.home = home
        self.settings = settings
        self.verbose = verbose

    def fit(
        self,
        X: pd.DataFrame | ArrayLike,
        y: ArrayLike | None = None,
        *,
        target: str | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train; returns when the model is registered, as far as the budget allows.

        Parameters
        ----------
        X : (n_rows, n_columns)
            Frame with any index, or array (its columns are called ``x0``, ``x1`` …).
        y : (n_rows,)
            Series, array or list; rows go by position. Alternatively:
        target
            Name of the column of X to predict.
        sample_weight : (n_rows,), >= 0

        Raises
        ------
        SettingsError
            If a parameter is not usable, or not exactly one of `y` and `target` is given.
        DataError
            With every problem of the table.
        AutoMLError
            If no usable model came out.

        Warns
        -----
        AutoMLWarning
            Of every entry of ``result_["notices"]``: the model is no better than the baseline, or
            not registered yet.
        """
        started = time.monotonic()
        frame, names = _joined(X, y, target, sample_weight)
        settings = self._resolved(names)
        check_names(settings)
        home = Home(Path(self.home).expanduser().resolve() if self.home else default_home())
        home.prepare()
        result = _train(settings, frame, home, started=started, is_shown=self.verbose)
        for notice in result["notices"]:
            warnings.warn(notice, AutoMLWarning, stacklevel=2)
        self.result_: dict[str, Any] = result
        self.run_id_ = str(result["run_id"])
        self.leaderboard_ = pd.DataFrame(result["leaderboard"])
        self.feature_names_in_ = np.array(
            [column for column in frame.columns if column not in names.values()], dtype=object
        )
        self.n_features_in_ = len(self.feature_names_in_)
        self.model_ = _model_of(result, home)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        elif hasattr(self, "classes_"):
            del self.classes_
        return self

    def predict(self, X: pd.DataFrame | ArrayLike) -> NDArray[Any]:
        """Original labels, or numbers, of raw rows, (n_rows,).

        Raises
        ------
        NotFittedError
            Before `fit`.
        DataError
            If a column is missing or has values of a wrong type.
        """
        return self._fitted().predict(_features(X))

    def predict_proba(self, X: pd.DataFrame | ArrayLike) -> NDArray[np.float32]:
        """Class probabilities (n_rows, n_classes) in the order of `classes_`.

        Raises
        ------
        SettingsError
            For regression; else as `predict`.
        """
        return self._fitted().predict_proba(_features(X))

    def score(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | None = None) -> float:
        """Accuracy, or R² for regression.

        Parameters
        ----------
        y : (n_rows,)
            None takes the target column of X.

        Raises
        ------
        DataError
            If X has no target column and y is not given; else as `predict`.
        """
        model, frame = self._fitted(), _features(X)
        if y is None:
            if model.target not in frame.columns:
                raise DataError(
                    f"score needs y, or a frame with the target column {model.target!r}"
                )
            y = frame[model.target].to_numpy()
        return model.score(frame, np.asarray(y))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Tags with the kind of estimator, as far as it is known."""
        tags = super().__sklearn_tags__()
        task = self.model_.task if hasattr(self, "model_") else self.task
        if task not in (None, "auto"):
            tags.estimator_type = "regressor" if task == "regression" else "classifier"
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags

    def _fitted(self) -> TableModel:
        if not hasattr(self, "model_"):
            raise NotFittedError("this AutoML is not fitted yet; call fit first")
        return self.model_

    def _resolved(self, names: Mapping[str, str]) -> Settings:
        from automl.data.target import label_text

        own = self.get_params(deep=False)
        for name in ("budget", "home", "settings", "verbose"):
            own.pop(name)
        costs = self.cost_matrix
        given = {
            **(self.settings or {}),
            **{name: value for name, value in own.items() if value is not None},
            "table": TABLE,
            "target": names["target"],
            "weights": names.get("weights"),
            "budget_seconds": self.budget,
            "positive": None if self.positive is None else label_text(self.positive),
            "cost_matrix": None if costs is None else np.asarray(costs, dtype=float).tolist(),
        }
        return resolve_settings(given)


def _train(
    settings: Settings, frame: pd.DataFrame, home: Home, *, started: float, is_shown: bool
) -> dict[str, Any]:
    """Start the server, run the flow beside it, and stop it; as `automl train` does."""
    prepare_environment()
    from automl.run.ledger import has_time
    from automl_flows.services.local_server import local_server, running

    server = local_server(home.path, has_time=has_time(settings, started))
    with ExitStack() as stack:
        on_progress = None
        if is_shown:
            from automl_flows.words.progress_display import ProgressDisplay

            on_progress = stack.enter_context(ProgressDisplay()).update
        stack.enter_context(running(server, home))
        from automl_flows.driver import train

        return train(
            settings,
            home=home,
            server=server,
            frame=frame,
            started=started,
            on_progress=on_progress,
        )


def _model_of(result: Mapping[str, Any], home: Home) -> TableModel:
    from automl.inference.bundle import load_bundle
    from automl.installation import read_key

    folder = home.run(str(result["run_id"]))
    return load_bundle(folder.bundle, key=read_key(), run=folder.run_id)


def _joined(
    X: pd.DataFrame | ArrayLike,
    y: ArrayLike | None,
    target: str | None,
    sample_weight: ArrayLike | None,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """One frame with target and weights as columns, and the names of these two."""
    if (y is None) == (target is None):
        given = "both" if target is not None else "neither"
        raise SettingsError(f"fit needs either y or target; got {given}", setting="target")
    frame = _features(X).reset_index(drop=True)
    names: dict[str, str] = {}
    if y is None:
        names["target"] = str(target)
    else:
        names["target"] = _free_name(getattr(y, "name", None) or "target", frame)
        frame[names["target"]] = _column(y, "y", len(frame))
    if sample_weight is not None:
        names["weights"] = _free_name("sample_weight", frame)
        frame[names["weights"]] = _column(sample_weight, "sample_weight", len(frame))
    return frame, names


def _features(X: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    """A copy with text names; its values are shared."""
    from automl.preprocessing.blocks import as_frame

    if hasattr(X, "toarray"):
        raise DataError("X must be a frame or a dense array; got a sparse matrix")
    frame = as_frame(X).copy(deep=False)
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    return frame


def _column(values: ArrayLike, name: str, n_rows: int) -> Any:
    """Values by position: a Series loses its index, a frame or matrix must have one column."""
    if isinstance(values, pd.DataFrame):
        if values.shape[1] != 1:
            raise DataError(f"{name} must have one column; got {values.shape[1]}")
        values = values.iloc[:, 0]
    if isinstance(values, pd.Series):
        column: Any = values.array
    else:
        column = pd.Series(np.asarray(values).reshape(-1) if np.ndim(values) == 2 else values).array
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows and {name} has {len(column)}; they must be equal")
    return column


def _free_name(name: Any, frame: pd.DataFrame) -> str:
    text = str(name)
    while text in frame.columns:
        text += "_"
    return text
