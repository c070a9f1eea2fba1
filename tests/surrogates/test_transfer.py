"""Surrogates that learn from earlier data sets."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.parts import Part, build
from automl.surrogates.earlier_data import (
    Sources,
    TransferSurrogate,
    described,
    descriptors,
    design_matrix,
)
from automl.surrogates.informed_process import InformedProcess
from automl.surrogates.mixed_kernel import Factors, log_likelihood
from automl.surrogates.registry import SURROGATES
from automl.surrogates.scale import Scale
from automl.surrogates.score_targets import standard
from automl.surrogates.scot import pairs_of, ranking_weights
from automl.surrogates.transfer import TransferNetworks

QUICK = {"n_members": 8, "units": 8, "n_steps": 800, "refit_steps": 30, "rate": 0.02}
PARTS = [
    Part(name, tuple(QUICK.items()) if "n_members" in kind.defaults() else ())
    for name, kind in SURROGATES.items()
    if isinstance(kind.make(), TransferSurrogate)
]
LAPLACE = Part(
    "transfer_perceptron",
    tuple({**QUICK, "n_members": 1, "layers": 1, "uncertainty": "laplace"}.items()),
)
N_TASKS = 6


def surface(X, place):
    """A valley whose place along the first column is the data set's."""
    return -np.abs(X[:, 0] - place) + 0.3 * X[:, 1]


def correlation(a, b):
    """Of two rows of numbers; 0 where one of them is constant."""
    return np.corrcoef(a, b)[0, 1] if min(np.std(a), np.std(b)) > 1e-9 else 0.0


def sources_of(seed=0, n_each=40, place=0.2):
    """Data sets of two kinds, told apart by their meta-feature; the target is of the first."""
    rng = np.random.default_rng(seed)
    meta = np.array([[0.0], [0.1], [0.05], [1.0], [0.9], [0.95]])
    X = rng.random((N_TASKS * n_each, 2))
    task = np.repeat(np.arange(N_TASKS), n_each)
    y = np.empty(len(X))
    for i in range(N_TASKS):
        rows = task == i
        y[rows] = standard(surface(X[rows], place if i < 3 else 0.8))
    return Sources(X, y, task, meta, np.array([0.07]))


@pytest.fixture(params=PARTS, ids=str)
def surrogate(request):
    return build(SURROGATES, request.param, "surrogate")


def test_all_of_them_are_here():
    assert len(PARTS) == 7


def test_few_trials_are_enough_where_earlier_data_sets_were_alike(surrogate):
    Z = np.random.default_rng(1).random((80, 2))
    alone = pickle.loads(pickle.dumps(surrogate))
    surrogate.learn_from(sources_of())
    alone.learn_from(Sources.none(2))
    found = []
    for model in (surrogate, alone):
        correlations = []
        for seed in range(4):
            X = np.random.default_rng(seed).random((2, 2))
            known = pickle.loads(pickle.dumps(model))
            known.fit(X, standard(surface(X, 0.2)), rng=np.random.default_rng(seed))
            correlations.append(correlation(known.predict(Z)[0], surface(Z, 0.2)))
        found.append(np.mean(correlations))
    assert found[0] > 0.6
    if getattr(surrogate, "layers", 1):  # without squares it guesses that the surface is a plane
        assert found[0] > found[1]


def test_predictions_are_in_the_units_that_were_given(surrogate):
    rng = np.random.default_rng(2)
    X = rng.random((6, 2))
    y = surface(X, 0.2)
    twin = pickle.loads(pickle.dumps(surrogate))
    found = []
    for model, targets in ((surrogate, y), (twin, 100.0 + 7.0 * y)):
        model.learn_from(sources_of())
        model.fit(X, targets, rng=np.random.default_rng(3))
        found.append(model.predict(X))
    (mean, std), (other_mean, other_std) = found
    np.testing.assert_allclose(other_mean, 100.0 + 7.0 * mean, rtol=1e-4)
    np.testing.assert_allclose(other_std, 7.0 * std, rtol=1e-3)


def test_one_trial_and_equal_trials_are_taken(surrogate):
    surrogate.learn_from(sources_of())
    X = np.random.default_rng(0).random((4, 2))
    for n in (1, 4):
        surrogate.fit(X[:n], np.zeros(n), rng=np.random.default_rng(0))
        mean, std = surrogate.predict(X)
        assert np.all(np.isfinite(mean))
        assert np.all(np.isfinite(std) & (std >= 0.0))
        Z = np.random.default_rng(1).random((80, 2))
        has_meta = not isinstance(surrogate, InformedProcess)  # else both kinds are equally likely
        assert correlation(surrogate.predict(Z)[0], surface(Z, 0.2)) > (0.4 if has_meta else 0.2)


def test_it_is_deterministic_and_goes_on_after_a_pickle(surrogate):
    X = np.random.default_rng(0).random((6, 2))
    y = surface(X, 0.2)
    surrogate.learn_from(sources_of())
    copy = pickle.loads(pickle.dumps(surrogate))
    for model in (surrogate, copy):
        model.fit(X[:4], y[:4], rng=np.random.default_rng(5))
    copy = pickle.loads(pickle.dumps(copy))
    for model in (surrogate, copy):
        model.fit(X, y, rng=np.random.default_rng(6))
    np.testing.assert_array_equal(surrogate.predict(X), copy.predict(X))


def test_laplace_is_surer_where_trials_are():
    model = build(SURROGATES, LAPLACE, "surrogate")
    model.learn_from(sources_of())
    X = np.random.default_rng(0).random((12, 2)) * [0.3, 1.0]
    model.fit(X, surface(X, 0.2), rng=np.random.default_rng(0))
    near, far = model.predict(X)[1], model.predict(X + 3.0)[1]
    assert near.mean() < far.mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_members": 0}, "n_members must be at least 1"),
        ({"layers": -1}, "layers and factors"),
        ({"decay": 0.0}, "decay and rate"),
        ({"uncertainty": "guess"}, "ensemble or laplace"),
        ({"uncertainty": "laplace"}, "needs n_members 1"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        TransferNetworks(**options)


def test_a_network_too_large_for_its_covariance_is_refused():
    model = TransferNetworks(n_members=1, units=500, factors=4, n_steps=1, uncertainty="laplace")
    with pytest.raises(SettingsError, match="fewer units or factors"):
        model.fit(
            np.random.default_rng(0).random((4, 3)), np.arange(4.0), rng=np.random.default_rng(0)
        )
    with pytest.raises(SettingsError, match="fewer units or factors"):
        model.learn_from(sources_of())


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20), st.integers(0, 99))
def test_a_scale_is_increasing_and_has_the_expected_mean(values, seed):
    y = np.array(values)
    expected = np.random.default_rng(seed).standard_normal(len(y))
    scale = Scale.of(y, expected)
    common = scale.to_common(y)
    assert scale.spread > 0.0
    if np.ptp(y) > 1e-6:
        assert common.mean() == pytest.approx(expected.mean(), abs=1e-6)
        assert common.var() == pytest.approx(expected.var() + 0.25, rel=1e-6)
    np.testing.assert_allclose(scale.from_common(common, common)[0], y, atol=1e-9)


def test_good_trials_are_called_good():
    """Three trials where all did well before are above the mean of a data set, not around it."""
    expected = np.array([1.2, 1.0, 1.4])
    assert np.all(Scale.of(np.array([0.90, 0.89, 0.91]), expected).to_common(np.array([0.9])) > 0.9)


def test_the_design_matrix_and_what_forests_see():
    sources = sources_of(n_each=2)
    meta = descriptors(sources)
    x = design_matrix(sources.X[:3], np.array([0, 0, N_TASKS]), meta)
    assert x.shape == (3, 2 + N_TASKS + 1 + 1)
    np.testing.assert_array_equal(x[:, 2:-1].sum(axis=1), 1.0)
    assert x[2, 2 + N_TASKS] == 1.0
    np.testing.assert_array_equal(x[:, -1], [0.0, 0.0, 0.07])
    np.testing.assert_array_equal(
        described(sources.X[:3], np.array([0, 0, N_TASKS]), meta)[:, 2:], x[:, -1:]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(3)}, "one row per trial"),
        ({"task": np.full(12, 9)}, "task must be in"),
        ({"meta": np.zeros((6, 2))}, "must have 1 columns"),
        ({"y": np.full(12, np.nan)}, "y must be finite"),
    ],
)
def test_sources_that_do_not_fit_are_refused(change, message):
    sources = sources_of(n_each=2)
    with pytest.raises(ValueError, match=message):
        Sources(**{**sources.__dict__, **change})


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 40))
def test_pairs_are_of_one_data_set_and_the_better_comes_first(task, n_pairs):
    task = np.array(task)
    y = np.random.default_rng(0).integers(4, size=len(task)).astype(float)
    better, worse = pairs_of(y, task, n_pairs, np.random.default_rng(1))
    assert np.all(y[better] > y[worse])
    assert np.all(task[better] == task[worse])


def test_the_ranking_is_that_of_a_linear_support_vector_machine():
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(60)
    better, worse = pairs_of(y, np.zeros(60, dtype=int), 5, rng)
    differences = X[better] - X[worse]
    cost = 50.0
    found = ranking_weights(differences, cost=cost)
    both = np.concatenate([differences, -differences])
    labels = np.repeat([1, -1], len(differences))
    # the sum of the reference counts each pair twice
    reference = LinearSVC(
        C=cost / len(differences) / 2, fit_intercept=False, dual=False, tol=1e-8, max_iter=10_000
    ).fit(both, labels)
    np.testing.assert_allclose(found, reference.coef_[0], rtol=1e-3)
    np.testing.assert_array_equal(ranking_weights(np.zeros((0, 3)), cost=1.0), np.zeros(3))


def test_the_mixed_kernel_and_the_gradient_of_its_likelihood():
    rng = np.random.default_rng(0)
    X, y = rng.random((15, 5)), rng.standard_normal(15)
    theta = np.log([0.5, 1.0, 2.0, 0.7, 0.8, 0.6, 0.1])  # three columns, two meta-features
    K = Factors.between(theta, X, X).covariance(theta)
    near = np.exp(-0.5 * (((X[2, :3] - X[7, :3]) / [0.5, 1.0, 2.0]) ** 2).sum())
    alike = np.exp(-0.5 * ((X[2, 3:] - X[7, 3:]) ** 2).sum() / 0.7**2)
    assert K[2, 7] == pytest.approx(near * (0.8 + 0.6 * alike))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    gradient = log_likelihood(theta, X, y).gradient
    for i in range(len(theta)):
        shift = np.eye(len(theta))[i] * 1e-6
        above, below = (log_likelihood(theta + sign * shift, X, y).value for sign in (1, -1))
        assert gradient[i] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-6)
