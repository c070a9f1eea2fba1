"""M2: nominal columns to numbers.

Each encoder is one table per column: row ``code`` holds the numbers of that category, the row before the last
those of an unknown category, the last row those of a missing one (code -1). Encoding is a look-up.
"""

from __future__ import annotations

import json
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from automl.errors import DataError, SettingsError
from automl.preprocessing.blocks import Blocks, as_frame, class_codes, is_number_type, take_apart
from automl.preprocessing.imputation import MISSING

OTHER = "<other>"
NO_TARGET = "target encoding needs a target; got none"
METHODS = ("onehot", "ordinal", "target", "native")
MANY_RULES = ("other", "target")
MISSING_RULES = ("category", "null", "most_frequent")
Table = NDArray[np.float32]
Codes = NDArray[Any]


class Encoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Encodes the nominal columns of a frame; its numeric columns pass unchanged, and come first.

    Parameters
    ----------
    method : one of `METHODS`
        ``onehot``: one indicator per category that occurs; two categories share one indicator (unknown is ½ then).
        ``ordinal``: the place in the list of categories that occur; unknown is -1.
        ``target``: the mean of the target over the category's rows, shrunk towards the overall mean;
        one column per class where there are more than two classes.
        ``native``: a column of categories for learners that take them.
    missing : one of `MISSING_RULES`
        ``category``: missing is a category of its own if it occurs in the training rows, unknown otherwise;
        ``null``: no category: all zeros, -1, the overall mean, or a missing value;
        ``most_frequent``: the most frequent category.
    max_categories : >= 2
        Greatest number of categories of a column in ``onehot`` and ``native``; where more occur, the rarest
        share one category `OTHER`, which unknown categories join.
    many : one of `MANY_RULES`
        ``onehot``: what becomes of a column with more than `max_categories`: ``other``: the above; ``target``:
        it is encoded as by the method ``target``.
    smoothing : rows
        ``target``: number of rows that the overall mean counts for.
    n_folds : >= 2
        ``target``: `fit_transform` encodes each of so many parts of the training rows from the other parts, so that no
        row's own target leaks into its encoding (``fit(X, y).transform(X)`` does leak).
    random_state
        ``target``: decides the parts.
    target_type : ``auto``, ``classes`` or ``number``
        See `class_codes`.

    Notes
    -----
    A category is *unknown* if no training row had it, be it new to the table or only to the training rows
    of a validation fold.
    """

    def __init__(
        self,
        method: str = "onehot",
        missing: str = "category",
        *,
        max_categories: int = 100,
        many: str = "other",
        smoothing: float = 10.0,
        n_folds: int = 5,
        random_state: int = 0,
        target_type: str = "auto",
    ) -> None:
        self.method = method
        self.missing = missing
        self.max_categories = max_categories
        self.many = many
        self.smoothing = smoothing
        self.n_folds = n_folds
        self.random_state = random_state
        self.target_type = target_type

    def fit(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the tables of the nominal columns of X (n_rows, n_columns).

        Raises
        ------
        SettingsError
            If a parameter is not allowed, or ``target`` gets no y.
        """
        self._remember(X)
        return self.fit_blocks(take_apart(X), y)

    def transform(self, X: pd.DataFrame | ArrayLike) -> pd.DataFrame:
        """Frame of the numeric columns and the encoded ones."""
        check_is_fitted(self, "tables_")
        blocks = take_apart(X)
        if blocks.nominal_names != self.nominal_names_:
            raise DataError(
                f"Encoder was fitted on the nominal columns {self.nominal_names_}; "
                f"got {blocks.nominal_names}"
            )
        return self._join(as_frame(X), self.match(blocks))

    def fit_transform(
        self, X: pd.DataFrame | ArrayLike, y: ArrayLike | None = None, **_: Any
    ) -> pd.DataFrame:
        """Fit, then encode the same rows; out of fold where the encoding uses the target."""
        self._remember(X)
        blocks = take_apart(X)
        self.fit_blocks(blocks, y)
        outside = self.outside_fold(blocks.codes, y) if any(self.by_target_) else None
        return self._join(as_frame(X), blocks.codes, outside)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Names of the output columns, ``column=category`` for indicators."""
        check_is_fitted(self, "tables_")
        return np.array([*self.numeric_names_, *self.names()], dtype=object)

    def fit_blocks(self, blocks: Blocks, y: ArrayLike | None = None) -> Self:
        """Learn the tables from codes; see `fit`."""
        self._check(y)
        self.nominal_names_ = list(blocks.nominal_names)
        self.categories_ = list(blocks.categories)
        self.tables_: list[Table] = []
        self.levels_: list[list[str]] = []
        self.by_target_: list[bool] = []
        for codes, categories in zip(blocks.codes, self.categories_, strict=True):
            counts = _counts(codes, len(categories))
            by_target = self._needs_target(counts)
            if by_target:
                table, levels = self._fit_target(codes, y, len(categories))
            else:
                table, levels = self._fit(counts, categories)
            self.tables_.append(table)
            self.levels_.append(levels)
            self.by_target_.append(by_target)
        return self

    def match(self, blocks: Blocks) -> list[Codes]:
        """Codes of the blocks as rows of the tables, whatever category lists the blocks have."""
        return [
            _match(codes, categories, fitted)
            for codes, categories, fitted in zip(
                blocks.codes, blocks.categories, self.categories_, strict=True
            )
        ]

    def encode(self, codes: list[Codes]) -> list[Table]:
        """Look up matched codes: one (n_rows, width) array per nominal column."""
        return [table[column] for table, column in zip(self.tables_, codes, strict=True)]

    def categoricals(self, codes: list[Codes]) -> dict[str, pd.Categorical]:
        """``native``: matched codes as columns of categories."""
        out = {}
        for name, levels, table, column in zip(
            self.nominal_names_, self.levels_, self.tables_, codes, strict=True
        ):
            dtype = pd.CategoricalDtype(pd.Index(levels, dtype=object))
            places = table[:, 0].astype(np.int32)[column]
            out[name] = pd.Categorical.from_codes(places, dtype=dtype, validate=False)
        return out

    @property
    def has_indicators(self) -> list[bool]:
        """Whether each nominal column becomes indicators or categories, instead of numbers."""
        return [self.method in ("onehot", "native") and not each for each in self.by_target_]

    def names(self) -> list[str]:
        """Names of the encoded columns."""
        return [name for names in self.names_by_column() for name in names]

    def names_by_column(self) -> list[list[str]]:
        """Names of the encoded columns of each nominal column."""
        if self.method in ("ordinal", "native"):
            return [[name] for name in self.nominal_names_]
        return [
            [f"{name}={level}" if level else name for level in levels]
            for name, levels in zip(self.nominal_names_, self.levels_, strict=True)
        ]

    def outside_fold(self, codes: list[Codes], y: ArrayLike | None) -> list[Table]:
        """Encodings of the training rows; by target each from the parts it is not in."""
        target = _target_columns(y, self.target_type)
        n_rows = len(target)
        n_folds = max(min(self.n_folds, n_rows), 1)
        rng = np.random.default_rng(self.random_state)
        part = rng.permutation(np.arange(n_rows) % n_folds)
        out = self.encode(codes)
        learned = [place for place, by_target in enumerate(self.by_target_) if by_target]
        for fold in range(n_folds):
            inside, rest = np.flatnonzero(part == fold), np.flatnonzero(part != fold)
            for place in learned:
                column, categories, values = codes[place], self.categories_[place], out[place]
                table = self._target_table(column[rest], target[rest], len(categories))
                values[inside] = table[column[inside]]
        return out

    def __getstate__(self) -> dict[str, Any]:
        """State with the category lists as one text: thousands of texts are slow to store singly."""
        state = dict(super().__getstate__())
        if "categories_" in state:
            state["categories_"] = json.dumps([list(texts) for texts in self.categories_])
            state["levels_"] = json.dumps(self.levels_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Inverse of `__getstate__`."""
        if "categories_" in state:
            categories = [
                np.array([*texts, None], dtype=object)[:-1]
                for texts in json.loads(state["categories_"])
            ]
            state = {**state, "categories_": categories, "levels_": json.loads(state["levels_"])}
        super().__setstate__(state)
        if "tables_" in state and "by_target_" not in state:  # written before columns could differ
            self.by_target_ = [self.method == "target"] * len(self.tables_)

    def _needs_target(self, counts: NDArray[np.intp]) -> bool:
        if self.method == "onehot" and self.many == "target":
            return int(np.count_nonzero(counts[:-2])) > self.max_categories
        return self.method == "target"

    def _fit(
        self, counts: NDArray[np.intp], categories: NDArray[np.object_]
    ) -> tuple[Table, list[str]]:
        level_of, levels = self._levels(counts, categories)
        if self.method == "onehot":
            return _indicator_table(level_of, levels)
        return level_of.astype(np.float32)[:, None], levels

    def _check(self, y: ArrayLike | None) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"method must be one of {', '.join(METHODS)}; got {self.method!r}")
        if self.missing not in MISSING_RULES:
            allowed = ", ".join(MISSING_RULES)
            raise SettingsError(f"missing must be one of {allowed}; got {self.missing!r}")
        if self.many not in MANY_RULES:
            raise SettingsError(f"many must be one of {', '.join(MANY_RULES)}; got {self.many!r}")
        if self.max_categories < 2:
            raise SettingsError(f"max_categories must be at least 2; got {self.max_categories!r}")
        if self.method == "target" and y is None:
            raise SettingsError(NO_TARGET)

    def _levels(
        self, counts: NDArray[np.intp], categories: NDArray[np.object_]
    ) -> tuple[NDArray[np.intp], list[str]]:
        """Level of each table row (-1 is no level), and the names of the levels."""
        n_missing = int(counts[-1])
        occurring = np.flatnonzero(counts[:-2])
        has_other = len(occurring) > self.max_categories
        if has_other:
            frequent = np.argsort(-counts[:-2], kind="stable")[: self.max_categories - 1]
            kept = np.sort(frequent)
        else:
            kept = occurring
        levels = [str(categories[code]) for code in kept]
        level_of = np.full(len(counts), -1, dtype=np.intp)
        if has_other:
            level_of[occurring] = level_of[-2] = len(levels)
            levels.append(OTHER)
        level_of[kept] = np.arange(len(kept))
        unknown = level_of[-2]
        absent = (counts == 0)[:-2]
        level_of[:-2][absent] = unknown
        if self.missing == "most_frequent" and len(occurring):
            level_of[-1] = level_of[counts[:-2].argmax()]
        elif self.missing == "category":
            level_of[-1] = len(levels) if n_missing else unknown
            levels += [MISSING] * bool(n_missing)
        return level_of, levels

    def _fit_target(
        self, codes: Codes, y: ArrayLike | None, n_categories: int
    ) -> tuple[Table, list[str]]:
        if y is None:
            raise SettingsError(NO_TARGET)
        target = _target_columns(y, self.target_type)
        width = target.shape[1]
        levels = [""] if width == 1 else [f"class{i}" for i in range(width)]
        return self._target_table(codes, target, n_categories), levels

    def _target_table(self, codes: Codes, target: NDArray[np.float64], n_categories: int) -> Table:
        """(n_categories + 2, width): shrunk mean of the target per category."""
        counts = _counts(codes, n_categories)
        prior = target.mean(axis=0) if len(target) else np.zeros(target.shape[1])
        rows = np.where(codes < 0, n_categories + 1, codes)
        sums = np.stack([np.bincount(rows, t, len(counts)) for t in target.T], axis=1)
        weight = counts[:, None] + self.smoothing
        table = (sums + self.smoothing * prior) / np.where(weight > 0, weight, 1.0)
        table[counts == 0] = prior
        if self.missing == "null":
            table[-1] = prior
        elif self.missing == "most_frequent":
            table[-1] = table[counts[:-2].argmax()] if n_categories else prior
        return table.astype(np.float32)

    def _remember(self, X: pd.DataFrame | ArrayLike) -> None:
        frame = as_frame(X)
        names = [str(name) for name in frame.columns]
        numeric = [is_number_type(dtype) for dtype in frame.dtypes]
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        self.numeric_names_ = [
            name for name, is_number in zip(names, numeric, strict=True) if is_number
        ]

    def _join(
        self, frame: pd.DataFrame, codes: list[Codes], encoded: list[Table] | None = None
    ) -> pd.DataFrame:
        numeric = frame.loc[:, [is_number_type(dtype) for dtype in frame.dtypes]]
        if self.method == "native":
            nominal = pd.DataFrame(self.categoricals(codes), index=frame.index)
        else:
            tables = self.encode(codes) if encoded is None else encoded
            values = np.hstack([np.empty((len(frame), 0), dtype=np.float32), *tables])
            nominal = pd.DataFrame(values, columns=self.names(), index=frame.index)
        return pd.concat([numeric, nominal], axis=1)


def _counts(codes: Codes, n_categories: int) -> NDArray[np.intp]:
    """(n_categories + 2,): rows of each category, 0 for unknown, rows that are missing."""
    counts = np.bincount(np.asarray(codes, dtype=np.intp) + 1, minlength=n_categories + 1)
    return np.concatenate([counts[1:], [0], counts[:1]])


def _match(codes: Codes, categories: NDArray[np.object_], fitted: NDArray[np.object_]) -> Codes:
    if categories is fitted or (
        len(categories) == len(fitted) and bool((categories == fitted).all())
    ):
        return codes
    place = {text: code for code, text in enumerate(fitted)}
    rows = np.array([*(place.get(text, len(fitted)) for text in categories), -1], dtype=np.intp)
    return np.asarray(rows[codes])


def _indicator_table(level_of: NDArray[np.intp], levels: list[str]) -> tuple[Table, list[str]]:
    if len(levels) == 2:
        table = np.where(level_of < 0, 0.5, level_of == 1).astype(np.float32)
        return table[:, None], levels[1:]
    rows = np.vstack(
        [np.eye(len(levels), dtype=np.float32), np.zeros((1, len(levels)), np.float32)]
    )
    return rows[level_of], levels


def _target_columns(y: ArrayLike | None, target_type: str) -> NDArray[np.float64]:
    """(n_rows, width): the number, the indicator of the second class, or one per class."""
    classes = class_codes(np.asarray(y), target_type)
    if classes is None:
        return np.asarray(y, dtype=np.float64)[:, None]
    codes, n_classes = classes
    if n_classes <= 2:
        return np.asarray(codes[:, None] == 1, dtype=np.float64)
    return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)
