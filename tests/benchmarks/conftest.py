"""Modules of benchmarks/search, which import each other by their bare names as scripts do."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

SEARCH = Path(__file__).parents[2] / "benchmarks" / "search"


@pytest.fixture(scope="module")
def benchmark_module() -> Iterator[Callable[[str], ModuleType]]:
    before = set(sys.modules)
    sys.path.insert(0, str(SEARCH))
    yield importlib.import_module
    sys.path.remove(str(SEARCH))
    for name in set(sys.modules) - before:
        if str(SEARCH) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
