"""A user's own scorer, named ``path/to/file.py:function`` or ``module:function``.

The function is called as ``f(y_true, prediction) -> float``, greater is better:

- classification: `y_true` are codes 0..K-1 in the order of the table's classes, `prediction` is
  (n, K) probabilities;
- regression: both are (n,).

Its value enters the index as it is (baseline 0, ideal 1); sample weights are not passed on.
Where the file or module registers a metric of this name (`automl.metrics.registry.register_metric`), that
one is meant.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from automl.errors import SettingsError
from automl.metrics.batch import RowBatch
from automl.metrics.metric import Metric
from automl.records import FloatArray, Task

Scorer = Callable[[Any, Any], float]


def is_scorer_name(name: str) -> bool:
    """Whether `name` has the form ``file.py:function`` or ``module:function``."""
    return ":" in name


def absolute_name(name: str) -> str:
    """`name` with the file's path made absolute, so that workers elsewhere find it."""
    place, _, function = name.rpartition(":")
    return f"{Path(place).resolve()}:{function}" if place.endswith(".py") else name


def load_scorer(name: str) -> Scorer:
    """Function that `name` refers to.

    Raises
    ------
    SettingsError
        If the file, the module or the function is missing, or it is not callable.
    """
    place, _, function_name = name.rpartition(":")
    function: Scorer | None = getattr(load_place(place), function_name, None)
    if not callable(function):
        raise SettingsError(f"metric {name!r}: {place} has no function {function_name!r}")
    return function


@lru_cache(maxsize=32)
def scorer_metric(name: str, task: Task) -> Metric:
    """Metric that a scorer is, for one kind of target.

    Raises
    ------
    SettingsError
        As `load_scorer`.
    """
    scorer = load_scorer(name)

    def kernel(batch: RowBatch) -> FloatArray:
        return batch.each(lambda y, prediction, _: _one_number(scorer(y, prediction)))

    return Metric(
        name=name,
        tasks=frozenset({task}),
        needs="probabilities" if task.is_classification else "values",
        bounds=(-math.inf, 1.0),
        is_maximized=True,
        kernel=kernel,
        baseline=lambda _: 0.0,
        takes_weights=False,
    )


def _one_number(value: Any) -> float:
    """Values that a scorer returned.

    Raises
    ------
    SettingsError
        If it is no number.
    """
    shape = getattr(value, "shape", ())
    if not shape:
        with suppress(TypeError, ValueError):
            return float(value)
    found = f"an array of shape {shape}" if shape else f"{value!r:.60}"
    raise SettingsError(f"it must return one number for all rows; it returned {found}")


@lru_cache(maxsize=32)
def load_place(place: str) -> ModuleType:
    """Module of a name, or of a file whose name ends with ``.py``.

    Raises
    ------
    SettingsError
        If it is missing or cannot be imported.
    """
    return _load_file(Path(place)) if place.endswith(".py") else _load_module(place)


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(f"metric module {name!r} cannot be imported: {reason}") from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise SettingsError(f"metric file {path} does not exist")
    name = "automl_user_metric_" + hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(f"metric file {path} cannot be loaded: {reason}") from error
    return module
