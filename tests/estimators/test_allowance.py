"""Fits that end when they are told to, with the rounds that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from automl.estimators import rounds
from automl.estimators.allowance import STOPPERS, Allowance, current, fitting_within
from automl.families.registry import families, get_family
from automl.spaces.yaml_loader import STOPS

BOOSTERS = [name for name, family in families().items() if family.capabilities.stops]
LOOKING = ("lightgbm", "xgboost", "catboost")
"""Those that hold rows out to find their number of rounds."""
KINDS = ("multiclass", "regression")


class Countdown(Allowance):
    """Its time is over after a number of rounds, whatever the clock says."""

    def __init__(self, rounds: int) -> None:
        super().__init__(seconds=1e9)
        self.rounds_left = rounds

    def is_over(self) -> bool:
        self.rounds_left -= 1
        return self.rounds_left <= 0

    @property
    def left(self) -> float:
        return 0.0 if self.rounds_left <= 0 else 1e9


class Spent(Countdown):
    """Lets the rounds under way go on, and says that no time is left for more of them."""

    @property
    def left(self) -> float:
        return 0.0


def data_of(kind: str, n_rows: int = 400) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    signal = X[:, 0] - X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)
    return X, signal if kind == "regression" else np.digitize(signal, [-0.7, 0.7])


def predicted(name: str, kind: str, allowance: Allowance | None = None, **values: Any) -> Any:
    """Raw predictions of a family's default after a fit within an allowance."""
    family = get_family(name)
    X, y = data_of(kind)
    configuration = family.space(kind).complete(values)
    model = family.build(configuration, task=kind, n_rows=len(y), n_columns=4, n_classes=3, seed=1)
    with fitting_within(allowance or Allowance()):
        family.fit(model, X, y)
    return model.predict(X) if kind == "regression" else model.predict_proba(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOOKING)
def test_all_rows_get_more_rounds_than_are_best_for_numbers_alone(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name)
    family = get_family(name)
    X, y = data_of(kind)
    model = family.build(family.space(kind).default(), task=kind, n_classes=3, seed=1)
    found = {}
    for multiple in (1.0, rounds.BEYOND_BEST, 1000.0):
        monkeypatch.setattr(rounds, "BEYOND_BEST", multiple)
        with fitting_within(Allowance()) as allowance:
            family.fit(model, X, y)
        assert allowance.found is not None
        found[multiple] = allowance.found
    best, usual, most = found.values()
    if kind == "regression":
        assert (usual, most) == (round(1.5 * best), model.planned_iterations)
    else:
        assert usual == most == best < model.planned_iterations


def test_every_boosted_family_can_stop() -> None:
    assert {"lightgbm", "hist_gradient_boosting", "gradient_boosting"} <= set(BOOSTERS)
    assert set(STOPPERS) == set(STOPS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BOOSTERS)
def test_without_any_time_there_is_a_model_of_the_first_rounds(name: str, kind: str) -> None:
    allowance = Allowance(seconds=0.0)
    short = predicted(name, kind, allowance)
    assert allowance.kept is not None
    assert 1 <= allowance.kept <= 60
    assert np.isfinite(short).all()
    assert not np.allclose(short, predicted(name, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BOOSTERS)
def test_with_time_enough_the_model_is_the_one_without_a_limit(name: str, kind: str) -> None:
    allowance = Allowance(seconds=1e6)
    assert np.array_equal(predicted(name, kind, allowance), predicted(name, kind))
    assert allowance.kept is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BOOSTERS)
def test_a_known_number_of_rounds_is_kept_to_and_asks_no_clock(name: str, kind: str) -> None:
    three, five = Allowance(most_rounds=3), Allowance(most_rounds=5)
    found = predicted(name, kind, three)
    assert three.kept is None
    assert np.array_equal(found, predicted(name, kind, Allowance(most_rounds=3)))
    assert not np.allclose(found, predicted(name, kind, five))


@pytest.mark.parametrize("name", [name for name in BOOSTERS if name != "hist_gradient_boosting"])
def test_the_rounds_that_are_kept_are_those_that_were_grown(name: str) -> None:
    allowance = Countdown(rounds=7)
    predicted(name, "regression", allowance)
    assert allowance.kept is not None
    assert allowance.kept <= 7


@pytest.mark.parametrize("name", LOOKING)
def test_a_fit_that_found_its_rounds_but_has_no_time_for_all_rows_keeps_them(name: str) -> None:
    whole = predicted(name, "regression")
    allowance = Spent(rounds=10**6)
    kept = predicted(name, "regression", allowance)
    assert allowance.kept is not None
    assert allowance.kept > 10  # held-out rows told when to stop, and no round was cut off
    assert not np.allclose(kept, whole)
    assert np.corrcoef(kept, whole)[0, 1] > 0.95


@pytest.mark.parametrize("name", LOOKING)
def test_all_rows_are_used_again_for_the_number_that_was_found(name: str) -> None:
    looking = Allowance()
    whole = predicted(name, "regression", looking)
    assert looking.found is not None
    assert np.array_equal(
        whole, predicted(name, "regression", Allowance(most_rounds=looking.found))
    )


@pytest.mark.parametrize("name", LOOKING)
def test_half_the_rate_may_grow_twice_the_rounds(name: str) -> None:
    space = get_family(name).space("regression")
    most = [
        get_family(name)
        .build(
            space.complete({"learning_rate": rate}),
            task="regression",
            n_rows=400,
            n_columns=4,
            n_classes=0,
            seed=1,
        )
        .planned_iterations
        for rate in (0.2, 0.1)
    ]
    assert most[1] == pytest.approx(2 * most[0], abs=1)


def test_the_allowance_ends_with_its_fit() -> None:
    with fitting_within(Allowance(most_rounds=3)):
        assert current().most_rounds == 3
    assert current().most_rounds is None
    assert not current().is_limited
