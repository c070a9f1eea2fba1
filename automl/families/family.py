"""A family: what its text file says, and how an estimator is built and fitted from it.

Importing this package loads neither scikit-learn, LightGBM nor scipy: spaces are imported when the
first text file is read, an estimator's class when the first one is built.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from automl.errors import SettingsError
from automl.records import Configuration, JsonScalar, Task
from automl.spaces.expressions import Expression

if TYPE_CHECKING:
    from automl.estimators.weights import ClassWeight, FloatArray
    from automl.spaces.tree import SpaceTree
    from automl.spaces.yaml_loader import Capabilities, Cost, FamilyText

CLASSIFICATION, REGRESSION = "classification", "regression"

#: Values that shape the estimator from outside; never constructor arguments.
CALIBRATION, STANDARDIZE_TARGET = "calibration", "standardize_target"


def kind_of(task: Task | str) -> str:
    """``classification`` or ``regression``; takes a task or a kind."""
    if task in (CLASSIFICATION, REGRESSION):
        return str(task)
    return CLASSIFICATION if Task(task).is_classification else REGRESSION


@dataclass(frozen=True)
class Family:
    """One algorithm family.

    Parameters
    ----------
    text : the checked text file
    """

    text: FamilyText

    @property
    def name(self) -> str:
        """Registry key."""
        return self.text.name

    @property
    def title(self) -> str:
        """Title for reports."""
        return self.text.title

    @property
    def source(self) -> str:
        """Document or paper."""
        return self.text.source

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of ``classification`` and ``regression`` those with an estimator."""
        return self.text.kinds

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the estimators, and their limits of size."""
        return self.text.capabilities

    @property
    def cost(self) -> Cost:
        """Place in the order of trying, relative seconds and their growth with the rows."""
        return self.text.cost

    @property
    def simplicity(self) -> float:
        """In [0, 1], more is simpler (B14, section 3.5.3)."""
        return self.text.simplicity

    @property
    def interpretability(self) -> float:
        """In [0, 1], more is easier to explain (B14, section 3.5.3)."""
        return self.text.interpretability

    @property
    def is_extra(self) -> bool:
        """Whether an optional dependency is needed."""
        return self.text.requires is not None

    def space(self, task: Task | str) -> SpaceTree:
        """The search space for a task or kind of target.

        Raises
        ------
        SettingsError
            If the family has no estimator of that kind.
        """
        return self.text.space(self._kind(task))

    def relative_seconds(self, n_rows: int, n_columns: int) -> float:
        """Rough fit seconds of the default, in those of LightGBM on 1,000 rows x 10 columns."""
        rows, columns = max(n_rows, 1) / 1000.0, max(n_columns, 1) / 10.0
        return float(self.cost.relative * rows**self.cost.exponent * columns)

    @property
    def unavailable(self) -> str | None:
        """Why the family cannot be used on this machine, with the command that helps."""
        needed = self.text.requires
        if needed is None or importlib.util.find_spec(needed) is not None:
            return None
        extra = self.text.extra
        package = f"'automl-flows[{extra}]'" if extra else needed
        return (
            f"{self.name} needs the package {needed}, which is not installed; "
            f"install it with: pip install {package}"
        )

    def supports(
        self, task: Task | str, n_rows: int, n_columns: int, n_classes: int = 0
    ) -> str | None:
        """Reason why the family cannot handle such a table, or None.

        Parameters
        ----------
        n_rows : of the training part
        n_columns : before encoding
        n_classes : 0 for regression
        """
        if kind_of(task) not in self.kinds:
            return f"{self.name} has no estimator for {kind_of(task)}"
        if (reason := self.unavailable) is not None:
            return reason
        limits = self.capabilities
        checks = (
            ("rows", n_rows, limits.max_rows),
            ("columns", n_columns, limits.max_columns),
            ("classes", n_classes, limits.max_classes),
        )
        for what, number, most in checks:
            if most is not None and number > most:
                return f"{self.name} handles at most {most:,} {what}; the table has {number:,}"
        return None

    def build(
        self,
        configuration: Configuration,
        *,
        task: Task | str,
        n_rows: int = 0,
        n_columns: int = 0,
        n_classes: int = 0,
        seed: int = 0,
        threads: int = 1,
        class_weight: ClassWeight = None,
        iteration_share: float = 1.0,
    ) -> Any:
        """An unfitted scikit-learn estimator.

        Parameters
        ----------
        configuration : legal in `space(task)`
        n_rows, n_columns, n_classes
            Of the training part, for arguments that the text file computes; 0: not known.
        seed : in [0, 2**31)
        threads : >= 1
        class_weight
            None, ``"balanced"`` or weights by class code; pass the same to `fit`, which weights
            the rows of families without such an argument.
        iteration_share : in (0, 1]
            Share of the trees, rounds or epochs, at least one; without effect in families that
            name no `iterations`.

        Raises
        ------
        SettingsError
            If the family is not installed, has no estimator of that kind, or the estimator does
            not take an argument of the text file.
        """
        kind = self._kind(task)
        facts = {"n_rows": n_rows, "n_columns": n_columns, "n_classes": n_classes}
        arguments = self._fixed(kind, facts) | self._searched(configuration, kind)
        calibration = arguments.pop(CALIBRATION, "none")
        standardize_target = arguments.pop(STANDARDIZE_TARGET, False)
        estimator = self._construct(
            kind, arguments, self._surroundings(seed, threads, class_weight)
        )
        if iteration_share < 1.0:
            self._shorten(estimator, iteration_share)
        if standardize_target:
            from automl.estimators.targets import StandardizedTarget

            return StandardizedTarget(estimator)
        if calibration == "sigmoid":
            from automl.estimators.margins import CalibratedMargin

            return CalibratedMargin(estimator, random_state=seed)
        return estimator

    def fit(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: FloatArray | None = None,
        class_weight: ClassWeight = None,
    ) -> Any:
        """Fit in the one place that knows who takes weights; returns the estimator.

        Parameters
        ----------
        X : (n_rows, n_columns)
            As the preprocessing of the configuration gives it.
        y : (n_rows,)
            Class codes or numbers.
        sample_weight : (n_rows,)
            Ignored by families without `capabilities.sample_weight`.
        class_weight
            The value given to `build`.
        """
        can = self.capabilities
        if class_weight is not None and can.sample_weight and not can.class_weight:
            from automl.estimators.weights import row_weights

            sample_weight = row_weights(y, class_weight, sample_weight)
        weights = {"sample_weight": sample_weight}
        if sample_weight is None or not can.sample_weight:
            weights = {}
        fit = partial(estimator.fit, X, y, **weights)
        if can.stops is None or can.iterations is None:
            return fit()
        from automl.estimators.allowance import fit_as_allowed

        return fit_as_allowed(can.stops, estimator, can.iterations, fit)

    def _kind(self, task: Task | str) -> str:
        kind = kind_of(task)
        if kind not in self.kinds:
            raise SettingsError(f"{self.name} has no estimator for {kind}")
        return kind

    def _fixed(self, kind: str, facts: Mapping[str, int]) -> dict[str, Any]:
        return {
            name: value(facts) if isinstance(value, Expression) else value
            for name, value in self.text.fixed.get(kind, {}).items()
        }

    def _searched(self, configuration: Configuration, kind: str) -> dict[str, Any]:
        values: dict[str, JsonScalar] = self.space(kind).estimator_values(configuration)
        for name in (CALIBRATION, STANDARDIZE_TARGET):
            if name in configuration.values:
                values[name] = configuration.values[name]
        return values

    def _surroundings(self, seed: int, threads: int, class_weight: ClassWeight) -> dict[str, Any]:
        """Arguments that do not come from the configuration."""
        can = self.capabilities
        arguments: dict[str, Any] = {}
        if can.random_state:
            arguments["random_state"] = seed
        if can.threads:
            arguments["n_jobs"] = threads
        if can.class_weight and class_weight is not None:
            arguments["class_weight"] = class_weight
        return arguments

    def _shorten(self, estimator: Any, share: float) -> None:
        name = self.capabilities.iterations
        if name is None:
            return
        planned = getattr(estimator, "planned_iterations", None) or estimator.get_params()[name]
        estimator.set_params(**{name: max(1, round(share * planned))})

    def _construct(
        self, kind: str, arguments: Mapping[str, Any], surroundings: Mapping[str, Any]
    ) -> Any:
        """Instance of the estimator's class; of `surroundings` it gets what it takes."""
        if (reason := self.unavailable) is not None:
            raise SettingsError(reason)
        module_name, _, class_name = self.text.estimators[kind].partition(":")
        try:
            constructor = getattr(importlib.import_module(module_name), class_name)
        except (ImportError, AttributeError) as error:
            estimator = self.text.estimators[kind]
            raise SettingsError(
                f"{self.text.path.name}: estimators.{kind}: must be module:Class; {estimator} gives: {error}"
            ) from error
        parameters = inspect.signature(constructor).parameters
        taken = {name: value for name, value in surroundings.items() if name in parameters}
        try:
            return constructor(**arguments, **taken)
        except TypeError as error:
            raise SettingsError(
                f"{self.text.path.name}: {self.text.estimators[kind]}: {error}"
            ) from error
