"""What an inheritor counts, as far as it must stay as it is."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "benchmarks" / "house"


def test_every_numeric_constant_has_a_sentence():
    sys.path.insert(0, str(HOUSE))
    try:
        from house import sources, unexplained_constants
    finally:
        sys.path.remove(str(HOUSE))
    modules = sources(ROOT)
    bare = {
        str(source.path.relative_to(ROOT))
        for source in modules
        if not unexplained_constants([source]).startswith("0 ")
    }
    assert len(modules) > 400
    assert not bare
