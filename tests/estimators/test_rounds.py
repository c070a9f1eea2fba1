"""How many rounds of boosting are grown."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.estimators.allowance import Allowance, fitting_within
from automl.estimators.rounds import MIN_ROWS_TO_HOLD_OUT, Rounds, look

RATES = st.floats(0.005, 0.5)


@given(RATES, RATES)
def test_a_lower_rate_has_no_fewer_rounds_and_no_less_patience(one: float, other: float) -> None:
    low, high = (Rounds(rate, 0, 5.0) for rate in sorted((one, other)))
    assert 100 <= high.most <= low.most <= 2000
    assert 20 <= high.patience <= low.patience <= 100


@given(RATES, st.integers(1, 5000), st.integers(1, 5000))
def test_what_was_asked_for_or_is_known_is_never_exceeded(
    rate: float, wanted: int, known: int
) -> None:
    rounds = Rounds(rate, wanted, 5.0)
    few = rounds.settled(MIN_ROWS_TO_HOLD_OUT - 1)
    assert few is not None
    assert 1 <= few <= wanted == rounds.most
    with fitting_within(Allowance(most_rounds=known)):
        assert rounds.settled(10**6) == min(wanted, known)


def test_many_rows_are_asked_and_few_are_not() -> None:
    rounds = Rounds(0.1, 0, 5.0)
    assert rounds.settled(MIN_ROWS_TO_HOLD_OUT) is None
    assert rounds.settled(MIN_ROWS_TO_HOLD_OUT - 1) is not None


SPLIT = (np.arange(75), np.arange(75, 100))


@pytest.mark.parametrize("seconds", [None, 50.0])
def test_with_time_for_all_rows_they_take_the_number_that_was_found(seconds: float | None) -> None:
    with fitting_within(Allowance(seconds)) as allowance:
        found = look(SPLIT, lambda *_: ("model", 40, 100), lambda best: best + 20)
    assert (found, allowance.found, allowance.kept) == ((None, 60), 60, None)


def test_without_time_for_all_rows_the_model_keeps_its_rounds() -> None:
    def grow(*_: object) -> tuple[str, int, int]:
        time.sleep(0.02)
        return "model", 80, 1

    with fitting_within(Allowance(0.3)) as allowance:
        found = look(SPLIT, grow, round)
    assert (found, allowance.found, allowance.kept) == (("model", 80), None, 80)


def test_time_for_the_best_rounds_but_not_for_all_that_are_wanted_grows_those_it_suffices_for() -> (
    None
):
    def grow(*_: object) -> tuple[str, int, int]:
        time.sleep(0.05)
        return "model", 50, 100

    with fitting_within(Allowance(0.15)) as allowance:
        model, rounds = look(SPLIT, grow, lambda _: 10**6)
    assert model is None
    assert 50 <= rounds < 200
    assert (allowance.found, allowance.kept) == (None, rounds)


def test_time_that_is_over_ends_the_search_for_the_number() -> None:
    with fitting_within(Allowance(0.0)) as allowance:
        assert look(SPLIT, lambda *_: ("model", 7, 9), round) == ("model", 7)
    assert (allowance.found, allowance.kept) == (None, 7)
