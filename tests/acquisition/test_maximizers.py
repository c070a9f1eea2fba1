"""Maximizers find what is there to be found, in batches."""

from dataclasses import replace

import numpy as np
import pytest

from automl.acquisition.criterion import Criterion
from automl.acquisition.functions import (
    ExpectedImprovementPerCost,
    Reference,
    UpperConfidenceBound,
)
from automl.acquisition.maximizers import (
    Ground,
    LocalSearch,
    RandomCandidates,
    SobolRefined,
    best_first,
    refine,
)
from automl.acquisition.registry import MAXIMIZERS
from automl.errors import SettingsError
from automl.parts import Part, build
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.point_encoding import PointEncoder
from automl.spaces.points import PointSpace
from automl.spaces.tree import SpaceTree

UNIT = {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.5}
TREE = {
    "x": UNIT,
    "z": UNIT,
    "word": {"type": "categorical", "branch": False, "default": "a", "choices": ["a", "b", "c"]},
    "kind": {
        "type": "categorical",
        "default": "p",
        "choices": {"p": {}, "q": {"tree": {"y": UNIT}}},
    },
}
TOP = {"x": 0.21, "z": 0.83, "word": "c", "kind": "q", "y": 0.37}


class Hill:
    """A surrogate that is sure of a hill around the encoding of the top."""

    batches = 0

    def __init__(self, top):
        self.top = top

    def fit(self, X, y, *, rng):
        raise NotImplementedError

    def predict(self, X):
        self.batches += 1
        return -((X - self.top) ** 2).sum(axis=1), np.zeros(len(X))


class SmoothHill(Hill):
    def predict_with_gradient(self, X):
        mean, std = self.predict(X)
        return mean, std, -2 * (X - self.top), np.zeros_like(X)


@pytest.fixture(scope="module")
def ground():
    space = SpaceTree.build("hill", TREE)
    points, encoder = PointSpace(space), ConfigurationEncoder(space).fit()
    rng = np.random.default_rng(0)
    told = [space.sample(rng) for _ in range(8)]
    return Ground(
        points, PointEncoder(points, encoder), told, encoder.transform(told), rng.random(8)
    )


def hill(ground, kind=Hill):
    encoder = ConfigurationEncoder(ground.space.space).fit()
    surrogate = kind(encoder.transform([ground.space.space.complete(TOP)])[0])
    nothing = np.zeros(0)
    return Criterion(surrogate, UpperConfidenceBound(), Reference(0.0, nothing, nothing))


class WideHill(SmoothHill):
    def predict(self, X):
        mean, std = super().predict(X)
        return mean, std + 0.3


def test_slopes_do_not_count_that_one_point_costs_more_than_another(ground):
    class Costly:
        def predict(self, X):
            return 50.0 * X[:, 0], np.zeros(len(X))

    surrogate = hill(ground, WideHill).surrogate
    reference = Reference(-0.2, np.zeros(0), np.zeros(0), typical_seconds=3.0)
    costly = Criterion(surrogate, ExpectedImprovementPerCost(), reference, Costly())
    even = Criterion(surrogate, ExpectedImprovementPerCost(), reference)
    X = np.random.default_rng(1).random((4, len(surrogate.top)))
    utility, gradient = costly.with_gradient(X)
    np.testing.assert_allclose(utility, even(X))
    for column, shift in enumerate(1e-6 * np.eye(X.shape[1])):
        slope = (even(X + shift) - even(X - shift)) / 2e-6
        np.testing.assert_allclose(gradient[:, column], slope, rtol=1e-4, atol=1e-4)
    assert not np.allclose(costly(X), even(X))


def best_of(scored, ground):
    row = best_first(scored.utilities, np.random.default_rng(0))[0]
    return ground.space.configuration(scored.points, row).values


@pytest.mark.parametrize("name", MAXIMIZERS)
def test_every_maximizer_scores_what_it_returns(name, ground):
    criterion = hill(ground)
    scored = build(MAXIMIZERS, Part(name), "maximizer").search(
        criterion, ground, np.random.default_rng(1)
    )
    again = criterion(ground.encoder.encode(scored.points))
    np.testing.assert_array_equal(scored.utilities, again)
    assert best_of(scored, ground)["kind"] == "q"


@pytest.mark.parametrize("name", MAXIMIZERS)
def test_every_maximizer_works_before_anything_is_told(name, ground):
    nothing = Ground(ground.space, ground.encoder, [], ground.X[:0], ground.scores[:0])
    scored = build(MAXIMIZERS, Part(name), "maximizer").search(
        hill(ground), nothing, np.random.default_rng(1)
    )
    assert len(scored.points) == len(scored.utilities) > 0


def test_sobol_points_are_joined_by_what_was_good_elsewhere(ground):
    top = ground.space.read([ground.space.space.complete(TOP)], np.random.default_rng(0))
    search = SobolRefined(n_points=8, n_near=0).search
    known = search(hill(ground), replace(ground, elsewhere=top), np.random.default_rng(1))
    assert len(known.points) == 9
    assert best_of(known, ground) == ground.space.space.complete(TOP).values
    alone = search(hill(ground), ground, np.random.default_rng(1))
    np.testing.assert_array_equal(known.utilities[:-1], alone.utilities)


def test_local_search_climbs_numbers_categories_and_branches(ground):
    scored = LocalSearch(n_candidates=1, most_steps=60, sd=0.05).search(
        hill(ground), ground, np.random.default_rng(1)
    )
    found = best_of(scored, ground)
    assert (found["word"], found["kind"]) == ("c", "q")
    for name in "xyz":
        assert found[name] == pytest.approx(TOP[name], abs=0.02)


def test_local_search_asks_for_one_batch_a_step(ground):
    criterion = hill(ground)
    LocalSearch(n_candidates=500, n_starts=8, most_steps=5).search(
        criterion, ground, np.random.default_rng(1)
    )
    assert criterion.surrogate.batches <= 2 + 5


def test_refinement_goes_to_the_top_of_the_signature(ground):
    scored = SobolRefined(n_points=64, n_near=0, most_steps=40).search(
        hill(ground, SmoothHill), ground, np.random.default_rng(1)
    )
    found = best_of(scored, ground)
    for name in "xyz":
        assert found[name] == pytest.approx(TOP[name], abs=1e-4)


def test_refinement_never_makes_worse(ground):
    criterion = hill(ground, SmoothHill)
    start = ground.space.sample(20, np.random.default_rng(0))
    refined = refine(start, criterion, ground.encoder, most_steps=1)
    before, after = (criterion(ground.encoder.encode(points)) for points in (start, refined))
    assert after.sum() >= before.sum()
    assert np.all((refined.unit >= 0.0) & (refined.unit <= 1.0))


def test_without_a_gradient_nothing_is_refined(ground):
    scored = SobolRefined(n_points=16, n_near=8).search(
        hill(ground), ground, np.random.default_rng(1)
    )
    assert len(scored.points) == 24


def test_ties_are_broken_by_the_stream():
    utilities = np.array([1.0, 2.0, 2.0, 2.0, np.nan, -np.inf])
    firsts = {int(best_first(utilities, np.random.default_rng(i))[0]) for i in range(40)}
    assert firsts == {1, 2, 3}
    assert set(best_first(utilities, np.random.default_rng(0))[-2:]) == {4, 5}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (RandomCandidates, {"n_candidates": 0}),
        (LocalSearch, {"n_starts": 0}),
        (LocalSearch, {"sd": 0.0}),
        (LocalSearch, {"sd": float("nan")}),
        (LocalSearch, {"sd": float("inf")}),
        (SobolRefined, {"sd": 1.5}),
        (SobolRefined, {"n_points": 0}),
        (SobolRefined, {"n_near": -1}),
    ],
)
def test_options_out_of_range_are_refused(kind, options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        kind(**options)
