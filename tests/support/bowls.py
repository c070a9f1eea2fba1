"""A space, a score that is a bowl over it, and searches that an optimizer makes there."""

from automl.randomness import Purpose, stream
from automl.records import Fidelity, FoldResult, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

UNIT = {"type": "uniform", "low": 0.0, "high": 1.0, "default": 0.9}
WORD = {"type": "categorical", "branch": False, "default": "a", "choices": ["a", "b", "c"]}
FAST = {"name": "random", "n_candidates": 200}
"""A maximizer that takes no time."""


def bowl_space():
    """Two numbers and a word."""
    return SpaceTree.build("bowl", {"x": UNIT, "y": UNIT, "word": WORD})


def bowl(configuration):
    x, y = configuration.values["x"], configuration.values["y"]
    return 1.0 - (x - 0.3) ** 2 - (y - 0.7) ** 2 - 0.2 * (configuration.values["word"] != "b")


def trial(configuration, score=0.0, status=TrialStatus.COMPLETE, index=0, seconds=0.0):
    is_scored = status in {TrialStatus.COMPLETE, TrialStatus.RACED, TrialStatus.PARTIAL}
    folds = (FoldResult(0, 0, score, 10, 0.1, 0.01),) if is_scored else ()
    fidelity = Fidelity(folds=1) if status is TrialStatus.PARTIAL else Fidelity()
    return Trial(
        "run", index, configuration, status, score if is_scored else None, folds, fidelity,
        seconds=seconds,
    )  # fmt: skip


def ask(optimizer, step=0, pending=(), seed=1):
    return optimizer.ask(pending=pending, rng=stream(seed, Purpose.OPTIMIZER, step))


def search(optimizer, score, n, seed=1):
    seen = []
    for step in range(n):
        configuration = ask(optimizer, step, seed=seed).configuration
        seen.append((score(configuration), configuration))
        optimizer.tell(trial(configuration, seen[-1][0], index=step))
    return seen
