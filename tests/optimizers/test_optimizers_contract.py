"""What every optimizer owes, whatever its method; a new one is tested by being registered."""

import pickle

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.families.registry import get_family
from automl.optimizers.composition import NAMED
from automl.optimizers.registry import OPTIMIZERS, compose, get_optimizer
from automl.randomness import Purpose, stream
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.spaces.union import UnionTree

SPACES = {
    "numbers and branches": ("svm", "binary"),
    "many numbers": ("lightgbm", "multiclass"),
    "integers": ("knn", "binary"),
    "categories only": ("gaussian_process", "binary"),
    "regression": ("elastic_net", "regression"),
    "trees": ("decision_tree", "regression"),
    "one point": ("stump", "binary"),
    "several families": ("svm,knn,decision_tree", "binary"),
}
N_STEPS = 40
_QUICK_SOBOL = {
    "name": "sobol",
    "n_points": 16,
    "n_near": 8,
    "n_refined": 1,
    "most_steps": 2,
}
QUICK = {
    "smac": {
        "maximizer": {"name": "local_search", "n_candidates": 50, "n_starts": 2, "most_steps": 2},
        "surrogate": {"name": "forest", "n_trees": 3},
    },
    "gp_ei": {
        "maximizer": _QUICK_SOBOL,
        "surrogate": {"name": "gaussian_process", "most_steps": 2},
    },
    "gp_sampled": {
        "maximizer": _QUICK_SOBOL,
        "surrogate": {"name": "gaussian_process", "n_samples": 2},
    },
    "gbqr": {
        "maximizer": {"name": "random", "n_candidates": 50},
        "surrogate": {"name": "quantile_boosting", "n_trees": 5},
    },
}
"""Compositions that do the same with less work."""


@pytest.fixture(params=SPACES)
def space(request):
    names, task = SPACES[request.param]
    spaces = [get_family(name).space(task) for name in names.split(",")]
    return spaces[0] if len(spaces) == 1 else UnionTree.of(spaces)


@pytest.fixture(params=OPTIMIZERS)
def make(request):
    if request.param in NAMED:
        return compose({"base": request.param, **QUICK[request.param]}).make
    return OPTIMIZERS[request.param].make


def score_of(configuration):
    """Some number in [-0.5, 0.5] that depends on the configuration alone."""
    return int(configuration.id, 16) / 2**64 - 0.5


def trial_of(configuration, index, status=TrialStatus.COMPLETE, score=None, fidelity=None):
    """Trial as it was asked for; a partial one of a single fold if it was asked for in full."""
    value = score_of(configuration) if score is None else score
    fidelity = fidelity or Fidelity()
    if status is TrialStatus.COMPLETE and not fidelity.is_full:
        status = TrialStatus.PARTIAL
    elif status is TrialStatus.PARTIAL and fidelity.is_full:
        fidelity = Fidelity(folds=1)
    is_scored = status in {TrialStatus.COMPLETE, TrialStatus.RACED, TrialStatus.PARTIAL}
    folds = (FoldResult(0, 0, value, 10, 0.1, 0.01),) if is_scored else ()
    return Trial("run", index, configuration, status, value if is_scored else None, folds, fidelity)


def drive(optimizer, steps, *, seed=3, status=lambda _: TrialStatus.COMPLETE, score=None):
    """Ask and tell, with the last two proposals always pending."""
    given, pending, asked = [], [], []
    for index in steps:
        proposal = optimizer.ask(pending=pending, rng=stream(seed, Purpose.OPTIMIZER, index))
        if proposal is None:
            break
        asked.append(proposal.configuration)
        given.append(proposal)
        pending.append(proposal.configuration)
        if len(given) > 2:
            told = given.pop(0)
            pending.pop(0)
            trial = trial_of(told.configuration, index, status(index), score, told.fidelity)
            optimizer.tell(trial)
    return asked


def test_only_legal_configurations_are_proposed(make, space):
    for configuration in drive(make(space), range(N_STEPS)):
        assert space.is_legal(configuration) is None
        assert configuration.family in {part.family for part in space.parts}
        assert Configuration.from_json(configuration.to_json()) == configuration


def test_equal_streams_and_tells_give_equal_sequences(make, space):
    first, second = (drive(make(space), range(N_STEPS)) for _ in range(2))
    assert first == second


def test_other_streams_give_other_sequences(make, space):
    if space.size() == 1:
        pytest.skip("there is only one configuration")
    assert drive(make(space), range(N_STEPS)) != drive(make(space), range(N_STEPS), seed=4)


def test_a_pickled_optimizer_continues_identically(make, space):
    optimizer = make(space)
    drive(optimizer, range(N_STEPS // 2))
    copy = pickle.loads(pickle.dumps(optimizer))
    rest = range(N_STEPS // 2, N_STEPS)
    assert drive(optimizer, rest) == drive(copy, rest)


def test_asking_does_not_use_global_randomness(make, space):
    np.random.seed(0)  # noqa: NPY002 the state that must not matter
    first = drive(make(space), range(10))
    np.random.seed(1)  # noqa: NPY002 as above
    assert drive(make(space), range(10)) == first


@pytest.mark.parametrize("status", [s for s in TrialStatus if s is not TrialStatus.COMPLETE])
def test_it_survives_that_no_trial_is_complete(make, space, status):
    asked = drive(make(space), range(N_STEPS), status=lambda _: status)
    assert all(space.is_legal(configuration) is None for configuration in asked)


def test_it_survives_that_half_of_the_trials_fail(make, space):
    statuses = [TrialStatus.COMPLETE, *TrialStatus]
    asked = drive(make(space), range(N_STEPS), status=lambda i: statuses[i % len(statuses)])
    assert asked


@pytest.mark.parametrize("score", [0.0, -1e6, 1.0])
def test_it_survives_equal_scores(make, space, score):
    asked = drive(make(space), range(N_STEPS), score=score)
    if space.size() > 100:
        assert len(set(asked)) > N_STEPS / 2


def test_trials_that_nobody_asked_for_are_taken(make, space):
    optimizer = make(space)
    for index in range(5):
        configuration = space.sample(np.random.default_rng(index))
        optimizer.tell(trial_of(configuration, index))
    optimizer.tell(trial_of(space.default(), 5))
    optimizer.tell(trial_of(space.default(), 6, TrialStatus.CRASHED))
    proposal = optimizer.ask(pending=[], rng=np.random.default_rng(0))
    assert proposal is not None or space.size() == 1


def test_a_proposal_that_is_pending_is_not_repeated(make, space):
    if space.size() < 1000:
        pytest.skip("the space is small; repetitions are the business of the turns")
    optimizer = make(space)
    pending = []
    for index in range(30):
        proposal = optimizer.ask(pending=pending, rng=stream(0, Purpose.OPTIMIZER, index))
        assert proposal.configuration not in pending
        pending.append(proposal.configuration)


def test_a_summary_and_a_source_are_given():
    for name, entry in OPTIMIZERS.items():
        assert get_optimizer(name) is entry
        assert entry.summary
        assert entry.source


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(SettingsError, match="did you mean 'hypercube'"):
        get_optimizer("hypercubes")
