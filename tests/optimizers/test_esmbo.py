"""Searches of bootstraps side by side: whose turn it is, what each knows, and what it costs."""

from dataclasses import replace

import numpy as np
import pytest

from automl.optimizers.composition import ESMBO, GP_EI
from automl.optimizers.esmbo import EnsembleOptimizer
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.registry import compose, get_optimizer
from automl.parts import Part
from automl.randomness import Purpose, stream
from automl.records import Trial, TrialStatus
from automl.search.proposing import Arm, Proposer
from automl.spaces.tree import SpaceTree

UNIT = {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.5}
CENTERS = (0.1, 0.5, 0.9)
SMALL = Part("sobol", (("n_points", 32), ("n_near", 8), ("n_refined", 1), ("most_steps", 3)))
INNER = replace(GP_EI, maximizer=SMALL)
N_DESIGN = INNER.new_initial_design().n_points


@pytest.fixture(scope="module")
def space():
    return SpaceTree.build("line", {"x": UNIT, "y": UNIT})


def scores_of(configuration):
    """Score on each bootstrap, each with an optimum of its own."""
    x, y = configuration.values["x"], configuration.values["y"]
    return tuple(-((x - center) ** 2) - 0.1 * (y - 0.3) ** 2 for center in CENTERS)


def trial(configuration, index, scores=()):
    score = float(np.mean(scores_of(configuration)))
    return Trial("run", index, configuration, TrialStatus.COMPLETE, score, bootstrap_scores=scores)


def rng_of(step):
    return stream(5, Purpose.OPTIMIZER, step)


def drive(optimizer, n):
    """Ask and tell; the configurations."""
    asked = []
    for step in range(n):
        configuration = optimizer.ask(pending=[], rng=rng_of(step)).configuration
        optimizer.tell(trial(configuration, step, scores_of(configuration)))
        asked.append(configuration)
    return asked


def test_each_turn_is_that_of_the_next_bootstrap_as_if_it_searched_alone(space):
    """Algorithm 2: history v = k modulo N proposes, and every history learns of every trial."""
    optimizer = EnsembleOptimizer(space, replace(INNER, n_histories=3))
    alone = [ModelBasedOptimizer(space, INNER) for _ in CENTERS]
    for step in range(N_DESIGN + 12):
        v = max(step - N_DESIGN, 0) % 3
        expected = alone[v].ask(pending=[], rng=rng_of(step)).configuration
        assert optimizer.ask(pending=[], rng=rng_of(step)).configuration == expected
        scores = scores_of(expected)
        optimizer.tell(trial(expected, step, scores))
        for history, score in zip(alone, scores, strict=True):
            history.tell(replace(trial(expected, step), score=score))


def test_an_ask_fits_one_surrogate(space, monkeypatch):
    optimizer = EnsembleOptimizer(space, replace(INNER, n_histories=3))
    drive(optimizer, N_DESIGN)
    fitted = []
    for number, history in enumerate(optimizer._histories):
        fit = history._surrogate.fit_uneven
        monkeypatch.setattr(
            history._surrogate,
            "fit_uneven",
            lambda *given, number=number, fit=fit, **options: (
                fitted.append(number),
                fit(*given, **options),
            ),
        )
    for step in range(7):
        optimizer.ask(pending=[], rng=rng_of(step))
    assert fitted == [0, 1, 2, 0, 1, 2, 0]


def test_the_best_of_every_bootstrap_is_found(space):
    asked = drive(EnsembleOptimizer(space, replace(INNER, n_histories=3)), 40)
    best = np.array([scores_of(one) for one in asked]).max(axis=0)
    assert (best > -0.002).all()
    on_the_mean = drive(ModelBasedOptimizer(space, INNER), 40)
    of_one = np.array([scores_of(one) for one in on_the_mean]).max(axis=0)
    assert of_one.min() < best.min(), "the mean score hides what single bootstraps want"


def test_a_complete_trial_without_bootstraps_counts_alike_in_all(space):
    one = EnsembleOptimizer(space, replace(INNER, n_histories=1))
    plain = ModelBasedOptimizer(space, INNER)
    for step in range(N_DESIGN + 4):
        asked = [each.ask(pending=[], rng=rng_of(step)).configuration for each in (one, plain)]
        assert asked[0] == asked[1]
        for each in (one, plain):
            each.tell(trial(asked[0], step))


@pytest.mark.parametrize("scores", [(0.1,), (0.1,) * 4])
def test_another_number_of_scores_is_an_error(space, scores):
    optimizer = EnsembleOptimizer(space, replace(INNER, n_histories=3))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        optimizer.tell(trial(space.default(), 0, scores))


def test_the_entry_says_how_many_bootstraps_trials_must_bring():
    assert get_optimizer("esmbo").n_bootstraps == ESMBO.n_histories == 50
    assert get_optimizer("gp_ei").n_bootstraps == 0
    entry = compose({"base": "smac", "n_histories": 8})
    assert entry.n_bootstraps == 8
    assert isinstance(entry.make(SpaceTree.build("one", {"x": UNIT})), EnsembleOptimizer)


def test_decisions_do_not_depend_on_slots_or_on_a_resumption(simulation_of_bootstraps):
    turns, run = simulation_of_bootstraps
    one, many = run(turns(n_slots=1), 1), run(turns(n_slots=4), 4, order=3)
    assert many == one
    resumed = turns(n_slots=4)
    run(resumed, 4, order=5, stop_after=11)
    known = {trial.index: trial for trial in resumed.trials}
    again = run(turns(n_slots=2, replay=known), 2, order=6)
    assert again == [turn for turn in one if turn.index not in known]


@pytest.fixture
def simulation_of_bootstraps(space):
    """Turns of one arm, and what runs them with slots that complete in a random order."""
    from automl.bandits.registry import ALLOCATORS
    from automl.search.opening import Opening
    from automl.search.turns import Turns

    def turns(*, n_slots, replay=None):
        optimizer = EnsembleOptimizer(space, replace(INNER, n_histories=3))
        return Turns(
            Proposer(
                {"line": Arm(space, optimizer, "esmbo")},
                ALLOCATORS["uniform"].make(),
                opening=Opening(()),
                seed=7,
            ),
            lookback=4,
            n_trials=20,
            n_slots=lambda: n_slots,
            replay=replay,
        )

    def take_now(turns):
        while (turn := turns._queued(None)) is None and not turns._is_finished():
            due = turns._due()
            if due is None:
                return None
            turns._decide(due)
        return turn

    def run(turns, n_slots, *, order=0, stop_after=None):
        rng = np.random.default_rng(order)
        running, given = [], []
        while True:
            while len(running) < n_slots and (turn := take_now(turns)) is not None:
                running.append(turn)
                given.append(turn)
            if not running or (stop_after is not None and len(turns.trials) >= stop_after):
                return sorted(given, key=lambda turn: turn.index)
            turn = running.pop(int(rng.integers(len(running))))
            configuration = turn.proposal.configuration
            turns.finish(trial(configuration, turn.index, scores_of(configuration)))

    return turns, run
