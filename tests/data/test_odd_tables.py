"""What odd values become: taken with a sentence, refused with `strict`, and read the same way later."""

import datetime as dt
import decimal
import json
from contextlib import nullcontext
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.data.column_readings import Evidence, describe, is_number_column, number_fit
from automl.data.table import Table, prepare_table, prepare_test_table
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference.forms import (
    DateForm,
    DurationForm,
    NumberForm,
    TimeForm,
    form_from_json,
)
from automl.inference.raw_table import Column
from automl.inference.readings import Reading
from automl.inference.schema import TableSchema
from automl.records import Task

N = 60
X = np.random.default_rng(0).normal(size=N)
Y = np.random.default_rng(1).choice(["u", "v"], N)
NAN = np.nan


def table_of(values, **options):
    frame = pd.DataFrame({"x": X, "odd": values, "y": Y})
    return prepare_table(frame, target="y", **options)


def repeated(*values):
    """These values over and over, in the rows of the table."""
    return [values[i % len(values)] for i in range(N)]


def varied(write):
    """A text of each row's number."""
    return [write(i) for i in range(N)]


def with_words(values, *words):
    """The values, with words in the first rows."""
    return [*words, *values[len(words) :]]


PLAIN = varied(lambda i: f"{i}.5")
DAYS = [dt.date(2026, 1, 1) + dt.timedelta(days=i * 3) for i in range(N)]

# values, typed columns with their first values, words of the note ("" where there is nothing to say)
ODD = {
    "texts of numbers": (PLAIN, {"odd": [0.5, 1.5]}, ""),
    "missing markers": (with_words(PLAIN, "n.a.", "#DIV/0!", "-"), {"odd": [NAN, NAN, NAN, 3.5]}, ""),
    "one word": (
        with_words(PLAIN, "Not_Say", "Not_Say"),
        {"odd": [NAN, NAN, 2.5], "odd.is_word": [1, 1, 0]},
        "holds numbers and 2 other texts ('Not_Say')",
    ),
    "two words": (
        with_words(PLAIN, "unknown", "refused"),
        {"odd": [NAN, NAN, 2.5], "odd.is_word": [1, 1, 0]},
        "2 other texts ('unknown', 'refused')",
    ),
    "a frequent word": (
        varied(lambda i: "none given" if i % 3 == 0 else i * 1.5),
        {"odd": [NAN, 1.5, 3.0, NAN], "odd.is_word": [1, 0, 0, 1]},
        "20 other texts",
    ),
    "numbers and words in a frame": (
        pd.Series(with_words([i / 4 for i in range(N)], "many"), dtype=object),
        {"odd": [NAN, 0.25], "odd.is_word": [1, 0]},
        "1 other text ('many')",
    ),
    "infinite": (
        with_words([i / 4 for i in range(N)], np.inf, -np.inf),
        {"odd": [NAN, NAN, 0.5], "odd.is_infinite": [1, -1, 0]},
        "2 infinite values, the first in row 1",
    ),
    "infinite in words": (
        with_words(PLAIN, "inf", "-Infinity", "nan"),
        {"odd": [NAN, NAN, NAN, 3.5], "odd.is_infinite": [1, -1, 0, 0]},
        "2 infinite values",
    ),
    "infinite and a word": (
        with_words(PLAIN, "inf", "Not_Say"),
        {"odd": [NAN, NAN, 2.5], "odd.is_word": [0, 1, 0], "odd.is_infinite": [1, 0, 0]},
        "1 other text ('Not_Say')",
    ),
    "dollars": (varied(lambda i: f"${i}.25"), {"odd": [0.25, 1.25]}, "with the unit $: '$0.25' is 0.25"),
    "negative dollars": (varied(lambda i: f"-${i + 1}"), {"odd": [-1, -2]}, "with the unit $"),
    "bookkeeper's amounts": (varied(lambda i: f"(${i + 1:,}.00)"), {"odd": [-1, -2]}, "with the unit $"),
    "dollars with thousands": (
        varied(lambda i: f"$ {1000 + i * 997:,}.50"),
        {"odd": [1000.5, 1997.5]},
        "with the unit $ and with commas between thousands",
    ),
    "euros": (varied(lambda i: f"{i},25 €"), {"odd": [0.25, 1.25]}, "unit € and with decimal commas"),
    "percent": (varied(lambda i: f"{i} %"), {"odd": [0, 1]}, "with the unit %: '0 %' is 0"),
    "few percentages": (repeated("10%", "20%", "30%"), {"odd": [10, 20, 30]}, "with the unit %"),
    "thousands": (varied(lambda i: f"{i * 12345:,}"), {"odd": [0, 12345]}, "with commas between thousands"),
    "decimal commas": (varied(lambda i: f"{i},5"), {"odd": [0.5, 1.5]}, "with decimal commas: '0,5' is 0.5"),
    "three decimals after a comma": (
        varied(lambda i: f"0,{i + 100}"),
        {"odd": [0.1, 0.101]},
        "with decimal commas",
    ),
    "points and commas": (
        varied(lambda i: f"{i + 1}.234,5"),
        {"odd": [1234.5, 2234.5]},
        "with decimal commas and with points between thousands",
    ),
    "blanks between thousands": (
        varied(lambda i: f"{i + 1}\u202f234"),
        {"odd": [1234, 2234]},
        "with blanks between thousands",
    ),
    "amounts and a word": (
        with_words(varied(lambda i: f"${i}.25"), "free"),
        {"odd": [NAN, 1.25], "odd.is_word": [1, 0]},
        "with the unit $: '$1.25' is 1.25; it holds",
    ),
    "decimals": ([decimal.Decimal(i) / 4 for i in range(N)], {"odd": [0, 0.25]}, ""),
    "categories with blanks": (repeated(" a", "a ", "b", "a"), {"odd": ["a", "a", "b", "a"]}, ""),
    "categories with markers": (repeated("a", "NA ", "b", "null"), {"odd": ["a", None, "b", None]}, ""),
    "yes and no": (repeated("yes", "no"), {"odd": ["True", "False"]}, ""),
    "yes and no in any case": (
        repeated("Yes", "no ", "YES", "No"),
        {"odd": ["True", "False", "True", "False"]},
        "holds no or yes, written in 4 ways: read as booleans",
    ),
    "Y and N with gaps": (repeated("Y", "N", None), {"odd": ["True", "False", None]}, ""),
    "few numbers beside words": (
        varied(lambda i: "3+" if i % 20 == 0 else str(i % 3)),
        {"odd": ["3+", "1", "2", "0"]},
        "holds 3 different numbers beside texts such as '3+'; they are taken as categories",
    ),
    "codes": (
        varied(lambda i: f"V{i}" if i % 2 else f"{i}.1")[:40] + repeated("V1", "V3")[:20],
        {"odd": ["0.1", "V1"]},
        "",
    ),
    "ranges": (repeated("1-5", "6-10"), {"odd": ["1-5", "6-10"]}, ""),
    "day first": (
        varied(lambda i: DAYS[i].strftime("%d/%m/%Y")),
        {"odd.month": [1, 1], "odd.day": [1, 4]},
        "read as dates in the order D/M/Y: '01/01/2026' is 2026-01-01",
    ),
    "month first": (
        varied(lambda i: DAYS[i].strftime("%m/%d/%Y")),
        {"odd.month": [1, 1], "odd.day": [1, 4]},
        "in the order M/D/Y",
    ),
    "month first, dashes, two digits of the year": (
        varied(lambda i: DAYS[i].strftime("%m-%d-%y")),
        {"odd.month": [1, 1], "odd.day": [1, 4]},
        "in the order M-D-Y",
    ),
    "points": (varied(lambda i: f"{i % 12 + 1}.1.2026"), {"odd.day": [1, 2]}, "D.M.Y"),
    "names of months": (
        varied(lambda i: DAYS[i].strftime("%d-%b-%Y")),
        {"odd.month": [1], "odd.day": [1, 4]},
        "in the order D-month-Y",
    ),
    "long dates": (
        varied(lambda i: DAYS[i].strftime("%B %d, %Y")),
        {"odd.month": [1], "odd.day": [1, 4]},
        "in the order month D, Y",
    ),
    "dates with and without times": (
        varied(lambda i: DAYS[i].strftime("%d/%m/%Y") + (" 14:30" if i % 2 else "")),
        {"odd.day": [1, 4], "odd.hour": [0, 14.5]},
        "in the order D/M/Y",
    ),
    "times in the afternoon": (
        varied(lambda i: DAYS[i].strftime("%m/%d/%Y") + f" 0{i % 2 + 2}:30 PM"),
        {"odd.day": [1, 4], "odd.hour": [14.5, 15.5]},
        "in the order M/D/Y",
    ),
    "a date that is none": (
        with_words([day.isoformat() for day in DAYS], "soon"),
        {"odd.day": [NAN, 4], "odd.is_word": [1, 0]},
        "holds dates and 1 other text ('soon')",
    ),
    "months": (varied(lambda i: f"{1990 + i // 12}-{i % 12 + 1:02d}"), {"odd.year": [1990], "odd.month": [1, 2]}, ""),
    "times of day": (
        varied(lambda i: f"{i % 24:02d}:30"),
        {"odd": [0.5, 1.5]},
        "read as times of day, in hours: '00:30' is 0.5",
    ),
    "times of twelve hours": (varied(lambda i: f"{i % 12 + 1}:00 p.m."), {"odd": [13, 14]}, "times of day"),
    "times in a frame": ([dt.time(i % 24, 30) for i in range(N)], {"odd": [0.5, 1.5]}, "times of day"),
    "long durations": (
        varied(lambda i: f"{i}:00:30"),
        {"odd": [30, 3630]},
        "read as durations, in seconds: '0:00:30' is 30",
    ),
    "durations in units": (varied(lambda i: f"{i + 1}h 30m"), {"odd": [5400, 9000]}, "durations"),
    "durations in minutes": (varied(lambda i: f"{i} min"), {"odd": [0, 60]}, "durations"),
    "ISO durations": (varied(lambda i: f"PT{i}H30M"), {"odd": [1800, 5400]}, "durations"),
    "durations in a frame": (pd.to_timedelta(np.arange(N), unit="h"), {"odd": [0, 3600]}, "durations"),
}  # fmt: skip


def same(column, expected):
    found = column.head(len(expected)).tolist()
    if column.dtype == "category":
        return [None if pd.isna(value) else value for value in found] == expected
    return np.allclose(found, expected, equal_nan=True)


@pytest.mark.parametrize("name", ODD)
def test_odd_values_become_something_useful_and_it_is_said(name):
    values, expected, words = ODD[name]
    table = table_of(values)
    for column, first in expected.items():
        assert same(table.frame[column], first), table.frame[column].head(5)
    names = [column for column in table.frame if column.startswith("odd") and "." not in column[4:]]
    marks = {column for column in names if column.endswith(("is_word", "is_infinite"))}
    assert marks == {column for column in expected if column.endswith(("is_word", "is_infinite"))}
    notes = [note for note in table.notes if "'odd'" in note]
    assert any(words in note for note in notes) if words else not notes


@pytest.mark.parametrize("name", ODD)
def test_later_rows_are_read_in_the_same_way(name, tmp_path):
    table = table_of(ODD[name][0])
    schema = TableSchema.from_json(json.loads(json.dumps(table.schema.to_json())))
    assert schema == table.schema
    raw = pd.DataFrame({"odd": ODD[name][0], "x": X})
    for rows in (slice(None), slice(0, 1), slice(7, 9)):  # nothing depends on the other rows
        later = schema.transform(raw.iloc[rows])
        pd.testing.assert_frame_equal(later, table.frame.iloc[rows].reset_index(drop=True))
    pd.testing.assert_frame_equal(Table.load(table.write(tmp_path)).frame, table.frame)


@pytest.mark.parametrize(
    "name",
    [name for name, (_, _, words) in ODD.items() if "is_word" in words or "read as" in words],
)
def test_strict_refuses_what_would_be_noted(name):
    with pytest.raises(DataError, match="column 'odd'"):
        table_of(ODD[name][0], strict=True)


def test_strict_refuses_rows_without_a_target():
    frame = pd.DataFrame({"x": X, "y": ["yes", "no"] * (len(X) // 2)})
    frame.loc[:2, "y"] = None
    with pytest.raises(DataError, match=f"holds no target in 3 of {len(X)} rows"):
        prepare_table(frame, target="y", strict=True)


def test_words_that_are_not_marked_are_missing_where_the_training_table_had_some():
    table = table_of(with_words(PLAIN, "Not_Say"))
    with pytest.warns(AutoMLWarning, match="'odd': 1 words that are not marked"):
        later = table.schema.transform(
            pd.DataFrame({"x": [0, 0, 0], "odd": ["3", "Not_Say", "new"]})
        )
    assert later["odd"].fillna(-1).tolist() == [3, -1, -1]
    assert later["odd.is_word"].tolist() == [0, 1, 0]
    plain = table_of(PLAIN)
    with pytest.raises(DataError, match="column 'odd' must hold numbers; found 'new'"):
        plain.schema.transform(pd.DataFrame({"x": [0.0], "odd": ["new"]}))


def test_rare_words_of_the_training_table_are_missing_without_a_mark_and_counted_apart():
    words = [f"word{i}" for i in range(25) for _ in range(2)]
    frame = pd.DataFrame({"odd": [*words, *(f"{i}.5" for i in range(550))]})
    frame["y"] = np.resize(Y, len(frame))
    table = prepare_table(frame, target="y")  # a warning would be an error
    assert table.frame["odd.is_word"].sum() == 40
    note = next(note for note in table.notes if "'odd' holds numbers" in note)
    assert "50 other texts" in note
    assert "40 of them, the 20 most frequent words, are marked" in note
    with pytest.warns(AutoMLWarning, match="'odd': 10 words that are not marked"):
        table.schema.transform(frame)


def test_an_infinite_number_of_later_rows_is_missing():
    table = table_of(X)
    test = prepare_test_table(pd.DataFrame({"x": X, "odd": np.inf, "y": Y}), table)
    assert test.frame["odd"].isna().all()
    assert "column 'odd': 60 infinite values are taken as missing" in test.notes


AMBIGUOUS = [f"{i % 12 + 1:02d}/{i % 7 + 1:02d}/2026" for i in range(N)]


def test_dates_that_can_be_read_in_two_ways_are_refused_with_both():
    with pytest.raises(DataError) as caught:
        table_of(AMBIGUOUS)
    message = str(caught.value)
    assert "'02/02/2026'" not in message
    assert "'03/03/2026'" not in message
    assert (
        "'08/01/2026' is 2026-01-08 as day_first (D/M/Y) or 2026-08-01 as month_first (M/D/Y)"
        in message
    )
    assert "date:day_first or date:month_first" in message


@pytest.mark.parametrize(("order", "month"), [("day_first", 1), ("month_first", 8)])
def test_the_role_settles_the_order_of_day_and_month(order, month):
    table = table_of(AMBIGUOUS, roles={"odd": f"date:{order}"})
    assert table.frame["odd.month"][7] == month
    assert (
        table.schema.columns[1].reading.form.format[:2]
        == {"day_first": "%d", "month_first": "%m"}[order]
    )


@pytest.mark.parametrize("role", ["date:first", "numeric:day_first", "date:"])
def test_an_order_that_does_not_exist_is_refused(role):
    if role == "date:":
        assert table_of(DAYS, roles={"odd": role}).schema.columns[1].role == "date"
        return
    with pytest.raises(SettingsError, match="date:day_first, date:month_first"):
        table_of(DAYS, roles={"odd": role})


def test_roles_overrule_what_would_be_read():
    values = varied(lambda i: f"${i}.25")
    assert table_of(values, roles={"odd": "nominal"}).frame["odd"].tolist() == values
    words = with_words(repeated("1", "2"), "about 3")
    assert table_of(words).frame["odd"].dtype == "category"
    numeric = table_of(words, roles={"odd": "numeric"})
    assert numeric.frame["odd"][1:3].tolist() == [2.0, 1.0]
    assert numeric.frame["odd.is_word"].sum() == 1
    with pytest.raises(DataError, match="'odd' must hold numbers; found 'red'"):
        table_of(repeated("red", "blue"), roles={"odd": "numeric"})


# --- targets ----------------------------------------------------------------------------------------


def target_table(values, **options):
    return prepare_table(pd.DataFrame({"x": X, "y": values}), target="y", **options)


TARGETS = {
    "words": (with_words(PLAIN, "many", "few"), 58, 2.5, "holds 2 texts among its numbers"),
    "markers": (with_words(PLAIN, "-", "n.a."), 58, 2.5, "2 of 60 rows are dropped"),
    "amounts": (varied(lambda i: f"${1000 + i:,}"), 60, 1000.0, "with the unit $ and with commas"),
    "decimal commas": (varied(lambda i: f"{i},5"), 60, 0.5, "with decimal commas"),
    "infinite": (with_words([i / 4 for i in range(N)], np.inf), 59, 0.25, "1 infinite values"),
    "missing": (with_words([i / 4 for i in range(N)], None), 59, 0.25, "1 of 60 rows is dropped"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_odd_numbers_to_predict_are_read_or_their_rows_dropped(name, tmp_path):
    values, n_rows, first, words = TARGETS[name]
    table = target_table(values)
    assert table.task is Task.REGRESSION
    assert (len(table), table.y[0]) == (n_rows, first)
    assert any(words in note for note in table.notes), table.notes
    loaded = Table.load(table.write(tmp_path))
    again = prepare_test_table(pd.DataFrame({"x": X, "y": values}), loaded)
    assert np.array_equal(again.y, table.y)


@pytest.mark.parametrize(("mean", "is_far"), [(-1e9, True), (1e9, True), (1e5, False), (0, False)])
def test_numbers_far_from_zero_for_their_spread_are_told(mean, is_far):
    values = mean + np.random.default_rng(0).normal(0.0, 10.0, N)
    notes = target_table(values).notes
    told = [note for note in notes if f"the differences from {values.mean():.7g} instead" in note]
    assert len(told) == is_far
    with pytest.raises(DataError, match="'y' differ by about 9") if is_far else nullcontext():
        target_table(values, strict=True)


def test_labels_lose_outer_blanks_and_boolean_words_their_case():
    table = target_table(repeated("Yes", "no", "yes ", "No", "no", "Yes"))
    assert table.classes == ("Yes", "no")
    later = prepare_test_table(pd.DataFrame({"x": X, "y": repeated("YES", " No")}), table)
    assert later.class_labels[later.y].tolist() == repeated("Yes", "no")
    table = target_table(repeated("a", "b", " a"))
    assert table.classes == ("a", "b")


# --- names ------------------------------------------------------------------------------------------


def test_names_that_occur_again_and_empty_names_are_made_unique():
    frame = pd.DataFrame({"a": X, "b": X[::-1], "c": X**2, "y": Y})
    frame.columns = ["a", " a", "", "y"]
    table = prepare_table(frame, target="y")
    assert table.schema.names == ["a", "a.1", "Unnamed: 2"]
    assert table.notes[:2] == (
        "column name 'a' occurs 2 times; the others are called 'a.1'",
        "a column without a name: called 'Unnamed: 2'",
    )
    with pytest.raises(DataError, match="'a' occurs 2 times; rename the others"):
        prepare_table(frame, target="y", strict=True)
    pd.testing.assert_frame_equal(table.schema.transform(frame.drop(columns="y")), table.frame)


def test_a_text_table_has_the_same_names_as_its_frame(tmp_path):
    frame = pd.DataFrame({"a": X, "b": X[::-1], "c": X**2, "y": Y})
    frame.columns = ["a", "a", "", "y"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = prepare_table(tmp_path / "t.csv", target="y")
    assert table.schema.names == prepare_table(frame, target="y").schema.names
    assert len(table.notes) == 2


# --- forms: what is written is read back -------------------------------------------------------------


def written(form, thousandths):
    """A number of thousandths as a person writes it in this form."""
    whole, rest = divmod(abs(thousandths), 1000)
    text = f"{whole:,}".replace(",", form.thousands)
    if rest:
        text += form.decimal + f"{rest:03d}".rstrip("0")
    sign = "-" if thousandths < 0 else ""
    before, behind = ("", form.unit) if form.unit in BEHIND else (form.unit, "")
    return f"{sign}{before}{text}{behind}"


BEHIND = ("", "%", " kg", "sq ft")
WRITINGS = [
    NumberForm(decimal_mark, thousands, unit)
    for decimal_mark, thousands in [(".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'")]
    for unit in (*BEHIND, "$", "EUR")
]  # fmt: skip


@given(st.sampled_from(WRITINGS), st.integers(-(10**12), 10**12))
def test_a_number_in_any_writing_is_read_back(form, thousandths):
    assert form.parse([written(form, thousandths)])[0] == pytest.approx(
        thousandths / 1000, abs=1e-9
    )
    assert form_from_json(json.loads(json.dumps(asdict(form)))) == form


@given(
    st.sampled_from(WRITINGS),
    st.lists(st.integers(-(10**9), 10**9), min_size=30, max_size=60, unique=True),
)
@settings(max_examples=40, deadline=None)
def test_the_writing_of_a_column_is_found_by_its_values(form, values):
    texts = [written(form, value) for value in [*values, 1234567891, 15]]
    fit = number_fit(Evidence.of(Column(pd.Series(texts, dtype=object))))
    known = dict(zip(texts, [*values, 1234567891, 15], strict=True))
    assert np.allclose(fit.values, [value / 1000 for value in known.values()])


@given(
    st.lists(st.integers(1, 10**9), min_size=30, max_size=60, unique=True),
    st.sampled_from(["", "$"]),
)
@settings(max_examples=40, deadline=None)
def test_magnitudes_behind_numbers_multiply_them(values, unit):
    names = ["", "k", "M", "bn"]
    texts = [f"{unit}{value / 1000:.3f}{names[i % 4]}" for i, value in enumerate(values)]
    fit = number_fit(Evidence.of(Column(pd.Series(texts, dtype=object))))
    expected = [value / 1000 * 1000.0 ** (i % 4) for i, value in enumerate(values)]
    assert np.allclose(fit.values, expected)
    assert form_from_json(json.loads(json.dumps(asdict(fit.form)))) == fit.form


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["10,000+", "5,000,000+", "5+"], [1e4, 5e6, 5]),
        (["5M+", "10k+", "300+"], [5e6, 1e4, 300]),
        (["20 °C", "-3 °C", "4°C"], [20, -3, 4]),
        (["1.5 sq ft", "1,400 sq ft"], [1.5, 1400]),
        (["2 BHK", "3 BHK", "4"], [2, 3, 4]),
    ],
)
def test_a_unit_behind_most_numbers_is_dropped(texts, expected):
    fit = number_fit(Evidence.of(Column(pd.Series(texts, dtype=object))))
    np.testing.assert_array_equal(fit.values, expected)


@pytest.mark.parametrize("texts", [["1st", "2nd", "3rd"], ["5 ft", "2 cm", "7 in"], ["A1", "B2"]])
def test_endings_that_differ_are_no_unit(texts):
    fit = number_fit(Evidence.of(Column(pd.Series(texts * 20, dtype=object))))
    assert fit is None or not is_number_column(fit)


@pytest.mark.parametrize("texts", [["(12)", "7", "(0.5)"], ["\u221212", "7", "\u22120.5"]])
def test_negative_numbers_of_bookkeepers_and_typesetters_are_read_and_said(texts):
    fit = number_fit(Evidence.of(Column(pd.Series(texts, dtype=object))))
    np.testing.assert_array_equal(fit.values, [-12.0, 7.0, -0.5])
    assert describe(fit, "a") == f"column 'a' is read as numbers: {texts[0]!r} is -12"


@pytest.mark.parametrize(
    ("words", "is_number"),
    [(["unknown", "refused"] * 8, True), ([f"slip {i}" for i in range(16)], False)],
)
def test_words_that_repeat_far_more_than_numbers_are_answers_and_slips_are_not(words, is_number):
    values = [*words, *(str(700 + 13 * i) for i in range(44))]
    fit = number_fit(Evidence.of(Column(pd.Series(values, dtype=object))))
    assert is_number_column(fit) is is_number


MANY = [f"slip {i}" for i in range(21)]


@pytest.mark.parametrize(
    ("numbers", "words", "is_number"),
    [
        (range(189), MANY, True),
        (range(188), MANY, False),  # below 90 % numbers
        ([*range(21)] * 9, MANY, True),
        ([*range(21)] * 10, MANY, False),  # ten rows for each number
        (range(180), MANY[:20], True),
        (range(179), MANY[:20], False),
        ([*range(30)] * 2, ["a"] * 6 + ["b"] * 6, True),  # three times two rows
        ([*range(30)] * 2, ["a"] * 6 + ["b"] * 5, False),
        ([*range(30)] * 9, ["a"] * 10 + ["b"] * 30, True),  # ten rows
        ([*range(30)] * 9, ["a"] * 9 + ["b"] * 30, False),
        (range(30), ["a"] * 30, True),  # the only word, in half of the rows
        (range(30), ["a"] * 31, False),
        ([*range(20)] * 2, ["a"], False),  # at most 20 different numbers
        (range(16), ["a"], True),  # but more than half of the values
    ],
)
def test_numbers_with_words_are_numeric_by_the_rules_of_the_page(numbers, words, is_number):
    values = [*words, *map(str, numbers)]
    fit = number_fit(Evidence.of(Column(pd.Series(values, dtype=object))))
    assert is_number_column(fit) is is_number


def test_spans_with_one_unit_stay_spans():
    frame = pd.DataFrame({"a": [f"{i % 50 + 1} min" for i in range(60)], "y": X[:60]})
    table = prepare_table(frame, target="y")
    assert table.frame["a"].iloc[0] == 60.0


@given(st.dates(dt.date(1970, 1, 1), dt.date(2068, 12, 31)), st.sampled_from(
    ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%b-%Y", "%B %d, %Y", "%d/%m/%y", "ISO8601"]))  # fmt: skip
@settings(deadline=None)
def test_a_date_in_any_order_is_read_back(day, form):
    text = day.isoformat() if form == "ISO8601" else day.strftime(form)
    assert DateForm(form).parse([text])[0] == (day - dt.date(1970, 1, 1)).days


@given(st.times())
def test_a_time_of_day_is_read_back(time):
    hours = time.hour + time.minute / 60 + time.second / 3600 + time.microsecond / 3.6e9
    assert TimeForm().parse([time.isoformat()])[0] == pytest.approx(hours)
    half = TimeForm().parse([time.strftime("%I:%M:%S %p")])[0]
    assert half == pytest.approx(time.hour + time.minute / 60 + time.second / 3600)


@given(st.integers(0, 10**7))
def test_a_duration_is_read_back(seconds):
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    texts = [
        f"{hours}:{minutes:02d}:{rest:02d}",
        f"{hours // 24} days {hours % 24:02d}:{minutes:02d}:{rest:02d}",
        f"{hours}h {minutes}m {rest}s",
        f"{hours} hours, {minutes} minutes, {rest} seconds",
        f"PT{hours}H{minutes}M{rest}S",
        str(pd.Timedelta(seconds=seconds)),
    ]
    assert DurationForm().parse(texts).tolist() == [seconds] * len(texts)


def test_a_reading_survives_json():
    reading = Reading(DateForm("%d/%m/%Y"), ("soon",), marks_infinite=True)
    assert Reading.from_json(json.loads(json.dumps(reading.to_json()))) == reading


def test_a_long_text_is_shortened_in_messages():
    with pytest.raises(DataError) as caught:
        Column(pd.Series(["x" * 200_000], name="c")).read()
    assert len(str(caught.value)) < 200
