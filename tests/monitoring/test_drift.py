"""Rows like the training table have not moved; others have, in the column that is other."""

import numpy as np
import pandas as pd
import pytest
from tiny_models import tiny_model, training_rows

from automl.errors import AutoMLWarning, SettingsError
from automl.monitoring.drift import drift_of
from automl.statistics.stability import stability_by_chance, stability_index


@pytest.fixture(scope="module")
def model():
    return tiny_model()


def movement(found, name):
    return next(each for each in found.movements if each.name == name)


def test_the_training_rows_have_not_moved(model):
    found = drift_of(model, training_rows())
    assert found.moved == ()
    assert all(each.index == pytest.approx(0.0, abs=1e-9) for each in found.movements)
    assert [each.name for each in found.movements[:2]] == ["prediction", "probability"]


def test_other_rows_have_moved_and_so_have_their_predictions(model):
    other = training_rows().assign(x=lambda f: f["x"] + 100, kind=["z"] * 59 + [None])
    found = drift_of(model, other)
    assert {each.name for each in found.moved} == {"x", "kind", "prediction", "probability"}
    assert movement(found, "x").outside == 1.0
    assert movement(found, "kind").unseen == pytest.approx(59 / 60)
    assert movement(found, "kind").missing == pytest.approx(1 / 60)
    assert movement(found, "kind").missing_before == 0.0


def test_a_column_that_is_left_out_is_all_missing(model):
    with pytest.warns(AutoMLWarning, match="'kind'"):
        found = movement(drift_of(model, training_rows()[["x"]]), "kind")
    assert (found.missing, found.verdict) == (1.0, "large")


def test_without_a_reference_or_rows_there_is_nothing_to_say():
    model = tiny_model()
    with pytest.raises(SettingsError, match="no rows"):
        drift_of(model, training_rows().head(0))
    model.reference = None
    with pytest.raises(SettingsError, match="train it again"):
        drift_of(model, training_rows())


def test_the_index_by_hand():
    # (0.6 - 0.5) ln(0.6 / 0.5) + (0.4 - 0.5) ln(0.4 / 0.5)
    found = stability_index((0.5, 0.5), (0.6, 0.4), n_expected=100, n_found=100)
    assert found == pytest.approx(0.1 * np.log(1.2) - 0.1 * np.log(0.8))
    assert np.isfinite(stability_index((1.0, 0.0), (0.0, 1.0), n_expected=10, n_found=10))


def test_by_chance_the_index_stays_below_its_bound_as_often_as_stated():
    rng = np.random.default_rng(5)
    n, m, bins = 2000, 500, 10
    bound = stability_by_chance(bins, n_expected=n, n_found=m)
    shares = np.full(bins, 0.1)
    draws = [
        stability_index(
            rng.multinomial(n, shares) / n, rng.multinomial(m, shares) / m, n_expected=n, n_found=m
        )
        for _ in range(2000)
    ]
    assert 0.98 <= (np.array(draws) <= bound).mean() <= 0.997
    assert stability_by_chance(1, n_expected=n, n_found=m) == 0.0


def test_drift_is_plain_json(model):
    found = drift_of(model, pd.DataFrame({"x": [1, 2], "kind": ["a", "b"]})).to_json()
    assert found["rows"] == 2
    assert {"index", "by_chance", "verdict"} <= set(found["movements"][0])
