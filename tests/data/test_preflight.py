"""What the checks say of leaks, identifiers, copies, time order, shifts and standstills, and of none of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.data.column_scores import neighbor_likeness
from automl.data.identifiers import names_rows
from automl.data.stretches import StretchLosses
from automl.data.table import prepare_table, prepare_test_table

N = 400


def plain(n_rows=N, seed=0, is_classification=True):
    """Columns that say something of the target, rows in random order."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "size": size,
            "income": np.exp(rng.normal(size=n_rows)).round(3),
            "rooms": rng.integers(1, 9, n_rows),
            "color": rng.choice(["red", "green", "blue"], n_rows),
        }
    )
    score = size + (frame["color"] == "red") + rng.normal(size=n_rows)
    return frame.assign(y=np.where(score > 0.3, "yes", "no") if is_classification else score)


def notes_on(frame, test=None, **options):
    table = prepare_table(frame, target="y", **options)
    return table.notes if test is None else prepare_test_table(test, table).notes


def walk(n_rows, rng):
    steps = rng.normal(size=n_rows)
    return np.cumsum(steps) - np.linspace(0, steps.sum(), n_rows)


def in_order(frame, key):
    """The rows placed so that `key` follows a slow walk."""
    places = np.empty(len(frame), dtype=int)
    places[np.argsort(walk(len(frame), np.random.default_rng(5)))] = np.argsort(key)
    return frame.iloc[places].reset_index(drop=True)


def follows_time(frame, rng):
    code = (frame["y"] == "yes") * 2.0
    return in_order(frame, code + frame["size"] + rng.normal(0, 0.4, len(frame)))


def with_leak(frame, rng):
    codes = (frame["y"] == "yes").to_numpy() ^ (rng.random(len(frame)) < 0.02)
    return frame.assign(bad=np.where(codes, 7.5, 2.5) + rng.normal(0, 0.2, len(frame)))


def with_number(frame, rng):
    return frame.assign(bad=rng.permutation(3 * len(frame))[: len(frame)] * 4 + 11)


def with_date(frame, rng):
    ordered = follows_time(frame, rng)
    ordered["bad"] = pd.date_range("2024-03-01", periods=len(frame), freq="7h").astype(str)
    return ordered.iloc[rng.permutation(len(frame))].reset_index(drop=True)


def with_shift(frame, rng):
    late = np.arange(len(frame)) > 0.6 * len(frame)
    return frame.assign(bad=rng.normal(size=len(frame)) + 1.2 * late)


def with_standstill(frame, rng):
    late = np.arange(len(frame)) > 0.85 * len(frame)
    return frame.assign(bad=np.where(late, 0.0, rng.normal(size=len(frame))))


def with_gap(frame, rng):
    late = np.arange(len(frame)) > 0.85 * len(frame)
    return frame.assign(bad=pd.Series(rng.choice(["u", "v", "w"], len(frame))).mask(late))


SPOILERS = {
    "leak": (with_leak, "alone leaves"),
    "identifier": (with_number, "no two rows share"),
    "dates": (with_date, "rows close in date column"),
    "shift": (with_shift, "distributed differently from about row 2"),
    "standstill": (with_standstill, "never changes after row 341: it is 0.0 in 59 of 400 rows"),
    "gap": (with_gap, "never changes after row 341: it is empty in 59 of 400 rows"),
}


@pytest.mark.parametrize("kind", SPOILERS)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    name=st.sampled_from(["bad", "value", "Z 9", "ß"]),
    place=st.integers(0, 4),
    scale=st.sampled_from([1.0, 1e-6, 1e5]),
)
def test_a_defect_is_found_whatever_its_place_name_and_unit(kind, seed, name, place, scale):
    spoil, words = SPOILERS[kind]
    frame = spoil(plain(seed=seed), np.random.default_rng(seed))
    if frame["bad"].dtype == np.float64:
        frame["bad"] *= scale
    values = frame.pop("bad")
    frame.insert(place, name, values)
    assert any(words in note and repr(name) in note for note in notes_on(frame))


@pytest.mark.parametrize("is_classification", [True, False])
def test_rows_in_random_order_give_a_note_no_more_often_than_chance_allows(is_classification):
    """A hundredth of such tables: that of test rows is tested at this level, and nothing else notes any."""
    alone, with_test = 0, 0
    for seed in range(40):
        frame = plain(seed=seed, is_classification=is_classification)
        test = plain(200, seed=seed + 1000, is_classification=is_classification)
        alone += notes_on(frame) != ()
        with_test += notes_on(frame, test) != ()
    assert alone == 0
    assert with_test <= 2


def test_rows_sorted_by_the_target_are_in_no_order_of_time():
    frame = plain(2000).sort_values("y", ignore_index=True)
    frame["rooms"] = frame["rooms"].where((frame["y"] == "yes") | (frame["rooms"] > 4), 0)
    assert notes_on(frame) == ()


def in_groups(seed=0, is_classification=True):
    """Ten rows of almost the same values and the same target after each other."""
    rng = np.random.default_rng(seed)
    frame = plain(N // 10, seed, is_classification).loc[np.repeat(np.arange(N // 10), 10)]
    frame = frame.reset_index(drop=True)
    return frame.assign(
        size=frame["size"] + rng.normal(0, 0.03, N), income=frame["income"] + rng.normal(0, 0.03, N)
    )


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16), is_classification=st.booleans())
def test_neighbours_with_like_targets_and_values_are_noted_unless_time_or_groups_are_given(
    seed, is_classification
):
    frame = in_groups(seed, is_classification)
    noted = [note for note in notes_on(frame) if "rows that follow each other" in note]
    assert len(noted) == 1
    assert any(name in noted[0] for name in ("'size'", "'income'", "'rooms'", "'color'"))
    told = frame.assign(day=np.arange(N) * 2.5, site=np.arange(N) // 10)
    assert not any("--time" in note for note in notes_on(told, time="day"))
    assert not any("--time" in note for note in notes_on(told, groups="site"))


def test_an_order_in_which_neighbours_give_nothing_away_is_hardly_ever_noted():
    """Errors on stretches are larger by chance now and then: no more than one of sixteen tables."""
    noted = 0
    for seed in range(16):
        ordered = follows_time(plain(1000, seed), np.random.default_rng(seed))
        assert neighbor_likeness((ordered["y"] == "yes").to_numpy(dtype=float)[:, None])[0] > 0.2
        noted += any("rows that follow each other" in note for note in notes_on(ordered))
    assert noted <= 1


def test_small_groups_are_noted_in_many_rows():
    rng = np.random.default_rng(4)
    frame = plain(6000).loc[np.repeat(np.arange(6000), 4)].reset_index(drop=True)
    frame["size"] += rng.normal(0, 0.01, len(frame))
    assert any("rows that follow each other" in note for note in notes_on(frame))


def test_errors_on_stretches_count_only_if_larger_by_a_tenth_and_by_more_than_chance():
    rng = np.random.default_rng(6)
    losses = rng.exponential(size=2000)
    noise = rng.normal(size=2000)
    noise -= noise.mean()
    assert StretchLosses(losses, 1.2 * losses + 0.1 * noise).is_larger
    assert not StretchLosses(losses, 1.05 * losses).is_larger
    assert not StretchLosses(losses, 1.2 * losses + 5 * noise).is_larger
    assert not StretchLosses(1.2 * losses, losses).is_larger


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_a_column_whose_neighbours_are_alike_has_not_changed_for_that(seed):
    rng = np.random.default_rng(seed)
    level = pd.Series(rng.normal(size=2000)).ewm(alpha=0.1).mean().to_numpy()
    frame = plain(2000, seed).assign(level=level)
    assert not any("'level'" in note for note in notes_on(frame))
    moved = frame.assign(level=level + 1.5 * level.std() * (np.arange(2000) > 1200))
    assert any("'level' is distributed differently from about" in note for note in notes_on(moved))


def test_a_number_in_whose_order_the_rows_stand_is_named():
    frame = follows_time(plain(), np.random.default_rng(1))
    frame["seconds"] = 1_700_000_000.5 + np.cumsum(np.random.default_rng(2).integers(1, 900, N))
    assert any("column 'seconds', by which they are sorted" in note for note in notes_on(frame))


def test_a_standstill_in_the_order_of_the_given_time_is_found_in_rows_of_any_order():
    rng = np.random.default_rng(3)
    frame = with_standstill(plain(), rng).assign(day=np.arange(N) * 2.5)
    mixed = frame.iloc[rng.permutation(N)].reset_index(drop=True)
    words = "'bad' never changes after row 341 in the order of 'day'"
    assert any(words in note for note in notes_on(mixed, time="day"))
    assert not any("never changes" in note for note in notes_on(mixed))


def test_copies_of_training_rows_are_counted_also_with_another_target_or_rounded():
    train, test = plain(seed=1), plain(100, seed=2)
    copies = train.iloc[:12].copy()
    copies.loc[:6, "y"] = copies.loc[:6, "y"].map({"yes": "no", "no": "yes"})
    copies[["size", "income"]] *= 1 + 1e-9
    notes = notes_on(train, pd.concat([test, copies, train.iloc[20:23]], ignore_index=True))
    assert "3 of 115 test rows are also among the training rows" in notes
    words = "of 115 test rows have the features of a training row, with another target or rounded"
    assert f"12 {words}" in notes
    within = notes_on(pd.concat([train, copies], ignore_index=True))
    assert any(
        note.startswith("12 of 412 rows have the features of an earlier row") for note in within
    )


def test_numbers_that_differ_in_their_last_whole_digit_are_no_copies():
    train = plain().assign(income=1_234_500 + np.arange(N) * 3.0, size=0.5, rooms=2, color="red")
    assert not any("have the features" in note for note in notes_on(train))


@pytest.mark.parametrize("change", ["moved", "thousandths", "gaps", "exchanged", "target"])
def test_test_rows_of_another_distribution_are_noted_by_column(change):
    train, test = plain(seed=1), plain(150, seed=2)
    spoilt = {
        "moved": lambda: test.assign(size=test["size"] + 1.0),
        "thousandths": lambda: test.assign(income=test["income"] / 1000),
        "gaps": lambda: test.assign(rooms=test["rooms"].where(np.arange(150) % 3 > 0)),
        "exchanged": lambda: test.assign(color=test["color"].replace({"red": "blue"})),
        "target": lambda: test[(test["y"] == "yes") | (test.index % 3 == 0)],
    }[change]()
    column = {
        "moved": "size",
        "thousandths": "income",
        "gaps": "rooms",
        "exchanged": "color",
        "target": "y",
    }
    note = next(note for note in notes_on(train, spoilt) if "in the test rows" in note)
    assert repr(column[change]) in note


@given(
    n_rows=st.integers(100, 400), step=st.integers(1, 50), start=st.integers(-(10**6), 10**6), seed=st.integers(0, 99)
)  # fmt: skip
def test_dealt_numbers_name_rows_in_any_order_and_unit(n_rows, step, start, seed):
    dealt = np.random.default_rng(seed).permutation(2 * n_rows)[:n_rows] * step + start
    assert names_rows(dealt.astype(np.float64))


@given(seed=st.integers(0, 2**16), spread=st.sampled_from([5.0, 50.0, 400.0]))
def test_measured_whole_numbers_do_not_name_rows(seed, spread):
    measured = np.random.default_rng(seed).normal(0, spread, 300).round()
    assert not names_rows(measured)


@given(seed=st.integers(0, 2**16))
def test_likeness_of_neighbours_is_small_in_a_random_order_and_large_along_a_walk(seed):
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.normal(size=2000), walk(2000, rng)])
    random, slow = neighbor_likeness(values)
    assert abs(random) * np.sqrt(2000) < 6
    assert slow > 0.5
    assert np.allclose(neighbor_likeness(3 - 2 * values), [random, slow])
