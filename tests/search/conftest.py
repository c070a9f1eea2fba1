"""Turns on three small spaces, and simulated completions of their trials."""

import numpy as np
import pytest

from automl.bandits.registry import ALLOCATORS
from automl.optimizers.registry import OPTIMIZERS, compose
from automl.records import FoldResult, Trial, TrialStatus
from automl.search.opening import Opening
from automl.search.proposing import Arm, Proposer
from automl.search.turns import Turns
from automl.spaces.tree import SpaceTree
from automl.spaces.union import UnionTree

TREES = {
    "alpha": {
        "C": {"type": "loguniform", "low": 0.001, "high": 1000},
        "kernel": {
            "choices": {
                "linear": None,
                "rbf": {"tree": {"gamma": {"type": "uniform", "low": 0, "high": 1}}},
            }
        },
    },
    "beta": {"k": {"type": "uniform", "low": 1, "high": 500, "integer": True}},
    "gamma": {"shape": {"branch": False, "choices": ["a", "b", "c"]}},
}
SPACES = {family: SpaceTree.build(family, tree) for family, tree in TREES.items()}
FEW = {"n_members": 2, "units": 4, "n_steps": 20, "refit_steps": 2}
NETWORKS = {
    "fmlp": "factorized_perceptron",
    "mlp_transfer": "transfer_perceptron",
    "fm_transfer": "factorization_machine",
}
"""Optimizers whose ensembles are large as they come."""


def quick(optimizer):
    """What makes an optimizer of this name, of few networks."""
    if optimizer not in NETWORKS:
        return OPTIMIZERS[optimizer].make
    return compose({"base": optimizer, "surrogate": {"name": NETWORKS[optimizer], **FEW}}).make


class Simulation:
    """Drives turns in one thread: slots take turns and complete in a random order."""

    spaces = SPACES

    @staticmethod
    def turns(
        *,
        families=tuple(SPACES),
        optimizer="hypercube",
        allocator="uniform",
        opening=(),
        seed=7,
        lookback=4,
        n_trials=30,
        n_slots=2,
        **options,
    ):
        make, entry = quick(optimizer), ALLOCATORS[allocator]
        spaces = {family: SPACES[family] for family in families}
        if entry.joins_families:
            union = UnionTree.of(list(spaces.values()))
            spaces = {union.family: union}
        chosen = ("fits", "has_time", "races", "defaults", "affords", "rungs")
        return Turns(
            Proposer(
                {name: Arm(space, make(space), optimizer) for name, space in spaces.items()},
                entry.make(),
                opening=opening if isinstance(opening, Opening) else Opening(opening),
                seed=seed,
                **{key: options.pop(key) for key in chosen if key in options},
            ),
            lookback=lookback,
            n_trials=n_trials,
            n_slots=lambda: n_slots,
            **options,
        )

    @staticmethod
    def trial(turn, *, run_id="run"):
        """Result that depends on the configuration alone; one in eight fails, one in eight is raced."""
        number = int(turn.proposal.configuration.id, 16)
        status = {0: TrialStatus.FAILED, 1: TrialStatus.RACED}.get(number % 8, TrialStatus.COMPLETE)
        scores = [number % 1000 / 1000, number % 997 / 1000, number % 991 / 1000]
        folds = tuple(FoldResult(0, i, s, 10, 0.1, 0.01) for i, s in enumerate(scores))
        folds = folds[: {TrialStatus.FAILED: 0, TrialStatus.RACED: 2}.get(status, 3)]
        fidelity = turn.proposal.fidelity
        if status is TrialStatus.COMPLETE and not fidelity.is_full:
            status, folds = TrialStatus.PARTIAL, folds[: fidelity.folds]
        score = float(np.mean([f.score for f in folds])) if folds else None
        return Trial(
            run_id,
            turn.index,
            turn.proposal.configuration,
            status,
            score,
            folds,
            fidelity,
            origin=turn.origin,
            seconds=1.0,
        )

    @staticmethod
    def take_now(turns):
        """The next turn if there is one now, without waiting."""
        while True:
            with turns._condition:
                turn = turns._queued(None)
                if turn is not None:
                    return turn
                due = None if turns._is_finished() else turns._due()
            if due is None:
                return None
            turns._decide(due)

    @classmethod
    def run(cls, turns, n_slots, *, order=0, stop_after=None):
        """Every turn given, in order of its index."""
        rng = np.random.default_rng(order)
        running, given = [], []
        while True:
            while len(running) < n_slots and (turn := cls.take_now(turns)) is not None:
                running.append(turn)
                given.append(turn)
            if not running or (stop_after is not None and len(turns.trials) >= stop_after):
                return sorted(given, key=lambda turn: turn.index)
            turns.finish(cls.trial(running.pop(int(rng.integers(len(running))))))


@pytest.fixture
def simulation():
    return Simulation
