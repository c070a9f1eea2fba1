"""Command of a benchmark that keeps each finished measurement as a line of JSON, and repeats none."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Key = tuple[Any, ...]


def run(
    doc: str,
    tables: Sequence[str],
    keys: Sequence[str],
    measured: Callable[[Path, Sequence[str], Collection[Key]], Iterator[Line]],
    report: Callable[[list[Line]], Iterable[str]],
) -> None:
    """Measure what is not known, then print the report of all lines.

    Parameters
    ----------
    doc : of the benchmark's module
    tables : that are measured if the caller names none
    keys : entries that tell two lines apart
    measured : lines of a data folder's tables, without those that are known
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("tables", nargs="*", default=list(tables))
    given = parser.parse_args()
    lines: list[Line] = []
    if given.out.exists():
        lines = [json.loads(line) for line in given.out.read_text().splitlines()]
    known = {tuple(line[key] for key in keys) for line in lines}
    with given.out.open("a") as out:
        for line in measured(given.data, given.tables, known):
            lines.append(line)
            print(json.dumps(line), file=out, flush=True)
    print("\n".join(report(lines)))
