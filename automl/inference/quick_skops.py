"""`skops.io`, imported in half the time.

While it is imported, skops lists the names of all estimators of scikit-learn, for which scikit-learn imports all of
itself, its tests included: 0.6 s of processor time, which is half of what a first prediction takes. Where the names
are known (`automl.inference.estimator_names`) skops is given these; what it trusts is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import sklearn.utils

from automl.inference.estimator_names import ESTIMATORS, VERSION


def skops_io() -> ModuleType:
    """The module `skops.io`."""
    if "skops.io" not in sys.modules and sklearn.__version__.startswith(VERSION):
        with _known_names():
            import skops.io
    import skops.io

    return skops.io  # type: ignore[no-any-return]


@contextmanager
def _known_names() -> Iterator[None]:
    """Let `all_estimators` give classes that have only a name and a module."""
    find = sklearn.utils.all_estimators
    found = [
        (name, type(name, (), {"__module__": module}))
        for module, names in ESTIMATORS.items()
        for name in names.split()
    ]
    sklearn.utils.all_estimators = lambda: found
    try:
        yield
    finally:
        sklearn.utils.all_estimators = find
