"""The composed optimizer: what it proposes, remembers, and makes of settings."""

from dataclasses import replace

import numpy as np
import pytest
from bowls import FAST, UNIT, WORD, ask, bowl, bowl_space, search, trial

from automl.acquisition.registry import ACQUISITIONS, MAXIMIZERS
from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.optimizers.composition import NAMED, parse_composition
from automl.optimizers.initial_design import INITIAL_DESIGNS
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.observations import Observations
from automl.optimizers.registry import OPTIMIZERS, compose, get_optimizer, optimizer_name
from automl.optimizers.rounds import NEAR
from automl.records import FoldResult, TrialStatus
from automl.settings.sources import resolve_settings
from automl.spaces.tree import SpaceTree
from automl.spaces.union import UnionTree
from automl.surrogates.registry import SURROGATES
from automl.surrogates.score_targets import TARGETS

FEW = {"n_members": 2, "units": 4, "n_steps": 20, "refit_steps": 2}
NETWORKS = {
    "fmlp": "factorized_perceptron",
    "mlp_transfer": "transfer_perceptron",
    "fm_transfer": "factorization_machine",
}
"""Optimizers whose ensembles are large as they come."""


@pytest.fixture(scope="module")
def space():
    return bowl_space()


@pytest.mark.parametrize("name", [name for name in NAMED if name != "fm_transfer"])
def test_the_named_ones_learn_where_a_bowl_is_high(name, space):
    """All but the factorization machine: without squares no bowl is among its functions."""
    seeds = (1,) if name in NETWORKS else (1, 2, 3)
    seen = [search(OPTIMIZERS[name].make(space), bowl, 30, seed) for seed in seeds]
    rng = np.random.default_rng(0)
    usual = [bowl(space.sample(rng)) for _ in range(500)]
    late = [score for each in seen for score, _ in each[10:]]
    assert np.mean(late) > np.mean(usual) + 0.3 * np.std(usual)


def test_the_gaussian_process_is_exact_to_the_third_digit(space):
    seen = search(OPTIMIZERS["gp_ei"].make(space), bowl, 25)
    assert max(score for score, _ in seen) > 0.999


@pytest.mark.parametrize("name", NAMED)
def test_a_finite_space_is_searched_to_its_end_without_repetition(name):
    words = {f"w{i}": WORD for i in range(3)}
    space = SpaceTree.build("words", words)
    given = {"surrogate": {"name": NETWORKS[name], **FEW}} if name in NETWORKS else {}
    optimizer = compose({"base": name, **given}).make(space)
    seen = []
    while (proposal := ask(optimizer, len(seen), seen[-2:])) is not None:
        seen.append(proposal.configuration)
        if len(seen) > 2:
            optimizer.tell(trial(seen[-3], float(sum(v == "b" for v in seen[-3].values.values()))))
    assert len({one.id for one in seen}) == len(seen) == 27


def test_only_candidates_are_proposed_each_once(space):
    rng = np.random.default_rng(0)
    candidates = [space.sample(rng) for _ in range(30)]
    optimizer = ModelBasedOptimizer(space, NAMED["smac"], candidates=candidates)
    seen = search(optimizer, bowl, 30)
    assert {one.id for _, one in seen} == {one.id for one in candidates}
    assert ask(optimizer, 30) is None


@pytest.mark.parametrize("name", ["smac", "gbqr"])
def test_copies_of_a_known_point_do_not_use_up_the_attempts(name, monkeypatch):
    """Nine tenths of all candidates are the single configuration of one branch, the best one."""
    kind = {"choices": {"a": {"weight": 9}, "b": {"tree": {"x": UNIT}}}, "default": "a"}
    space = SpaceTree.build("copies", {"kind": kind})
    maximizer = {**FAST, "n_candidates": 4000}
    optimizer = compose({"base": name, "interleaving": 0, "maximizer": maximizer}).make(space)
    for index in range(12):
        optimizer.tell(trial(space.complete({"kind": "b", "x": index / 12}), index / 50))
    optimizer.tell(trial(space.default(), 1.0))
    monkeypatch.setattr(optimizer, "_draw", lambda *_: None)  # in place of which it would draw
    assert all(ask(optimizer, step) is not None for step in range(8))


def test_the_default_comes_first_and_the_design_ends(space):
    optimizer = compose({"base": "smac", "initial_design": "default_and_random"}).make(space)
    assert ask(optimizer).configuration == space.default()
    waiting = [space.sample(np.random.default_rng(i)) for i in range(5)]
    for configuration in waiting:
        optimizer.tell(trial(configuration, bowl(configuration)))
    assert ask(optimizer).configuration != space.default(), "others' trials count as the design"


@pytest.mark.parametrize("name", INITIAL_DESIGNS)
def test_designs_are_legal_and_as_long_as_they_say(name, space):
    given = {"base": "smac", "initial_design": {"name": name, "n_points": 7}}
    optimizer = compose(given).make(space)
    pending = []
    for step in range(7):
        pending.append(ask(optimizer, step, pending).configuration)
    assert len({one.id for one in pending}) == 7
    assert (pending[0] == space.default()) is (name != "random")


def test_every_second_proposal_is_a_random_draw(space):
    """Without candidates near the told ones, draws differ from a model's in what they need."""
    optimizer = compose({"base": "smac", "maximizer": FAST}).make(space)
    search(optimizer, bowl, 6)
    fits = []
    optimizer._surrogate.fit = lambda X, y, rng: (
        fits.append(len(y)) or type(optimizer._surrogate).fit(optimizer._surrogate, X, y, rng=rng)
    )
    for step in range(8):
        ask(optimizer, step)
    assert len(fits) == 4


def observed(*trials):
    observations = Observations()
    for one in trials:
        observations.add(one, np.zeros(2))
    return observations.table()


def folds_of(*scores):
    return tuple(FoldResult(0, fold, score, 10, 1.0, 0.1) for fold, score in enumerate(scores))


def test_failures_count_as_the_worst_score(space):
    rng = np.random.default_rng(0)
    draws = [space.sample(rng) for _ in range(6)]
    complete = [trial(one, score) for one, score in zip(draws, [0.1, 0.5, 0.6, 0.9], strict=False)]
    table = observed(
        *complete,
        trial(draws[4], status=TrialStatus.CRASHED),
        trial(draws[5], float("nan")),
    )
    np.testing.assert_allclose(table.scores, [0.1, 0.5, 0.6, 0.9, 0.1, 0.1])
    assert table.is_complete.tolist() == [True] * 4 + [False] * 2


def test_raced_trials_count_as_their_folds_say(space):
    """The first two folds are easier than all four by .1, as the complete trials show."""
    rng = np.random.default_rng(0)
    draws = [space.sample(rng) for _ in range(4)]
    table = observed(
        replace(trial(draws[0], 0.6), folds=folds_of(0.7, 0.7, 0.5, 0.5)),
        replace(trial(draws[1], 0.8), folds=folds_of(0.8, 1.0, 0.7, 0.7)),
        replace(trial(draws[2], 0.45, TrialStatus.RACED), folds=folds_of(0.4, 0.5)),
        replace(trial(draws[3], 1.45, TrialStatus.RACED), folds=folds_of(1.4, 1.5)),
    )
    np.testing.assert_allclose(table.scores, [0.6, 0.8, 0.35, 0.8])
    np.testing.assert_allclose(table.noise_scale, [1.0, 1.0, 2.0, 2.0])
    assert table.is_complete.tolist() == [True, True, False, False]


@pytest.mark.parametrize("status", [TrialStatus.RACED, TrialStatus.PARTIAL])
def test_next_to_hopeless_trials_nothing_is_proposed(status):
    """Where scores are noisy the forest goes on to expect most around the middle, where trials were raced."""
    rng = np.random.default_rng(1)
    space = SpaceTree.build("line", {"x": UNIT})
    optimizer = compose({"base": "smac", "interleaving": 0}).make(space)
    for x in np.linspace(0.0, 1.0, 24):
        score = 1 - 4 * (x - 0.503) ** 2 + 0.3 * rng.normal()
        one = trial(space.complete({"x": float(x)}), score)
        optimizer.tell(replace(one, folds=folds_of(score)))
    middle = [0.4 + index / 100 for index in range(21)]
    for x in middle:
        one = trial(space.complete({"x": x}), 0.7, status)
        optimizer.tell(replace(one, folds=folds_of(0.7)))
    asked = [ask(optimizer, step).configuration.values["x"] for step in range(8)]
    nearest = min(abs(one - x) for one in asked for x in middle)
    assert (nearest < NEAR) == (status is TrialStatus.PARTIAL)


def test_partial_trials_change_nothing_and_may_be_proposed_again(space):
    optimizers = [compose({"base": "smac", "maximizer": FAST}).make(space) for _ in range(2)]
    for optimizer in optimizers:
        search(optimizer, bowl, 8)
    partial, again = (ask(optimizer, 50).configuration for optimizer in optimizers)
    optimizers[0].tell(trial(partial, 5.0, TrialStatus.PARTIAL))
    assert [ask(optimizers[0], step) for step in (51, 50)] == [
        ask(optimizers[1], step) for step in (51, 50)
    ]
    assert partial == again


@pytest.mark.parametrize("pending", ["believer", "median", "worst", "best"])
def test_pending_configurations_move_the_search_elsewhere(pending, space):
    base = "gp_ei" if pending == "believer" else "smac"
    optimizer = compose({"base": base, "pending": pending, "interleaving": 0}).make(space)
    search(optimizer, bowl, 12)
    asked = []
    for step in range(4):
        asked.append(ask(optimizer, 100 + step, asked).configuration)
    assert len({one.id for one in asked}) == 4


@pytest.mark.parametrize(("pending", "share"), [("median", 0.5), ("worst", 0.0), ("best", 1.0)])
def test_pending_configurations_have_the_quantile_of_the_scores_that_was_asked_for(
    pending, share, space
):
    optimizer = compose({"base": "smac", "pending": pending, "interleaving": 0}).make(space)
    search(optimizer, bowl, 12)
    fit, learned = optimizer._surrogate.fit, []
    optimizer._surrogate.fit = lambda X, y, rng: learned.append(y) or fit(X, y, rng=rng)
    ask(optimizer, 100, [space.sample(np.random.default_rng(i)) for i in range(3)])
    assert len(learned[0]) == 15
    np.testing.assert_allclose(learned[0][12:], np.quantile(learned[0][:12], share))


def test_believed_proposals_are_spread_more_than_repeated_ones(space):
    def spread(configurations):
        return np.std([[c.values["x"], c.values["y"]] for c in configurations], axis=0).sum()

    optimizer = OPTIMIZERS["gp_ei"].make(space)
    search(optimizer, bowl, 12)
    alone = [ask(optimizer, 100 + step).configuration for step in range(5)]
    together = []
    for step in range(5):
        together.append(ask(optimizer, 100 + step, together).configuration)
    assert spread(together) > spread(alone)


@pytest.mark.parametrize("acquisition", ["ei_per_cost", "q"])
def test_of_equal_scores_the_cheap_side_is_searched(acquisition, space):
    given = {"base": "smac", "interleaving": 0, "acquisition": acquisition, "maximizer": FAST}
    optimizer = compose(given).make(space)
    rng = np.random.default_rng(0)
    for index in range(60):
        one = space.sample(rng)
        seconds = 0.01 if one.values["x"] < 0.5 else 100.0
        optimizer.tell(trial(one, float(rng.random()), index=index, seconds=seconds))
    asked = [ask(optimizer, step).configuration.values["x"] for step in range(12)]
    assert np.mean(np.array(asked) < 0.5) > 0.6


@pytest.mark.parametrize("acquisition", ["ei_per_cost", "q"])
def test_without_any_seconds_all_costs_are_equal(acquisition, space):
    optimizer = compose({"base": "smac", "acquisition": acquisition, "maximizer": FAST}).make(space)
    assert len(search(optimizer, bowl, 12)) == 12


def test_several_families_are_one_space():
    spaces = [get_family(name).space("binary") for name in ("knn", "svm", "stump")]
    optimizer = compose({"base": "smac", "maximizer": FAST}).make(UnionTree.of(spaces))
    seen = search(optimizer, lambda c: float(c.family == "knn") + int(c.id, 16) / 2**65, 25)
    found = [one.family for _, one in seen]
    assert set(found) >= {"knn", "svm"}
    assert found[10:].count("knn") > found[10:].count("svm")


# --- compositions ----------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_every_surrogate_goes_with_every_acquisition(surrogate, acquisition, space):
    given = {"surrogate": surrogate, "acquisition": acquisition, "maximizer": FAST}
    assert len(search(compose(given).make(space), bowl, 8)) == 8


@pytest.mark.parametrize("maximizer", MAXIMIZERS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_maximizer_goes_with_every_target(maximizer, target, space):
    given = {"surrogate": "forest", "acquisition": "ei", "maximizer": maximizer, "target": target}
    assert len(search(compose(given).make(space), bowl, 8)) == 8


def test_a_composition_begins_with_a_named_one():
    found = parse_composition({"base": "smac", "interleaving": 3, "name": "mine"})
    assert found.surrogate == NAMED["smac"].surrogate
    assert found.interleaving == 3


def test_options_reach_the_parts():
    given = {
        "surrogate": {"name": "forest", "n_trees": 3},
        "acquisition": {"name": "ei", "margin": 1},
        "maximizer": FAST,
    }
    found = parse_composition(given)
    assert found.new_surrogate().n_trees == 3
    assert found.new_acquisition().margin == 1.0
    assert found.new_maximizer().n_candidates == 200


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"base": "smak"}, "did you mean 'smac'"),
        ({"base": "smac", "surogate": "forest"}, "did you mean 'surrogate'"),
        ({"base": "smac", "surrogate": "forrest"}, "did you mean 'forest'"),
        ({"surrogate": "forst"}, "surrogate must be one of .*did you mean 'forest'"),
        ({"base": "smac", "surrogate": {"name": "forest", "trees": 3}}, "did you mean 'n_trees'"),
        ({"base": "smac", "surrogate": {"name": "forest", "n_trees": "3"}}, "a whole number"),
        ({"base": "smac", "surrogate": {"name": "forest", "n_trees": True}}, "a whole number"),
        ({"base": "smac", "surrogate": {"name": "forest", "n_trees": 0}}, "n_trees >= 1"),
        ({"base": "smac", "surrogate": {"n_trees": 3}}, "optimizer.surrogate must be a name"),
        ({"base": "smac", "surrogate": {"name": "forest", 3: 4}}, "an option of surrogate forest"),
        ({"base": "smac", "name": None}, "a name of your own"),
        ({"base": "smac", "name": ""}, "a name of your own"),
        ({"base": "smac", "name": ["mine"]}, "a name of your own"),
        ({"base": "smac", "surrogate": 3}, "optimizer.surrogate must be a name"),
        ({"base": "smac", "interleaving": -1}, "interleaving"),
        ({"base": "smac", "interleaving": True}, "interleaving"),
        ({"base": "smac", "encoding": "one"}, "encoding"),
        ({"base": "smac", "target": ["standard"]}, "target"),
        ({"base": "smac", "pending": "believer"}, "needs a Gaussian process"),
        ({"base": ["smac"]}, "optimizer.base"),
        ({"surrogate": "forest"}, "acquisition, maximizer"),
        ({}, "or a base"),
    ],
)
def test_what_cannot_be_composed_is_said(given, message):
    with pytest.raises(SettingsError, match=message):
        compose(given)


def test_an_entry_of_settings_says_what_it_is_made_of():
    entry = get_optimizer({"base": "gbqr", "interleaving": 2})
    assert "quantile_boosting" in entry.summary
    assert entry.source == "settings"
    assert optimizer_name({"base": "gbqr"}) == "composed"
    assert optimizer_name({"base": "gbqr", "name": "mine"}) == "mine"
    assert optimizer_name("smac") == "smac"


def test_settings_take_a_composition(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("optimizer:\n  base: smac\n  surrogate: {name: forest, n_trees: 30}\n")
    given = {"table": "table.csv", "target": "y"}
    from_file = resolve_settings(given, file=file, environment={}).optimizer
    text = "{base: smac, surrogate: {name: forest, n_trees: 30}}"
    from_environment = resolve_settings(given, environment={"AUTOML_OPTIMIZER": text}).optimizer
    assert from_file == from_environment
    assert parse_composition(from_file).new_surrogate().n_trees == 30


def test_registries_say_what_their_entries_are():
    for kinds in (SURROGATES, ACQUISITIONS, MAXIMIZERS, INITIAL_DESIGNS):
        for kind in kinds.values():
            assert kind.summary
            assert kind.source


def test_of_many_trials_a_model_keeps_the_better_half_and_every_other_one_of_the_rest(
    space, monkeypatch
):
    monkeypatch.setattr("automl.optimizers.observations.MOST", 40)
    observations = Observations()
    rng = np.random.default_rng(0)
    scores = rng.permutation(41) / 41
    for index, score in enumerate(scores):
        configuration = space.complete({"x": index / 41})
        status = TrialStatus.FAILED if score == 0.0 else TrialStatus.COMPLETE
        observations.add(trial(configuration, score, status, index), np.array([index / 41]))
    table = observations.table()
    ranked = np.sort(scores)[::-1]
    expected = {*ranked[:20], *ranked[20::2]}
    kept = [score for score in scores if score in expected]
    assert len(observations.known) == 41
    assert table.X.ravel() * 41 == pytest.approx([list(scores).index(score) for score in kept])
    assert table.scores[table.is_complete] == pytest.approx([s for s in kept if s > 0.0])
    assert len(table.configurations) == len(table.is_legal) == len(kept) == 31


def test_a_proposal_says_whether_it_is_of_the_initial_design(space):
    optimizer = OPTIMIZERS["gp_ei"].make(space)
    said = []
    for index in range(8):
        proposal = optimizer.ask(pending=[], rng=np.random.default_rng(index))
        said.append(proposal.is_designed)
        optimizer.tell(trial(proposal.configuration, bowl(proposal.configuration), index=index))
    assert said == [True] * 5 + [False] * 3
