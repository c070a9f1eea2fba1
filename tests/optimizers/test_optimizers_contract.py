"""What every optimizer owes, whatever its method; a new one is tested by being registered."""

import pickle
from functools import cache

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.families.registry import families, get_family
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
N_STEPS = 26
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
    "esmbo": {
        "maximizer": _QUICK_SOBOL,
        "surrogate": {"name": "gaussian_process", "most_steps": 2},
        "n_histories": 7,
    },
    "gbqr": {
        "maximizer": {"name": "random", "n_candidates": 50},
        "surrogate": {"name": "quantile_boosting", "n_trees": 5},
    },
}
_QUICK_SEARCH = {"name": "local_search", "n_candidates": 30, "n_starts": 1, "most_steps": 1}
_QUICK_NETWORKS = {"n_members": 2, "units": 3, "n_steps": 10, "refit_steps": 2}
QUICK |= {
    name: {"maximizer": _QUICK_SEARCH, "surrogate": {"name": surrogate, **options}}
    for name, surrogate, options in (
        ("fmlp", "factorized_perceptron", _QUICK_NETWORKS),
        ("mlp_transfer", "transfer_perceptron", _QUICK_NETWORKS),
        ("fm_transfer", "factorization_machine", _QUICK_NETWORKS),
        ("smac_transfer", "transfer_forest", {"n_trees": 3}),
        ("scot", "ranking_process", {"degree": 1}),
        ("mkl_gp", "mixed_kernel_process", {"most_steps": 1}),
        ("gp_prior", "gp_sources", {"n_samples": 2}),
    )
}
"""Compositions that do the same with less work."""


def space_named(name):
    families, task = SPACES[name]
    spaces = [get_family(family).space(task) for family in families.split(",")]
    return spaces[0] if len(spaces) == 1 else UnionTree.of(spaces)


@pytest.fixture(params=SPACES)
def space(request):
    return space_named(request.param)


def quick(name):
    """What makes an optimizer of little work."""
    return (compose({"base": name, **QUICK[name]}) if name in NAMED else OPTIMIZERS[name]).make


@pytest.fixture(params=OPTIMIZERS)
def make(request):
    return quick(request.param)


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


@cache
def plain_run(optimizer, space):
    """What the optimizer of a name asks for on the space of a name; shared by several tests."""
    np.random.seed(0)  # noqa: NPY002 the state that must not matter
    return drive(quick(optimizer)(space_named(space)), range(N_STEPS))


@pytest.fixture
def expected(request):
    chosen = request.node.callspec.params
    return plain_run(chosen["make"], chosen["space"])


def drive(
    optimizer,
    steps,
    *,
    seed=3,
    status=lambda _: TrialStatus.COMPLETE,
    score=None,
    pickled_at=None,
):
    """Ask and tell, with the last two proposals always pending."""
    given, pending, asked = [], [], []
    for index in steps:
        if index == pickled_at:
            optimizer = pickle.loads(pickle.dumps(optimizer))
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


def test_only_legal_configurations_are_proposed(make, space, expected):
    for configuration in expected:
        assert space.is_legal(configuration) is None
        assert configuration.family in {part.family for part in space.parts}
        assert Configuration.from_json(configuration.to_json()) == configuration


def test_equal_streams_and_tells_give_equal_sequences_after_a_pickle_too(make, space, expected):
    np.random.seed(1)  # noqa: NPY002 as above
    assert drive(make(space), range(N_STEPS), pickled_at=N_STEPS // 2) == expected


def test_other_streams_give_other_sequences(make, space, expected):
    if space.size() == 1:
        pytest.skip("there is only one configuration")
    n = N_STEPS // 2
    assert drive(make(space), range(n), seed=4) != expected[:n]


WITHOUT_SCORE = [s for s in TrialStatus if s not in ("complete", "raced", "partial")]


@pytest.mark.parametrize("statuses", [["raced"], ["partial"], WITHOUT_SCORE], ids="-".join)
def test_it_survives_that_no_trial_is_complete(make, space, statuses):
    """To an optimizer, all ends without a score are alike; each of them comes five times here."""
    told = [TrialStatus(status) for status in statuses]
    asked = drive(make(space), range(N_STEPS), status=lambda i: told[i % len(told)])
    assert all(space.is_legal(configuration) is None for configuration in asked)


def test_every_familys_space_is_searched(make):
    statuses = [TrialStatus.COMPLETE, TrialStatus.COMPLETE, *TrialStatus]
    for family in families().values():
        for kind in family.kinds:
            space = family.space(kind)
            asked = drive(make(space), range(12), status=lambda i: statuses[i % len(statuses)])
            assert all(space.is_legal(configuration) is None for configuration in asked)
            assert asked


def test_it_survives_that_half_of_the_trials_fail(make, space):
    statuses = [TrialStatus.COMPLETE, *TrialStatus]
    asked = drive(make(space), range(N_STEPS), status=lambda i: statuses[i % len(statuses)])
    assert asked


@pytest.mark.parametrize("score", [0.0, -1e6, 1.0])
def test_it_survives_equal_scores(make, space, score):
    n = N_STEPS // 2
    asked = drive(make(space), range(n), score=score)
    if space.size() > 100:
        assert len(set(asked)) > n / 2


@pytest.mark.parametrize("name", [n for n, entry in OPTIMIZERS.items() if not entry.has_levels])
def test_a_partial_trial_changes_nothing_where_no_fidelity_is_asked_for(name):
    space = get_family("gaussian_process").space("binary")
    optimizer = quick(name)(space)
    asked = drive(optimizer, range(12))
    twin = pickle.loads(pickle.dumps(optimizer))
    for index, configuration in enumerate([*asked[:2], *asked[-2:], space.default()]):
        optimizer.tell(trial_of(configuration, index, TrialStatus.PARTIAL, 99.0))
    rest = range(12, 30)
    assert drive(optimizer, rest) == drive(twin, rest)


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
