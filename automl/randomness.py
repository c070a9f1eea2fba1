"""Random streams: one root integer per run, one independent stream per purpose and key."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """Purpose of a stream; the number is part of the stream's key and never reused."""

    SPLIT = 1
    FOLDS = 2
    OPTIMIZER = 3
    ALLOCATOR = 4
    ESTIMATOR = 5
    CANDIDATES = 6
    ENSEMBLE = 7
    FINAL = 8
    SAMPLE = 9
    BOOTSTRAP = 10
    RUNTIME = 11
    DESIGN = 12
    PRIORS = 13
    META_FEATURES = 14
    META_LEARNER = 15
    VALUE_COUNTS = 16


def stream(root: int, purpose: Purpose, *keys: int) -> np.random.Generator:
    """Generator that depends on `root`, `purpose` and `keys` alone, never on scheduling."""
    return np.random.default_rng(sequence(root, purpose, *keys))


def sequence(root: int, purpose: Purpose, *keys: int) -> np.random.SeedSequence:
    """Seeds that depend on `root`, `purpose` and `keys` alone; its children are independent of each other."""
    return np.random.SeedSequence(root, spawn_key=(int(purpose), *keys))


def integer_seed(root: int, purpose: Purpose, *keys: int) -> int:
    """Integer in [0, 2**31) for estimators that take a `random_state`."""
    return int(sequence(root, purpose, *keys).generate_state(1, np.uint32)[0] >> 1)
