"""Recall by kind and strength, false alarms by kind, seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from findings import PATTERNS, read_sentences


def print_report(data: Path, out: Path, halves: Sequence[str]) -> None:
    spoilt = _runs(out, "spoilt", halves)
    clean = _runs(out, "clean", halves)
    if len(spoilt):
        print(recall(spoilt).to_string(), end="\n\n")
        missed = spoilt[~spoilt["is_found"]]
        for _, run in missed.iterrows():
            print(
                f"missed: {run['kind']}: {run['defect']} in {run['column']!r} of {run['table']} ({run['order']}, {run['rows']} rows); said {run['said']}"
            )
    for _, run in clean.iterrows():
        for sentence in read_sentences(run["said"]):
            print(f"{run['table']} ({run['order']}) {sentence.kind}: {sentence.text}")
    largest = clean.sort_values("seconds").tail(5)
    print(largest[["table", "rows", "columns", "seconds"]].to_string(index=False))


def recall(spoilt: pd.DataFrame) -> pd.DataFrame:
    """Found and injected, by kind and half."""
    table = spoilt.pivot_table(
        index="kind", columns="half", values="is_found", aggfunc=["sum", "count"], margins=True
    )
    return table.reindex([*PATTERNS, "All"])


def _runs(out: Path, what: str, halves: Sequence[str]) -> pd.DataFrame:
    lines = [
        json.loads(line)
        for half in halves
        if (out / f"{what}-{half}.jsonl").exists()
        for line in (out / f"{what}-{half}.jsonl").read_text().splitlines()
    ]
    return pd.DataFrame(lines)
