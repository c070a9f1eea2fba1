"""What a bundle remembers of its training table."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import tiny_bundle, tiny_model, training_rows

from automl.errors import AutoMLWarning, DataError
from automl.inference.bundle import load_bundle
from automl.inference.manifest import MANIFEST
from automl.inference.provenance import digests
from automl.inference.reference import MOST_CATEGORIES, ColumnReference, TrainingReference

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-5, 5), st.floats(-1e9, 1e9)), min_size=1)


@given(NUMBERS)
@settings(max_examples=200, deadline=None)
def test_shares_of_numbers_are_those_of_their_own_bins(values):
    column = np.array([np.nan if v is None else v for v in values], dtype=float)
    found = ColumnReference.of_numbers(column)
    assert sum(found.shares) == pytest.approx(1.0)
    assert found.shares[-1] == pytest.approx(np.isnan(column).mean())
    assert found.shares_of(column) == found.shares
    assert all(share > 0 for share in found.shares[:-1]) or np.isnan(column).all()
    assert found.n_outside(column) == 0
    if found.low is not None:
        assert found.n_outside(np.array([found.low - 1e3, found.high + 1e3, np.nan])) == 2


@given(st.lists(st.sampled_from([None, *[f"c{i}" for i in range(40)]]), min_size=1, max_size=200))
@settings(max_examples=100, deadline=None)
def test_shares_of_categories_count_the_frequent_ones_apart(values):
    series = pd.Series(values, dtype=object)
    found = ColumnReference.of_texts(series)
    counts = series.value_counts()
    assert len(found.labels) == min(len(counts), MOST_CATEGORIES)
    assert list(found.shares[:-2]) == pytest.approx([counts[x] / len(series) for x in found.labels])
    assert found.shares_of(series.astype("category")) == found.shares
    assert found.shares_of(pd.Series(["new", None]))[-2:] == (0.5, 0.5)


def test_a_bundle_gives_back_what_it_was_given(tmp_path):
    model = tiny_model()
    again = load_bundle(tiny_bundle(tmp_path / "m"))
    assert again.reference == model.reference
    assert again.reference.columns["x"].high == 49.0
    assert set(again.reference.predictions) == {"prediction", "probability"}
    assert set(tiny_model("regression").reference.predictions) == {"prediction"}


def test_a_bundle_of_an_earlier_version_knows_no_ranges(tmp_path):
    bundle = tiny_bundle(tmp_path / "m")
    (bundle / "reference.json").unlink()
    write_digests(bundle)
    model = load_bundle(bundle)
    found = model.deviations(pd.DataFrame({"x": [1e6], "kind": ["z"]}))
    assert (found.unseen, found.outside) == ({"kind": 1}, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("rows"), "rows"),
        (lambda r: r["columns"].pop("x"), "those of the schema"),
        (lambda r: r["columns"]["x"].update(shares=[1.0]), "x.shares"),
        (lambda r: r["columns"]["x"].update(edges=[3.0, 1.0], shares=[0.25] * 4), "increasing"),
        (lambda r: r["columns"]["kind"].update(kind="colour"), "kind"),
    ],
)
def test_a_reference_that_is_not_what_it_must_be_is_refused(tmp_path, change, message):
    bundle = tiny_bundle(tmp_path / "m")
    content = json.loads((bundle / "reference.json").read_text())
    change(content)
    (bundle / "reference.json").write_text(json.dumps(content))
    write_digests(bundle)
    with pytest.raises(DataError, match=message):
        load_bundle(bundle)


def test_columns_left_out_are_named_once_and_dates_have_ranges():
    model = tiny_model()
    with pytest.warns(AutoMLWarning, match="lacks the column 'kind'") as caught:
        predicted = model.predict(training_rows()[["x"]])
    assert (len(caught), len(predicted)) == (1, 60)
    model.strict = True
    with pytest.raises(DataError, match="'kind'"):
        model.predict(training_rows()[["x"]])


def test_a_reference_of_dates_counts_days_since_the_first(raw, schema, typed):
    found = TrainingReference.fit(schema, typed)
    assert found.columns["seen"].low == 0.0
    assert found.columns["price"].shares[-1] == pytest.approx((raw["price"] == "?").mean())
    assert TrainingReference.from_json(found.to_json(), schema) == found


def write_digests(bundle):
    manifest = json.loads((bundle / MANIFEST).read_text())
    manifest["files"] = {k: v for k, v in digests(bundle).items() if k != MANIFEST}
    (bundle / MANIFEST).write_text(json.dumps(manifest))
