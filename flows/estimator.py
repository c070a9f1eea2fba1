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
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from automl.alternatives import ClassWeighting
from automl.data.findings import Findings
from automl.data.labelled_rows import labelled_for, left_out_among
from automl.errors import AutoMLWarning, DataError
from automl.home import Home, RunFolder, default_home
from automl.inference.model import TableModel
from automl.reports.page import Code
from automl.run.choices import check_names
from automl.settings import PresetName, Settings
from automl.settings.data import WantedTask
from automl.settings.sources import resolve_settings
from automl_flows.environment import prepare_environment
from automl_flows.fit_inputs import are_names, joined, later_features
from automl_flows.results import Result
from automl_flows.words.result_display import data_facts

TABLE = "frame"
REGRESSION = "regression"


def _predicts_classes(model: AutoML) -> bool:
    """Whether there are probabilities, as far as it is known before `fit`.

    Raises
    ------
    AttributeError
        If there are none.
    """
    if model.known_task == REGRESSION:
        raise AttributeError("predict_proba is for classes; this AutoML predicts numbers")
    return True


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
        `auto`, `classification`, `binary`, `multiclass` or `regression`. Give `classification` or
        `regression` where scikit-learn must know before `fit`, as for stratified folds.
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
        Whether progress is shown, in a notebook below the cell and elsewhere on stderr. None shows it in a
        notebook only.

    Attributes
    ----------
    model_ : TableModel
        The final model. It takes raw frames and works without this class.
    result_ : Result
        The record of the run, as `automl train --json` prints it, with `leaderboard()`, `why()` and
        `report()`.
    leaderboard_ : DataFrame
        Every trial, best first, and what happened to it.
    run_id_ : str
        For `automl show`, `automl predict` and `automl resume`.
    classes_ : (n_classes,)
        Original labels; not there for regression.
    n_features_in_ : number of columns
        That `fit` has seen, without the target.
    feature_names_in_ : (n_features_in_,)
        Their names; not there where X was an array.

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
        verbose: bool | None = None,
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
            Series, array or list; rows go by position. Rows without a target are left out. Alternatively:
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
            not registered yet. With the number of rows without a target.
        DataConversionWarning
            If y is a matrix of one column.
        """
        started = time.monotonic()
        frame, names = joined(X, y, target, sample_weight)
        settings = self._resolved(names)
        check_names(settings)
        home = Home(Path(self.home).expanduser().resolve() if self.home else default_home())
        home.prepare()
        result = _train(settings, frame, home, started=started, is_shown=self._is_shown())
        for notice in result["notices"]:
            warnings.warn(notice, AutoMLWarning, stacklevel=2)
        self.result_ = Result(result, RunFolder(home.runs / str(result["run_id"])))
        for note in left_out_among(data_facts(self.result_.folder).get("notes") or ()):
            warnings.warn(note, AutoMLWarning, stacklevel=2)
        self.run_id_ = self.result_.folder.run_id
        self.leaderboard_ = pd.DataFrame(result["leaderboard"])
        self._columns_in = [name for name in frame.columns if name not in names.values()]
        self.n_features_in_ = len(self._columns_in)
        self.model_ = _model_of(self.result_)
        self._set_or_drop("feature_names_in_", _names(self._columns_in) if are_names(X) else None)
        self._set_or_drop("classes_", getattr(self.model_, "classes_", None))
        return self

    def predict(self, X: pd.DataFrame | ArrayLike) -> NDArray[Any]:
        """Original labels, or numbers, of raw rows, (n_rows,).

        Raises
        ------
        NotFittedError
            Before `fit`.
        DataError
            If a column has values of a wrong type, or an array has another number of columns than that of `fit`.

        Warns
        -----
        AutoMLWarning
            With the columns of a frame that are left out, which are taken as missing.
        """
        return self._fitted().predict(self._rows(X))

    @available_if(_predicts_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: pd.DataFrame | ArrayLike) -> NDArray[np.float32]:
        """Class probabilities (n_rows, n_classes) in the order of `classes_`.

        Raises
        ------
        AttributeError
            For regression; else as `predict`.
        """
        return self._fitted().predict_proba(self._rows(X))

    def score(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | None = None) -> float:
        """Accuracy, or R² for regression.

        Parameters
        ----------
        y : (n_rows,)
            None takes the target column of X; rows without a target are then left out.

        Raises
        ------
        DataError
            If X has no target column and y is not given, y lacks a target, or no row has one; else as `predict`.

        Warns
        -----
        AutoMLWarning
            With the number of rows that are left out.
        """
        model, frame = self._fitted(), self._rows(X)
        if y is None:
            if model.target not in frame.columns:
                raise DataError(
                    f"score needs y, or a frame with the target column {model.target!r}"
                )
            frame, y = _labelled(frame, model)
        return model.score(frame, y)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Tags with the kind of estimator, as far as it is known."""
        tags = super().__sklearn_tags__()
        task = self.known_task
        if task == REGRESSION:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        elif task != "auto":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=task != "binary")
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.non_deterministic = self.trials is None
        return tags

    @property
    def known_task(self) -> str:
        """The task of the model, or before `fit` the one that is asked for."""
        return self.model_.task if hasattr(self, "model_") else self.task or "auto"

    def _html_repr(self) -> str:
        """What a notebook shows: the result, or before `fit` the parameters."""
        if not hasattr(self, "result_"):
            return str(super()._html_repr())
        return self.result_.fragment(Code(repr(self)), owner="model.result_").html

    def _rows(self, X: pd.DataFrame | ArrayLike) -> pd.DataFrame:
        return later_features(
            X,
            self._columns_in,
            has_names=hasattr(self, "feature_names_in_"),
            owner=type(self).__name__,
        )

    def _set_or_drop(self, name: str, value: Any) -> None:
        """An attribute that an earlier fit may have left; None for one that this fit does not have."""
        if value is not None:
            setattr(self, name, value)
        elif hasattr(self, name):
            delattr(self, name)

    def _is_shown(self) -> bool:
        from automl_flows.words.notebooks import in_notebook

        return in_notebook() if self.verbose is None else bool(self.verbose)

    def _fitted(self) -> TableModel:
        if not hasattr(self, "model_"):
            raise NotFittedError("this AutoML is not fitted yet; call fit first")
        return self.model_

    def _resolved(self, names: Mapping[str, str]) -> Settings:
        from automl.inference.labels import label_text

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
            from automl_flows.words.notebooks import progress_display

            on_progress = stack.enter_context(progress_display()).update
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


def _labelled(frame: pd.DataFrame, model: TableModel) -> tuple[pd.DataFrame, pd.Series]:
    """Rows with a target, and it; one warning counts the others."""
    series = labelled_for(model, frame, Findings("the frame"))[model.target].series
    return frame.iloc[series.index.to_numpy()], series


def _model_of(result: Result) -> TableModel:
    from automl.inference.bundle import load_bundle
    from automl.installation import read_key

    return load_bundle(result.folder.bundle, key=read_key(), run=result.folder.run_id)


def _names(columns: Sequence[str]) -> NDArray[np.object_]:
    return np.array(columns, dtype=object)
