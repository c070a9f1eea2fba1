"""The runtime model: positive, deterministic, sound with killed fits, better with every timing."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.families.registry import get_family
from automl.forecasts.runtime_model import RuntimeModel, growth, mean_above
from automl.forecasts.timings import KnownTimings, Timing, Workload
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.union import UnionTree
from automl.surrogates.forest import RandomForest

SVM = get_family("svm").space("classification")
ENCODER = ConfigurationEncoder(SVM).fit()
SMALL, LARGE = Workload(rows=500, columns=8), Workload(rows=50_000, columns=8)
SECONDS = st.floats(1e-4, 1e5)


def true_seconds(configuration, workload):
    """A family whose seconds grow with rows and with ln C."""
    return 1e-4 * workload.rows * np.exp(0.3 * np.log(configuration.values["C"]))


def timings(n, workload, *, seed=0, factor=1.0):
    rng = np.random.default_rng(seed)
    drawn = [SVM.sample(rng) for _ in range(n)]
    return [Timing(c, workload, factor * true_seconds(c, workload)) for c in drawn]


def fitted(own=(), earlier=(), workload=SMALL, **options):
    model = RuntimeModel(ENCODER, KnownTimings(workload, tuple(earlier)), **options)
    for timing in own:
        model.add(timing)
    model.fit(np.random.default_rng(1))
    return model


def error(model, test):
    """RMSE of log seconds."""
    found = np.log(model.seconds([t.configuration for t in test]))
    return float(np.sqrt(np.mean((found - np.log([t.seconds for t in test])) ** 2)))


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(SECONDS, st.booleans()), max_size=8),
    st.lists(SECONDS, max_size=4),
    st.integers(1, 10**7),
    st.integers(0, 99),
)
def test_seconds_are_positive_and_finite_whatever_was_seen(own, earlier, rows, seed):
    rng = np.random.default_rng(seed)
    model = fitted(
        [Timing(SVM.sample(rng), SMALL, seconds, killed) for seconds, killed in own],
        [Timing(SVM.sample(rng), LARGE, seconds) for seconds in earlier],
        Workload(rows=rows, columns=5),
    )
    found = model.seconds([SVM.sample(rng) for _ in range(5)])
    assert np.isfinite(found).all()
    assert (found > 0.0).all()


def test_equal_timings_and_streams_give_equal_predictions():
    one, other = (fitted(timings(30, SMALL), timings(60, LARGE, seed=5)) for _ in range(2))
    X = ENCODER.transform([t.configuration for t in timings(20, SMALL, seed=9)])
    assert np.array_equal(one.predict(X), other.predict(X))


def test_a_pickled_model_goes_on_identically():
    model = fitted(timings(10, SMALL), timings(60, LARGE, seed=5))
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        for timing in timings(10, SMALL, seed=3):
            one.add(timing)
        one.fit(np.random.default_rng(2))
    X = ENCODER.transform([t.configuration for t in timings(20, SMALL, seed=9)])
    assert np.array_equal(model.predict(X), copy.predict(X))


def test_it_learns_from_its_own_trials():
    test = timings(50, SMALL, seed=9)
    assert error(fitted(timings(100, SMALL)), test) < 0.3 * error(fitted(), test)


def test_earlier_runs_on_other_data_help_before_the_first_trial_and_with_few():
    test = timings(50, SMALL, seed=9)
    workloads = [Workload(rows=rows, columns=8) for rows in (100, 300, 1000, 3000)]
    earlier = [t for i, w in enumerate(workloads) for t in timings(60, w, seed=20 + i)]
    for own in ([], timings(5, SMALL)):
        assert error(fitted(own, earlier), test) < 0.7 * error(fitted(own), test)


def test_the_first_own_trial_corrects_the_level_of_earlier_runs():
    """A machine ten times slower than the one that the earlier runs had."""
    earlier = timings(200, SMALL, seed=4)
    own, test = (timings(n, SMALL, seed=n, factor=10.0) for n in (1, 50))
    assert error(fitted(earlier=earlier), test) > 2.0
    assert error(fitted(own, earlier), test) < 0.7


def test_tables_larger_than_all_earlier_ones_take_longer():
    seconds = [
        fitted(earlier=timings(100, SMALL), workload=w).seconds([SVM.default()])[0]
        for w in (SMALL, LARGE)
    ]
    assert seconds[1] > 100 * seconds[0]


def test_a_fit_at_a_lower_fidelity_takes_no_longer_on_the_line_of_growth():
    model = fitted(timings(10, SMALL))
    whole, part = (model.seconds([SVM.default()], Workload(rows, 8))[0] for rows in (500, 50))
    assert part < whole


@given(st.floats(-5, 5), st.floats(0.01, 5), st.floats(-50, 50))
def test_the_mean_above_a_bound_is_above_it_and_above_the_mean(mean, std, bound):
    found = mean_above(np.array([mean]), np.array([std]), np.array([bound]))[0]
    assert np.isfinite(found)
    assert found >= max(mean, bound) - 1e-9


def test_the_mean_above_a_bound_is_that_of_the_half_normal_at_the_mean():
    found = mean_above(np.zeros(1), np.ones(1), np.zeros(1))[0]
    assert found == pytest.approx(np.sqrt(2 / np.pi))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_that_a_fit_was_killed_never_lowers_what_it_is_expected_to_take(seed, n_killed):
    finished = timings(25, SMALL, seed=seed)
    killed = [
        Timing(t.configuration, t.workload, t.seconds, i < n_killed) for i, t in enumerate(finished)
    ]
    configurations = [t.configuration for t in finished[:n_killed]]
    as_finished, as_killed = (
        np.log(fitted(own).seconds(configurations)).mean() for own in (finished, killed)
    )
    assert as_killed > as_finished


def test_fits_that_are_always_killed_are_expected_to_take_more_than_their_limit():
    own = [Timing(t.configuration, SMALL, 5.0, is_censored=True) for t in timings(10, SMALL)]
    assert (fitted(own).seconds([t.configuration for t in own]) > 5.0).all()


def test_a_model_is_fitted_anew_only_with_new_timings():
    calls = []

    class Counting(RandomForest):
        def fit(self, X, y, *, rng):
            calls.append(len(y))
            super().fit(X, y, rng=rng)

    model = fitted(timings(30, SMALL), timings(40, LARGE), make=Counting)
    assert calls == [40, 30]
    model.fit(np.random.default_rng(0))
    model.add(timings(1, SMALL, seed=3)[0])
    model.fit(np.random.default_rng(0))
    assert calls == [40, 30]  # one more of thirty is no news
    model.add(timings(1, SMALL, seed=4)[0])
    model.fit(np.random.default_rng(0))
    assert calls == [40, 30, 32]


@pytest.mark.parametrize("form", ["onehot", "index"])
def test_in_a_union_each_row_has_the_growth_of_its_own_family(form):
    spaces = [get_family(name).space("classification") for name in ("knn", "svm", "lightgbm")]
    encoder = ConfigurationEncoder(UnionTree.of(spaces), form=form).fit()
    model = RuntimeModel(encoder, KnownTimings(LARGE))
    defaults = [space.default() for space in reversed(spaces)]
    expected = [np.exp(growth(c.family, LARGE)) for c in defaults]
    assert model.seconds(defaults) == pytest.approx(expected)
