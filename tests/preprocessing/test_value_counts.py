"""Counts of equal numbers: those of the training rows, beside the numbers, stored without pickles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from automl.inference.trusted import TRUSTED_TYPES
from automl.preprocessing import ValueCounts, build_preprocessor
from automl.preprocessing.matrix_facts import matrix_facts
from automl.preprocessing.value_counts import FEW_VALUES

numbers = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 400), st.just(2)),
    elements=st.integers(0, 120).map(float) | st.just(np.nan),
)


@given(numbers, numbers)
def test_counts_are_those_of_pandas(training: np.ndarray, later: np.ndarray) -> None:
    step = ValueCounts().fit(training)
    out = step.transform(later)
    np.testing.assert_array_equal(out[:, :2], later)
    counted = np.flatnonzero(step.is_counted_)
    assert out.shape[1] == 2 + len(counted)
    for place, column in enumerate(counted, start=2):
        known = pd.Series(training[:, column]).value_counts()
        expected = pd.Series(later[:, column]).map(known).fillna(1.0)
        np.testing.assert_array_equal(out[:, place], expected)


@given(numbers)
def test_columns_of_few_or_of_ever_different_numbers_are_not_counted(values: np.ndarray) -> None:
    table = pd.DataFrame(values)
    different, present = table.nunique(), table.notna().sum()
    expected = (different > FEW_VALUES) & (different < 0.9 * present)
    np.testing.assert_array_equal(ValueCounts().fit(values).is_counted_, expected)


@pytest.fixture
def frame() -> pd.DataFrame:
    """300 rows: a column of numbers that repeat, with gaps, one of numbers that do not, and categories."""
    rng = np.random.default_rng(3)
    made = pd.DataFrame(
        {
            "often": rng.integers(0, 100, 300).astype(float),
            "once": rng.normal(size=300),
            "kind": pd.Categorical(rng.choice(["a", "b"], 300)),
        }
    )
    made.loc[::9, "often"] = np.nan
    return made


@pytest.mark.parametrize("encoder", ["onehot", "native", "ordinal"])
def test_a_pipeline_has_the_counts_of_its_training_rows(frame: pd.DataFrame, encoder: str) -> None:
    choices = {"prep.encoder": encoder, "prep.numeric_imputer": "none", "prep.value_counts": True}
    preprocessor = build_preprocessor(choices, seed=1)
    training = frame.iloc[:200]
    preprocessor.fit_transform(training)
    names = list(preprocessor.get_feature_names_out())
    assert names[:3] == ["often", "once", "often.count"]
    assert preprocessor.count_positions.tolist() == [2]
    matrix = pd.DataFrame(preprocessor.transform(frame.iloc[200:]))
    expected = frame["often"].iloc[200:].map(training["often"].value_counts()).fillna(1.0)
    np.testing.assert_array_equal(matrix.iloc[:, 2], expected)


def test_the_facts_of_a_matrix_have_them_too(frame: pd.DataFrame) -> None:
    without, counted = (matrix_facts(frame, value_counts=is_on) for is_on in (False, True))
    assert counted["n_encoded"] == without["n_encoded"] + 1


def test_a_stored_pipeline_counts_alike(frame: pd.DataFrame) -> None:
    preprocessor = build_preprocessor({"prep.value_counts": True}, seed=1)
    before = preprocessor.fit(frame).transform(frame)
    again = skops.io.loads(skops.io.dumps(preprocessor), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(again.transform(frame), before)


def test_a_pipeline_from_before_there_were_counts_has_none(frame: pd.DataFrame) -> None:
    preprocessor = build_preprocessor({}, seed=1)
    before = preprocessor.fit(frame).transform(frame)
    del preprocessor.value_counts
    np.testing.assert_array_equal(preprocessor.transform(frame), before)
