"""Parts of dates match the spacing of the column, and pairs of date columns have differences."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from automl.data.checks import Columns, check_table
from automl.errors import DataError
from automl.inference.bundle import load_bundle, write_bundle
from automl.inference.dates import (
    ELAPSED,
    MOST_DIFFERENCES,
    PARTS,
    date_parts,
    nearest_pairs,
    varying_parts,
)
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.raw_table import RawTable
from automl.inference.schema import TableSchema
from automl.preprocessing import build_preprocessor


def days(*texts):
    return pd.to_datetime(list(texts)).to_numpy().astype("datetime64[us]").astype(float) / 86_400e6


def every(step, n=60, start="2020-01-01"):
    return days(*pd.date_range(start, periods=n, freq=step).astype(str))


DAILY = {"month", "day", "dayofweek", ELAPSED}
SPACINGS = {
    "years": (every("YS"), {"year", ELAPSED}),
    "ends of years": (every("YE"), {"year", ELAPSED}),
    "months": (every("MS"), {"year", "month", ELAPSED}),
    "ends of months": (every("ME"), {"year", "month", ELAPSED}),
    "middles of months": (every("MS") + 14, {"year", "month", ELAPSED}),
    "weeks of a year": (every("7D", n=50), {"month", "day", ELAPSED}),
    "days of a year": (every("D"), DAILY),
    "days of years": (every("13D"), DAILY | {"year", "dayofyear"}),
    "days at noon": (every("D") + 0.5, DAILY),
    "hours": (every("17h"), DAILY | {"hour"}),
    "minutes": (every("29min"), {"day", "dayofweek", ELAPSED, "hour", "minute"}),
    "hours of one day": (every("h", n=20), {ELAPSED, "hour"}),
    "one date": (days("2020-05-05", "2020-05-05"), {ELAPSED}),
    "none": (np.array([np.nan, np.nan]), {ELAPSED}),
}


@pytest.mark.parametrize(("seen", "expected"), SPACINGS.values(), ids=SPACINGS)
def test_parts_are_those_that_vary_at_the_spacing_of_the_column(seen, expected):
    assert set(varying_parts(np.append(seen, np.nan))) == expected


@given(st.datetimes(pd.Timestamp("1800-01-01"), pd.Timestamp("2250-01-01")))
def test_parts_are_those_of_the_calendar(moment):
    moment = moment.replace(microsecond=0)
    parts = date_parts(days(moment), PARTS, origin=0.0)
    assert {name: parts[name][0] for name in PARTS if name not in (ELAPSED, "hour")} == {
        "year": moment.year,
        "month": moment.month,
        "day": moment.day,
        "dayofweek": moment.weekday(),
        "dayofyear": moment.timetuple().tm_yday,
        "minute": moment.minute,
    }
    assert parts["hour"][0] == pytest.approx(
        moment.hour + moment.minute / 60 + moment.second / 3600, abs=1e-5
    )


@pytest.fixture
def rides():
    picked = pd.date_range("2024-03-01 08:00", periods=40, freq="97min")
    taken = pd.to_timedelta(np.arange(40) * 3 % 41 + 5, unit="min")
    frame = pd.DataFrame({"picked": picked, "place": ["a", "b"] * 20, "dropped": picked + taken})
    frame.loc[3, "dropped"] = pd.NaT
    return frame


ROLES = {"picked": "date", "place": "nominal", "dropped": "date"}


def test_the_difference_of_two_dates_is_in_days_and_missing_where_one_is(rides):
    schema = TableSchema.fit(rides, ROLES)
    typed = schema.transform(rides)
    assert list(typed.columns)[-1] == "dropped.days_since.picked" == schema.numeric_names[-1]
    expected = (rides["dropped"] - rides["picked"]).dt.total_seconds() / 86_400
    np.testing.assert_allclose(typed["dropped.days_since.picked"], expected, atol=1e-9)
    assert np.isnan(typed["dropped.days_since.picked"][3])


def test_later_rows_get_the_parts_and_differences_of_the_training_rows(rides):
    schema = TableSchema.from_json(json.loads(json.dumps(TableSchema.fit(rides, ROLES).to_json())))
    one = schema.transform(rides.iloc[[7]])  # nothing varies in one row
    pd.testing.assert_frame_equal(one, schema.transform(rides).iloc[[7]].reset_index(drop=True))


def test_texts_of_dates_give_the_differences_of_dates(rides):
    texts = rides.assign(picked=rides["picked"].astype(str))
    typed, other = (TableSchema.fit(frame, ROLES).transform(frame) for frame in (rides, texts))
    pd.testing.assert_frame_equal(typed, other)


def test_a_difference_that_is_the_same_in_every_row_is_not_made(rides):
    shifted = rides.assign(dropped=rides["picked"] + pd.Timedelta("1D"))
    assert TableSchema.fit(shifted, ROLES).differences == ()


def test_a_column_of_the_name_of_a_difference_stays(rides):
    frame = rides.assign(**{"dropped.days_since.picked": 7.0})
    schema = TableSchema.fit(frame, {**ROLES, "dropped.days_since.picked": "numeric"})
    assert schema.feature_names[-2:] == ["dropped.days_since.picked", "dropped.days_since.picked_"]


@given(st.integers(0, 12))
def test_all_pairs_are_there_once_and_neighbors_first(n):
    names = [f"c{i}" for i in range(n)]
    pairs = nearest_pairs(names)
    gaps = [names.index(second) - names.index(first) for first, second in pairs]
    assert len(set(pairs)) == len(pairs) == n * (n - 1) // 2
    assert gaps == sorted(gaps)
    assert all(gap > 0 for gap in gaps)


def test_many_columns_of_dates_have_the_differences_of_neighbors_and_a_note_says_so():
    rng = np.random.default_rng(0)
    dates = {
        f"d{i}": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), unit="D")
        for i in range(7)
    }
    frame = pd.DataFrame({**dates, "y": rng.normal(size=60)})
    checked = check_table(RawTable.of(frame), columns=Columns("y"))
    pairs = [(each.first, each.second) for each in checked.schema.differences]
    assert pairs == nearest_pairs(list(dates))[:MOST_DIFFERENCES]
    assert any(
        "7 columns of dates have 21 differences; those of the 15" in n for n in checked.notes
    )


def test_a_manifest_whose_difference_is_of_no_dates_is_refused(rides):
    from automl.inference.manifest import _check_columns

    data = TableSchema.fit(rides, ROLES).to_json()
    data["differences"][0]["first"] = "place"
    with pytest.raises((DataError, ValueError), match="must be of two columns of dates"):
        _check_columns(TableSchema.from_json(data))


def test_a_bundle_of_dates_and_texts_needs_no_trust_and_predicts_alike(rides, tmp_path):
    words = np.array(["rain", "sun", "late", "early", "airport", "city"])
    notes = np.random.default_rng(0).choice(words, (40, 6))
    raw = rides.assign(note=[" ".join(row) for row in notes])
    schema = TableSchema.fit(raw, {**ROLES, "note": "text"})
    typed = schema.transform(raw)
    fares = typed["dropped.days_since.picked"].fillna(0.0).to_numpy()
    preprocessor = build_preprocessor({"prep.scaler": "standard"}, seed=1)
    estimator = Ridge().fit(preprocessor.fit_transform(typed, fares), fares)
    members = [Member(1.0, [FittedPipeline(preprocessor, estimator)], "ridge")]
    model = TableModel(schema, members, task="regression", target="fare")
    write_bundle(model, tmp_path / "bundle")
    loaded = load_bundle(tmp_path / "bundle", trust=False)
    later = raw.iloc[[4, 9]].assign(note=["unseen words", None])
    np.testing.assert_array_equal(loaded.predict(later), model.predict(later))
    assert {"note.words0", "dropped.days_since.picked"} <= set(preprocessor.get_feature_names_out())
