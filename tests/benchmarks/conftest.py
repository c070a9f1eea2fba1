"""Modules of benchmarks, which import each other by their bare names as scripts do."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark_module() -> Iterator[Callable[..., ModuleType]]:
    """Function that imports a script of a folder, of `search` where none is named."""
    before, path = set(sys.modules), list(sys.path)

    def imported(name: str, folder: str = "search") -> ModuleType:
        if str(BENCHMARKS / folder) not in sys.path:
            sys.path.insert(0, str(BENCHMARKS / folder))
        return importlib.import_module(name)

    yield imported
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
