"""What `ensembles.py` has found: ranks, wins, Poisson-binomial test, time to predict, levels."""

from __future__ import annotations

import json
from pathlib import Path


def keys(lines: Path) -> set[tuple[str, int, str]]:
    """(table, seed, method) of the results so far."""
    return {(row["table"], row["seed"], row["method"]) for row in read(lines)}


def read(lines: Path) -> list[dict]:
    """Results so far."""
    if not lines.exists():
        return []
    return [json.loads(line) for line in lines.read_text().splitlines() if line.strip()]


def text(out: Path) -> str:
    return f"{len(read(out / 'ensembles.jsonl'))} results"
