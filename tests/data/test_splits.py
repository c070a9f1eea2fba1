"""Folds, halves and test rows: who is separated from whom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.allotment import allot
from automl.data.splits import (
    TRAINING_ONLY,
    HalvesMode,
    fold_rows,
    make_folds,
    split_halves,
    split_test,
)
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.records import Task

pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than .* folds:automl.errors.AutoMLWarning")

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def targets(draw, min_rows=12, max_rows=150):
    n_rows = draw(st.integers(min_rows, max_rows))
    n_classes = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(SEEDS))
    shares = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.3, 1.0, 10.0]))))
    return rng.choice(n_classes, size=n_rows, p=shares).astype(np.int32)


@st.composite
def grouped_targets(draw):
    y = draw(targets(min_rows=20))
    rng = np.random.default_rng(draw(SEEDS))
    n_groups = draw(st.integers(10, max(10, 2 * len(y))))
    groups = np.concatenate([np.arange(10), rng.integers(0, n_groups, len(y) - 10)])
    return y, groups


def folds_of(y, **arguments):
    task = Task.BINARY if y.max() < 2 else Task.MULTICLASS
    return make_folds(y, task, **{"n_folds": 5, "repeat": 0, "seed": 0, **arguments})


def kept_out(y, n_folds):
    """Rows of classes with fewer rows than folds, and than the second largest class."""
    counts = np.bincount(y)
    small = counts[y] < min(n_folds, np.sort([0, *counts])[-2])
    return small if (~small).sum() >= n_folds else np.zeros(len(y), dtype=bool)


@given(targets(), st.integers(2, 10), st.integers(0, 3), SEEDS)
def test_every_row_is_validated_exactly_once_per_repeat_but_those_of_small_classes(
    y, n_folds, repeat, seed
):
    folds = folds_of(y, n_folds=n_folds, repeat=repeat, seed=seed)
    validated = [fold_rows(folds, fold)[1] for fold in range(n_folds)]
    judged = np.flatnonzero(~kept_out(y, n_folds))
    assert np.array_equal(np.sort(np.concatenate(validated)), judged)
    for fold in range(n_folds):
        training, validation = fold_rows(folds, fold)
        assert np.array_equal(np.union1d(training, validation), np.arange(len(y)))
        assert not set(training) & set(validation)


@given(targets(), st.integers(2, 10), SEEDS)
def test_classes_are_spread_within_one_row_of_proportional(y, n_folds, seed):
    folds = folds_of(y, n_folds=n_folds, seed=seed)
    judged = ~kept_out(y, n_folds)
    for label in np.unique(y[judged]):
        counts = np.bincount(folds[y == label], minlength=n_folds)
        assert np.abs(counts - (y == label).sum() / n_folds).max() < 1
    sizes = np.bincount(folds[judged], minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


@given(grouped_targets(), st.integers(2, 10), SEEDS)
def test_groups_are_never_split(data, n_folds, seed):
    y, groups = data
    folds = folds_of(y, n_folds=n_folds, seed=seed, groups=groups)
    assert not (folds[~kept_out(y, n_folds)] < 0).any()
    assert all(len(set(folds[groups == group])) == 1 for group in groups)


@given(grouped_targets(), st.floats(0.2, 0.8), SEEDS)
def test_groups_are_never_split_between_training_and_test_rows_or_halves(data, share, seed):
    y, groups = data
    training, test = split_test(y, Task.MULTICLASS, share=share, seed=seed, groups=groups)
    assert not set(groups[training]) & set(groups[test])
    for mode in (HalvesMode.DISJOINT, HalvesMode.BOOTSTRAP):
        halves = split_halves(y, Task.MULTICLASS, seed=seed, mode=mode, groups=groups)
        assert not set(groups[halves.search]) & set(groups[halves.selection])


@given(targets(), st.integers(2, 5), st.integers(0, 3), SEEDS)
def test_an_equal_seed_gives_equal_folds(y, n_folds, repeat, seed):
    first, second = (folds_of(y, n_folds=n_folds, repeat=repeat, seed=seed) for _ in range(2))
    assert np.array_equal(first, second)


def test_repeats_and_seeds_give_other_folds():
    y = np.arange(100, dtype=np.int32) % 2
    variants = [folds_of(y), folds_of(y, repeat=1), folds_of(y, seed=1)]
    assert len({tuple(folds) for folds in variants}) == 3


@given(
    st.lists(st.integers(0, 40), min_size=30, max_size=200).filter(lambda t: len(set(t)) > 6),
    st.integers(2, 5),
    st.integers(0, 3),
    SEEDS,
)
def test_time_folds_never_train_on_the_future(times, n_folds, repeat, seed):
    time = np.array(times, dtype=float)
    folds = make_folds(time, Task.REGRESSION, n_folds=n_folds, repeat=repeat, seed=seed, time=time)
    assert set(folds) == set(range(-1, n_folds))
    for fold in range(n_folds):
        training, validation = fold_rows(folds, fold, time=True)
        assert len(training)
        assert len(validation)
        assert time[training].max() < time[validation].min()


def test_time_folds_have_equal_blocks_and_other_borders_in_repeats():
    time = np.random.default_rng(0).permutation(600).astype(float)
    arguments = {"task": Task.REGRESSION, "n_folds": 5, "seed": 0, "time": time}
    folds = make_folds(time, repeat=0, **arguments)
    assert np.bincount(folds + 1).tolist() == [100] * 6
    assert not np.array_equal(folds, make_folds(time, repeat=1, **arguments))


def test_repeats_of_a_holdout_in_time_order_begin_elsewhere():
    times = np.arange(5000)
    parts = [folds_of(np.zeros(5000), holdout=True, time=times, repeat=r) for r in range(4)]
    begins = [int(times[folds >= 0].min()) for folds in parts]
    assert len(set(begins)) == 4
    for folds, begin in zip(parts, begins, strict=True):
        assert (folds[begin:] >= 0).all()


def test_a_holdout_validates_one_fold_only():
    y = np.arange(103, dtype=np.int32) % 3
    folds = folds_of(y, holdout=True)
    assert np.bincount(folds + 1).tolist() in ([82, 21], [83, 20])
    time = np.arange(100.0)
    last = make_folds(y, Task.MULTICLASS, n_folds=5, repeat=0, seed=0, time=np.arange(103.0),
                      holdout=True)  # fmt: skip
    training, validation = fold_rows(last, 0, time=True)
    assert training.tolist() == list(range(len(training)))
    assert len(validation) == 21 or len(validation) == 20
    assert time[0] == 0


def test_regression_targets_are_stratified_on_demand():
    y = np.random.default_rng(0).normal(size=200)
    folds = make_folds(y, Task.REGRESSION, n_folds=5, repeat=0, seed=0, target_bins=4)
    top = y > np.quantile(y, 0.75)
    assert np.bincount(folds[top]).tolist() == [10] * 5


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (
            (30, 3),
            "class 'b' has 3 rows, fewer than 5 folds; it is learned, but not judged in every",
        ),
        ((30, 30, 1), "class 'c' has 1 row, fewer than 5 folds; it is learned, but never judged"),
        ((30, 3, 1), r"2 classes \('b', 'c'\) have at most 3 rows each.* not judged in every fold"),
        ((30, 30, 1, 2), r"2 classes \('c', 'd'\) have at most 2 rows each.* but never judged"),
    ],
)
def test_classes_smaller_than_the_folds_are_told(sizes, told):
    y = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    with pytest.warns(AutoMLWarning, match=told):
        folds = folds_of(y, labels="abcd")
    if "never judged" in told:
        assert (folds[y >= 2] == TRAINING_ONLY).all()


def test_a_warning_without_labels_names_codes():
    with pytest.warns(AutoMLWarning, match="class 1 has 3 rows"):
        folds_of(np.repeat(np.array([0, 1], dtype=np.int32), [30, 3]))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n_folds": 1}, SettingsError, "at least 2"),
        ({"n_folds": 99}, SettingsError, "99 folds need at least 99 rows; got 30"),
        ({"repeat": -1}, SettingsError, "repeat"),
        ({"groups": np.arange(30) % 3}, DataError, "at least 5 groups; found 3"),
        ({"time": np.arange(30.0) % 3}, DataError, "at least 6 distinct times; found 3"),
    ],
)
def test_impossible_folds_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        folds_of(np.arange(30, dtype=np.int32) % 2, **arguments)


@given(targets(), st.floats(0.2, 0.8), SEEDS)
def test_test_rows_are_stratified(y, share, seed):
    training, test = split_test(y, Task.MULTICLASS, share=share, seed=seed)
    assert np.array_equal(np.sort(np.concatenate([training, test])), np.arange(len(y)))
    for label in np.unique(y):
        assert abs((y[test] == label).sum() - share * (y == label).sum()) < 1


def test_test_rows_in_time_order_are_the_last():
    time = np.random.default_rng(0).permutation(100).astype(float)
    training, test = split_test(time, Task.REGRESSION, share=0.3, seed=0, time=time)
    assert len(test) == 30
    assert time[training].max() < time[test].min()


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 0.001])
def test_an_impossible_test_share_is_refused(share):
    with pytest.raises(SettingsError, match="share"):
        split_test(np.arange(20, dtype=np.int32) % 2, Task.BINARY, share=share, seed=0)


def test_equal_times_and_a_single_group_cannot_be_split():
    y = np.zeros(20)
    with pytest.raises(DataError, match="same time"):
        split_test(y, Task.REGRESSION, share=0.3, seed=0, time=np.zeros(20))
    with pytest.raises(DataError, match="2 groups; found 1"):
        split_test(y, Task.REGRESSION, share=0.3, seed=0, groups=np.zeros(20, dtype=int))


def test_disjoint_halves_part_the_rows_and_bootstrap_leaves_some_out():
    y = np.arange(1000, dtype=np.int32) % 4
    halves = split_halves(y, Task.MULTICLASS, seed=0)
    assert len(halves.search) == len(halves.selection) == 500
    assert not set(halves.search) & set(halves.selection)
    drawn = split_halves(y, Task.MULTICLASS, seed=0, mode="bootstrap")
    assert len(drawn.search) == 1000
    assert 320 < len(drawn.selection) < 420
    assert not set(drawn.search) & set(drawn.selection)
    assert np.bincount(y[drawn.search]).tolist() == [250] * 4
    everything = split_halves(y, Task.MULTICLASS, seed=0, mode="all")
    assert np.array_equal(everything.search, everything.selection)


def test_halves_in_time_order_select_on_the_later_rows():
    time = np.arange(40.0)[::-1]
    halves = split_halves(time, Task.REGRESSION, seed=0, time=time)
    assert time[halves.search].max() < time[halves.selection].min()
    with pytest.raises(SettingsError, match="order of time"):
        split_halves(time, Task.REGRESSION, seed=0, time=time, mode="bootstrap")


@pytest.mark.parametrize("arguments", [{"mode": "some"}, {"share": 1.5}])
def test_impossible_halves_are_refused(arguments):
    with pytest.raises(SettingsError, match=r"halves|half"):
        split_halves(np.zeros(9), Task.REGRESSION, seed=0, **arguments)


@given(grouped_targets(), SEEDS)
def test_groups_are_balanced_as_far_as_they_allow(data, seed):
    y, groups = data
    shares = np.array([0.5, 0.3, 0.2])
    bins = allot(y.astype(np.intp), groups, shares, rng=np.random.default_rng(seed))
    largest = np.unique(groups, return_counts=True)[1].max()
    assert (
        np.abs(np.bincount(bins, minlength=3) - len(y) * shares).max()
        <= 2 * largest + len(shares) * 5
    )
