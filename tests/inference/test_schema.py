"""Raw frames of any kind become one typed frame."""

import datetime as dt
import decimal
import json
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.data.roles import GivenRole, Role, column_role
from automl.errors import AutoMLWarning, DataError
from automl.inference.column_schema import UNSEEN
from automl.inference.columns import MISSING_TEXTS
from automl.inference.raw_table import Column
from automl.inference.schema import TableSchema


def fit_one(values, role):
    frame = pd.DataFrame({"c": values})
    schema = TableSchema.fit(frame, {"c": role})
    return schema, schema.transform(frame)


def read(schema, values):
    return schema.transform(pd.DataFrame({"c": values}))["c"]


NUMBERS = {
    "float": [1.0, np.nan, 3.0],
    "nullable integer": pd.array([1, None, 3], dtype="Int64"),
    "nullable float": pd.array([1.0, None, 3.0], dtype="Float64"),
    "text": ["1", None, "3.0"],
    "text with a marker": [" 1 ", "?", "3"],
    "text with NA": ["1", "NA", "3"],
    "categorical": pd.Categorical([1, None, 3]),
    "categorical text": pd.Categorical(["1", None, "3"]),
    "decimal": [decimal.Decimal(1), None, decimal.Decimal(3)],
    "object": np.array([1, None, 3.0], dtype=object),
    "arrow-like string": pd.array(["1", None, "3"], dtype="string"),
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_are_read_from_any_type(values):
    _, typed = fit_one(values, "numeric")
    assert typed["c"].dtype == np.float64
    np.testing.assert_array_equal(typed["c"], [1.0, np.nan, 3.0])


def test_booleans_are_numbers_too():
    schema, typed = fit_one([True, False, True], "numeric")
    assert typed["c"].tolist() == [1.0, 0.0, 1.0]
    assert read(schema, ["true", "False", None])[:2].tolist() == [1.0, 0.0]


CATEGORIES = {
    "text": (["x", None, "y"], ["x", "y"]),
    "marker": (["x", "?", "y"], ["x", "y"]),
    "categorical": (pd.Categorical(["x", None, "y"], categories=["z", "y", "x"]), ["x", "y"]),
    "integer": ([10, 9, 9], ["9", "10"]),
    "integer with missing": ([10.0, np.nan, 9.0], ["9", "10"]),
    "nullable integer": (pd.array([10, None, 9], dtype="Int64"), ["9", "10"]),
    "boolean": ([True, False, True], ["False", "True"]),
    "nullable boolean": (pd.array([True, None, False], dtype="boolean"), ["False", "True"]),
    "mixed": (np.array([1, "b", None], dtype=object), ["1", "b"]),
    "empty": ([None, None, None], []),
}


@pytest.mark.parametrize(("values", "known"), CATEGORIES.values(), ids=CATEGORIES.keys())
def test_categories_are_texts_with_the_unseen_one_at_the_end(values, known):
    schema, typed = fit_one(values, "nominal")
    assert list(typed["c"].cat.categories) == [*known, UNSEEN]
    assert schema.nominal_dtypes["c"] == typed["c"].dtype
    assert UNSEEN not in typed["c"].tolist()


def test_equal_values_are_equal_categories_whatever_holds_them():
    schema, _ = fit_one([1, 2, 3], "nominal")
    for values in ([1.0, np.nan, 3.0], ["1", None, "3.0"], pd.array([1, None, 3], dtype="Int64")):
        assert read(schema, values).tolist()[::2] == ["1", "3"]
    schema, _ = fit_one([True, False], "nominal")
    for values in (["true", "FALSE"], [1, 0], [1.0, 0.0], np.array([True, False], dtype=object)):
        assert read(schema, values).tolist() == ["True", "False"]


def test_unseen_is_not_missing():
    schema, _ = fit_one(["x", "y"], "nominal")
    later = read(schema, ["new", None, "y"])
    assert later.tolist()[0] == UNSEEN
    assert later.isna().tolist() == [False, True, False]


def test_names_that_occur_again_get_a_number():
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", " a", ""])
    schema = TableSchema.fit(twice, {"a": "numeric", "a.1": "numeric", "Unnamed: 2": "numeric"})
    assert schema.transform(twice).iloc[0].to_dict() == {"a": 1.0, "a.1": 2.0, "Unnamed: 2": 3.0}


DATES = {
    "timestamps": pd.to_datetime(["2024-03-01", None, "2024-03-11"]),
    "ISO text": ["2024-03-01", None, "2024-03-11"],
    "date objects": [dt.date(2024, 3, 1), None, dt.date(2024, 3, 11)],
    "points": ["01.03.2024", None, "11.03.2024"],
    "slashes": ["2024/03/01", None, "2024/03/11"],
    "numbers": [20240301, 20240311, 20240311],
    "zone": pd.to_datetime(["2024-03-01", None, "2024-03-11"]).tz_localize("UTC"),
}


@pytest.mark.parametrize("values", DATES.values(), ids=DATES.keys())
def test_dates_become_parts(values):
    frame = pd.DataFrame({"c": values})
    reading = column_role(Column(frame["c"]), GivenRole(Role.DATE)).reading
    schema = TableSchema.fit(frame, {"c": "date"}, {"c": reading})
    typed = schema.transform(frame)
    parts = ["day", "dayofweek", "elapsed_days"]
    assert list(typed.columns) == [f"c.{part}" for part in parts] == schema.feature_names
    assert typed.iloc[0].tolist() == [1.0, 4.0, 0.0]
    assert typed.iloc[2, 2] == 10.0
    again = schema.transform(pd.DataFrame({"c": pd.to_datetime(["2024-03-01 00:00", None])}))
    assert again.iloc[0].tolist() == typed.iloc[0].tolist()
    assert again.iloc[1].isna().all()


def test_a_time_of_day_adds_the_hour():
    _, typed = fit_one(["2024-03-01T06:30", "2024-03-02T12:00"], "date")
    assert typed["c.hour"].tolist() == [6.5, 12.0]


def test_dates_before_1970_and_far_years_are_read():
    _, typed = fit_one(["1900-01-01", "2200-12-31"], "date")
    assert typed["c.year"].tolist() == [1900.0, 2200.0]


def test_the_typed_frame_is_the_same_for_any_column_order_and_index(raw, schema, typed):
    shuffled = raw.iloc[:, ::-1].set_index(np.arange(len(raw)) * 3)
    pd.testing.assert_frame_equal(schema.transform(shuffled), typed)
    assert isinstance(typed.index, pd.RangeIndex)


def test_ignored_columns_may_be_absent_and_unknown_ones_warn(raw, schema, typed):
    pd.testing.assert_frame_equal(schema.transform(raw.drop(columns="remark")), typed)
    with pytest.warns(AutoMLWarning, match="ignored: 'extra'"):
        schema.transform(raw.assign(extra=1))


def test_every_problem_is_named(raw, schema):
    bad = raw.drop(columns="color").assign(size="tall", seen="yesterday or so")
    with pytest.raises(DataError) as caught:
        schema.transform(bad)
    assert caught.value.problems == (
        "column 'size' must hold numbers; found 'tall'",
        "column 'color' (nominal) is missing from the table",
        "column 'seen' must hold dates such as 2026-12-31; found 'yesterday or so'",
    )


@pytest.mark.parametrize(
    ("values", "role", "message"),
    [
        (["1", "two"], "numeric", "must hold numbers; found 'two'"),
        (pd.to_datetime(["2024-01-01"]), "numeric", "must hold numbers; found datetime64"),
        (["soon"], "date", "must hold dates such as 2026-12-31; found 'soon'"),
        ([[1], [2]], "nominal", "must hold plain values"),
        ([1j, 2j], "numeric", "must hold numbers"),
    ],
)
def test_values_that_do_not_fit_the_role_are_refused_when_fitting(values, role, message):
    with pytest.raises(DataError, match=message):
        fit_one(values, role)


def test_infinite_numbers_are_missing_with_a_warning():
    schema, _ = fit_one([1.0, 2.0], "numeric")
    with pytest.warns(AutoMLWarning, match="1 infinite values are taken as missing"):
        assert np.isnan(read(schema, [np.inf, 1.0])[0])


def test_only_frames_are_tables(schema):
    with pytest.raises(DataError, match="DataFrame with named columns is expected; got ndarray"):
        schema.transform(np.zeros((2, 2)))
    with pytest.raises(DataError, match="'b' has a role but is not in the table"):
        TableSchema.fit(pd.DataFrame({"a": [1]}), {"b": "numeric"})


def test_date_parts_do_not_take_the_names_of_other_columns():
    frame = pd.DataFrame({"d": ["2024-01-01", "2025-01-01"], "d.year": [1.0, 2.0]})
    typed = TableSchema.fit(frame, {"d": "date", "d.year": "numeric"}).transform(frame)
    assert typed["d.year"].tolist() == [1.0, 2.0]
    assert typed["d.year_"].tolist() == [2024.0, 2025.0]


def test_tables_without_used_columns_or_rows_stay_tables(raw, schema):
    assert TableSchema.fit(raw, {}).transform(raw).shape == (len(raw), 0)
    assert schema.transform(raw.head(0)).shape == (0, len(schema.feature_names))


def test_json_and_pickle_keep_everything(raw, schema, typed):
    again = TableSchema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema == pickle.loads(pickle.dumps(schema))
    pd.testing.assert_frame_equal(again.transform(raw), typed)


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_known_texts_come_back_without_outer_blanks(values):
    column = pd.Series(values, dtype=object)
    schema = TableSchema.fit(pd.DataFrame({"c": column}), {"c": "nominal"})
    for value, out in zip(values, read(schema, column), strict=True):
        if value is None or value.strip() in MISSING_TEXTS:
            assert pd.isna(out)
        else:
            assert out == value.strip()


@given(
    st.lists(
        st.one_of(st.none(), st.floats(allow_infinity=False, width=64)), min_size=1, max_size=20
    )
)
@settings(max_examples=60, deadline=None)
def test_numbers_survive_the_way_through_text(values):
    schema = TableSchema.fit(pd.DataFrame({"c": [1.0]}), {"c": "numeric"})
    texts = pd.Series([None if v is None else repr(v) for v in values], dtype=object)
    expected = np.array([np.nan if v is None else v for v in values])
    np.testing.assert_array_equal(read(schema, texts), expected)


def test_fifty_thousand_rows_are_typed_in_a_third_of_a_second():
    rng = np.random.default_rng(1)
    n = 50_000
    frame = pd.DataFrame({f"n{i}": rng.normal(size=n) for i in range(9)})
    for i in range(5):
        frame[f"c{i}"] = rng.choice([f"v{k}" for k in range(20)], n)
    frame["d"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    roles = {name: {"n": "numeric", "c": "nominal", "d": "date"}[name[0]] for name in frame}
    schema = TableSchema.fit(frame, roles)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        schema.transform(frame)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.3


def test_a_schema_of_before_readings_reads_as_it_did():
    column = {"categories": [], "date_origin": 0.0, "value_type": "any", "is_optional": True}
    old = [
        {**column, "name": "n", "role": "numeric", "stored": "number", "outputs": ["n"], "date_format": None},
        {**column, "name": "b", "role": "numeric", "stored": "boolean", "outputs": ["b"], "date_format": None},
        {**column, "name": "c", "role": "nominal", "stored": "text", "outputs": ["c"], "date_format": None,
         "categories": [" x", "x"]},
        {**column, "name": "d", "role": "date", "stored": "text", "date_format": "%d.%m.%Y",
         "outputs": [f"d.{part}" for part in ("year", "month", "day", "dayofweek", "dayofyear", "elapsed_days")]},
    ]  # fmt: skip
    schema = TableSchema.from_json({"columns": old, "ignored": []})
    raw = pd.DataFrame(
        {"n": ["?", "2"], "b": ["true", "False"], "c": [" x", "x"], "d": ["02.01.2026", None]}
    )
    typed = schema.transform(raw)
    assert typed["b"].tolist() == [1.0, 0.0]
    assert typed["c"].cat.codes.tolist() == [0, 1]
    assert typed["d.day"][0] == 2.0
    assert typed["n"].isna().tolist() == [True, False]
