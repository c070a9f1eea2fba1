"""The preprocessing of one pipeline: a typed frame in, a matrix for the learner out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from automl.errors import DataError, SettingsError
from automl.preprocessing.blocks import Blocks, Numbers, take_apart
from automl.preprocessing.encoding import Codes, Encoder, Table
from automl.preprocessing.filtering import VarianceFilter, varying
from automl.preprocessing.imputation import Imputer
from automl.preprocessing.reduction import Reducer
from automl.preprocessing.scaling import Scaler
from automl.preprocessing.texts import TextEncoder
from automl.preprocessing.value_counts import ValueCounts

T = TypeVar("T")
JsonScalar = None | bool | int | float | str
Matrix = NDArray[np.float32] | pd.DataFrame

DEFAULTS: dict[str, JsonScalar] = {
    "prep.encoder": "onehot",
    "prep.numeric_imputer": "mean",
    "prep.nominal_imputer": "category",
    "prep.variance": 0.0,
    "prep.variance_raw": False,
    "prep.scaler": "none",
    "prep.many_categories": "other",
    "prep.reducer": "none",
    "prep.reducer_share": None,
    "prep.text": "words",
    "prep.value_counts": False,
}
MAX_CATEGORIES = {"onehot": 100, "native": 1000}
_FLOAT32_LARGEST = float(np.finfo(np.float32).max)


class TablePreprocessor(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Encode, impute, filter, scale, reduce on blocks of numbers and codes.

    Parameters
    ----------
    encoder, imputer, variance_filter, scaler, reducer
        The steps; see their classes. They are fitted in place.
    text_encoder
        None leaves texts out.
    value_counts
        None counts no values.

    Notes
    -----
    The output is a C-contiguous float32 array (n_rows, n_outputs) without infinite values. It has missing values
    only if the numeric imputer is ``none``. With the ``native`` encoder it is a frame of float32 columns, then
    category columns. They are called ``f0``, ``f1``, … because some learners refuse some names
    (`get_feature_names_out` has the real ones). Indicators are neither scaled nor dropped for a low variance, only when constant.
    The raw form of the variance filter (X20 section II-A) sees the raw numeric columns only, those with missing
    values once more before imputing. If every column is dropped, one column of zeros remains.
    Counts of values and components of texts are imputed and filtered with the numbers, and scaled like them.
    `fit_transform` encodes by the target out of fold, so it is not ``fit(...).transform(...)``.
    """

    text_encoder: TextEncoder | None = None  # what was written before there were texts has none
    value_counts: ValueCounts | None = None  # the same

    def __init__(
        self,
        encoder: Encoder,
        imputer: Imputer,
        variance_filter: VarianceFilter,
        scaler: Scaler,
        reducer: Reducer,
        *,
        text_encoder: TextEncoder | None = None,
        value_counts: ValueCounts | None = None,
    ) -> None:
        self.encoder = encoder
        self.imputer = imputer
        self.variance_filter = variance_filter
        self.scaler = scaler
        self.reducer = reducer
        self.text_encoder = text_encoder
        self.value_counts = value_counts

    def fit(self, frame: pd.DataFrame, y: ArrayLike | None = None) -> Self:
        """Learn every step from a typed frame (n_rows, n_columns) and its target (n_rows,)."""
        self.fit_transform(frame, y)
        return self

    def fit_transform(
        self,
        frame: pd.DataFrame,
        y: ArrayLike | None = None,
        *,
        components: Table | None = None,
        **_: object,
    ) -> Matrix:
        """Fit every step and transform the training rows.

        Parameters
        ----------
        components : (n_rows, n_components)
            Of the texts of these rows, from a `text_encoder` that is fitted already; None fits it.

        Raises
        ------
        SettingsError
            If a step's parameter is not allowed, or a step needs a target and gets none.
        DataError
            If there are no rows.
        """
        if not len(frame):
            raise DataError("at least one training row is needed; got none")
        blocks = take_apart(_without_texts(frame))
        self.n_features_in_ = frame.shape[1]
        self.numeric_names_ = blocks.numeric_names
        self.observed_ = self._worth_imputing(blocks.numbers)
        self.encoder.fit_blocks(blocks, y)
        codes = blocks.codes
        encoded = (
            self.encoder.outside_fold(codes, y)
            if any(self.encoder.by_target_)
            else self._encode(codes)
        )
        if components is None:
            components = self.fit_texts(frame)
        if self.value_counts is not None:
            self.value_counts.fit_block(blocks.numbers)
        numbers, indicators = self._split(blocks.numbers, components, encoded)
        numbers = self._fit_numbers(numbers)
        self.varying_indicators_ = varying(indicators)
        return self._finish(numbers, indicators, codes, y, fit=True)

    def transform(self, frame: pd.DataFrame, *, components: Table | None = None) -> Matrix:
        """Matrix of a typed frame with the columns of the training frame.

        Parameters
        ----------
        components : (n_rows, n_components)
            Of the texts of these rows, where they are known.

        Raises
        ------
        DataError
            If the columns are not those of the training frame.
        """
        blocks = take_apart(_without_texts(frame))
        self._check(blocks)
        codes = self.encoder.match(blocks)
        if components is None:
            components = self.components(frame)
        numbers, indicators = self._split(blocks.numbers, components, self._encode(codes))
        numbers = self.imputer.transform_block(numbers)
        numbers = self.scaler.transform_block(numbers[:, self.kept_numbers_])
        return self._finish(numbers, indicators, codes)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Names of the output columns, in order."""
        observed = [
            name for name, keep in zip(self.numeric_names_, self.observed_, strict=True) if keep
        ]
        if self.value_counts is not None:
            observed += self.value_counts.count_names(self.numeric_names_)
        observed += [] if self.text_encoder is None else self.text_encoder.names()
        numbers, indicators = self._parted(self.encoder.names_by_column())
        names = [*observed, *chain.from_iterable(numbers)]
        names = [names[i] for i in np.flatnonzero(self.kept_numbers_)]
        encoded = list(chain.from_iterable(indicators))
        if self.encoder.method == "native":
            return np.array([*names, *encoded] or ["constant"], dtype=object)
        names += [encoded[i] for i in np.flatnonzero(self.varying_indicators_)]
        return np.array(self.reducer.block_names(names or ["constant"]), dtype=object)

    @property
    def count_positions(self) -> NDArray[np.intp]:
        """Output columns that count values, before any reducer."""
        n_counts = 0 if self.value_counts is None else len(self.value_counts.lengths_)
        first = int(self.observed_.sum())
        is_count = np.zeros(len(self.kept_numbers_), dtype=bool)
        is_count[first : first + n_counts] = True
        return np.flatnonzero(is_count[self.kept_numbers_])

    def fit_texts(self, frame: pd.DataFrame) -> Table:
        """Learn from the texts of a typed frame, and their components; see `components`."""
        if self.text_encoder is not None:
            self.text_encoder.fit(_texts_of(frame))
        return self.components(frame)

    def components(self, frame: pd.DataFrame) -> Table:
        """(n_rows, n_components) of the texts of a typed frame."""
        if self.text_encoder is None or not self.text_encoder.text_names_:
            return np.empty((len(frame), 0), dtype=np.float32)
        return self.text_encoder.transform(_texts_of(frame)).to_numpy()

    def _parted(self, encoded: Sequence[T]) -> tuple[list[T], list[T]]:
        """Of what belongs to each nominal column: that of numbers, and that of indicators."""
        are_indicators = self.encoder.has_indicators
        numbers = [each for each, other in zip(encoded, are_indicators, strict=True) if not other]
        return numbers, [each for each, other in zip(encoded, are_indicators, strict=True) if other]

    def _worth_imputing(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Raw numeric columns that go on; thesis form: not those with missing values that hardly vary."""
        keep = np.ones(numbers.shape[1], dtype=bool)
        if not self.variance_filter.raw:
            return keep
        incomplete = np.flatnonzero(np.isnan(numbers).any(axis=0))
        before = VarianceFilter(self.variance_filter.threshold, raw=True)
        keep[incomplete] = before.fit_block(numbers[:, incomplete]).keep_
        return keep

    def _encode(self, codes: list[Codes]) -> list[Table]:
        return [] if self.encoder.method == "native" else self.encoder.encode(codes)

    def _split(
        self, numbers: Numbers, components: Table, encoded: list[Table]
    ) -> tuple[Numbers, Table]:
        """Columns to be imputed, filtered and scaled; and indicators."""
        raw = numbers if self.observed_.all() else numbers[:, self.observed_]
        if self.value_counts is not None:
            raw = np.hstack([raw, self.value_counts.counts_of(numbers)])
        raw = np.hstack([raw, components]) if components.shape[1] else raw
        targets, indicators = self._parted(encoded) if encoded else ([], [])
        none = np.empty((len(raw), 0), dtype=np.float32)
        return np.hstack([raw, *targets]) if targets else raw, np.hstack([none, *indicators])

    def _fit_numbers(self, numbers: Numbers) -> Numbers:
        numbers = self.imputer.fit_block(numbers).transform_block(numbers)
        n_raw = int(self.observed_.sum())
        self.variance_filter.fit_block(numbers[:, :n_raw])
        kept = np.concatenate([self.variance_filter.keep_, varying(numbers[:, n_raw:])])
        self.kept_numbers_ = kept
        numbers = numbers if kept.all() else numbers[:, kept]
        return self.scaler.fit_block(numbers).transform_block(numbers)

    def _finish(
        self,
        numbers: Numbers,
        indicators: Table,
        codes: list[Codes],
        y: ArrayLike | None = None,
        *,
        fit: bool = False,
    ) -> Matrix:
        if self.encoder.method == "native":
            return self._native_frame(numbers, codes)
        if not self.varying_indicators_.all():
            indicators = indicators[:, self.varying_indicators_]
        if self.reducer.method == "none":
            joined = _joined(numbers, indicators)
            if fit:
                self.reducer.fit_block(np.empty((0, joined.shape[1])))
            return joined
        both = np.hstack([numbers, indicators])
        if both.shape[1] == 0:
            both = np.zeros((len(both), 1))
        if fit:
            self.reducer.fit_block(both, y)
        return _float32(self.reducer.transform_block(both))

    def _native_frame(self, numbers: Numbers, codes: list[Codes]) -> pd.DataFrame:
        values = _float32(numbers)
        n_numbers = values.shape[1]
        frame = pd.DataFrame(values, columns=[f"f{i}" for i in range(n_numbers)])
        columns = self.encoder.categoricals(codes).values()
        nominal = {f"f{n_numbers + i}": column for i, column in enumerate(columns)}
        if not n_numbers and not nominal:
            return pd.DataFrame({"f0": np.zeros(len(values), dtype=np.float32)})
        return pd.concat([frame, pd.DataFrame(nominal)], axis=1) if nominal else frame

    def _check(self, blocks: Blocks) -> None:
        expected = (self.numeric_names_, self.encoder.nominal_names_)
        names = (blocks.numeric_names, blocks.nominal_names)
        if names != expected:
            raise DataError(
                f"the typed frame must have the numeric columns {expected[0]} and the nominal columns "
                f"{expected[1]}; got {names[0]} and {names[1]}"
            )


def build_preprocessor(choices: Mapping[str, JsonScalar], *, seed: int) -> TablePreprocessor:
    """Unfitted preprocessor of a configuration's ``prep.*`` values.

    Parameters
    ----------
    choices
        Values by name; names that do not begin with ``prep.`` are left alone, absent ones take `DEFAULTS`.
    seed
        Decides the parts of cross-fitted target encoding.

    Raises
    ------
    SettingsError
        If a name is unknown, or the native encoder meets a reducer.
    """
    given = {name: value for name, value in choices.items() if name.startswith("prep.")}
    unknown = sorted(set(given) - set(DEFAULTS))
    if unknown:
        raise SettingsError(
            f"{unknown[0]!r} is not a preprocessing choice; known are {', '.join(DEFAULTS)}"
        )
    values = {**DEFAULTS, **given}
    if values["prep.encoder"] == "native" and values["prep.reducer"] != "none":
        raise SettingsError(
            f"prep.reducer must be none with the native encoder; got {values['prep.reducer']!r}"
        )
    share = values["prep.reducer_share"]
    return TablePreprocessor(
        encoder=Encoder(
            str(values["prep.encoder"]),
            str(values["prep.nominal_imputer"]),
            many=str(values["prep.many_categories"]),
            max_categories=MAX_CATEGORIES.get(str(values["prep.encoder"]), 100),
            random_state=seed,
        ),
        imputer=Imputer(str(values["prep.numeric_imputer"])),
        variance_filter=VarianceFilter(
            float(values["prep.variance"] or 0.0), raw=bool(values["prep.variance_raw"])
        ),
        scaler=Scaler(str(values["prep.scaler"])),
        reducer=Reducer(str(values["prep.reducer"]), None if share is None else float(share)),
        text_encoder=None
        if values["prep.text"] == "none"
        else TextEncoder(str(values["prep.text"]), random_state=seed),
        value_counts=ValueCounts() if values["prep.value_counts"] else None,
    )


def _texts_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of a typed frame that hold texts."""
    is_text = _are_texts(frame)
    return frame.loc[:, is_text] if any(is_text) else frame.iloc[:, :0]


def _without_texts(frame: pd.DataFrame) -> pd.DataFrame:
    is_text = _are_texts(frame)
    return frame.loc[:, [not text for text in is_text]] if any(is_text) else frame


def _are_texts(frame: pd.DataFrame) -> list[bool]:
    return [pd.api.types.is_object_dtype(dtype) for dtype in frame.dtypes]


def _joined(numbers: Numbers, indicators: Table) -> NDArray[np.float32]:
    n_rows, n_numbers = numbers.shape
    width = n_numbers + indicators.shape[1]
    out = np.zeros((n_rows, max(width, 1)), dtype=np.float32)
    out[:, :n_numbers] = _float32(numbers)
    out[:, n_numbers:width] = indicators
    return out


def _float32(values: Numbers) -> NDArray[np.float32]:
    """C-contiguous float32, magnitudes beyond its range at its ends."""
    if values.size:
        largest = max(
            abs(np.fmax.reduce(values, axis=None)), abs(np.fmin.reduce(values, axis=None))
        )
        if largest > _FLOAT32_LARGEST:
            values = np.clip(values, -_FLOAT32_LARGEST, _FLOAT32_LARGEST)
    return np.ascontiguousarray(values, dtype=np.float32)
