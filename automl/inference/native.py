"""Parts of a fitted estimator that have a file format of their own.

An estimator is taken apart into a *shell* (the same estimator with these parts left out) and the parts, each at
an attribute path. Kinds: a LightGBM booster is its text, an XGBoost booster its JSON, a CatBoost model its
``cbm``, an ensemble of scikit-learn trees an ``.npz`` (`automl.inference.trees`), category lists and constants
(`automl.inference.constant`) are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from automl.errors import DataError
from automl.estimators.tables import CategoryCodes
from automl.inference import trees
from automl.inference.constant import constant_of_text, constant_text, is_constant

SUFFIXES = {
    "lightgbm": ".txt",
    "xgboost": ".json",
    "catboost": ".cbm",
    "trees": ".npz",
    "histogram_trees": ".npz",
    "category_codes": ".json",
    "constant": ".json",
}
CATBOOST_CLASSES = ("CatBoost", "CatBoostClassifier", "CatBoostRegressor")
Path_ = tuple[str, ...]


def take_apart(estimator: Any) -> tuple[Any, list[tuple[str, Path_, Any]]]:
    """Shell and parts (kind, attribute path, value) of a fitted estimator; it is not changed.

    The path is empty, and the shell None, where the whole estimator is one part.
    """
    kind = "constant" if is_constant(estimator) else _kind(None, "", estimator)
    if kind is not None:
        return None, [(kind, (), estimator)]
    parts = list(_find(estimator, ()))
    shell = estimator
    for kind, path, value in parts:
        shell = _replaced(shell, path, _left_in_shell(kind, value))
    return shell, parts


def put_together(shell: Any, parts: Sequence[tuple[str, Path_, Path]]) -> Any:
    """Inverse of `take_apart`, with the parts read from files.

    Raises
    ------
    DataError
        If a part is not of its kind or has no place in the shell.
    """
    for kind, path, file in parts:
        if not path:
            return read_part(kind, file, None)
        owner = shell
        for name in path[:-1]:
            owner = vars(owner)[name]
        if path[-1] not in vars(owner):
            raise DataError(f"{type(shell).__name__} has no place {'.'.join(path)} for {file.name}")
        part = read_part(kind, file, getattr(owner, path[-1]))
        if kind == "histogram_trees":
            trees.check_histogram_columns(part, owner.n_features_in_)
        setattr(owner, path[-1], part)
    return shell


def write_part(kind: str, value: Any, owner_rounds: int | None, file: Path) -> None:
    """Write a part in its own format.

    Parameters
    ----------
    owner_rounds
        LightGBM: number of rounds to keep; None for the booster's own best.
    """
    if kind == "lightgbm":
        file.write_text(value.model_to_string(num_iteration=owner_rounds), encoding="utf-8")
    elif kind == "xgboost":
        file.write_bytes(value.save_raw("json"))
    elif kind == "catboost":
        value.save_model(str(file), format="cbm")
    elif kind == "trees":
        shape = np.array(value.shape if isinstance(value, np.ndarray) else (), dtype=np.int64)
        trees.write_arrays(file, {**trees.pack_trees(_flat(value)), "shape": shape})
    elif kind == "histogram_trees":
        trees.write_arrays(file, trees.pack_histogram_trees(value))
    elif kind == "constant":
        file.write_text(constant_text(value), encoding="utf-8")
    else:
        lists = {str(place): list(categories) for place, categories in value.categories_.items()}
        file.write_text(json.dumps(lists, ensure_ascii=False), encoding="utf-8")


def read_part(kind: str, file: Path, placeholder: Any) -> Any:
    """Inverse of `write_part`; `placeholder` is what the shell holds in its place.

    Raises
    ------
    DataError
        If the kind is not known.
    """
    if kind == "lightgbm":
        import lightgbm

        return lightgbm.Booster(model_str=file.read_text(encoding="utf-8"))
    if kind == "xgboost":
        import xgboost

        return xgboost.Booster({"nthread": 1}, model_file=bytearray(file.read_bytes()))
    if kind == "trees":
        arrays = trees.read_arrays(file)
        unpacked = trees.unpack_trees(arrays, placeholder[0])
        return _shaped(unpacked, tuple(arrays["shape"].tolist()))
    if kind == "histogram_trees":
        return trees.unpack_histogram_trees(trees.read_arrays(file))
    if kind == "catboost":
        return _read_catboost(file)
    if kind in _TEXT_READERS:
        return _TEXT_READERS[kind](file.read_text(encoding="utf-8"))
    raise DataError(f"a part of kind {kind!r} is not known; known are {', '.join(SUFFIXES)}")


def rounds_of(estimator: Any, path: Path_) -> int | None:
    """Number of rounds that the owner of a LightGBM booster predicts with; None if it does not say."""
    owner = estimator
    for name in path[:-1]:
        owner = vars(owner)[name]
    rounds = vars(owner).get("best_iteration_")
    return int(rounds) if rounds else None


def _find(owner: Any, path: Path_) -> Iterator[tuple[str, Path_, Any]]:
    for name, value in vars(owner).items():
        kind = _kind(owner, name, value)
        if kind is not None:
            yield kind, (*path, name), value
        elif isinstance(value, BaseEstimator) and hasattr(value, "__dict__"):
            yield from _find(value, (*path, name))


def _kind(owner: Any, name: str, value: Any) -> str | None:
    package = type(value).__module__.partition(".")[0]
    is_booster = type(value).__name__ == "Booster"
    if package in ("lightgbm", "xgboost") and is_booster:
        return package
    if package == "catboost" and type(value).__name__ in CATBOOST_CLASSES:
        return "catboost" if value.is_fitted() else None
    if name == "estimators_" and isinstance(value, (list, np.ndarray)):
        return "trees" if trees.is_uniform(_flat(value)) else None
    if isinstance(value, CategoryCodes):
        return "category_codes"
    if name == "_predictors" and type(owner).__name__.startswith("HistGradientBoosting"):
        return "histogram_trees" if value else None
    return None


def _left_in_shell(kind: str, value: Any) -> Any:
    if kind == "trees":
        return [trees.template(_flat(value)[0])]
    return [] if kind == "histogram_trees" else None


def _replaced(owner: Any, path: Path_, value: Any) -> Any:
    """Copy of `owner` with another value at the path; what is not on the path is shared."""
    copy = object.__new__(type(owner))
    inner = value if len(path) == 1 else _replaced(vars(owner)[path[0]], path[1:], value)
    copy.__dict__.update(vars(owner), **{path[0]: inner})
    return copy


def _flat(values: Any) -> list[Any]:
    """Estimators of a list or an array; some of them have a length, so a list is never made an array."""
    return list(values.ravel()) if isinstance(values, np.ndarray) else list(values)


def _shaped(values: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return values
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out.reshape(shape)


def _read_category_codes(text: str) -> CategoryCodes:
    codes = CategoryCodes()
    lists = json.loads(text)
    codes.categories_ = {
        int(place): pd.Index(categories, dtype=object) for place, categories in lists.items()
    }
    return codes


def _read_catboost(file: Path) -> Any:
    import catboost

    model = catboost.CatBoost().load_model(str(file))
    loss = str(model.get_all_params().get("loss_function", ""))
    is_classifier = loss in ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
    kind = catboost.CatBoostClassifier if is_classifier else catboost.CatBoostRegressor
    return kind().load_model(str(file))


_TEXT_READERS: dict[str, Callable[[str], Any]] = {
    "category_codes": _read_category_codes,
    "constant": constant_of_text,
}
