"""What every acquisition function owes; a new one is tested by being registered."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.acquisition.functions import NormalizedBoundPerCost, Prediction, Reference
from automl.acquisition.registry import ACQUISITIONS
from automl.errors import SettingsError
from automl.parts import Part, build

predictions = st.lists(
    st.tuples(st.floats(-2, 2), st.floats(0.1, 2), st.floats(0.001, 1000)), min_size=2, max_size=20
).map(lambda rows: np.array(rows).T)


@pytest.fixture(params=ACQUISITIONS, scope="module")
def acquisition(request):
    return build(ACQUISITIONS, Part(request.param), "acquisition")


def reference_of(mean, std, seconds):
    return Reference(0.5, mean, std, float(np.median(seconds)))


@given(parts=predictions)
def test_the_utility_orders_as_the_value_does(acquisition, parts):
    reference = reference_of(*parts)
    value = acquisition.value(Prediction(*parts), reference)
    utility = acquisition.utility(Prediction(*parts), reference)
    order = np.argsort(utility)
    assert np.all(np.diff(value[order]) >= -1e-9)


def test_a_sure_tie_with_the_best_is_no_promise_and_a_prediction_that_is_no_number_neither(
    acquisition,
):
    mean, std = np.array([0.5, 0.4, np.nan]), np.array([0.0, 0.5, 0.5])
    at, reference = Prediction(mean, std, np.ones(3)), reference_of(mean[:2], std[:2], np.ones(3))
    for found in (acquisition.value(at, reference), acquisition.utility(at, reference)):
        assert np.isnan(found[2])
        assert found[1] > found[0]


@given(parts=predictions)
def test_slopes_are_differences_of_the_utility(acquisition, parts):
    if not acquisition.is_smooth:
        return
    mean, std, seconds = parts
    reference, step = reference_of(*parts), 1e-6
    by_mean, by_std = acquisition.slopes(Prediction(mean, std, seconds), reference)

    def difference(shift, widening):
        above, below = (
            acquisition.utility(
                Prediction(mean + sign * shift, std + sign * widening, seconds), reference
            )
            for sign in (1.0, -1.0)
        )
        return (above - below) / (2 * step)

    np.testing.assert_allclose(by_mean, difference(step, 0.0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(by_std, difference(0.0, step), rtol=1e-3, atol=1e-4)


@given(parts=predictions)
def test_a_greater_mean_is_never_worse(acquisition, parts):
    mean, std, seconds = parts
    reference = reference_of(*parts)
    plain = acquisition.utility(Prediction(*parts), reference)
    assert np.all(
        acquisition.utility(Prediction(mean + 0.1, std, seconds), reference) >= plain - 1e-9
    )


@given(parts=predictions)
def test_of_two_equal_promises_the_cheaper_one_is_no_worse(acquisition, parts):
    mean, std, seconds = parts
    if not acquisition.needs_seconds:
        return
    reference = reference_of(*parts)
    cheap = acquisition.value(Prediction(*parts), reference)
    dear = acquisition.value(Prediction(mean, std, 10 * seconds), reference)
    is_promising = cheap > 0.0
    assert np.all(dear[is_promising] <= cheap[is_promising])
    assert np.all(np.sign(dear) == np.sign(cheap))


def test_q_is_the_bound_above_the_median_per_cost():
    bounds = np.array([1.0, 2.0, 4.0])
    nothing = np.zeros(3)
    found = NormalizedBoundPerCost().value(
        Prediction(bounds, nothing, np.array([2.0, 2.0, 0.0])),
        Reference(9.0, bounds, nothing, 2.0),
    )
    np.testing.assert_allclose(found, [-1.0 / np.log(np.e + 1.0), 0.0, 2.0])


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("ei", "margin"),
        ("pi", "margin"),
        ("ucb", "width"),
        ("ei_per_cost", "margin"),
        ("q", "width"),
    ],
)
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_options_out_of_range_are_refused(name, option, value):
    with pytest.raises(SettingsError, match=option):
        build(ACQUISITIONS, Part(name, ((option, value),)), "acquisition")
