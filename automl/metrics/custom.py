"""A user's own scorer, named ``path/to/file.py:function`` or ``module:function``.

The function is called as ``f(y_true, prediction) -> float``, greater is better:

- classification: `y_true` are codes 0..K-1 in the order of the table's classes, `prediction` is
  (n, K) probabilities;
- regression: both are (n,).

Its value enters the index as it is (baseline 0, ideal 1); sample weights are not passed on.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray

Scorer = Callable[[Any, Any], float]


def is_scorer_name(name: str) -> bool:
    """Whether `name` has the form ``file.py:function`` or ``module:function``."""
    return ":" in name


def absolute_name(name: str) -> str:
    """`name` with the file's path made absolute, so that workers elsewhere find it."""
    place, _, function = name.rpartition(":")
    return f"{Path(place).resolve()}:{function}" if place.endswith(".py") else name


@lru_cache(maxsize=32)
def load_scorer(name: str) -> Scorer:
    """Function that `name` refers to.

    Raises
    ------
    SettingsError
        If the file, the module or the function is missing, or it is not callable.
    """
    place, _, function_name = name.rpartition(":")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    function: Scorer | None = getattr(module, function_name, None)
    if not callable(function):
        raise SettingsError(f"metric {name!r}: {place} has no function {function_name!r}")
    return function


def try_scorer(name: str, y: FloatArray, n_classes: int) -> None:
    """Call a scorer once on rows of the table, so that its mistakes show before the search.

    Parameters
    ----------
    y : (n,), codes or values
    n_classes : K; 0 for regression

    Raises
    ------
    SettingsError
        If it raises, ends the process, or does not return a finite number; names the scorer.
    """
    scorer = load_scorer(name)
    try:
        value = float(scorer(y, _plausible_prediction(y, n_classes)))
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(f"metric {name!r} cannot score this table: {reason}") from error
    if not math.isfinite(value):
        raise SettingsError(
            f"metric {name!r} cannot score this table: it returned {value}, and a finite number is expected"
        )


def _plausible_prediction(y: FloatArray, n_classes: int) -> FloatArray:
    """Neither constant nor perfect: a scorer may be undefined at both."""
    if not n_classes:
        return np.asarray(y.mean() + 0.5 * (y - y.mean()))
    share = 0.5 / n_classes
    return np.asarray(share + 0.5 * np.eye(n_classes)[y.astype(int)], dtype=np.float32)


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
